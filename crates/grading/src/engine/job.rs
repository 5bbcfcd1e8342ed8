//! A case's job, as the process gets it that runs it, and what it answers.

use std::collections::BTreeMap;

use host::{Device, DeviceKind, Module, Plan, find_lab};
use serde::{Deserialize, Serialize};

use super::case::{CaseWork, Watch};
use super::emulated::Extent;
use super::run::Subject;
use super::sampling::Stopping;
use super::seeds::Seeds;
use crate::course::{CaseSpec, Course, PerformanceSpec};
use crate::outcome::{Category, Failing, NotPassed, Outcome};
use crate::report::PerformanceGrade;

/// One case to grade.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CaseJob {
    /// The lab file's name.
    pub course_file: String,
    /// The lab file.
    pub course_text: String,
    /// The case's name.
    pub case: String,
    /// The kernels.
    pub ptx: String,
    /// The submission's plan.
    pub plan: Plan,
    /// What all seeds follow from.
    pub seed: u64,
    /// Runs with fresh inputs, where none is timed.
    pub samples: u32,
    /// When there are enough timed samples.
    pub stopping: Stopping,
    /// Not to be graded, but checked on the emulated device, to this extent.
    #[serde(default)]
    pub checks: Option<Extent>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether the results are right.
    pub status: Outcome,
    /// Runs whose results were compared.
    pub samples: u32,
    /// Exact counts of the first run, where the device counts.
    pub counts: BTreeMap<String, u64>,
    /// The case's performance entries, in the file's order; none on the emulated device.
    pub performance: Vec<PerformanceGrade>,
}

impl Answer {
    /// The case, and all that is timed of it, ended like this before any result was compared.
    pub fn without_samples(status: Outcome, course: &Course, spec: &CaseSpec) -> Answer {
        Answer {
            performance: course
                .timed(spec)
                .map(|timed| PerformanceGrade::new(timed, status.clone()))
                .collect(),
            status,
            samples: 0,
            counts: BTreeMap::new(),
        }
    }
}

impl CaseJob {
    /// Grades the case, or checks it.
    ///
    /// # Errors
    ///
    /// [`NotPassed::NotGradedHere`] if that cannot be done here.
    pub fn run(&self, device: &dyn Device, watch: &mut dyn Watch) -> Result<Answer, NotPassed> {
        let bad = |error: String| NotPassed::NotGradedHere(error);
        let course = Course::parse(&self.course_text, &self.course_file)
            .map_err(|error| bad(error.to_string()))?;
        let lab = find_lab(&course.lab).map_err(|error| bad(error.to_string()))?;
        let spec = course
            .case(&self.case)
            .ok_or_else(|| bad(format!("there is no case `{}`", self.case)))?;
        let module = Module::new("submission", self.ptx.clone());
        let subject = Subject {
            module: &module,
            plan: &self.plan,
        };
        let seeds = Seeds::from_base(self.seed);
        let mut work = CaseWork::new(device, lab, spec, course.tolerance, subject, seeds, watch);
        match self.checks {
            None => self.grade(&mut work, course.timed(spec)),
            Some(extent) => Ok(Answer {
                status: passed(work.check_on_emulated(extent))?,
                samples: 0,
                counts: BTreeMap::new(),
                performance: Vec::new(),
            }),
        }
    }

    fn grade<'c>(
        &self,
        work: &mut CaseWork<'_>,
        timed: impl Iterator<Item = &'c PerformanceSpec>,
    ) -> Result<Answer, NotPassed> {
        let timed: Vec<_> = match work.device.info().kind {
            DeviceKind::Cuda => timed.collect(),
            DeviceKind::Emulated => Vec::new(),
        };
        // One sample against the CPU comes first, whatever is timed then.
        let samples = if timed.is_empty() { self.samples } else { 1 };
        let checked = (0..samples).try_for_each(|sample| work.checked(sample));
        let mut status = passed(checked)?;
        let mut performance = Vec::new();
        for timed in timed {
            let mut grade = PerformanceGrade::new(timed, Outcome::Measured);
            if let Outcome::Failed(failing) = &status {
                // Once is enough for the picture.
                grade.status = Outcome::Failed(Failing {
                    diagnosis: None,
                    ..failing.clone()
                });
            } else if let Err(not_passed) = work.time(timed, self.stopping, &mut grade) {
                grade.status = not_passed.into();
                // Wrong results are wrong, timed or not; a time that cannot be believed costs the timing.
                if let Outcome::Failed(failing) = &grade.status
                    && failing.category != Category::Untrusted
                {
                    status = grade.status.clone();
                }
            }
            performance.push(grade);
        }
        Ok(Answer {
            status,
            samples: work.samples,
            counts: std::mem::take(&mut work.counts),
            performance,
        })
    }
}

/// What a result means for a case: that it passed, or how it failed.
fn passed(result: Result<(), NotPassed>) -> Result<Outcome, NotPassed> {
    match result {
        Ok(()) => Ok(Outcome::Passed),
        Err(NotPassed::Failed(failing)) => Ok(Outcome::Failed(*failing)),
        Err(lacking) => Err(lacking),
    }
}
