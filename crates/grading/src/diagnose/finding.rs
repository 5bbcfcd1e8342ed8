//! The result of a diagnosis.

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;

/// The pattern of a run's wrong values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The output that most of this is about: the one with the largest share of wrong cells.
    pub field: String,
    /// Its extents, the fastest-varying axis first.
    pub axes: Vec<Axis>,
    /// Its first wrong cell, in memory order.
    pub first: WrongCell,
    /// How many of its cells are wrong.
    pub wrong: u64,
    /// How many of its cells are NaN or infinite. Cells that nothing wrote are not among them,
    /// whatever memory was filled with.
    pub non_finite: u64,
    /// How many cells it has: all were compared.
    pub cells: u64,
    /// Greatest absolute difference among its cells that are finite.
    pub max_error: Option<f64>,
    /// Every output, in the lab's order.
    pub fields: Vec<FieldDamage>,
    /// Its patterns, the most telling first; empty if there are none.
    pub patterns: Vec<Pattern>,
    /// After how many steps the places of `patterns` were taken, where that is not the last: there
    /// the damage has not spread yet.
    pub places_after_step: Option<u64>,
    /// The step at which it first goes wrong.
    pub first_wrong_step: Option<FirstWrongStep>,
    /// A picture.
    pub heat_map: Option<HeatMap>,
    /// A small map in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<CellMap>,
}

/// An axis of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// `x`, `y`, `z`.
    pub name: String,
    /// Cells along it.
    pub extent: u64,
}

/// A cell that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrongCell {
    /// Elements from the buffer's start.
    pub index: u64,
    /// In the problem's coordinates: `x = 3, y = 1`.
    pub place: String,
    /// The right value.
    pub expected: Cell,
    /// The value of the run.
    pub got: Cell,
}

/// The exact value of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The shortest decimal that reads back as the same number.
    pub decimal: String,
    /// Its bits, in hexadecimal.
    pub bits: String,
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.decimal, self.bits)
    }
}

/// How much of an output is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldDamage {
    /// The output's name.
    pub name: String,
    /// Wrong cells.
    pub wrong: u64,
    /// Those of them that are NaN or infinite, without the cells that nothing wrote.
    #[serde(default)]
    pub non_finite: u64,
    /// All cells.
    pub cells: u64,
}

/// When a field first goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum FirstWrongStep {
    /// After this number of steps it is wrong, after one less it was right.
    Step {
        /// Counted from 1.
        step: u64,
    },
    /// A launch does several steps: it is right before this one, and wrong after it.
    Launch {
        /// Counted from 1.
        launch: u64,
        /// Steps before it, after which all was right.
        right_after: u64,
        /// Steps after it.
        step: u64,
    },
    /// It was not looked for.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// A picture of where a field is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatMap {
    /// Its title: `u1`, `u at z = 7`.
    pub shows: String,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Cells along either axis in one pixel: it shows the worst of them.
    pub cells_per_pixel: u32,
    /// Pixels along either axis of one cell, where small fields are magnified.
    pub pixels_per_cell: u32,
    /// A PNG file, in Base64.
    pub png_base64: String,
}

/// A small map of a wrong field, in characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellMap {
    /// Its title: `u1`, `u at z = 7`.
    pub shows: String,
    /// Cells along the first axis in a character: it shows the worst of them.
    pub cells_per_column: u64,
    /// Cells along the second axis in a character.
    pub cells_per_row: u64,
    /// A line for each row, the first axis to the right: `.` right, `#` wrong, `_` never written.
    pub lines: Vec<String>,
    /// The characters of a line before which another block begins, where blocks have the field in
    /// rectangles that are large enough to be seen.
    pub block_columns: Vec<u64>,
    /// The lines before which another block begins.
    pub block_rows: Vec<u64>,
    /// Column and row of the character with the first wrong cell.
    pub first: [u64; 2],
    /// The thread that stored that cell.
    pub writer: Writer,
}

impl CellMap {
    /// A right cell.
    pub const RIGHT: char = '.';
    /// A wrong one.
    pub const WRONG: char = '#';
    /// One that nothing wrote.
    pub const UNWRITTEN: char = '_';
}

/// The thread that a cell has its value from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Writer {
    /// It is not known: a GPU does not say.
    Unknown,
    /// No thread stored it.
    Nobody,
    /// This one stored it last.
    Thread {
        /// Its launch, counted from 1.
        launch: u64,
        /// Its place: `block (1, 0, 0), thread (31, 0, 0)`.
        thread: String,
    },
}
