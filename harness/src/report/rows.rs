//! The rows that have figures.

use std::collections::HashSet;

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

impl Timed<'_> {
    /// Why the figures should not be relied on.
    pub fn caution(&self) -> Option<&'static str> {
        if self.figures.result == Verdict::Wrong {
            Some("wrong result")
        } else if !self.figures.run.is_result() {
            Some("noisy")
        } else {
            None
        }
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
