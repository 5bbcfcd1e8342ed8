//! The kernels under the timed variants: what the device made of them, and what they do, which the emulated device counts
//! exactly on a small case.

use std::collections::HashSet;

use host::device::{EmulatedDevice, GlobalTraffic, Options, Sanitize};
use host::{Case, KernelInfo, Lab, Variant, run};
use serde::{Deserialize, Serialize};

use super::results::Row;
use crate::catalogue::first_variant;
use crate::progress::Bar;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use crate::units::{indented, three};

/// What each variant's kernels do on a small case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// What was run.
    pub case: String,
    /// What an update is.
    pub unit: String,
    /// Kernel by kernel.
    pub kernels: Vec<KernelCounts>,
    /// What could not be counted, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// What one kernel does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// The variant.
    pub variant: String,
    /// The kernel's name.
    pub kernel: String,
    /// Times it was launched.
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

    fn of(&self, variant: &str, kernel: &str) -> Option<&KernelCounts> {
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

/// A row for each kernel of each timed variant; where nothing was timed, of each counted one. Nothing if there are none.
pub fn render(rows: &[Row], counted: Option<&Counted>, look: Look) -> Option<String> {
    let timed = rows.iter().filter_map(|row| Some((row, row.figures()?)));
    let timed: Vec<(&Row, &KernelInfo)> = timed
        .flat_map(|(row, figures)| figures.kernels.iter().map(move |kernel| (row, kernel)))
        .collect();
    let mut parts = Vec::new();
    if !timed.is_empty() {
        parts.push(compiled(&timed, counted, look).render(2));
    } else if let Some(counted) = counted.filter(|counted| !counted.kernels.is_empty()) {
        parts.push(per_update(counted, look).render(2));
    }
    if let Some(counted) = counted {
        if !counted.kernels.is_empty() {
            parts.push(format!(
                "\n  sectors: counted by the emulated device on {}",
                counted.case
            ));
        }
        let failures = counted.failures.iter();
        parts.extend(failures.map(|failure| format!("  not counted: {}", indented(failure))));
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn percent(share: Option<f64>, decimals: usize) -> String {
    share.map_or("-".to_owned(), |share| {
        format!("{:.decimals$}", 100.0 * share)
    })
}

/// What the device made of the kernels.
fn compiled(timed: &[(&Row, &KernelInfo)], counted: Option<&Counted>, look: Look) -> Columns {
    let devices: HashSet<&str> = timed.iter().map(|(row, _)| row.device.as_str()).collect();
    let has_several = devices.len() > 1;
    let mut headers = Vec::new();
    if has_several {
        headers.push(("device", Align::Left));
    }
    headers.extend([
        ("variant", Align::Left),
        ("kernel", Align::Left),
        ("regs", Align::Right),
        ("local\nbytes", Align::Right),
        ("blocks\n/SM", Align::Right),
        ("occup.\n%", Align::Right),
    ]);
    if counted.is_some() {
        headers.extend([("sectors", Align::Right), ("coal-\nesced %", Align::Right)]);
    }
    let mut table = Columns::with_header(look, &headers);
    for (row, kernel) in timed {
        let number = |value: Option<u32>| value.map_or("-".to_owned(), |value| value.to_string());
        let mut cells = Vec::new();
        if has_several {
            cells.push(row.device.clone());
        }
        cells.extend([
            row.name(),
            kernel.name.clone(),
            number(kernel.registers),
            kernel.local_bytes.to_string(),
            number(kernel.blocks_per_multiprocessor),
            percent(kernel.occupancy, 0),
        ]);
        if let Some(counted) = counted {
            let is_ours = row.language.is_none();
            let counts = counted.of(&row.variant, &kernel.name).filter(|_| is_ours);
            cells.push(counts.map_or("-".to_owned(), |counts| counts.sectors.to_string()));
            cells.push(percent(counts.and_then(|counts| counts.efficiency), 1));
        }
        table.row(cells.into_iter().map(|text| (text, Tone::Normal)));
    }
    table
}

/// What the kernels do for each update.
fn per_update(counted: &Counted, look: Look) -> Columns {
    let headers = [
        ("variant", Align::Left),
        ("kernel", Align::Left),
        ("instructions\nper update", Align::Right),
        ("sectors\nper update", Align::Right),
        ("coal-\nesced %", Align::Right),
    ];
    let mut table = Columns::with_header(look, &headers);
    for kernel in &counted.kernels {
        let per_update = |count: u64| three(count as f64 / kernel.updates.max(1) as f64);
        let cells = [
            kernel.variant.clone(),
            kernel.kernel.clone(),
            per_update(kernel.instructions),
            per_update(kernel.sectors),
            percent(kernel.efficiency, 1),
        ];
        table.row(cells.map(|text| (text, Tone::Normal)));
    }
    table
}
