//! Annotations of GitHub: lines of a workflow's log that its pages show beside the code
//! (GitHub documentation, "Workflow commands for GitHub Actions").

use page::escape::plain;

use crate::path::from_here;
use crate::{Place, Report};

/// A line for each place: the problem where it is, and a notice for each other side of it, since an
/// annotation has one place alone.
pub fn annotations(report: &Report) -> String {
    let mut text = String::new();
    for (_, problem) in report.distinct() {
        let mut places = problem.places.iter();
        let first = places.next();
        text += &annotation("error", &problem.rule, first, &problem.message);
        for place in places {
            let title = format!("{} ({})", problem.rule, place.role);
            text += &annotation("notice", &title, Some(place), &problem.message);
        }
    }
    text
}

fn annotation(level: &str, title: &str, place: Option<&Place>, message: &str) -> String {
    let mut properties = vec![format!("title={}", property(title))];
    if let Some(place) = place {
        properties.push(format!("file={}", property(&from_here(&place.file))));
        let numbers = [("line", place.line), ("col", place.column)];
        let known = numbers.into_iter().filter(|(_, number)| *number > 0);
        properties.extend(known.map(|(name, number)| format!("{name}={number}")));
    }
    let message = data(message.trim_end());
    format!("::{level} {}::{message}\n", properties.join(","))
}

/// Text as the runner reads it back.
fn data(text: &str) -> String {
    plain(text).replace('%', "%25").replace('\n', "%0A")
}

/// Text of a property, where commas and colons end it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
