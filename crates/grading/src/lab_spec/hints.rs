//! The hints of a lab, `labs/<lab>/hints.toml`: what `harness watch` shows on request.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::{Group, LabSpec, LabSpecError};
use crate::outcome::Kind;

/// The longest hint, in characters: two or three lines of a terminal.
const LONGEST: usize = 240;

/// A hint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlHint {
    kinds: Vec<Kind>,
    #[serde(default)]
    cases: Vec<Spanned<String>>,
    text: Spanned<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlHints {
    hint: Vec<Spanned<TomlHint>>,
}

/// Help with a failure, in the author's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The kinds of failure that it helps with; at least one.
    pub kinds: Vec<Kind>,
    /// The cases in which it does; all, if there are none.
    pub cases: Vec<String>,
    /// One to three sentences.
    pub text: String,
    /// The line in the file, from 1.
    pub line: usize,
}

/// A lab's hints, from gentle to concrete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints(Vec<Hint>);

impl Hints {
    /// Reads and checks a lab's hints; `file` is the file's name for messages.
    ///
    /// # Errors
    ///
    /// The first fault, with its line: a kind or a case that does not exist or that is hidden, a
    /// text that is empty or longer than three lines.
    pub fn parse(text: &str, file: &str, lab_spec: &LabSpec) -> Result<Hints, LabSpecError> {
        let line_of = |span: Range<usize>| {
            let before = &text.as_bytes()[..span.start.min(text.len())];
            1 + before.iter().filter(|&&byte| byte == b'\n').count()
        };
        let error = |span: Range<usize>, message: String| LabSpecError::Invalid {
            file: file.to_owned(),
            line: line_of(span),
            message,
        };
        let parsed: TomlHints = toml::from_str(text).map_err(|cause| {
            let message = cause.message().lines().collect::<Vec<_>>().join(", ");
            error(cause.span().unwrap_or(0..0), message)
        })?;
        let mut hints = Vec::new();
        for hint in parsed.hint {
            let span = hint.span();
            let hint = hint.into_inner();
            if hint.kinds.is_empty() {
                let message = "`kinds` names no kind of failure".to_owned();
                return Err(error(span, message));
            }
            for name in &hint.cases {
                let case = lab_spec.case(name.get_ref());
                if case.is_none_or(|case| case.group == Group::Hidden) {
                    let message = format!(
                        "students have no case `{}` in lab {}",
                        name.get_ref(),
                        lab_spec.lab.name
                    );
                    return Err(error(name.span(), message));
                }
            }
            let length = hint.text.get_ref().trim().chars().count();
            if length == 0 || length > LONGEST {
                let message =
                    format!("a hint has 1 to {LONGEST} characters, and this one has {length}");
                return Err(error(hint.text.span(), message));
            }
            hints.push(Hint {
                kinds: hint.kinds,
                cases: hint.cases.into_iter().map(Spanned::into_inner).collect(),
                text: hint.text.into_inner().trim().to_owned(),
                line: line_of(span),
            });
        }
        Ok(Hints(hints))
    }

    /// All of them, in the file's order.
    pub fn all(&self) -> &[Hint] {
        &self.0
    }

    /// Those for a failure of this kind in this case, in the file's order.
    pub fn about(&self, kind: Kind, case: &str) -> Vec<&Hint> {
        let fits = |hint: &&Hint| {
            hint.kinds.contains(&kind)
                && (hint.cases.is_empty() || hint.cases.iter().any(|name| name == case))
        };
        self.0.iter().filter(fits).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab_spec::{embedded, embedded_files, embedded_hints};

    fn refusal(text: &str) -> String {
        let lab_spec = embedded("wave2d").unwrap();
        let error = Hints::parse(text, "hints.toml", lab_spec).unwrap_err();
        error.to_string()
    }

    #[test]
    fn every_lab_has_hints_for_what_its_starter_does_wrong() {
        for (lab, ..) in embedded_files() {
            let hints = embedded_hints(lab).unwrap();
            let first = &embedded(lab).unwrap().cases[0].name;
            assert!(hints.all().len() >= 3, "{lab}");
            let about = |kind| hints.about(kind, first).len();
            assert!(
                about(Kind::WrongResult) + about(Kind::NonFinite) > 0,
                "{lab}"
            );
        }
    }

    #[test]
    fn a_hint_is_for_kinds_and_cases() {
        let text = r#"
[[hint]]
kinds = ["race"]
text = "a"
[[hint]]
kinds = ["race", "wrong_result"]
cases = ["one-step"]
text = " b "
"#;
        let hints = Hints::parse(text, "hints.toml", embedded("wave2d").unwrap()).unwrap();
        let about = |kind, case| -> Vec<&str> {
            let about = hints.about(kind, case).into_iter();
            about.map(|hint| hint.text.as_str()).collect()
        };
        assert_eq!(about(Kind::Race, "one-step"), ["a", "b"]);
        assert_eq!(about(Kind::Race, "long-row"), ["a"]);
        assert_eq!(about(Kind::WrongResult, "one-step"), ["b"]);
        assert_eq!(about(Kind::Barrier, "one-step"), [""; 0]);
        assert_eq!((hints.all()[0].line, hints.all()[1].line), (2, 5));
    }

    #[test]
    fn mistakes_are_refused_with_their_line() {
        let wrong = [
            "[[hint]]\nkinds = [\"rase\"]\ntext = \"a\"",
            "[[hint]]\nkinds = []\ntext = \"a\"",
            "[[hint]]\nkinds = [\"race\"]\ntext = \"\"",
            "[[hint]]\nkinds = [\"race\"]\n\ncases = [\"one-stop\"]\ntext = \"a\"",
            "[[hint]]\nkinds = [\"race\"]\ntext = \"a\"\n\ncase = \"b\"",
            "[[hint]]\nkinds = [\"race\"]\ncases = [\"hidden-1\"]\ntext = \"a\"",
        ];
        insta::assert_snapshot!(wrong.map(refusal).join("\n"));
    }
}
