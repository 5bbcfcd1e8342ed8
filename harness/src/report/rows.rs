//! The rows that have figures.

use std::collections::HashSet;

use crate::page::{Cell, Page};
use crate::perf::results::{CaseResults, Figures, Results, Row, Verdict};

/// A row that was timed.
#[derive(Debug, Clone, Copy)]
pub struct Timed<'r> {
    /// The case that it was timed for. The CPU's may be of another: [`Row::case`].
    pub case: &'r CaseResults,
    /// The row.
    pub row: &'r Row,
    /// Its figures.
    pub figures: &'r Figures,
}

/// Every row that was timed. The CPU's, which may stand beside several cases of a device, come once.
pub fn timed(results: &Results) -> Vec<Timed<'_>> {
    let mut seen = HashSet::new();
    let rows = results.cases.iter().flat_map(|case| {
        case.rows.iter().filter_map(move |row| {
            let figures = row.figures()?;
            Some(Timed { case, row, figures })
        })
    });
    rows.filter(|timed| seen.insert((&timed.case.lab, timed.row.full_name(), &timed.row.case)))
        .collect()
}

/// What a column of the tables says.
pub const OF_LIMIT: &str = "\"of limit\": the least time that the device's measured limits allow for the bytes and operations that the variant cannot avoid, by the measured time.";

/// The rows of a table, under a heading wherever another group begins.
fn in_groups(rows: impl Iterator<Item = (String, Vec<Cell>)>) -> Vec<Vec<Cell>> {
    let mut last = String::new();
    let mut table = Vec::new();
    for (group, cells) in rows {
        if group != last {
            table.push(vec![Cell::text(&group)]);
            last = group;
        }
        table.push(cells);
    }
    table
}

/// A table in groups, without the columns that are empty all the way down.
pub fn add_table(
    page: &mut Page,
    headers: &[Cell],
    rows: impl Iterator<Item = (String, Vec<Cell>)>,
) {
    let rows: Vec<(String, Vec<Cell>)> = rows.collect();
    let is_kept: Vec<bool> = (0..headers.len())
        .map(|column| rows.iter().any(|(_, cells)| !cells[column].is_empty()))
        .collect();
    let kept = |cells: &[Cell]| -> Vec<Cell> {
        let cells = cells.iter().zip(&is_kept);
        cells
            .filter(|(_, kept)| **kept)
            .map(|(cell, _)| cell.clone())
            .collect()
    };
    let rows = rows
        .iter()
        .map(|(group, cells)| (group.clone(), kept(cells)));
    page.table(&kept(headers), in_groups(rows));
}

impl Timed<'_> {
    /// Whether the figures can be relied on, and on which case they are if that is another one.
    pub fn note(&self) -> Cell {
        if self.figures.result == Verdict::Wrong {
            Cell::bad("wrong result")
        } else if !self.figures.run.is_result() {
            Cell::caution("noisy")
        } else if self.row.case != self.case.case {
            Cell::text(format!("on {}", self.row.case))
        } else {
            Cell::text("")
        }
    }

    /// What a bar says: name, device, and what must be known of the figures.
    pub fn label(&self) -> String {
        let mut label = self.row.full_name();
        if !self.figures.run.is_result() {
            label += ", noisy";
        }
        if self.row.case != self.case.case {
            label += &format!(" ({})", self.row.case);
        }
        label
    }

    /// Cells, points, elements: the work of one timestep.
    pub fn size(&self) -> f64 {
        self.figures.updates as f64 / self.figures.steps()
    }

    /// Operations for each byte that must be moved.
    pub fn intensity(&self) -> Option<f64> {
        let (flops, bytes) = (self.figures.flops, self.figures.bytes);
        (flops > 0 && bytes > 0).then(|| flops as f64 / bytes as f64)
    }
}
