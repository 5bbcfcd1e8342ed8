//! The kernels under the timed variants: what the device made of them, and what they do.

use std::collections::HashSet;

use host::KernelInfo;
use units::{indented, three};

use super::counted::Counted;
use super::results::Row;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;

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
    let mut headers = Vec::from_iter(has_several.then_some(("device", Align::Left)));
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
        let mut cells = Vec::from_iter(has_several.then(|| row.device.clone()));
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
