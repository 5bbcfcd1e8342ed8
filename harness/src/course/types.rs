//! What a lab file states.

use host::{Case, CaseParams, Error, Lab};

pub use crate::grade::verdict::{Against, Group};

/// What one lab grades.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// The lab's name.
    pub lab: String,
    /// Which results are right.
    pub tolerance: Rule,
    /// What is tested, in the file's order; at least one. Names are unique.
    pub cases: Vec<CaseSpec>,
    /// What is timed, in the file's order. Each names a case of [`Group::Large`].
    pub performance: Vec<PerformanceSpec>,
    /// The file's name, as messages give it.
    pub file: String,
    /// The file's text: who has it can parse it again.
    pub text: String,
}

/// Which results are right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Those equal to the reference's to the last bit.
    Exact,
    /// Those no farther from the oracle than `factor` times the reference's own rounding noise: the greatest distance
    /// between the reference and the oracle in that field.
    Rounding {
        /// At least 1.
        factor: f64,
    },
}

/// One tested problem.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseSpec {
    /// Unique; letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// Who knows it, and whether it is timed.
    pub group: Group,
    /// What right results earn.
    pub points: f64,
    /// The lab's parameters, without a seed.
    pub params: CaseParams,
}

impl CaseSpec {
    /// The case with inputs that follow from this seed. Its plan and size do not depend on the seed.
    ///
    /// # Errors
    ///
    /// None for a case of a checked file.
    pub fn with_seed(&self, lab: &dyn Lab, seed: u64) -> Result<Box<dyn Case>, Error> {
        lab.case(&lab.seeded(&self.params, seed)?)
    }
}

/// One timed problem.
#[derive(Debug, Clone, PartialEq)]
pub struct PerformanceSpec {
    /// The case's name.
    pub case: String,
    /// What full speed earns.
    pub points: f64,
    /// What the time is compared with.
    pub against: Against,
    /// The ratio that earns nothing.
    pub zero: f64,
    /// The ratio that earns all points; greater than `zero`, and the points are linear between.
    pub full: f64,
}

impl PerformanceSpec {
    /// The points that this ratio earns.
    pub fn earned(&self, ratio: f64) -> f64 {
        self.points * ((ratio - self.zero) / (self.full - self.zero)).clamp(0.0, 1.0)
    }
}

impl Course {
    /// The case of this name.
    pub fn case(&self, name: &str) -> Option<&CaseSpec> {
        self.cases.iter().find(|case| case.name == name)
    }

    /// The points of everything.
    pub fn points(&self) -> f64 {
        let cases = self.cases.iter().map(|case| case.points);
        cases
            .chain(self.performance.iter().map(|timed| timed.points))
            .sum()
    }
}
