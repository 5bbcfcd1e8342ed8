//! The file as it is written: TOML, with positions.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::CourseError;

/// A lab file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub format_version: Spanned<u64>,
    pub lab: Spanned<String>,
    pub tolerance: Spanned<Tolerance>,
    #[serde(default)]
    pub case: Vec<Spanned<Case>>,
    #[serde(default)]
    pub performance: Vec<Spanned<Performance>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    pub rule: Spanned<String>,
    pub factor: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: Spanned<String>,
    pub group: Spanned<String>,
    pub points: Spanned<f64>,
    pub params: Spanned<BTreeMap<Spanned<String>, Spanned<toml::Value>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Performance {
    pub case: Spanned<String>,
    pub points: Spanned<f64>,
    pub against: Spanned<String>,
    pub variant: Option<Spanned<String>>,
    pub zero: Spanned<f64>,
    pub full: Spanned<f64>,
}

/// Reads the text; names, numbers and combinations are not checked yet.
pub fn parse(text: &str, file: &str) -> Result<File, CourseError> {
    toml::from_str(text).map_err(|error| CourseError {
        file: file.to_owned(),
        line: error.span().map_or(1, |span| line(text, span.start)),
        // The parser's words may span lines; a message of ours has one.
        message: error.message().lines().collect::<Vec<_>>().join(", "),
    })
}

/// The line, from 1, of a byte of the text.
pub fn line(text: &str, byte: usize) -> usize {
    1 + text.as_bytes()[..byte.min(text.len())]
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count()
}
