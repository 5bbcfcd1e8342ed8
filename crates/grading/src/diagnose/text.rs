//! A diagnosis in sentences.

use units::{count, grouped, three};

use super::finding::{Diagnosis, FirstWrongStep, Pattern};

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
        let mut line = sentence(pattern);
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

/// The meaning of a pattern, and where to look.
pub fn sentence(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Unwritten { cells: 1 } => {
            "1 of the wrong cells holds what was there before the run: nothing wrote it".to_owned()
        }
        Pattern::Unwritten { cells } => format!(
            "{} of the wrong cells hold what was there before the run: nothing wrote them",
            grouped(*cells)
        ),
        Pattern::AllZeros => "every cell is 0".to_owned(),
        Pattern::CopyOfInput {
            input,
            others_computed: false,
        } => {
            format!(
                "it is the input `{input}`, unchanged: nothing was computed, or the wrong buffer is the output"
            )
        }
        Pattern::CopyOfInput {
            input,
            others_computed: true,
        } => {
            format!(
                "it is the input `{input}`, unchanged, and another output is not: is a swap of the buffers missing, or the wrong buffer the output?"
            )
        }
        Pattern::SwappedFields { a, b } => {
            format!(
                "`{a}` and `{b}` are each other's: the outputs are swapped, or the last swap of the buffers is missing"
            )
        }
        Pattern::OtherStep { behind } if *behind > 0 => format!(
            "it is the right result of {} earlier: too few steps, or outputs from before the last",
            count(behind.unsigned_abs() as usize, "step")
        ),
        Pattern::OtherStep { behind } => format!(
            "it is the right result of {} later: too many steps",
            count(behind.unsigned_abs() as usize, "step")
        ),
        Pattern::OneFieldOnly { field } => {
            format!("only `{field}` is wrong, the other outputs are right")
        }
        Pattern::FewCells { cells: 1, first } => {
            format!("only the cell at {first} is wrong")
        }
        Pattern::FewCells { cells, first } => {
            format!("only {cells} cells are wrong, the first at {first}")
        }
        Pattern::BorderOnly { sides, depth } => {
            let within = match depth {
                0 | 1 => "on the border".to_owned(),
                _ => format!("within {depth} cells of the border"),
            };
            format!("all wrong cells are {within}, at {}", sides.join(", "))
        }
        Pattern::LastPartialTile { axis, from, extent } => {
            let last = match extent - from {
                1 => format!("only the last of {extent} cells along {axis} is wrong ({axis} = {from})"),
                last => format!(
                    "only the last {last} of {extent} cells along {axis} are wrong ({axis} >= {from})"
                ),
            };
            format!("{last}: the part that does not fill a whole tile?")
        }
        Pattern::TileSeams {
            axis,
            period,
            offsets,
        } => {
            let offsets: Vec<String> = offsets.iter().map(u64::to_string).collect();
            format!(
                "wrong cells repeat every {period} cells along {axis}, at {axis} mod {period} = {}: where tiles meet; is the halo right?",
                offsets.join(", ")
            )
        }
        Pattern::Band { axis, from, to } => {
            let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
            format!(
                "all wrong cells are at {axis} = {range}: a source or a wall there, or two tiles that meet there?"
            )
        }
        Pattern::Transposed { axes: [a, b] } => {
            format!("it is right with {a} and {b} exchanged")
        }
        Pattern::Shifted { axis, by } => format!(
            "it is right but moved by {}: cell {axis} holds what belongs at {axis} {} {}",
            count(by.unsigned_abs() as usize, "cell"),
            if *by < 0 { '-' } else { '+' },
            by.abs()
        ),
        Pattern::ReducedPrecision { mantissa_bits } => format!(
            "the values have only {mantissa_bits} significant bits: they went through a shorter type"
        ),
        Pattern::SignOfZero => {
            "the wrong values are zeros of the other sign, -0 for 0 or 0 for -0: a negation, a product by 0 or -1, or a sum in another order"
                .to_owned()
        }
        Pattern::RoundingOnly { max_ulp } => format!(
            "the differences are as small as those of rounding (at most {} ulp): another order of operations, or a fused multiply-add",
            grouped(*max_ulp)
        ),
    }
}
