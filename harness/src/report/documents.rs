//! What is read: the documents of `perf` and `run membench`.

use std::path::Path;

use crate::failure::Failure;
use crate::json::read::Head;
use crate::perf::results::Results;
use crate::run::membench::Measured;

/// A document.
#[derive(Debug, Clone)]
pub enum Document {
    /// Of `harness perf`.
    Perf(Box<Results>),
    /// Of `harness run membench`.
    Membench(Box<Measured>),
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] for a file that cannot be read, is none of ours, has another version, or other fields.
    pub fn read(path: &Path) -> Result<Document, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::Input(format!("cannot be read: {}", error.kind())));
        text.and_then(|text| Document::parse(&text))
            .map_err(|failure| failure.context(path.display()))
    }

    /// Reads a document's text.
    ///
    /// # Errors
    ///
    /// As [`Document::read`].
    pub fn parse(text: &str) -> Result<Document, Failure> {
        const REMEDY: &str =
            "write one with `harness perf --json=FILE` or `harness run membench --json=FILE`";
        let head = Head::of(text)
            .map_err(|error| Failure::Input(format!("no results of ours: {error}; {REMEDY}")))?;
        match head.command.as_str() {
            "perf" => Ok(Document::Perf(Box::new(Results::parse(text)?))),
            "run membench" => {
                let measured = Measured::parse(&head, text)?;
                Ok(Document::Membench(Box::new(measured)))
            }
            other => Err(Failure::Input(format!(
                "results of `harness {other}`; {REMEDY}"
            ))),
        }
    }
}
