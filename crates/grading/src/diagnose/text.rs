//! A diagnosis in sentences.

use units::{grouped, three};

use super::finding::{Diagnosis, FirstWrongStep, WrongCell};
use super::pattern::Pattern;

/// The subject of a sentence of a diagnosis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About<'d> {
    /// How much is wrong.
    Extent,
    /// The first wrong cell.
    First,
    /// The step at which it goes wrong.
    Step,
    /// A pattern of the wrong cells.
    Pattern(&'d Pattern),
}

/// The diagnosis, one sentence per line, the most useful first.
pub fn lines(diagnosis: &Diagnosis) -> Vec<String> {
    let sentences = sentences(diagnosis, true).into_iter();
    sentences.map(|(_, sentence)| sentence).collect()
}

/// The diagnosis in sentences, the most useful first. Without `with_bits`, values are decimals
/// alone, unless only their bits tell the two apart.
pub fn sentences(diagnosis: &Diagnosis, with_bits: bool) -> Vec<(About<'_>, String)> {
    let mut sentences = vec![(About::Extent, extent(diagnosis))];
    let WrongCell {
        place,
        expected,
        got,
        ..
    } = &diagnosis.first;
    let has_bits = with_bits || expected.decimal == got.decimal;
    let [right, wrong] = [expected, got].map(|cell| {
        if has_bits {
            cell.to_string()
        } else {
            cell.decimal.clone()
        }
    });
    sentences.push((
        About::First,
        format!("first at {place}: expected {right}, got {wrong}"),
    ));
    let first_step = diagnosis.first_wrong_step.as_ref().map(first_wrong);
    sentences.extend(first_step.map(|sentence| (About::Step, sentence)));
    for pattern in &diagnosis.patterns {
        let mut line = pattern.to_string();
        if let (true, Some(step)) = (is_place(pattern), diagnosis.places_after_step) {
            line = format!("after step {step}: {line}");
        }
        sentences.push((About::Pattern(pattern), line));
    }
    sentences
}

fn first_wrong(step: &FirstWrongStep) -> String {
    match step {
        FirstWrongStep::Step { step: number } => format!("wrong from step {number} on"),
        FirstWrongStep::Launch {
            launch,
            right_after,
            step: after,
        } => {
            let before = match right_after {
                0 => String::new(),
                steps => format!(", right after step {steps}"),
            };
            format!("wrong from launch {launch} on: after step {after}{before}")
        }
        FirstWrongStep::Unknown { reason } => {
            format!("at which step it first goes wrong is not known: {reason}")
        }
    }
}

fn extent(diagnosis: &Diagnosis) -> String {
    let mut text = format!(
        "`{}` is wrong in {} of {} cells",
        diagnosis.field,
        grouped(diagnosis.wrong),
        grouped(diagnosis.cells)
    );
    let unwritten = diagnosis.patterns.iter().find_map(|pattern| match pattern {
        Pattern::Unwritten { cells } => Some(*cells),
        _ => None,
    });
    if let Some(cells) = unwritten {
        text += &format!(", {} never written", grouped(cells));
    }
    if diagnosis.non_finite > 0 {
        text += &format!(", {} NaN or infinite", grouped(diagnosis.non_finite));
    }
    if let Some(error) = diagnosis.max_error {
        text += &format!(", by at most {}", magnitude(error));
    }
    let others: Vec<String> = diagnosis
        .fields
        .iter()
        .filter(|field| field.name != diagnosis.field)
        .map(|field| match field.wrong {
            0 => format!("`{}` is right", field.name),
            wrong => format!("`{}` in {}", field.name, grouped(wrong)),
        })
        .collect();
    if !others.is_empty() {
        text += &format!("; {}", others.join(", "));
    }
    text
}

/// Three digits, with an exponent where there would be many zeros.
fn magnitude(value: f64) -> String {
    if (1e-3..1e6).contains(&value) {
        three(value)
    } else {
        format!("{value:.2e}")
    }
}

fn is_place(pattern: &Pattern) -> bool {
    matches!(
        pattern,
        Pattern::FewCells { .. }
            | Pattern::BorderOnly { .. }
            | Pattern::LastPartialTile { .. }
            | Pattern::TileSeams { .. }
            | Pattern::Band { .. }
    )
}
