//! What kernels do, which the emulated device counts exactly on a small case.

use host::device::{EmulatedDevice, GlobalTraffic, Options, Sanitize};
use host::{Case, Lab, Variant, run};
use serde::{Deserialize, Serialize};

use crate::catalogue::first_variant;
use crate::progress::Bar;

/// What each variant's kernels do on a small case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    pub case: String,
    pub unit: String,
    pub kernels: Vec<KernelCounts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    pub variant: String,
    pub kernel: String,
    pub launches: u64,
    /// Useful work of the whole run.
    pub updates: u64,
    /// PTX instructions that threads executed.
    pub instructions: u64,
    /// PTX instructions that warps executed.
    pub warp_instructions: u64,
    /// Pieces of 32 bytes that warps touched.
    pub sectors: u64,
    /// Sectors that the same bytes would take at best.
    pub ideal_sectors: u64,
    /// `ideal_sectors / sectors`; none without traffic.
    pub efficiency: Option<f64>,
}

impl Counted {
    /// Counts, if the case has a small one like it, whose accesses are alike; with `in_place_of_times`, otherwise on the small
    /// case of the lab with most work.
    pub fn count(
        lab: &dyn Lab,
        variants: &[Variant],
        case: &dyn Case,
        in_place_of_times: bool,
    ) -> Option<Counted> {
        let any = || {
            let cases = lab.small_cases().into_iter();
            cases.max_by_key(|case| case.work(first_variant(lab)).updates)
        };
        let case = case
            .reduced()
            .or_else(|| in_place_of_times.then(any).flatten())?;
        let device = EmulatedDevice::new(Options {
            sanitize: Sanitize::NONE,
            ..Options::default()
        });
        let _bar = Bar::spinner(format!("counting on {}", case.label()));
        let mut counted = Counted {
            case: case.label(),
            unit: case.work(first_variant(lab)).unit.to_owned(),
            kernels: Vec::new(),
            failures: Vec::new(),
        };
        for variant in variants {
            match counts(&device, lab, case.as_ref(), variant.name) {
                Ok(mut kernels) => counted.kernels.append(&mut kernels),
                Err(error) => counted.failures.push(format!("{}: {error}", variant.name)),
            }
        }
        Some(counted)
    }

    pub fn of(&self, variant: &str, kernel: &str) -> Option<&KernelCounts> {
        let same = |counts: &&KernelCounts| counts.variant == variant && counts.kernel == kernel;
        self.kernels.iter().find(same)
    }
}

fn counts(
    device: &EmulatedDevice,
    lab: &dyn Lab,
    case: &dyn Case,
    variant: &str,
) -> Result<Vec<KernelCounts>, host::Error> {
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
            KernelCounts {
                variant: variant.to_owned(),
                kernel: report.total.kernel.clone(),
                launches: report.launches,
                updates: case.work(variant).updates,
                instructions: counts.instructions.thread,
                warp_instructions: counts.instructions.warp,
                sectors: all.sectors,
                ideal_sectors: all.ideal_sectors,
                efficiency: (all.sectors != 0).then(|| all.efficiency()),
            }
        })
        .collect())
}
