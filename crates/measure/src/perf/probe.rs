//! The devices' limits, measured before anything else.

use std::sync::Arc;

use device::Device;
use device::DeviceInfo;
use device::telemetry::{NoTelemetry, Telemetry, open};
use host::limits::{Limit, MeasuredLimits, Options, measure};
use terminal::progress::Progress;
use units::{bytes_per_s, three};

use super::results::{DeviceRecord, Results};
use super::watch::Watch;
use lab::devices::Chosen;
use terminal::look::Look;
use terminal::progress::Bar;
use terminal::table::{Align, Columns, Tone};

/// Learns of a device apart from timing labs on it.
pub trait Probe {
    /// Its limits, and what could not be measured, with the reason.
    fn limits(
        &self,
        device: &dyn Device,
        progress: &dyn Progress,
    ) -> (MeasuredLimits, Option<String>);

    /// The telemetry of its clocks, or why there is none.
    fn telemetry(&self, device: &DeviceInfo) -> Result<Arc<dyn Telemetry>, NoTelemetry>;
}

/// By kernels of our own, and NVML.
pub struct Real;

impl Probe for Real {
    fn limits(
        &self,
        device: &dyn Device,
        progress: &dyn Progress,
    ) -> (MeasuredLimits, Option<String>) {
        let options = Options::for_device(device.info());
        match measure(device, &options, &Limit::ALL, progress) {
            Ok(limits) => (limits, None),
            Err(error) => (MeasuredLimits::default(), Some(error.to_string())),
        }
    }

    fn telemetry(&self, device: &DeviceInfo) -> Result<Arc<dyn Telemetry>, NoTelemetry> {
        open(device).map(Arc::from)
    }
}

/// Every chosen device with its limits, and what reports on it; what is missing is added to the
/// list.
pub fn records(
    chosen: &Chosen<'_>,
    probe: &dyn Probe,
    missing: &mut Vec<String>,
) -> Vec<(DeviceRecord, Watch)> {
    let devices = chosen.devices.iter().map(|named| {
        let device = named.name.to_string();
        let bar = Bar::new(format!("limits of {device}"));
        let (limits, reason) = probe.limits(named.device, &bar);
        missing.extend(reason.map(|reason| format!("limits of {device}: {reason}")));
        let telemetry = probe.telemetry(named.device.info());
        if let Err(none) = &telemetry {
            missing.push(format!("clocks, throttling, power of {device}: {none}"));
        }
        let known = telemetry.as_ref();
        let record = DeviceRecord {
            device,
            info: named.device.info().clone(),
            telemetry: known.ok().map(|telemetry| telemetry.about().clone()),
            no_telemetry: known.err().map(|none| none.reason.clone()),
            limits,
        };
        (record, Watch::new(telemetry.ok()))
    });
    devices.collect()
}

/// A line for the CPU, some for each device, and what is missing.
pub fn render(results: &Results, look: Look) -> String {
    let mut table = Columns::new(look, [Align::Left; 2]);
    let mut row = |name: &str, text: &str| {
        table.row([(name, Tone::Normal), (text, Tone::Normal)]);
    };
    if let Some(cpu) = &results.cpu {
        row("cpu", &cpu.to_string());
    }
    for record in &results.devices {
        let about = record.telemetry.as_ref();
        let driver = about.and_then(|about| about.driver.as_deref());
        let driver = driver.map_or(String::new(), |driver| format!(", driver {driver}"));
        row(&record.device, &format!("{}{driver}", record.info.name));
        for line in limits(&record.limits) {
            row("", &line);
        }
    }
    if !results.devices.is_empty() {
        let percent = 100.0 * results.between_runs;
        row("", &format!("another run: within ± and {percent:.2} %"));
    }
    let mut text = table.render(0) + "\n";
    for missing in &results.missing {
        text += &look.wrapped(&format!("missing: {missing}"), 0);
        text += "\n";
    }
    text
}

fn limits(limits: &MeasuredLimits) -> Vec<String> {
    let rate = |limit: Limit| {
        let best = limits.get(limit)?.best_per_s;
        Some(match limit.unit() {
            "byte" => format!("{} {}", limit.name(), bytes_per_s(best)),
            _ => format!("{} {} Tflop/s", limit.name(), three(best / 1e12)),
        })
    };
    let line = |title: &str, of: &[Limit]| {
        let rates: Vec<String> = of.iter().copied().filter_map(rate).collect();
        (!rates.is_empty()).then(|| format!("{title}{}", rates.join(", ")))
    };
    let memory = [Limit::Copy, Limit::Read, Limit::Write];
    let caches = [Limit::L2, Limit::Shared, Limit::Fp32, Limit::Fp64];
    [line("at best: ", &memory), line("         ", &caches)]
        .into_iter()
        .flatten()
        .collect()
}
