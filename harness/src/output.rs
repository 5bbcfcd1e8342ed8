//! Output files, and how a command fails that cannot write one.

use std::fmt::Display;
use std::path::Path;

use crate::failure::Failure;

pub use output_files::{OutputError, OutputFile, OutputFolder};

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Failure {
        let text = error.to_string();
        match error {
            OutputError::Path { .. } => Failure::Input(text),
            OutputError::NotWritten { .. } => Failure::Environment(text),
        }
    }
}

/// The failure of writing that stopped half-way.
pub fn not_written(target: &Path, error: &dyn Display) -> Failure {
    Failure::Environment(format!("cannot write {}: {error}", target.display()))
}
