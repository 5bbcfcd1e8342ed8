//! The devices' limits, measured before anything else.

use std::sync::Arc;

use device::Device;
use device::DeviceInfo;
use device::telemetry::{NoTelemetry, Telemetry};
use host::limits::{Limit, MeasuredLimits, Options, measure};
use terminal::progress::Progress;

use super::watch::Watch;
use results::DeviceRecord;
use select::devices::Chosen;
use terminal::progress::Bar;

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
        cuda::telemetry(device).map(Arc::from)
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
            telemetry: known.ok().map(|reports| reports.about().clone()),
            no_telemetry: known.err().map(|none| none.reason.clone()),
            limits,
        };
        (record, Watch::new(telemetry.ok()))
    });
    devices.collect()
}
