//! A diagnosis in sentences.

use units::{grouped, three};

use super::finding::{Diagnosis, FirstWrongStep};
use super::pattern::Pattern;

/// The diagnosis, one sentence per line, the most useful first.
pub fn lines(diagnosis: &Diagnosis) -> Vec<String> {
    let mut lines = vec![extent(diagnosis)];
    let first = &diagnosis.first;
    lines.push(format!(
        "first at {}: expected {}, got {}",
        first.place, first.expected, first.got
    ));
    match &diagnosis.first_wrong_step {
        Some(FirstWrongStep::Step { step }) => lines.push(format!("wrong from step {step} on")),
        Some(FirstWrongStep::Launch {
            launch,
            right_after,
            step,
        }) => {
            let before = match right_after {
                0 => String::new(),
                steps => format!(", right after step {steps}"),
            };
            lines.push(format!(
                "wrong from launch {launch} on: after step {step}{before}"
            ));
        }
        Some(FirstWrongStep::Unknown { reason }) => {
            lines.push(format!(
                "at which step it first goes wrong is not known: {reason}"
            ));
        }
        None => {}
    }
    for pattern in &diagnosis.patterns {
        let mut line = pattern.to_string();
        if let (true, Some(step)) = (is_place(pattern), diagnosis.places_after_step) {
            line = format!("after step {step}: {line}");
        }
        lines.push(line);
    }
    lines
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
