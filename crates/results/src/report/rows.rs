//! The rows that have figures.

use std::collections::HashSet;

use units::three;

use crate::document::{Figures, Results};
use crate::ratios::RowView;
use terminal::table::Tone;

/// The meaning of a column of the tables.
pub const OF_LIMIT: &str = "\"of limit\": the least time that the device's measured limits allow for the bytes and operations that the variant cannot avoid, by the measured time.";

/// The meaning of another.
pub const OWN_LIMIT: &str = "\"own limit\": the least time that the multiprocessors need for the variant's own instructions, with all that it computes twice, by the measured time, and the unit that is busy longest: the path to L1 and shared memory, the schedulers (issue), or the lanes for f32 or f64.";

#[derive(Debug, Clone)]
pub struct Timed<'r> {
    /// Lab and case.
    pub heading: String,
    /// The row, and the case that it was timed for. The CPU's may be of another: [`Row::case`].
    ///
    /// [`Row::case`]: crate::document::Row::case
    pub of: RowView<'r>,
    pub figures: &'r Figures,
}

/// Every row that was timed. The CPU's rows come once.
pub fn timed(results: &Results) -> Vec<Timed<'_>> {
    let mut seen = HashSet::new();
    let rows = results.rows().filter_map(|of| {
        Some(Timed {
            heading: format!("{}, {}", of.case.lab, of.case.case),
            of,
            figures: of.row.figures()?,
        })
    });
    rows.filter(|timed| {
        seen.insert((
            &timed.of.case.lab,
            timed.of.row.full_name(),
            &timed.of.row.case,
        ))
    })
    .collect()
}

/// The position of a name among those seen before. A new name is added to them.
pub fn position<'n>(seen: &mut Vec<&'n str>, name: &'n str) -> usize {
    let known = seen.iter().position(|other| *other == name);
    known.unwrap_or_else(|| {
        seen.push(name);
        seen.len() - 1
    })
}

impl Timed<'_> {
    /// Whether the figures can be relied on, and on which case they are if that is another one;
    /// what was checked, if not all.
    pub fn note(&self) -> (String, Tone) {
        if self.figures.is_wrong() {
            ("wrong result".to_owned(), Tone::Bad)
        } else if let Some(doubt) = self.figures.run.withheld() {
            (format!("withheld: {doubt}"), Tone::Caution)
        } else if self.of.row.case != self.of.case.case {
            (format!("on {}", self.of.row.case), Tone::Normal)
        } else if let Some(steps) = self.figures.judgement.checked_steps {
            (format!("the CPU checked {steps}"), Tone::Normal)
        } else {
            (String::new(), Tone::Normal)
        }
    }

    /// A bar's label: name, device, and the case if it is another.
    pub fn label(&self) -> String {
        let mut label = self.of.row.full_name();
        if self.of.row.case != self.of.case.case {
            label += &format!(" ({})", self.of.row.case);
        }
        label
    }

    /// Cells, points, elements: the work of one timestep.
    pub fn size(&self) -> f64 {
        self.figures.work.updates as f64 / self.figures.steps()
    }

    /// Operations for each byte that must be moved, and operations in a second; of results.
    pub fn roofline_point(&self) -> Option<(f64, f64)> {
        let work = &self.figures.work;
        let (flops, bytes) = (work.flops as f64, work.bytes as f64);
        let has_point = self.figures.is_result() && flops > 0.0 && bytes > 0.0;
        has_point.then(|| (flops / bytes, flops / self.figures.run.median_s))
    }

    /// Share of the limit by its own instructions, and the unit that sets it: `62.2 % of L1`.
    pub fn of_own_limit(&self) -> Option<String> {
        let own = self.of.own_limit()?;
        Some(format!(
            "{} % of {}",
            three(100.0 * own.share),
            own.by.name()
        ))
    }

    /// Share of the limit that binds it, of a result.
    pub fn of_limit(&self) -> Option<String> {
        let bound = self.of.bound()?;
        Some(format!("{} %", three(100.0 * bound.share)))
    }
}
