//! A wrong result, and what it looks like: what a diagnosis needs to know of it.

use std::time::Duration;

use host::lab::CaseParams;
use host::{Case, Cpu, Device, Lab, NamedBuffers, NoProgress, Plan};

use super::expected::Expected;
use super::run::{Subject, before, run_isolated};
use crate::course::CaseSpec;
use crate::diagnose::shorter::{first_launches, launches_of_one_kernel, shorten};
use crate::diagnose::{Again, Axis, Diagnosis, Evidence, diagnose};
use crate::outcome::NotPassed;

/// Larger cases are not run again to find the step at which they go wrong.
const MOST_UPDATES_AGAIN: u64 = 1 << 27;

/// A wrong result and where it comes from.
pub struct WrongResult<'a> {
    pub device: &'a dyn Device,
    pub lab: &'a dyn Lab,
    pub spec: &'a CaseSpec,
    pub seed: u64,
    pub case: &'a dyn Case,
    pub subject: Subject<'a>,
    pub inputs: &'a NamedBuffers,
    pub expected: &'a Expected,
    pub got: &'a NamedBuffers,
}

impl WrongResult<'_> {
    /// What it looks like.
    pub fn diagnosis(&self) -> Option<Diagnosis> {
        let axes = |output: &str| {
            let held = host::check::find(self.expected.outputs(), output);
            axes(self.case, output, held.map_or(0, |held| held.len()))
        };
        let tolerance = |output: &str| self.expected.tolerance(output);
        let after_steps = |steps| self.reference_after(steps);
        let plan = self.subject.plan;
        let run_steps = |keep| self.again(shorten(plan, self.steps(), keep)?);
        let run_launches = |keep| self.again(first_launches(plan, keep)?);
        let again = || match launches_of_one_kernel(plan) {
            Some(count) if shorten(plan, self.steps(), 1).is_err() => Again::Launches {
                count,
                run: &run_launches,
            },
            // Or the reason why not.
            _ => Again::Steps(&run_steps),
        };
        let is_quick = self.case.work("").updates <= MOST_UPDATES_AGAIN;
        diagnose(&Evidence {
            axes: &axes,
            expected: self.expected.outputs(),
            got: self.got,
            tolerance: &tolerance,
            inputs: self.inputs,
            before: &before(plan, self.inputs),
            steps: self.case.timesteps(),
            after_steps: is_quick.then_some(&after_steps),
            again: is_quick.then(again),
        })
    }

    fn reference_after(&self, steps: u64) -> Option<NamedBuffers> {
        let names = self.lab.parameters().iter().map(|parameter| parameter.name);
        let name = names
            .into_iter()
            .find(|name| ["steps", "iterations"].contains(name))?;
        let mut params: CaseParams = self.spec.params.clone();
        params.set(name, steps);
        let params = self.lab.seeded(&params, self.seed).ok()?;
        let case = self.lab.case(&params).ok()?;
        case.reference_from(self.inputs, Cpu::Parallel, &NoProgress)
            .ok()
    }

    fn steps(&self) -> u64 {
        self.case.timesteps().unwrap_or(0)
    }

    /// What this part of the submission's plan leaves.
    fn again(&self, plan: Plan) -> Result<NamedBuffers, String> {
        let subject = Subject {
            plan: &plan,
            ..self.subject
        };
        let ran = run_isolated(self.device, subject, self.inputs, Duration::ZERO);
        ran.map(|sample| sample.outputs).map_err(NotPassed::reason)
    }
}

/// The axes of an output of `len` elements, as the case states them: none if it states none, or if they are of another size.
fn axes(case: &dyn Case, output: &str, len: usize) -> Vec<Axis> {
    let axes = case.axes(output);
    let product: u64 = axes.iter().map(|(_, extent)| extent).product();
    if product != len as u64 {
        return Vec::new();
    }
    let axis = |(name, extent): (&str, u64)| Axis {
        name: name.to_owned(),
        extent,
    };
    axes.into_iter().map(axis).collect()
}
