//! A verdict beside the one before.

use grading::outcome::Outcome;
use grading::report::{CaseGrade, GradeReport};

/// The difference of two verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Points more.
    pub points: f64,
    /// Cases that fail no longer.
    pub right: Vec<String>,
    /// Cases that did not fail before.
    pub wrong: Vec<String>,
    /// Cases that fail in another way.
    pub otherwise: Vec<String>,
    /// Whether all was right before.
    pub was_right: bool,
}

impl Change {
    /// From one verdict to the next on the same lab. Of a submission that was refused as a whole no
    /// case is named: they all are like it.
    pub fn between(before: &GradeReport, now: &GradeReport) -> Change {
        let mut change = Change {
            points: now.totals.earned - before.totals.earned,
            right: Vec::new(),
            wrong: Vec::new(),
            otherwise: Vec::new(),
            was_right: before.is_right(),
        };
        if before.refused.is_some() || now.refused.is_some() {
            return change;
        }
        for case in &now.cases {
            let Some(old) = before.cases.iter().find(|old| old.name == case.name) else {
                continue;
            };
            let name = case.name.clone();
            match (old.status.kind(), case.status.kind()) {
                (Some(_), None) if is_right(case) => change.right.push(name),
                (None, Some(_)) => change.wrong.push(name),
                (Some(old), Some(new)) if old != new => change.otherwise.push(name),
                _ => {}
            }
        }
        change
    }
}

/// Whether the case was graded, and passed.
pub fn is_right(case: &CaseGrade) -> bool {
    matches!(case.status, Outcome::Passed | Outcome::Measured)
}
