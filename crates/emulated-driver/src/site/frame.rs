//! What a place is made of.

use std::path::PathBuf;

/// A source line of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A frame of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) function: String,
    pub(super) line: Option<Line>,
}

/// A file of code in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    pub(super) path: PathBuf,
    /// How far it lies behind the addresses that it was linked for.
    pub(super) bias: usize,
}
