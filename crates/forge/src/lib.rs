//! Problems of kernels in the forms that forges and editors read, each with its file and line, and
//! a race with both of its sides.
//!
//! A command that tests kernels has the flags of [`ForgeArgs`], makes a [`Report`] of its results,
//! and writes it by [`Forms::write`]:
//!
//! - [`editor`]: lines that begin with a place, as compilers print them;
//! - [`github`]: annotations that a workflow of GitHub shows in a pull request;
//! - [`sarif`]: SARIF 2.1.0 (OASIS), for code scanning and editors;
//! - [`junit`]: the XML of JUnit, for lists of tests.
//!
//! ```
//! use forge::{Case, Place, Problem, Report, Verdict};
//!
//! let race = Problem {
//!     rule: "race in shared memory".to_owned(),
//!     message: "no barrier between them".to_owned(),
//!     places: vec![Place::new("the fault", "mine/kernels.rs", 12, 9)],
//! };
//! let mut report = Report::new("emulate");
//! report.cases.push(Case::new("saxpy", "order 0", Verdict::Wrong(vec![race])));
//! assert_eq!(
//!     forge::editor::annotations(&report),
//!     "mine/kernels.rs:12:9: error: no barrier between them\n"
//! );
//! ```

mod args;
pub mod editor;
pub mod github;
pub mod junit;
mod path;
pub mod sarif;

pub use args::{Forge, ForgeArgs, Forms};

use std::path::Path;

use serde::{Deserialize, Serialize};

/// The results of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The program that tested: "emulate", "harness test".
    pub tool: &'static str,
    /// In the order in which they ran.
    pub cases: Vec<Case>,
}

/// A thing that was tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The group that it is part of, such as the variant of a lab.
    pub suite: String,
    /// Its name within the group.
    pub name: String,
    /// How it ended.
    pub verdict: Verdict,
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// As it should.
    Right,
    /// With these problems, one at least.
    Wrong(Vec<Problem>),
    /// Not at all, or without a verdict, for this reason.
    LeftOut(String),
}

/// Something wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kind, in a few words: the rule that was broken.
    pub rule: String,
    /// The event, in full.
    pub message: String,
    /// The lines that it is about, that of the problem itself first. None where it has no line.
    pub places: Vec<Place>,
}

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The part that it has in the problem: "the fault", "earlier store".
    pub role: String,
    /// The file: absolute, or from the working directory.
    pub file: String,
    /// The line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// The column, from 1; 0 where it is not known.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub column: u32,
    /// The line's text, where it is at hand.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

fn is_unknown(column: &u32) -> bool {
    *column == 0
}

impl Place {
    /// A place; see the fields.
    pub fn new(role: impl Into<String>, file: impl Into<String>, line: u32, column: u32) -> Place {
        Place {
            role: role.into(),
            file: file.into(),
            line,
            column,
            text: String::new(),
        }
    }

    /// The place, in `folder` if that has its file: a compiler knows the files of a submission by
    /// their names there.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Place {
        let file = folder.join(&self.file);
        if file.exists() {
            self.file = file.to_string_lossy().into_owned();
        }
        self
    }
}

impl Case {
    /// A case; see the fields.
    pub fn new(suite: impl Into<String>, name: impl Into<String>, verdict: Verdict) -> Case {
        Case {
            suite: suite.into(),
            name: name.into(),
            verdict,
        }
    }

    fn problems(&self) -> &[Problem] {
        match &self.verdict {
            Verdict::Wrong(problems) => problems,
            Verdict::Right | Verdict::LeftOut(_) => &[],
        }
    }
}

impl Report {
    /// A report without cases.
    pub fn new(tool: &'static str) -> Report {
        Report {
            tool,
            cases: Vec::new(),
        }
    }

    /// Each problem once, with the case in which it was met first: several cases, or orders of
    /// threads, meet the same race.
    fn distinct(&self) -> Vec<(&Case, &Problem)> {
        let mut distinct: Vec<(&Case, &Problem)> = Vec::new();
        for case in &self.cases {
            for problem in case.problems() {
                let is_known = |(_, known): &(&Case, &Problem)| {
                    known.rule == problem.rule
                        && known.places == problem.places
                        && (!problem.places.is_empty() || known.message == problem.message)
                };
                if !distinct.iter().any(is_known) {
                    distinct.push((case, problem));
                }
            }
        }
        distinct
    }
}
