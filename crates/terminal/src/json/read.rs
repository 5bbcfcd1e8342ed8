//! Reads what `--json` wrote, into the types that it was written from.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::error::Category;

use exit::CommandError;

/// The fields that every document begins with.
#[derive(Debug, Deserialize)]
pub struct Head {
    /// Of the command's documents.
    pub schema_version: u32,
    /// The command that wrote it: `perf`.
    pub command: String,
}

impl Head {
    /// The head of a document.
    ///
    /// # Errors
    ///
    /// Why it is none of ours, in words that follow the file's name and a colon.
    pub fn of(text: &str) -> Result<Head, String> {
        if text.trim().is_empty() {
            return Err("is empty".to_owned());
        }
        if text.starts_with('\u{feff}') {
            // RFC 8259, section 8.1: none is to be written. PowerShell and some editors do.
            return Err("begins with a byte order mark (save it as UTF-8 without one)".to_owned());
        }
        serde_json::from_str(text).map_err(|error| match error.classify() {
            Category::Eof => format!("ends early, in line {}", error.line()),
            Category::Data => "does not begin with `schema_version` and `command`".to_owned(),
            Category::Syntax | Category::Io => format!(
                "is not JSON, in line {}, column {}",
                error.line(),
                error.column()
            ),
        })
    }

    /// Whether the rest can be read.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for another version.
    pub fn expect_version(&self, known: u32) -> Result<(), CommandError> {
        let version = self.schema_version;
        let remedy = match version {
            _ if version == known => return Ok(()),
            _ if version < known => "measure again with this one",
            _ => "read it with the program that wrote it, or a newer one",
        };
        Err(CommandError::Input(format!(
            "has schema version {version}, this program reads version {known}; {remedy}"
        )))
    }
}

/// Reads a document whose head is known. Fields that this program does not know are passed over: a
/// later program of the same version may have added them.
///
/// # Errors
///
/// [`CommandError::Input`] that names the field that is missing, or is not what it should be.
pub fn document<T: DeserializeOwned>(text: &str) -> Result<T, CommandError> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        CommandError::Input(if error.is_eof() {
            format!(
                "damaged: it ends early, in line {}; measure again",
                error.line()
            )
        } else {
            format!("damaged: {error}; measure again")
        })
    })?;
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let field = match error.path().to_string().as_str() {
            "." => String::new(),
            field => format!("`{field}`: "),
        };
        CommandError::Input(format!("damaged: {field}{}; measure again", error.inner()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        name: String,
        inner: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        time_s: f64,
    }

    fn read(text: &str) -> Result<Outer, String> {
        document(text).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_document_is_read_with_its_head_and_what_was_added() {
        let text = r#"{"schema_version": 1, "command": "x", "name": "a", "inner": [{"time_s": 1, "kept": null}], "note": 7}"#;
        let expected = Outer {
            name: "a".to_owned(),
            inner: vec![Inner { time_s: 1.0 }],
        };
        assert_eq!(read(text), Ok(expected));
    }

    #[test]
    fn fields_are_named() {
        let error = |text: &str| read(text).unwrap_err();
        insta::assert_snapshot!(error(r#"{"name": "a""#), @"damaged: it ends early, in line 1; measure again");
        insta::assert_snapshot!(error(r#"{"name": "a"}"#), @"damaged: missing field `inner`; measure again");
        insta::assert_snapshot!(error(r#"{"name": "a", "inner": [{"kept": 1}]}"#), @"damaged: `inner[0]`: missing field `time_s`; measure again");
        insta::assert_snapshot!(error(r#"{"name": "a", "inner": [{"time_s": "soon"}]}"#), @r#"damaged: `inner[0].time_s`: invalid type: string "soon", expected f64; measure again"#);
    }

    #[test]
    fn what_is_no_document_of_ours_is_told_in_words() {
        let why = |text: &str| Head::of(text).unwrap_err();
        assert_eq!(why(" \n"), "is empty");
        assert_eq!(why("{\"command\": \"perf\""), "ends early, in line 1");
        assert_eq!(why("text"), "is not JSON, in line 1, column 2");
        assert_eq!(
            why("\u{feff}{}"),
            "begins with a byte order mark (save it as UTF-8 without one)"
        );
        let no_head = "does not begin with `schema_version` and `command`";
        for text in [
            "{}",
            "[]",
            "3",
            r#"{"schema_version": "4", "command": "x"}"#,
        ] {
            assert_eq!(why(text), no_head, "{text}");
        }
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
