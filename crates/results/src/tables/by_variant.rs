//! A row for each variant.

use units::three;

use super::lab_results::{LabResults, dash, is_variant, time, without_figures};
use crate::document::{CaseResults, Figures, Outcome, Row};
use crate::ratios::RowView;
use terminal::look::Look;
use terminal::table::{Align, Table, Tone};

/// The variants of all sizes.
pub fn table(lab: &LabResults<'_>, look: Look) -> String {
    let rows = lab.rows().filter(|one| is_variant(one.row));
    let lines = lines(rows);
    let has_cuda = lines
        .iter()
        .any(|line| line.of.cuda_peers().next().is_some());
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
    let spare = ["batched", "GB/s", "vs\nCPU", "own\nlimit", "of\nlimit"];
    render(table, &lines, has_cuda, look, &spare)
}

/// All rows of a case.
pub fn with_peers(lab: &LabResults<'_>, case: &CaseResults, look: Look) -> String {
    let rows = lab.rows().filter(|one| std::ptr::eq(one.case, case));
    let lines = lines(rows);
    let table = Table::new(&lines).left("device", |line| line.of.row.device.clone());
    let spare = ["GB/s", "vs\nCPU", "batched", "own\nlimit", "of\nlimit"];
    render(table, &lines, false, look, &spare)
}

struct Line<'c> {
    of: RowView<'c>,
    /// So many rows were skipped for one reason, which is their device's: they take one line.
    alike: usize,
    /// Of its case.
    is_first: bool,
}

impl Line<'_> {
    /// The figures, unless they are withheld.
    fn right(&self) -> Option<&Figures> {
        self.of.row.figures().filter(|figures| figures.is_result())
    }
}

fn lines<'c>(rows: impl Iterator<Item = RowView<'c>>) -> Vec<Line<'c>> {
    let mut lines: Vec<Line<'c>> = Vec::new();
    for of in rows {
        match lines.last_mut() {
            Some(last) if is_absent_like(last.of.row, of.row) => last.alike += 1,
            last => {
                let is_first = last.is_none_or(|last| !std::ptr::eq(last.of.case, of.case));
                lines.push(Line {
                    of,
                    alike: 1,
                    is_first,
                });
            }
        }
    }
    lines
}

/// A longer name of the first variant would widen the table for a column of short numbers.
pub const FIRST_WIDTH: usize = 6;

/// With all further columns; where they are too many, without those that are missed least.
fn render(
    table: Table<'_, Line<'_>>,
    lines: &[Line<'_>],
    has_cuda: bool,
    look: Look,
    spare: &[&str],
) -> String {
    let figures = || lines.iter().filter_map(|line| line.of.row.figures());
    let has_steps = figures().any(|figures| figures.timesteps.is_some());
    let us = if has_steps { "us/step" } else { "us" };
    let first = lines
        .first()
        .map(|line| line.of.case.first_variant.as_str());
    let first = first
        .filter(|name| name.len() <= FIRST_WIDTH)
        .unwrap_or("first");
    let mut table = table
        .toned("variant", Align::Left, variant)
        .toned(&format!("time\n{us}"), Align::Right, |line| {
            let time = |own: &Figures| time(own, &own.run);
            line.of.row.figures().map_or_else(dash, time)
        })
        .toned(&format!("batched\n{us}"), Align::Right, |line| {
            let time = |own: &Figures| {
                let batched = own.on_device.batched.as_ref()?;
                Some(time(own, &batched.run))
            };
            line.of.row.figures().and_then(time).unwrap_or_else(dash)
        })
        .right("rate\nG/s", |line| {
            Some(three(line.right()?.work.updates_per_s / 1e9))
        })
        .right("GB/s", |line| {
            Some(three(line.right()?.on_device.bytes_per_s? / 1e9))
        })
        .right("of\nlimit", |line| Some(percent(line.of.bound()?.share)));
    if lines.iter().any(|line| line.of.own_limit().is_some()) {
        table = table.right("own\nlimit", |line| {
            let own = line.of.own_limit()?;
            Some(format!("{} {}", percent(own.share), own.by.name()))
        });
    }
    table = table
        .right(&format!("vs\n{first}"), |line| {
            Some(line.of.vs_first()?.short())
        })
        .right("vs\nCPU", |line| Some(line.of.vs_cpu()?.short()));
    if has_cuda {
        table = table.right("vs CUDA\nC++", |line| Some(line.of.vs_cuda()?.short()));
    }
    table
        .toned("result", Align::Left, |line| {
            without_figures(&line.of.row.outcome)
        })
        .render_within(look, 2, spare)
}

/// A share of a limit.
pub fn percent(share: f64) -> String {
    let decimals = usize::from(share < 0.1);
    format!("{:.decimals$}%", 100.0 * share)
}

fn variant(line: &Line<'_>) -> (String, Tone) {
    let row = line.of.row;
    match &row.language {
        _ if line.alike > 1 => (format!("all {}", line.alike), Tone::Normal),
        _ if row.is_fastest() => (format!("{}*", row.variant), Tone::Good),
        None => (row.variant.clone(), Tone::Normal),
        Some(language) => (format!("> {language}"), Tone::Normal),
    }
}

/// Whether both were skipped for one reason, which is their device's.
fn is_absent_like(row: &Row, other: &Row) -> bool {
    let reason = |of: &Row| match &of.outcome {
        Outcome::Skipped { message } if of.language.is_none() => Some(message.clone()),
        _ => None,
    };
    row.device == other.device && reason(row).is_some() && reason(row) == reason(other)
}
