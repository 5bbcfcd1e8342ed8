//! The text that a submission printed.

use terminal::look::Look;

use super::failure::Detail;
use super::lines::{cut, wrapped};
use super::sheet::{Rank, Sheet};
use crate::report::figures;
use grading::report::GradeReport;

/// The lines that stay as long as the points do: who prints looks for them.
const KEPT: usize = 3;

/// The most lines of a text, unless all of it is shown.
const MOST: usize = 8;

/// Adds the text that launch.rs and kernels printed, by what printed it.
pub fn add(sheet: &mut Sheet, report: &GradeReport, detail: Detail, look: Look, columns: usize) {
    for (cases, text) in figures::printed_in(report) {
        let lines: Vec<&str> = text.lines().collect();
        let (most, most_names) = match detail {
            Detail::Whole => (lines.len(), usize::MAX),
            Detail::Brief => (MOST, 1),
        };
        let who = figures::printer(&cases, most_names);
        let head = wrapped(&format!("{who}:"), "  ", 4, columns);
        sheet.blank();
        sheet.add(
            Rank::Verdict,
            head.iter().map(|line| look.title(line)).collect(),
        );
        for (number, line) in lines.iter().take(most).enumerate() {
            let rank = if number < KEPT {
                Rank::Verdict
            } else {
                Rank::Around
            };
            let line = line.replace('\t', "    ");
            sheet.add(rank, vec![cut(&format!("    {line}"), columns)]);
        }
        if lines.len() > most {
            let more = format!("    ... {} more", units::count(lines.len() - most, "line"));
            sheet.add(Rank::Around, vec![look.faint(&more)]);
        }
    }
}
