//! Reading what `--json` wrote, into the types that it was written from.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// What every document begins with.
#[derive(Debug, Deserialize)]
pub struct Head {
    /// Of the command's documents.
    pub schema_version: u32,
    /// What wrote it: `perf`.
    pub command: String,
}

impl Head {
    /// The head of a document.
    ///
    /// # Errors
    ///
    /// Why it is none of ours.
    pub fn of(text: &str) -> Result<Head, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Whether the rest can be read.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] for another version.
    pub fn expect_version(&self, known: u32) -> Result<(), Failure> {
        let version = self.schema_version;
        let remedy = match version {
            _ if version == known => return Ok(()),
            _ if version < known => "measure again with this one",
            _ => "read it with the program that wrote it, or a newer one",
        };
        Err(Failure::Input(format!(
            "has schema version {version}, this program reads version {known}; {remedy}"
        )))
    }
}

/// A document whose head is known.
///
/// # Errors
///
/// [`Failure::Input`] that names the field which is missing, is not what it should be, or says something that this program
/// would pass over.
pub fn document<T: Serialize + DeserializeOwned>(text: &str) -> Result<T, Failure> {
    let given = value(text)?;
    let document: T = serde_path_to_error::deserialize(&given)
        .map_err(|error| damaged(&error.path().to_string(), error.inner()))?;
    let known = serde_json::to_value(&document)
        .map_err(|error| Failure::Bug(format!("a document has no JSON form: {error}")))?;
    match unknown_field(&given, &known) {
        None => Ok(document),
        Some(field) => Err(Failure::Input(format!(
            "has the field `{field}`, which this program does not know; read it with the program that wrote it, or a newer one"
        ))),
    }
}

/// The document as plain JSON.
///
/// # Errors
///
/// [`Failure::Input`] for what is no JSON.
pub fn value(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::Input(format!("damaged: {error}")))
}

/// What is wrong, and in which field.
pub fn damaged(field: &str, error: &serde_json::Error) -> Failure {
    let field = match field {
        "." => String::new(),
        field => format!("`{field}`: "),
    };
    Failure::Input(format!("damaged: {field}{error}; measure again"))
}

/// The first field that one has and the other has not. What is empty says nothing, and may be left out.
fn unknown_field(given: &Value, known: &Value) -> Option<String> {
    let inner = |path: String, rest: String| match rest.starts_with('[') || rest.is_empty() {
        true => path + &rest,
        false => format!("{path}.{rest}"),
    };
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            given
                .iter()
                .find_map(|(name, value)| match known.get(name) {
                    Some(other) => {
                        unknown_field(value, other).map(|rest| inner(name.clone(), rest))
                    }
                    None => (!is_empty(value) && !is_head(name, given)).then(|| name.clone()),
                })
        }
        (Value::Array(given), Value::Array(known)) => {
            let mut pairs = given.iter().zip(known).enumerate();
            pairs.find_map(|(index, (value, other))| {
                unknown_field(value, other).map(|rest| inner(format!("[{index}]"), rest))
            })
        }
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// Documents that do not name their version have their head put in front of them.
fn is_head(name: &str, object: &Map<String, Value>) -> bool {
    matches!(name, "schema_version" | "command")
        && object.contains_key("schema_version")
        && object.contains_key("command")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer {
        name: String,
        inner: Vec<Inner>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        time_s: f64,
        kept: Option<u32>,
    }

    fn read(text: &str) -> Result<Outer, String> {
        document(text).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_document_is_read_with_its_head_and_what_is_empty() {
        let text = r#"{"schema_version": 1, "command": "x", "name": "a", "inner": [{"time_s": 1, "kept": null}], "note": null}"#;
        let inner = Inner {
            time_s: 1.0,
            kept: None,
        };
        let expected = Outer {
            name: "a".to_owned(),
            inner: vec![inner],
            note: None,
        };
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn fields_are_named() {
        let error = |text: &str| read(text).unwrap_err();
        insta::assert_snapshot!(error(r#"{"name": "a""#), @"damaged: EOF while parsing an object at line 1 column 12");
        insta::assert_snapshot!(error(r#"{"name": "a"}"#), @"damaged: missing field `inner`; measure again");
        insta::assert_snapshot!(error(r#"{"name": "a", "inner": [{"kept": 1}]}"#), @"damaged: `inner[0]`: missing field `time_s`; measure again");
        insta::assert_snapshot!(error(r#"{"name": "a", "inner": [{"time_s": "soon"}]}"#), @r#"damaged: `inner[0].time_s`: invalid type: string "soon", expected f64; measure again"#);
        insta::assert_snapshot!(error(r#"{"name": "a", "inner": [], "more": 0}"#), @"has the field `more`, which this program does not know; read it with the program that wrote it, or a newer one");
        insta::assert_snapshot!(error(r#"{"name": "a", "inner": [{"time_s": 1}, {"time_s": 1, "kept_s": 2}]}"#), @"has the field `inner[1].kept_s`, which this program does not know; read it with the program that wrote it, or a newer one");
    }

    #[test]
    fn other_versions_are_refused() {
        let head = |version| Head {
            schema_version: version,
            command: "perf".to_owned(),
        };
        let error = |version| head(version).expect_version(2).unwrap_err();
        assert_eq!(head(2).expect_version(2), Ok(()));
        insta::assert_snapshot!(error(1), @"has schema version 1, this program reads version 2; measure again with this one");
        insta::assert_snapshot!(error(3), @"has schema version 3, this program reads version 2; read it with the program that wrote it, or a newer one");
    }
}
