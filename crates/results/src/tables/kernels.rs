//! The kernels under the timed variants: what the device made of them, and what they do.

use device::KernelInfo;
use units::three;

use crate::counted::{Counted, KernelCounts};
use crate::document::Row;
use terminal::look::Look;
use terminal::table::Table;

/// A row for each kernel of each timed variant; where nothing was timed, of each counted one.
/// Nothing if there are none.
pub fn render(rows: &[Row], counted: Option<&Counted>, look: Look) -> Option<String> {
    let timed: Vec<(&Row, &KernelInfo)> = rows
        .iter()
        .filter_map(|row| Some((row, row.figures()?)))
        .flat_map(|(row, figures)| {
            let kernels = figures.on_device.kernels.iter();
            kernels.map(move |kernel| (row, kernel))
        })
        .collect();
    let mut parts = Vec::new();
    if !timed.is_empty() {
        parts.push(compiled(&timed, counted, look));
    } else if let Some(counted) = counted.filter(|counted| !counted.kernels.is_empty()) {
        parts.push(per_update(counted, look));
    }
    if let Some(counted) = counted {
        if !counted.kernels.is_empty() {
            let note = format!(
                "sectors: counted by the emulated device on {}",
                counted.case
            );
            parts.push(format!("\n{}", look.wrapped(&note, 2)));
        }
        let failures = counted.failures.iter();
        parts.extend(failures.map(|failure| look.wrapped(&format!("not counted: {failure}"), 2)));
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// A row for each variant, all its kernels together.
pub fn totals(counted: &Counted, look: Look) -> String {
    let totals = counted.totals();
    let per_update =
        |count: u64, one: &KernelCounts| Some(three(count as f64 / one.updates.max(1) as f64));
    let table = Table::new(&totals)
        .left("variant", |one| one.variant.clone())
        .right("launches", |one| Some(one.launches.to_string()))
        .right("instructions\nper update", |one| {
            per_update(one.instructions, one)
        })
        .right("active\nlanes, %", |one| percent(one.active_lanes()))
        .right("sectors\nper update", |one| per_update(one.sectors, one))
        .right("coal-\nesced, %", |one| percent(one.efficiency));
    let mut parts = vec![table.render_within(look, 2, &["launches", "active"])];
    let note = format!(
        "not timed: counted by the emulated device on {}",
        counted.case
    );
    parts.push(format!("\n{}", look.wrapped(&note, 2)));
    let failures = counted.failures.iter();
    parts.extend(failures.map(|failure| look.wrapped(&format!("not counted: {failure}"), 2)));
    parts.join("\n")
}

/// The kernels as the device compiled them.
fn compiled(timed: &[(&Row, &KernelInfo)], counted: Option<&Counted>, look: Look) -> String {
    let has_several = timed.iter().any(|(row, _)| row.device != timed[0].0.device);
    let mut table = Table::new(timed);
    if has_several {
        table = table.left("device", |(row, _)| row.device.clone());
    }
    table = table
        .left("variant", |(row, _)| row.name())
        .left("kernel", |(_, kernel)| kernel.name.clone());
    let lines = |row: &Row| Some(row.figures()?.on_device.code_lines?.kernels.to_string());
    if timed.iter().any(|(row, _)| lines(row).is_some()) {
        table = table.right("lines", move |(row, _)| lines(row));
    }
    table = table
        .right("regs", |(_, kernel)| Some(kernel.registers?.to_string()))
        .right("local\nbytes", |(_, kernel)| {
            Some(kernel.local_bytes.to_string())
        })
        .right("blocks\n/SM", |(_, kernel)| {
            Some(kernel.blocks_per_multiprocessor?.to_string())
        })
        .right("occup.\n%", |(_, kernel)| {
            Some(format!("{:.0}", 100.0 * kernel.occupancy?))
        });
    if let Some(counted) = counted {
        let counts = |row: &Row, kernel: &KernelInfo| {
            let is_ours = row.language.is_none();
            counted.of(&row.variant, &kernel.name).filter(|_| is_ours)
        };
        table = table
            .right("sectors", |(row, kernel)| {
                Some(counts(row, kernel)?.sectors.to_string())
            })
            .right("coal-\nesced %", |(row, kernel)| {
                percent(counts(row, kernel)?.efficiency)
            });
    }
    table.render_within(look, 2, &["blocks", "sectors"])
}

/// The kernels' counts for each update.
fn per_update(counted: &Counted, look: Look) -> String {
    let per_update = |count: u64, kernel: &KernelCounts| {
        Some(three(count as f64 / kernel.updates.max(1) as f64))
    };
    Table::new(&counted.kernels)
        .left("variant", |kernel| kernel.variant.clone())
        .left("kernel", |kernel| kernel.kernel.clone())
        .right("instructions\nper update", |kernel| {
            per_update(kernel.instructions, kernel)
        })
        .right("sectors\nper update", |kernel| {
            per_update(kernel.sectors, kernel)
        })
        .right("coal-\nesced %", |kernel| percent(kernel.efficiency))
        .render_within(look, 2, &["variant", "coal"])
}

fn percent(share: Option<f64>) -> Option<String> {
    Some(format!("{:.1}", 100.0 * share?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_the_longest_names_fit_a_terminal() {
        let kernel = |kernel: &str| KernelCounts {
            variant: "grid_stride_vector4_256".to_owned(),
            kernel: kernel.to_owned(),
            launches: 12_800,
            updates: 1,
            instructions: 1234,
            warp_instructions: 40,
            sectors: 5678,
            ideal_sectors: 1234,
            efficiency: Some(0.217),
            l1_bytes: 0,
            l2_bytes: 0,
        };
        let counted = Counted {
            case: "4096x1024".to_owned(),
            unit: "additions".to_owned(),
            kernels: vec![kernel("matadd_grid_stride_vector4_256")],
            failures: Vec::new(),
        };
        for columns in [80, 100] {
            let look = Look {
                columns,
                ..Look::PLAIN
            };
            for text in [totals(&counted, look), per_update(&counted, look)] {
                let is_narrow = |line: &str| line.chars().count() <= columns;
                assert!(text.lines().all(is_narrow), "{text}");
                assert!(
                    text.contains("instructions") && text.contains("sectors"),
                    "{text}"
                );
            }
        }
        assert!(totals(&counted, Look::PLAIN).contains("launches"));
    }
}
