//! Lines that begin with a place, which editors find in what a task prints: VS Code by a problem
//! matcher, Vim by `errorformat`, Emacs in a compilation buffer.

use page::escape::plain;

use crate::path::from_here;
use crate::{Place, Report};

/// A line for each place: the problem where it is, and information at each other side of it.
pub fn annotations(report: &Report) -> String {
    let mut text = String::new();
    for (_, problem) in report.distinct() {
        // A problem's message has several lines; an editor shows one.
        let words: Vec<&str> = problem.message.split_whitespace().collect();
        let words = words.join(" ");
        let Some((first, others)) = problem.places.split_first() else {
            continue;
        };
        text += &line(first, "error", &words);
        for place in others {
            text += &line(place, "info", &format!("{} ({})", problem.rule, place.role));
        }
    }
    text
}

fn line(place: &Place, severity: &str, words: &str) -> String {
    let file = from_here(&place.file);
    let (line, column) = (place.line.max(1), place.column.max(1));
    plain(&format!("{file}:{line}:{column}: {severity}: {words}\n"))
}
