//! The kernels under the timed variants: what the device made of them, and how well their accesses coalesce, which the
//! emulated device counts exactly on a small case whose accesses are alike.

use host::device::{EmulatedDevice, GlobalTraffic, Options, Sanitize};
use host::{Case, KernelInfo, Lab, Variant, run};
use serde::Serialize;

use super::row::Row;
use crate::progress::Bar;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use crate::units::indented;

/// Sectors of each variant's kernels on a small case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coalescing {
    /// What was run.
    case: String,
    kernels: Vec<KernelTraffic>,
    /// What could not be counted, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<String>,
}

/// One kernel's traffic to global memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct KernelTraffic {
    variant: &'static str,
    kernel: String,
    sectors: u64,
    ideal_sectors: u64,
    /// `ideal_sectors / sectors`; none without traffic.
    efficiency: Option<f64>,
}

impl Coalescing {
    /// Counts, if the case has a small one like it.
    pub fn count(lab: &dyn Lab, variants: &[Variant], case: &dyn Case) -> Option<Coalescing> {
        let case = case.reduced()?;
        let device = EmulatedDevice::new(Options {
            sanitize: Sanitize::NONE,
            ..Options::default()
        });
        let _bar = Bar::spinner(format!("counting sectors of {}", case.label()));
        let mut counted = Coalescing {
            case: case.label(),
            kernels: Vec::new(),
            failures: Vec::new(),
        };
        for variant in variants {
            match traffic(&device, lab, case.as_ref(), variant.name) {
                Ok(mut kernels) => counted.kernels.append(&mut kernels),
                Err(error) => counted.failures.push(format!("{}: {error}", variant.name)),
            }
        }
        Some(counted)
    }

    fn of(&self, variant: &str, kernel: &str) -> Option<&KernelTraffic> {
        let same =
            |traffic: &&KernelTraffic| traffic.variant == variant && traffic.kernel == kernel;
        self.kernels.iter().find(same)
    }
}

fn traffic(
    device: &EmulatedDevice,
    lab: &dyn Lab,
    case: &dyn Case,
    variant: &'static str,
) -> Result<Vec<KernelTraffic>, host::Error> {
    let plan = case.record(variant)?;
    let mut session = host::Device::prepare(device, lab.module(), &plan)?;
    run::reset(session.as_mut(), &plan, &case.inputs()?)?;
    session.run()?;
    let reports = session.reports().iter();
    Ok(reports
        .map(|report| {
            let counts = &report.total.counts;
            let mut all = GlobalTraffic::default();
            all += counts.global_loads;
            all += counts.global_stores;
            all += counts.global_atomics;
            KernelTraffic {
                variant,
                kernel: report.total.kernel.clone(),
                sectors: all.sectors,
                ideal_sectors: all.ideal_sectors,
                efficiency: (all.sectors != 0).then(|| all.efficiency()),
            }
        })
        .collect())
}

/// A row for each kernel of each timed variant; where nothing was timed, of each counted one. Nothing if there are none.
pub fn render(rows: &[Row], coalescing: Option<&Coalescing>, look: Look) -> Option<String> {
    let timed = rows.iter().filter_map(|row| Some((row, row.figures()?)));
    let timed: Vec<(&str, &str, &KernelInfo)> = timed
        .flat_map(|(row, figures)| {
            let kernels = figures.kernels.iter();
            kernels.map(|kernel| (row.device.as_str(), row.variant, kernel))
        })
        .collect();
    let mut headers = vec![
        ("device", Align::Left),
        ("variant", Align::Left),
        ("kernel", Align::Left),
        ("registers", Align::Right),
        ("blocks/SM", Align::Right),
        ("occupancy\n%", Align::Right),
    ];
    if coalescing.is_some() {
        headers.extend([
            ("sectors", Align::Right),
            ("ideal", Align::Right),
            ("coalesced\n%", Align::Right),
        ]);
    }
    let mut table = Columns::with_header(look, &headers);
    let mut push = |device: &str, variant: &str, kernel: &str, info: Option<&KernelInfo>| {
        let mut cells = vec![device.to_owned(), variant.to_owned(), kernel.to_owned()];
        let number = |value: Option<u32>| value.map_or("-".to_owned(), |value| value.to_string());
        let percent = |share: Option<f64>, decimals: usize| {
            share.map_or("-".to_owned(), |share| {
                format!("{:.decimals$}", 100.0 * share)
            })
        };
        cells.push(number(info.and_then(|info| info.registers)));
        cells.push(number(info.and_then(|info| info.blocks_per_multiprocessor)));
        cells.push(percent(info.and_then(|info| info.occupancy), 0));
        if let Some(coalescing) = coalescing {
            let traffic = coalescing.of(variant, kernel);
            let count =
                |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
            cells.push(count(traffic.map(|traffic| traffic.sectors)));
            cells.push(count(traffic.map(|traffic| traffic.ideal_sectors)));
            cells.push(percent(traffic.and_then(|traffic| traffic.efficiency), 1));
        }
        table.row(cells.into_iter().map(|text| (text, Tone::Normal)));
    };
    for (device, variant, kernel) in &timed {
        push(device, variant, &kernel.name, Some(kernel));
    }
    if timed.is_empty() {
        for traffic in coalescing.iter().flat_map(|counted| &counted.kernels) {
            push("-", traffic.variant, &traffic.kernel, None);
        }
    }
    if timed.is_empty() && coalescing.is_none_or(|counted| counted.kernels.is_empty()) {
        return None;
    }
    let mut parts = vec![table.render(2)];
    if let Some(coalescing) = coalescing {
        parts.push(format!(
            "\n  sectors: counted by the emulated device on {}",
            coalescing.case
        ));
        let failures = coalescing.failures.iter();
        parts.extend(
            failures.map(|failure| format!("  sectors not counted: {}", indented(failure))),
        );
    }
    Some(parts.join("\n"))
}
