//! The hints of a lab, `labs/<lab>/hints.toml`: what `harness watch` shows on request.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::{Group, LabSpec, LabSpecError};
use crate::diagnose::Pattern;
use crate::outcome::{Failure, Kind, Memory};

/// The longest hint, in characters: two or three lines of a terminal.
const LONGEST: usize = 240;

/// A hint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlHint {
    kinds: Vec<Kind>,
    #[serde(default)]
    cases: Vec<Spanned<String>>,
    #[serde(default)]
    patterns: Vec<Spanned<String>>,
    memory: Option<Memory>,
    text: Spanned<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlHints {
    hint: Vec<Spanned<TomlHint>>,
    counted: Option<Spanned<TomlCounted>>,
}

/// The case whose counts are shown beside the handout's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlCounted {
    params: toml::Table,
    figures: Vec<Spanned<Figure>>,
}

/// A figure of the handout.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The count's, one of [`COUNTS`](device::COUNTS).
    pub count: String,
    /// The figure: that many of it for 32 updates, as a warp makes them.
    pub value: f64,
    /// The step of the handout that has it.
    pub step: u32,
}

/// The counts that the handout is about: of a case that is large enough for them, which no grade
/// has.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// The lab's parameters, without a seed, as a lab file has them.
    pub(super) params: toml::Table,
    /// The handout's figures, in its order.
    pub figures: Vec<Figure>,
}

/// Help with a failure, in the author's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The kinds of failure that it helps with; at least one.
    pub kinds: Vec<Kind>,
    /// The cases in which it does; all, if there are none.
    pub cases: Vec<String>,
    /// The patterns of wrong values, by their codes, that it is about; any or none, if there are
    /// none.
    pub patterns: Vec<String>,
    /// The memory of the races that it is about; any, if none is named.
    pub memory: Option<Memory>,
    /// One to three sentences.
    pub text: String,
    /// The line in the file, from 1.
    pub line: usize,
}

/// A lab's hints, from gentle to concrete.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hints {
    all: Vec<Hint>,
    counted: Option<Counted>,
}

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
            for pattern in &hint.patterns {
                if !Pattern::CODES.contains(&pattern.get_ref().as_str()) {
                    let message = format!("`{}` is not a pattern", pattern.get_ref());
                    return Err(error(pattern.span(), message));
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
                patterns: hint.patterns.into_iter().map(Spanned::into_inner).collect(),
                memory: hint.memory,
                text: hint.text.into_inner().trim().to_owned(),
                line: line_of(span),
            });
        }
        let counted = parsed.counted.map(|table| {
            let span = table.span();
            counted(table.into_inner(), lab_spec).map_err(|(at, message)| {
                let at = at.unwrap_or(span);
                error(at, message)
            })
        });
        Ok(Hints {
            all: hints,
            counted: counted.transpose()?,
        })
    }

    /// The counts that the handout is about, where it has some.
    pub fn counted(&self) -> Option<&Counted> {
        self.counted.as_ref()
    }

    /// All of them, in the file's order.
    pub fn all(&self) -> &[Hint] {
        &self.all
    }

    /// Those for this failure of this case, in the file's order: first those that name its pattern
    /// or its memory.
    pub fn about(&self, failure: &Failure, case: &str) -> Vec<&Hint> {
        let diagnosis = failure.diagnosis.as_deref();
        let patterns = diagnosis.map_or(&[][..], |diagnosis| &diagnosis.patterns);
        let has = |code: &String| patterns.iter().any(|pattern| pattern.code() == code);
        let fits = |hint: &&Hint| {
            hint.kinds.contains(&failure.kind)
                && (hint.cases.is_empty() || hint.cases.iter().any(|name| name == case))
                && (hint.patterns.is_empty() || hint.patterns.iter().any(has))
                && hint
                    .memory
                    .is_none_or(|memory| Some(memory) == failure.memory)
        };
        let mut fitting: Vec<&Hint> = self.all.iter().filter(fits).collect();
        // A stable order.
        fitting.sort_by_key(|hint| hint.patterns.is_empty() && hint.memory.is_none());
        fitting
    }
}

/// The checked counts; or the mistake in them, and where it is if not in all of them.
fn counted(
    table: TomlCounted,
    lab_spec: &LabSpec,
) -> Result<Counted, (Option<Range<usize>>, String)> {
    let mut counted = Counted {
        params: table.params,
        figures: Vec::new(),
    };
    // The lab says which it does not take.
    let spec = lab_spec.counted_alone(&counted);
    spec.map_err(|failure| (None, mistake(failure)))?;
    for figure in table.figures {
        let Figure { count, value, .. } = figure.get_ref();
        let at = Some(figure.span());
        if !device::COUNTS.iter().any(|known| known.name == count) {
            return Err((at, format!("the emulated device has no count `{count}`")));
        }
        if !(value.is_finite() && *value > 0.0) {
            return Err((at, format!("a figure is above 0, and this one is {value}")));
        }
        counted.figures.push(figure.into_inner());
    }
    Ok(counted)
}

/// The mistake without its place, which is one in the lab file.
fn mistake(error: LabSpecError) -> String {
    match error {
        LabSpecError::Invalid { message, .. } => message,
        LabSpecError::Unreadable { .. } => error.to_string(),
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
            let about = |kind| hints.about(&Failure::new(kind, "x"), first).len();
            assert!(
                about(Kind::WrongResult) + about(Kind::NonFinite) > 0,
                "{lab}"
            );
        }
    }

    #[test]
    fn each_figure_is_in_its_step_of_the_handout() {
        let mut has_some = false;
        for (name, ..) in embedded_files() {
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs");
            let handout = std::fs::read_to_string(root.join(name).join("README.md")).unwrap();
            for figure in embedded_hints(name)
                .unwrap()
                .counted()
                .into_iter()
                .flat_map(|it| &it.figures)
            {
                let (_, after) = handout
                    .split_once(&format!("\n### {}. ", figure.step))
                    .unwrap();
                let step = after.split("\n### ").next().unwrap();
                let value = format!("{} ", figure.value);
                assert!(step.contains(&value), "{name}: {figure:?}");
                has_some = true;
            }
        }
        assert!(has_some);
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
            let failure = Failure::new(kind, "x");
            let about = hints.about(&failure, case).into_iter();
            about.map(|hint| hint.text.as_str()).collect()
        };
        assert_eq!(about(Kind::Race, "one-step"), ["a", "b"]);
        assert_eq!(about(Kind::Race, "long-row"), ["a"]);
        assert_eq!(about(Kind::WrongResult, "one-step"), ["b"]);
        assert_eq!(about(Kind::Barrier, "one-step"), [""; 0]);
        assert_eq!((hints.all()[0].line, hints.all()[1].line), (2, 5));
    }

    #[test]
    fn a_hint_is_for_patterns_and_a_memory() {
        let text = r#"
[[hint]]
kinds = ["race"]
text = "any"
[[hint]]
kinds = ["race"]
memory = "shared"
text = "shared"
[[hint]]
kinds = ["race"]
memory = "global"
text = "global"
[[hint]]
kinds = ["wrong_result"]
text = "wrong"
[[hint]]
kinds = ["wrong_result"]
patterns = ["border_only", "band"]
text = "border"
"#;
        let hints = Hints::parse(text, "hints.toml", embedded("wave2d").unwrap()).unwrap();
        let about = |failure: &Failure| -> Vec<String> {
            let about = hints.about(failure, "one-step").into_iter();
            about.map(|hint| hint.text.clone()).collect()
        };
        let mut race = Failure::new(Kind::Race, "x");
        assert_eq!(about(&race), ["any"]);
        race.memory = Some(Memory::Shared);
        assert_eq!(about(&race), ["shared", "any"]);
        race.memory = Some(Memory::Global);
        assert_eq!(about(&race), ["global", "any"]);
        assert_eq!(about(&Failure::new(Kind::WrongResult, "x")), ["wrong"]);
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
            "[[hint]]\nkinds = [\"race\"]\npatterns = [\"borders\"]\ntext = \"a\"",
            "[[hint]]\nkinds = [\"race\"]\nmemory = \"local\"\ntext = \"a\"",
            "hint = []\n[counted]\nparams = { n_z = 3 }\nfigures = []",
            "hint = []\n\n[counted]\nparams = { n_x = 99 }\nfigures = [\n  { count = \"warps\", value = 1.0, step = 2 },\n]",
            "hint = []\n[counted]\nparams = { n_x = 99 }\nfigures = [{ count = \"barriers\", value = 0.0, step = 2 }]",
        ];
        insta::assert_snapshot!(wrong.map(refusal).join("\n"));
    }
}
