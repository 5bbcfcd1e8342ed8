//! What is wrong with a lab file, and where.

use thiserror::Error;

/// A lab file that makes no sense: file, line, reason.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}: {message}")]
pub struct CourseError {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there, and how it should be.
    pub message: String,
}
