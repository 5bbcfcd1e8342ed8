//! Reading a document back.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;

use super::{Figures, Results, SCHEMA_VERSION};
use crate::failure::Failure;
use crate::json::read::{self, Head};

impl Results {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] for a file that cannot be read, is none of ours, has another version, or other fields.
    pub fn read(path: &Path) -> Result<Results, Failure> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::Input(match error.kind() {
                ErrorKind::NotFound => {
                    format!("{name}: there is no such file; `harness perf --json={name}` makes one")
                }
                kind => format!("{name}: cannot be read: {kind}"),
            })
        })?;
        Results::parse(&text).map_err(|failure| failure.context(name))
    }

    /// Reads a document's text.
    ///
    /// # Errors
    ///
    /// As [`Results::read`].
    pub fn parse(text: &str) -> Result<Results, Failure> {
        let remedy = "write one with `harness perf --json=FILE`";
        let head = Head::of(text).map_err(|error| {
            Failure::Input(format!("no results of `harness perf`: {error}; {remedy}"))
        })?;
        if head.command != "perf" {
            let command = head.command;
            return Err(Failure::Input(format!(
                "results of `harness {command}`, not of `harness perf`; {remedy}"
            )));
        }
        head.expect_version(SCHEMA_VERSION)?;
        read::document(text).map_err(|failure| damaged_row(text).unwrap_or(failure))
    }
}

/// What is wrong with the figures of a row. The outcome decides what else a row has, so that its fields are read apart, and
/// their places lost.
fn damaged_row(text: &str) -> Option<Failure> {
    let document = read::value(text).ok()?;
    let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let cases = list(&document, "cases").into_iter().enumerate();
    let mut rows = cases.flat_map(|(index, case)| {
        let rows = list(&case, "rows").into_iter().enumerate();
        rows.map(move |(row, value)| (format!("cases[{index}].rows[{row}]"), value))
    });
    rows.find_map(|(place, row)| {
        if row["outcome"] != "timed" {
            return None;
        }
        let error = serde_path_to_error::deserialize::<_, Figures>(&row).err()?;
        let place = match error.path().to_string().as_str() {
            "." => place,
            path => format!("{place}.{path}"),
        };
        Some(read::damaged(&place, error.inner()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_explained() {
        let error = |text: &str| Results::parse(text).unwrap_err().context("a.json");
        insta::assert_snapshot!(error("{"), @"a.json: no results of `harness perf`: EOF while parsing an object at line 1 column 1; write one with `harness perf --json=FILE`");
        insta::assert_snapshot!(error("[1]"), @"a.json: no results of `harness perf`: invalid length 1, expected struct Head with 2 elements at line 1 column 3; write one with `harness perf --json=FILE`");
        insta::assert_snapshot!(error(r#"{"schema_version": 1, "command": "test"}"#), @"a.json: results of `harness test`, not of `harness perf`; write one with `harness perf --json=FILE`");
        insta::assert_snapshot!(error(r#"{"schema_version": 1, "command": "perf"}"#), @"a.json: has schema version 1, this program reads version 2; measure again with this one");
        insta::assert_snapshot!(error(r#"{"schema_version": 3, "command": "perf"}"#), @"a.json: has schema version 3, this program reads version 2; read it with the program that wrote it, or a newer one");
        insta::assert_snapshot!(error(r#"{"schema_version": 2, "command": "perf"}"#), @"a.json: damaged: missing field `harness_version`; measure again");
        let failure = Results::read(Path::new("no/such.json")).unwrap_err();
        insta::assert_snapshot!(failure, @"no/such.json: there is no such file; `harness perf --json=no/such.json` makes one");
        assert_eq!(failure.exit_code(), crate::exit::BAD_INPUT);
    }
}
