//! From a lab file's text to what it states.

use std::path::Path;

use super::{Course, CourseError, check, file};
use crate::failure::Failure;

impl Course {
    /// Reads and checks a lab file's text; `file` is its name for messages.
    ///
    /// # Errors
    ///
    /// The first fault, with its line.
    pub fn parse(text: &str, file: &str) -> Result<Course, CourseError> {
        check::check(file::parse(text, file)?, text, file)
    }

    /// Reads and checks a lab file, which `flag` named.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`]: what cannot be read, or the first fault, with its line.
    pub fn read(flag: &str, path: &Path) -> Result<Course, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::Input(format!(
                "{flag} {}: cannot be read: {error}",
                path.display()
            ))
        })?;
        Course::parse(&text, &path.display().to_string())
            .map_err(|error| Failure::Input(error.to_string()))
    }
}
