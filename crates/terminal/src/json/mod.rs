//! `--json`: the same report for programs.
//!
//! Every document is one object with `schema_version` and `command`. The version goes up when a
//! field is removed or changes its meaning; fields may be added without.

pub mod read;

use std::path::Path;

use clap::Args;
use serde::Serialize;

use crate::stdout::Out;
use exit::CommandError;
use output_files::{OutputDocument, OutputPath};

/// Version of all the documents that do not name their own.
pub const SCHEMA_VERSION: u32 = 1;

/// The flag.
#[derive(Debug, Clone, Default, Args)]
pub struct JsonArg {
    /// Also write the report as JSON to FILE; without FILE, print JSON instead of the usual report
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    json: Option<Option<OutputPath>>,
}

/// Where the document goes.
#[derive(Debug)]
pub enum JsonOut {
    /// Nowhere.
    No,
    /// To standard output, instead of the usual report.
    Stdout,
    /// To a file, beside the usual report.
    File(OutputDocument),
}

impl JsonArg {
    /// Prepares the file, if there is one.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if it cannot be written.
    pub fn open(&self) -> Result<JsonOut, CommandError> {
        match &self.json {
            None => Ok(JsonOut::No),
            Some(None) => Ok(JsonOut::Stdout),
            Some(Some(file)) if **file == *Path::new("-") => Ok(JsonOut::Stdout),
            Some(Some(file)) => Ok(JsonOut::File(OutputDocument::create("--json", file)?)),
        }
    }
}

impl JsonOut {
    /// Whether the usual report is wanted.
    pub fn wants_text(&self) -> bool {
        !matches!(self, JsonOut::Stdout)
    }

    /// Writes the document where it goes.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if it cannot be written.
    pub fn write(
        &self,
        command: &'static str,
        report: impl Serialize,
        out: &mut Out<'_>,
    ) -> Result<(), CommandError> {
        #[derive(Serialize)]
        struct Document<R> {
            schema_version: u32,
            command: &'static str,
            #[serde(flatten)]
            report: R,
        }
        if matches!(self, JsonOut::No) {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&Document {
            schema_version: SCHEMA_VERSION,
            command,
            report,
        });
        let bug = |error| CommandError::Bug(format!("the report has no JSON form: {error}"));
        self.write_text(&text.map_err(bug)?, out)
    }

    /// Writes a document that names its own version.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if it cannot be written.
    pub fn write_text(&self, text: &str, out: &mut Out<'_>) -> Result<(), CommandError> {
        match self {
            JsonOut::No => Ok(()),
            JsonOut::Stdout => out.line(text),
            JsonOut::File(file) => Ok(file.write_all(format!("{text}\n").as_bytes())?),
        }
    }
}
