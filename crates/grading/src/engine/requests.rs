//! What is asked of the processes that run a submission's cases.

use super::checks::Extent;
use super::child::Request;
use super::job::Job;
use super::seeds::Seeds;
use super::timed::Rule;
use crate::bundle::Bundle;
use crate::course::{CaseSpec, Course};
use crate::devices::Wanted;

/// All that the cases of one submission have in common.
pub struct Requests<'a> {
    /// The submission.
    pub bundle: &'a Bundle,
    /// What it is graded by.
    pub course: &'a Course,
    /// What inputs follow from.
    pub seeds: Seeds,
    /// Runs with fresh inputs of a case that is not timed.
    pub samples: u32,
    /// When there are enough timed samples.
    pub stopping: Rule,
}

impl Requests<'_> {
    /// To grade a screened case on this device; or to look at it there.
    pub fn of(&self, spec: &CaseSpec, device: Wanted, checks: Option<Extent>) -> Request {
        let submitted = self.bundle.case(&spec.name).expect("was screened");
        Request {
            device: device.to_string(),
            job: Job {
                course_file: self.course.file.clone(),
                course_text: self.course.text.clone(),
                case: spec.name.clone(),
                ptx: self.bundle.ptx.clone(),
                plan: submitted.plan.clone(),
                seed: self.seeds.base(),
                samples: self.samples,
                stopping: self.stopping,
                checks,
            },
        }
    }
}
