//! The table of all submissions, and how many were dealt with as they should be.

use super::corpus::{Side, Submission};

/// What became of a submission.
#[derive(Debug)]
pub struct Line {
    /// Which.
    pub submission: Submission,
    /// In a word, if it is as expected; else what is not.
    pub result: Result<String, String>,
    /// How long it took.
    pub seconds: f64,
}

/// The table, the misses, and the rates.
pub fn table(lines: &[Line], device: &str) -> String {
    let mut text = format!("corpus of submissions on device {device}\n\n");
    for side in [Side::Hostile, Side::Honest] {
        let of_side = lines.iter().filter(|line| line.submission.side == side);
        text.extend(of_side.map(row));
    }
    text + &rates(lines)
}

/// A line of the table.
pub fn row(line: &Line) -> String {
    let (mark, what) = match &line.result {
        Ok(what) => ("ok  ", what.as_str()),
        Err(_) => ("MISS", "not as expected"),
    };
    format!(
        "{mark}  {:8} {:32} {:20} {:6.1} s\n",
        line.submission.side.name(),
        line.submission.name,
        what,
        line.seconds
    )
}

/// The misses, and the rates.
pub fn rates(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        if let Err(miss) = &line.result {
            text += &format!(
                "\n{} ({}), expected: {}\n    {miss}\n",
                line.submission.name,
                line.submission.side.name(),
                line.submission.expectation.verdict
            );
        }
    }
    let rate = |side| {
        let of_side = || {
            lines
                .iter()
                .filter(move |line| line.submission.side == side)
        };
        let good = of_side().filter(|line| line.result.is_ok()).count();
        (good, of_side().count())
    };
    let (killed, hostile) = rate(Side::Hostile);
    let (passed, honest) = rate(Side::Honest);
    text += &format!(
        "\nkill rate: {killed} of {hostile} hostile submissions; false positives: {} of {honest} honest ones\n",
        honest - passed
    );
    text
}

/// Whether all is as expected.
pub fn is_perfect(lines: &[Line]) -> bool {
    lines.iter().all(|line| line.result.is_ok())
}
