//! The patterns of wrong values, each with the sentence that says it.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::{count, grouped};

/// A pattern of damage. Its text is what it means, and where to look.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(tag = "pattern", rename_all = "snake_case")]
pub enum Pattern {
    /// Nothing was written: the cells hold what the buffer was filled with before the run.
    #[error("{}", unwritten(*cells))]
    Unwritten {
        /// How many of the wrong cells.
        cells: u64,
    },
    /// All cells are 0.
    #[error("every cell is 0")]
    AllZeros,
    /// The field is an input, unchanged.
    #[error("it is the input `{input}`, unchanged{}", nothing_or_others(*others_computed))]
    CopyOfInput {
        /// The input's name.
        input: String,
        /// Whether another output is not: the launches computed something.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        others_computed: bool,
    },
    /// Two outputs hold each other's values.
    #[error(
        "`{a}` and `{b}` are each other's: the outputs are swapped, or the last swap of the buffers is missing"
    )]
    SwappedFields {
        /// One of them.
        a: String,
        /// The other.
        b: String,
    },
    /// The field is the right one of another step.
    #[error("it is the right result of {}", other_step(*behind))]
    OtherStep {
        /// How many steps too few were made; negative if too many.
        behind: i64,
    },
    /// Only one of several outputs is wrong.
    #[error("only `{field}` is wrong, the other outputs are right")]
    OneFieldOnly {
        /// Its name.
        field: String,
    },
    /// At the first wrong step, a few cells are wrong.
    #[error("only {}", few_cells(*cells, first))]
    FewCells {
        /// How many.
        cells: u64,
        /// The first of them, in the problem's coordinates.
        first: String,
    },
    /// Only cells near the border are wrong.
    #[error("all wrong cells are {}, at {}", at_border(*depth), sides.join(", "))]
    BorderOnly {
        /// The sides: `x = 0`, `y = last`.
        sides: Vec<String>,
        /// How many cells deep, counted from the outermost.
        depth: u64,
    },
    /// Only the last cells along an axis are wrong: the part that does not fill a whole tile.
    #[error("{}: the part that does not fill a whole tile?", last_of(axis, *from, *extent))]
    LastPartialTile {
        /// The axis.
        axis: String,
        /// The first wrong coordinate.
        from: u64,
        /// Cells along the axis.
        extent: u64,
    },
    /// Wrong cells repeat with a period: where tiles meet.
    #[error(
        "wrong cells repeat every {period} cells along {axis}, at {axis} mod {period} = {}: where tiles meet; is the halo right?",
        list(offsets)
    )]
    TileSeams {
        /// The axis.
        axis: String,
        /// Cells between two seams.
        period: u64,
        /// The coordinates modulo the period that are wrong.
        offsets: Vec<u64>,
    },
    /// All wrong cells are in a narrow band across the field: one seam.
    #[error(
        "all wrong cells are at {axis} = {}: a source or a wall there, or two tiles that meet there?",
        range(*from, *to)
    )]
    Band {
        /// The axis across it.
        axis: String,
        /// Its first coordinate.
        from: u64,
        /// Its last.
        to: u64,
    },
    /// The field is the right one with two axes exchanged.
    #[error("it is right with {} and {} exchanged", axes[0], axes[1])]
    Transposed {
        /// The two axes.
        axes: [String; 2],
    },
    /// The field is the right one, moved along an axis.
    #[error("it is right but moved by {}", moved(axis, *by))]
    Shifted {
        /// The axis.
        axis: String,
        /// The cell at `c` holds what belongs at `c + by`.
        by: i64,
    },
    /// The values have fewer bits than the field's type: they went through a shorter one.
    #[error(
        "the values have only {mantissa_bits} significant bits: they went through a shorter type"
    )]
    ReducedPrecision {
        /// Bits of the mantissa that are used, the leading one included.
        mantissa_bits: u32,
    },
    /// Every wrong cell is a zero of the other sign.
    #[error(
        "the wrong values are zeros of the other sign, -0 for 0 or 0 for -0: a negation, a product by 0 or -1, or a sum in another order"
    )]
    SignOfZero,
    /// The differences are as small as those of rounding: another order of operations, not a
    /// mistake in the indices.
    #[error(
        "the differences are as small as those of rounding (at most {} ulp): another order of operations, or a fused multiply-add",
        grouped(*max_ulp)
    )]
    RoundingOnly {
        /// Greatest distance in units in the last place.
        max_ulp: u64,
    },
}

impl Pattern {
    /// The codes of all patterns.
    pub const CODES: [&'static str; 16] = [
        "unwritten",
        "all_zeros",
        "copy_of_input",
        "swapped_fields",
        "other_step",
        "one_field_only",
        "few_cells",
        "border_only",
        "last_partial_tile",
        "tile_seams",
        "band",
        "transposed",
        "shifted",
        "reduced_precision",
        "sign_of_zero",
        "rounding_only",
    ];

    /// The stable code, as in `report.json`.
    pub const fn code(&self) -> &'static str {
        match self {
            Pattern::Unwritten { .. } => "unwritten",
            Pattern::AllZeros => "all_zeros",
            Pattern::CopyOfInput { .. } => "copy_of_input",
            Pattern::SwappedFields { .. } => "swapped_fields",
            Pattern::OtherStep { .. } => "other_step",
            Pattern::OneFieldOnly { .. } => "one_field_only",
            Pattern::FewCells { .. } => "few_cells",
            Pattern::BorderOnly { .. } => "border_only",
            Pattern::LastPartialTile { .. } => "last_partial_tile",
            Pattern::TileSeams { .. } => "tile_seams",
            Pattern::Band { .. } => "band",
            Pattern::Transposed { .. } => "transposed",
            Pattern::Shifted { .. } => "shifted",
            Pattern::ReducedPrecision { .. } => "reduced_precision",
            Pattern::SignOfZero => "sign_of_zero",
            Pattern::RoundingOnly { .. } => "rounding_only",
        }
    }
}

fn unwritten(cells: u64) -> String {
    match cells {
        1 => {
            "1 of the wrong cells holds what was there before the run: nothing wrote it".to_owned()
        }
        _ => format!(
            "{} of the wrong cells hold what was there before the run: nothing wrote them",
            grouped(cells)
        ),
    }
}

fn nothing_or_others(others_computed: bool) -> &'static str {
    if others_computed {
        ", and another output is not: is a swap of the buffers missing, or the wrong buffer the output?"
    } else {
        ": nothing was computed, or the wrong buffer is the output"
    }
}

fn other_step(behind: i64) -> String {
    let steps = count(behind.unsigned_abs() as usize, "step");
    if behind > 0 {
        format!("{steps} earlier: too few steps, or outputs from before the last")
    } else {
        format!("{steps} later: too many steps")
    }
}

fn few_cells(cells: u64, first: &str) -> String {
    match cells {
        1 => format!("the cell at {first} is wrong"),
        _ => format!("{cells} cells are wrong, the first at {first}"),
    }
}

fn at_border(depth: u64) -> String {
    match depth {
        0 | 1 => "on the border".to_owned(),
        _ => format!("within {depth} cells of the border"),
    }
}

fn last_of(axis: &str, from: u64, extent: u64) -> String {
    match extent - from {
        1 => format!("only the last of {extent} cells along {axis} is wrong ({axis} = {from})"),
        last => format!(
            "only the last {last} of {extent} cells along {axis} are wrong ({axis} >= {from})"
        ),
    }
}

fn list(offsets: &[u64]) -> String {
    let offsets: Vec<String> = offsets.iter().map(u64::to_string).collect();
    offsets.join(", ")
}

fn range(from: u64, to: u64) -> String {
    if from == to {
        from.to_string()
    } else {
        format!("{from} to {to}")
    }
}

fn moved(axis: &str, by: i64) -> String {
    format!(
        "{}: cell {axis} holds what belongs at {axis} {} {}",
        count(by.unsigned_abs() as usize, "cell"),
        if by < 0 { '-' } else { '+' },
        by.abs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_json() {
        let unknown = serde_json::from_str::<Pattern>(r#"{"pattern":"x"}"#).unwrap_err();
        let unknown = unknown.to_string();
        let named = unknown.split('`').skip(3).step_by(2);
        assert_eq!(named.collect::<Vec<_>>(), Pattern::CODES);
        let some = [
            Pattern::AllZeros,
            Pattern::Unwritten { cells: 1 },
            Pattern::OtherStep { behind: 1 },
            Pattern::ReducedPrecision { mantissa_bits: 11 },
        ];
        for pattern in some {
            let json = serde_json::to_value(&pattern).unwrap();
            assert_eq!(json["pattern"], pattern.code());
        }
    }
}
