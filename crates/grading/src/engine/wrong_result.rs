//! A wrong result, and what it looks like: what a diagnosis needs to know of it.

use std::time::Duration;

use device::{DeviceKind, EmulatedDevice, NamedBuffers, Stored};
use lab::CaseParams;
use lab::Cpu;
use plan::Plan;
use terminal::progress::NoProgress;

use super::case::{CaseWork, SampleInputs};
use super::run::{Subject, before};
use crate::diagnose::truncation::{first_launches, launches_of_one_kernel, shorten};
use crate::diagnose::{Again, Axis, Diagnosis, Evidence, diagnose};
use device::check::Expected;

/// Larger cases are not run again to find the step at which they go wrong.
const MAX_UPDATES_AGAIN: u64 = 1 << 27;

/// Larger cases are not run again to see who stored each cell.
const MAX_UPDATES_OF_MAP: u64 = 1 << 20;

impl CaseWork<'_> {
    /// The diagnosis of a wrong result.
    pub fn diagnosis(
        &self,
        of: &SampleInputs,
        expected: &Expected,
        got: &NamedBuffers,
    ) -> Option<Diagnosis> {
        // An output without axes is a line.
        let axes = |output: &str| {
            let axes = of.case.axes(output).into_iter();
            let axis = |(name, extent): (&str, u64)| Axis {
                name: name.to_owned(),
                extent,
            };
            axes.map(axis).collect()
        };
        let after_steps = |steps| self.reference_after(of, steps);
        let plan = self.setup.subject.plan;
        let steps = of.case.timesteps();
        let shortened = |keep| shorten(plan, steps.unwrap_or(0), keep);
        let run_steps = |keep| self.again(of, shortened(keep)?);
        let run_launches = |keep| self.again(of, first_launches(plan, keep)?);
        let again = || match launches_of_one_kernel(plan) {
            Some(count) if shortened(1).is_err() => Again::Launches {
                count,
                run: &run_launches,
            },
            // Or the reason why not.
            _ => Again::Steps(&run_steps),
        };
        let stores = |output: &str| self.stores(of, output);
        let updates = of.case.work().updates;
        let is_quick = updates <= MAX_UPDATES_AGAIN;
        diagnose(&Evidence {
            axes: &axes,
            expected: &expected.outputs,
            got,
            tolerance: &|output| expected.tolerance(output),
            inputs: &of.inputs,
            before: &before(plan, &of.inputs),
            steps,
            after_steps: is_quick.then_some(&after_steps),
            again: is_quick.then(again),
            stores: (updates <= MAX_UPDATES_OF_MAP).then_some(&stores),
        })
    }

    fn reference_after(&self, of: &SampleInputs, steps: u64) -> Option<NamedBuffers> {
        let name = self.setup.lab_spec.lab.steps_parameter()?;
        let mut params: CaseParams = self.setup.spec.params.clone();
        params.set(name, steps);
        let params = self.setup.lab_spec.lab.seeded(&params, of.seed).ok()?;
        let case = self.setup.lab_spec.lab.case(&params).ok()?;
        let reference = case.reference_from(&of.inputs, Cpu::Parallel, &NoProgress);
        reference.ok()
    }

    /// The threads that stored an output's elements, where the device sees each store.
    fn stores(&self, of: &SampleInputs, output: &str) -> Option<Vec<Option<Stored>>> {
        let Subject { module, plan } = self.setup.subject;
        match self.setup.device.info().kind {
            DeviceKind::Cuda => None,
            // The map is the better for it, and can do without.
            DeviceKind::Emulated => {
                // Its text was shown; a worker's standard output is not for it.
                let devices = self.setup.subject.plan.devices();
                let device = EmulatedDevice::default().with_devices(devices);
                let device = device.keeping_printed();
                device.stores(module, plan, &of.inputs, output).ok()
            }
        }
    }

    /// The outputs of this part of the submission's plan.
    fn again(&self, of: &SampleInputs, plan: Plan) -> Result<NamedBuffers, String> {
        let subject = Subject {
            plan: &plan,
            ..self.setup.subject
        };
        let ran = self
            .run(subject, of, Duration::ZERO)
            .map_err(|why| why.to_string())?;
        Ok(ran.outputs)
    }
}
