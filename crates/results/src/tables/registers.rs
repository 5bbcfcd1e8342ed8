//! The effect of caps of registers on kernels: what the compiler made of each, and time without a
//! cap / time.

use device::KernelInfo;

use super::lab_results::{LabResults, is_variant};
use crate::document::{Figures, Row};
use crate::ratios::RowView;
use terminal::look::Look;
use terminal::table::Table;

/// A kernel of a variant, with a cap or without.
pub struct Line<'c> {
    of: RowView<'c>,
    /// Lab and case.
    pub heading: String,
    figures: &'c Figures,
    kernel: &'c KernelInfo,
    /// Whether it is the first of its row: it shows the row's time.
    is_first: bool,
}

/// The table, if any variant has caps.
pub(super) fn table(lab: &LabResults<'_>, look: Look) -> Option<String> {
    let lines = lines(lab.rows());
    let is_any = !lines.is_empty();
    let mut table = Table::new(&lines);
    if lab.cases.len() > 1 {
        table = table.left("size", |line| {
            if line.is_first {
                lab.size(line.of.case).to_owned()
            } else {
                String::new()
            }
        });
    }
    if lab.devices.len() > 1 {
        table = table.left("device", |line| line.of.row.device.clone());
    }
    let us = if lines.iter().any(|line| line.figures.timesteps.is_some()) {
        "time\nus/step"
    } else {
        "time\nus"
    };
    let table = columns(table, us);
    is_any.then(|| {
        let text = table.render_within(look, 2, &["spilled\nbytes", "blocks\n/SM"]);
        format!("{}\n{text}", look.title("caps of registers"))
    })
}

/// The columns; the last is what the cap costs.
pub fn columns<'t, 'c>(table: Table<'t, Line<'c>>, us: &str) -> Table<'t, Line<'c>> {
    table
        .left("variant", |line| {
            if line.is_first {
                variant(line.of.row).to_owned()
            } else {
                String::new()
            }
        })
        .right("cap", |line| {
            let cap = line.of.row.capped.as_ref();
            let cap = cap.map_or("none".to_owned(), |cap| cap.registers.to_string());
            line.is_first.then_some(cap)
        })
        .left("kernel", |line| line.kernel.name.clone())
        .right("regs", |line| Some(line.kernel.registers?.to_string()))
        .right("spilled\nbytes", |line| {
            let spills = line.kernel.spills?;
            Some(format!("{}+{}", spills.store_bytes, spills.load_bytes))
        })
        .right("stack\nbytes", |line| {
            Some(line.kernel.local_bytes.to_string())
        })
        .right("blocks\n/SM", |line| {
            Some(line.kernel.blocks_per_multiprocessor?.to_string())
        })
        .right("occup.\n%", |line| {
            Some(format!("{:.0}", 100.0 * line.kernel.occupancy?))
        })
        .right(us, |line| {
            let is_shown = line.is_first && line.figures.is_result();
            is_shown.then(|| line.figures.step_us())
        })
        .right("vs no\ncap", |line| {
            Some(line.is_first.then(|| line.of.vs_variant())??.short())
        })
}

/// Each kernel of the variants that were timed under caps.
pub fn lines<'c>(rows: impl Iterator<Item = RowView<'c>>) -> Vec<Line<'c>> {
    let has_caps = |of: &RowView<'_>| {
        let same = |row: &&Row| row.device == of.row.device && variant(row) == variant(of.row);
        of.case
            .rows
            .iter()
            .filter(same)
            .any(|row| row.capped.is_some())
    };
    let rows = rows.filter(|of| is_variant(of.row) && has_caps(of));
    let lines = rows.filter_map(|of| {
        let figures = of.row.figures()?;
        let kernels = figures.on_device.kernels.iter().enumerate();
        Some(kernels.map(move |(index, kernel)| Line {
            of,
            heading: format!("{}, {}", of.case.lab, of.case.case),
            figures,
            kernel,
            is_first: index == 0,
        }))
    });
    lines.flatten().collect()
}

/// The variant that it is, without the cap.
fn variant(row: &Row) -> &str {
    row.capped
        .as_ref()
        .map_or(&row.variant, |capped| &capped.of)
}
