//! Why a text was refused, with its position and an excerpt.

use crate::types::{Pos, ScalarType};

/// A text that is not well-formed PTX, or that names something it does not declare.
///
/// Displays as `LINE:COLUMN: what is wrong`, then the line with a caret below the position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pos}: {kind}\n{excerpt}")]
pub struct Error {
    /// Where.
    pub pos: Pos,
    /// What.
    pub kind: ErrorKind,
    excerpt: String,
}

/// The kinds of errors in a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ErrorKind {
    #[error("unexpected character {0:?}")]
    UnexpectedCharacter(char),
    #[error("comment without end: expected `*/`")]
    UnterminatedComment,
    #[error("string without end: expected `\"` on the same line")]
    UnterminatedString,
    #[error("malformed number `{text}`: expected {expected}")]
    BadNumber {
        text: String,
        expected: &'static str,
    },
    #[error("expected {expected}, found {found}")]
    Expected { expected: String, found: String },
    #[error("{what} `{name}` is not declared")]
    Unknown { what: &'static str, name: String },
    #[error("{what} `{name}` is declared twice, first at {first}")]
    Duplicate {
        what: &'static str,
        name: String,
        first: Pos,
    },
    #[error("`{opcode}` takes {expected} operands, found {found}")]
    OperandCount {
        opcode: String,
        expected: String,
        found: usize,
    },
    #[error("`{operand}` has {bits} bit{}, but `{opcode}` with type {ty} needs {expected}", if *bits == 1 { "" } else { "s" })]
    Width {
        opcode: String,
        operand: String,
        bits: u32,
        ty: ScalarType,
        expected: &'static str,
    },
    #[error("`{opcode}` needs {expected} here, found {found}")]
    OperandKind {
        opcode: String,
        expected: &'static str,
        found: String,
    },
    #[error("`{opcode}` lacks its {missing}")]
    MissingModifier {
        opcode: String,
        missing: &'static str,
    },
    #[error("{what} is {value}, but at most {limit} is supported")]
    TooLarge {
        what: &'static str,
        value: u64,
        limit: u64,
    },
    #[error("{0}")]
    Invalid(String),
    #[error("directive `.{0}` is not supported")]
    UnsupportedDirective(String),
}

/// An [`Error`] before its excerpt is made: what reads a part of the text knows the position only.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pos: Pos,
    kind: Box<ErrorKind>,
}

impl Problem {
    /// A problem at a position.
    pub fn new(pos: Pos, kind: ErrorKind) -> Problem {
        Problem {
            pos,
            kind: Box::new(kind),
        }
    }

    /// A problem that one sentence says.
    pub fn invalid(pos: Pos, message: impl Into<String>) -> Problem {
        Problem::new(pos, ErrorKind::Invalid(message.into()))
    }

    /// The problem that a name is not declared. `what` it should name: "register", "label".
    pub fn unknown(what: &'static str, name: &str, pos: Pos) -> Problem {
        let name = name.to_string();
        Problem::new(pos, ErrorKind::Unknown { what, name })
    }

    pub(crate) fn into_error(self, source: &str) -> Error {
        Error {
            excerpt: excerpt(source, self.pos),
            pos: self.pos,
            kind: *self.kind,
        }
    }
}

/// Characters of a line shown on each side of the position; more are cut.
const CONTEXT: usize = 60;

/// The line of `pos` with carets below the token at its column.
fn excerpt(source: &str, pos: Pos) -> String {
    let line: Vec<char> = source
        .lines()
        .nth(pos.line as usize - 1)
        .unwrap_or("")
        .chars()
        .collect();
    let column = (pos.column as usize - 1).min(line.len());
    let (start, end) = (
        column.saturating_sub(CONTEXT),
        line.len().min(column + CONTEXT),
    );
    // Tabs and their like as one space each, so that the caret is below.
    let blank = |c: &char| if c.is_control() { ' ' } else { *c };
    let mut shown: String = line[start..end].iter().map(blank).collect();
    let mut caret = column - start;
    if start > 0 {
        shown.insert(0, '…');
        caret += 1;
    }
    if end < line.len() {
        shown.push('…');
    }
    let width = line[column..]
        .iter()
        .take_while(|c| is_token(**c))
        .count()
        .clamp(1, CONTEXT);
    let number = pos.line.to_string();
    let code = format!("{number} | {shown}");
    let marks = format!(
        "{} | {}{}",
        " ".repeat(number.len()),
        " ".repeat(caret),
        "^".repeat(width)
    );
    format!("{}\n{marks}", code.trim_end())
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}
