//! The lab file `labs/<lab>/lab.toml`: a lab's cases, tolerance and points.
//!
//! A [`LabSpec`] has passed every check: its names are unique, the lab accepts its parameters, its
//! points make sense. A mistake is refused with file and line. The labs' own files are
//! part of the program; where it is used in a course's folder, the folder's files count, and
//! `--lab-file` replaces one.

mod course;
mod draw;
mod embedded;
mod file;
mod hints;
#[cfg(test)]
mod shares;
mod strata;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use lab::CaseError;
use lab::{CaseParams, Lab, LabCase, Seed};
use output_files::input;
use output_files::input::unreadable;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use course::edited;
pub use draw::{Range, Ranges};
pub use embedded::{embedded, embedded_files, embedded_hints, names};
pub use hints::{Counted, Figure, Hint, Hints};

/// Why a lab file cannot be used.
#[derive(Debug, Error)]
pub enum LabSpecError {
    /// The lab file cannot be read.
    #[error("{}: {}", .file.display(), unreadable(.source))]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The lab file makes no sense.
    #[error("{file}:{line}: {message}")]
    Invalid {
        /// The file's name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The mistake there, and how it should be.
        message: String,
    },
}

/// The groups of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Tests correctness; students have them too.
    Small,
    /// Timed.
    Large,
    /// Tests correctness; students do not know them.
    Hidden,
}

impl Group {
    /// The name, as in lab.toml.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Small => "small",
            Group::Large => "large",
            Group::Hidden => "hidden",
        }
    }
}

/// The reference of a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// A built-in variant, or the instructor's solution: the ratio is its time by the submission's.
    Reference {
        /// The variant's name.
        variant: String,
    },
    /// The device's bandwidth in copying memory: the ratio is the necessary bytes by the time,
    /// relative to it.
    Limit,
}

/// A lab file: everything that a grade in one lab depends on.
#[derive(Debug, Clone)]
pub struct LabSpec {
    /// The name that students know: the lab's, or that of a sequel, which goes on with its problem.
    pub name: String,
    /// The lab.
    pub lab: &'static Lab,
    /// Which results are right.
    pub tolerance: ToleranceRule,
    /// The part of an equal share that each device of a case with several stores at least; none if
    /// it is enough that it launches something.
    pub each_device: Option<f64>,
    /// The tested cases, in the file's order; at least one. Names are unique.
    pub cases: Vec<CaseSpec>,
    /// The timed cases, in the file's order. Each names a case of [`Group::Large`].
    pub performance: Vec<PerformanceSpec>,
    /// The counts that earn points, in the file's order. Each names a case of [`Group::Small`].
    pub counted: Vec<CountSpec>,
    /// The file's name, as messages give it.
    pub file: String,
    /// The file's text: who has it can parse it again.
    pub text: String,
    /// The number that drawn parameters follow from; none before they are drawn.
    pub draw: Option<u64>,
}

/// Which results are right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ToleranceRule {
    /// Those equal to the reference's to the last bit.
    Exact,
    /// Those no farther from the oracle than `factor` times the reference's own rounding noise: the
    /// greatest distance between the reference and the oracle in that field.
    Rounding {
        /// At least 1.
        factor: f64,
    },
}

/// The most devices of a case.
pub const MAX_DEVICES: u32 = 8;

/// The name of the case of [`LabSpec::counted_alone`].
pub const COUNTED: &str = "part-2";

/// One tested problem.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseSpec {
    /// Unique; letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// Whether students know it, and whether it is timed.
    pub group: Group,
    /// The points of right results.
    pub points: f64,
    /// The number of devices that its plan is for, and uses: 1 to [`MAX_DEVICES`].
    pub devices: u32,
    /// The lab's parameters, without a seed. Those that are drawn have their least values until
    /// then.
    pub params: CaseParams,
    /// The ranges that parameters are drawn from for each grade; none for a case that is the same
    /// in all.
    pub ranges: Option<Ranges>,
}

impl CaseSpec {
    /// The case with inputs that follow from this seed. Its plan and size do not depend on the
    /// seed.
    ///
    /// # Errors
    ///
    /// None for a case of a checked file.
    pub fn with_seed(
        &self,
        lab: &Lab,
        seed: impl Into<Seed>,
    ) -> Result<Box<dyn LabCase>, CaseError> {
        lab.case(&lab.seeded(&self.params, seed)?)
    }
}

/// One timed problem.
#[derive(Debug, Clone, PartialEq)]
pub struct PerformanceSpec {
    /// The case's name.
    pub case: String,
    /// The points of full speed.
    pub points: f64,
    /// The reference of the time.
    pub against: Against,
    /// The ratio that earns nothing.
    pub zero: f64,
    /// The ratio that earns all points; greater than `zero`, and the points are linear between.
    pub full: f64,
}

impl PerformanceSpec {
    /// The points that this ratio earns; none for one that is not finite.
    pub fn earned(&self, ratio: f64) -> f64 {
        if !ratio.is_finite() {
            return 0.0;
        }
        self.points * ((ratio - self.zero) / (self.full - self.zero)).clamp(0.0, 1.0)
    }
}

/// An exact count of a case, as the emulated device counts it, that earns points: the fewer, the
/// more.
#[derive(Debug, Clone, PartialEq)]
pub struct CountSpec {
    /// The case's name.
    pub case: String,
    /// The count's, one of [`COUNTS`](device::COUNTS).
    pub count: String,
    /// The points of a count of `full` or less.
    pub points: f64,
    /// The count up to which all points are earned.
    pub full: u64,
    /// The count from which nothing is earned; greater than `full`, and the points are linear
    /// between.
    pub zero: u64,
}

impl CountSpec {
    /// The points that this count earns.
    pub fn earned(&self, counted: u64) -> f64 {
        let saved = self.zero.saturating_sub(counted) as f64;
        self.points * (saved / (self.zero - self.full) as f64).min(1.0)
    }
}

impl LabSpec {
    /// Reads and checks a lab file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its first mistake, with the line.
    pub fn read(path: &Path) -> Result<LabSpec, LabSpecError> {
        let text = input::text(path).map_err(|source| LabSpecError::Unreadable {
            file: path.to_owned(),
            source,
        })?;
        LabSpec::parse(&text, &path.display().to_string())
    }

    /// The lab file without hidden cases, as students have it.
    ///
    /// # Errors
    ///
    /// [`LabSpecError::Invalid`] if there are no others.
    pub fn without_hidden_cases(&self) -> Result<LabSpec, LabSpecError> {
        let mut file: toml::Table = self.text.parse().expect("a checked file is TOML");
        let hidden = toml::Value::from(Group::Hidden.name());
        if let Some(toml::Value::Array(cases)) = file.get_mut("case") {
            cases.retain(|case| case.get("group") != Some(&hidden));
        }
        LabSpec::parse(&file.to_string(), &self.file)
    }

    /// The lab file with a small case alone, [`COUNTED`], worth no points.
    ///
    /// # Errors
    ///
    /// [`LabSpecError::Invalid`] for parameters that the lab does not have.
    pub fn counted_alone(&self, counted: &Counted) -> Result<LabSpec, LabSpecError> {
        let mut file: toml::Table = self.text.parse().expect("a checked file is TOML");
        let mut case = toml::Table::new();
        case.insert("name".to_owned(), COUNTED.into());
        case.insert("group".to_owned(), Group::Small.name().into());
        case.insert("points".to_owned(), 0.into());
        case.insert("params".to_owned(), counted.params.clone().into());
        file.insert("case".to_owned(), vec![toml::Value::from(case)].into());
        // They are about other cases.
        for other in ["performance", "count"] {
            file.remove(other);
        }
        LabSpec::parse(&file.to_string(), &self.file)
    }

    /// Whether the name is that of this file, or of the lab whose problem it has.
    pub fn is_of(&self, name: &str) -> bool {
        [self.name.as_str(), self.lab.name].contains(&name)
    }

    /// Whether parameters of some case are drawn.
    pub fn draws(&self) -> bool {
        self.cases.iter().any(|case| case.ranges.is_some())
    }

    /// The case of this name.
    pub fn case(&self, name: &str) -> Option<&CaseSpec> {
        self.cases.iter().find(|case| case.name == name)
    }

    /// The timings of this case, in the file's order.
    pub fn timed(&self, spec: &CaseSpec) -> impl Iterator<Item = &PerformanceSpec> {
        let name = spec.name.clone();
        self.performance
            .iter()
            .filter(move |timed| timed.case == name)
    }

    /// The points of everything.
    pub fn points(&self) -> f64 {
        let cases = self.cases.iter().map(|case| case.points);
        let counted = self.counted.iter().map(|counted| counted.points);
        cases
            .chain(self.performance.iter().map(|timed| timed.points))
            .chain(counted)
            .sum()
    }
}
