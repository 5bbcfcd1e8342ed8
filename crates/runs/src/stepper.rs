//! A problem with timesteps, advanced chunk by chunk on a device or the CPU.

use std::time::{Duration, Instant};

use device::buffer::{copies, replace, take};
use device::check;
use device::check::CheckError;
use device::run::{outputs, reset};
use device::telemetry::Telemetry;
use device::{Device, DeviceKind, Error, NamedBuffers};
use lab::{Cpu, LabCase, Variant};
use plan::PlanError;
use rayon::{ThreadPool, ThreadPoolBuilder};
use terminal::progress::{NoProgress, Progress};

use super::processor::Processor;
use super::receivers::{Receivers, SAMPLES, part, timesteps_of};
use exit::CommandError;
use select::memory_advice;
use stats::{SamplingRule, Summary};
use terminal::progress::Bar;
use units::count;

/// A GPU computes this long before it is timed, so that clocks have risen and code is loaded, in
/// plans of at most this many timesteps.
const GPU_WARM_UP: (Duration, u32) = (Duration::from_millis(500), 50);
/// The CPU computes this many timesteps first: then threads have started, and fields are in memory.
const CPU_WARM_UP_STEPS: u32 = 5;

/// Some timesteps that were done in one piece.
pub struct Chunk {
    /// How many.
    pub steps: u32,
    /// How long they took, without copies and output.
    pub times: Summary,
    /// How long all of them took in one run, with allocation and transfers.
    pub whole: Duration,
    /// Energy that the GPU drew meanwhile, without copies and output, if NVML tells.
    pub energy_j: Option<f64>,
}

/// The findings of comparisons with the CPU.
#[derive(Debug, Default, PartialEq)]
pub struct Comparison {
    /// Values that were compared.
    pub values: u64,
    /// Values that differ.
    pub different: u64,
    /// Where the first of them is, and how it differs.
    pub first: Option<String>,
}

/// A problem and how far it is.
pub struct Stepper<'p> {
    /// The problem, with all its timesteps.
    pub problem: &'p dyn LabCase,
    /// The processor that computes it.
    pub processor: &'p Processor,
    /// The threads on which the CPU computes.
    pub cores: ThreadPool,
    /// How many timesteps are done.
    pub steps_done: u32,
    /// The fields after them, and what else is an input.
    pub fields: NamedBuffers,
    /// The fields on the CPU, and after how many timesteps.
    expected: (u32, NamedBuffers),
    /// Whether anybody looks at the fields afterwards.
    pub reads_results: bool,
    /// The receivers that record meanwhile, if there are any.
    pub receivers: Option<Receivers>,
    telemetry: Option<Box<dyn Telemetry>>,
    /// How far the whole is.
    bar: Bar,
    began: Instant,
}

impl<'p> Stepper<'p> {
    /// The problem before its first timestep. The CPU uses this many threads, or one for each core.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if memory is short, or threads do not start.
    pub fn new(
        problem: &'p dyn LabCase,
        processor: &'p Processor,
        threads: Option<u32>,
    ) -> Result<Stepper<'p>, CommandError> {
        let fields = problem
            .inputs()
            .map_err(|error| memory_advice::failure(error, processor.lab, processor.variant))?;
        let several = processor.device().filter(|device| device.count() > 1);
        if let Some((device, variant)) = several.zip(processor.variant) {
            uses_several(problem, processor, variant, device)?;
        }
        // 0 lets rayon choose.
        let cores = ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0) as usize)
            .build()
            .map_err(|error| {
                CommandError::Environment(format!("--threads: cannot start threads: {error}"))
            })?;
        let all = timesteps_of(problem) as usize;
        let bar = Bar::new(format!("{} on {}", count(all, "timestep"), processor.name));
        Ok(Stepper {
            problem,
            processor,
            cores,
            steps_done: 0,
            fields,
            expected: (0, Vec::new()),
            reads_results: true,
            receivers: None,
            telemetry: processor
                .device()
                .and_then(|device| cuda::telemetry(device.info()).ok()),
            bar,
            began: Instant::now(),
        })
    }

    /// Does `steps` timesteps, or the remaining ones; `None` if there are none. A GPU is timed
    /// until `rule` is satisfied.
    ///
    /// # Errors
    ///
    /// The device's error; if memory is short, with the largest problem that fits.
    pub fn advance(
        &mut self,
        steps: u32,
        rule: Option<&SamplingRule>,
    ) -> Result<Option<Chunk>, CommandError> {
        let all = timesteps_of(self.problem);
        let steps = steps.min(all - self.steps_done);
        if steps == 0 {
            return Ok(None);
        }
        let part = part(self.problem, self.steps_done, steps);
        let last = self.steps_done + steps;
        self.bar.update(self.steps_done.into(), all.into());
        let computed = match self.processor.device() {
            Some(device) => {
                // A device does not tell how far a plan is.
                let name = self.processor.name;
                let whole = || Bar::spinner(format!("{all} timesteps on {name}"));
                let _bar = (steps == all).then(whole);
                self.on_device(device, part.as_ref(), rule)
            }
            None => {
                let began = Instant::now();
                let time = self.on_cpu(part.as_ref());
                time.map(|time| (once(time), began.elapsed(), None))
            }
        };
        let (times, whole, energy_j) = computed.map_err(|error| self.explained(error))?;
        self.steps_done = last;
        Ok(Some(Chunk {
            steps,
            times,
            whole,
            energy_j,
        }))
    }

    /// Computes the timesteps that are next; with receivers, up to each of their samples in turn.
    fn on_cpu(&mut self, next: &dyn LabCase) -> Result<Duration, Error> {
        let all = self.problem.timesteps().unwrap_or(0);
        let advance = |part: &dyn LabCase, before: u32, fields: &mut NamedBuffers| {
            let progress = Within {
                bar: &self.bar,
                before: before.into(),
                all,
            };
            let run = || part.advance(fields, Cpu::Parallel, &progress);
            self.cores.install(run)
        };
        let Some(receivers) = &mut self.receivers else {
            return advance(next, self.steps_done, &mut self.fields);
        };
        let steps = timesteps_of(next);
        let mut time = Duration::ZERO;
        for piece in receivers.pieces(self.steps_done, steps) {
            let part = part(self.problem, piece.first, piece.steps);
            time += advance(part.as_ref(), piece.first, &mut self.fields)?;
            if piece.is_sampled {
                receivers.sample(&self.fields)?;
            }
        }
        Ok(time)
    }

    fn on_device(
        &mut self,
        device: &dyn Device,
        part: &dyn LabCase,
        rule: Option<&SamplingRule>,
    ) -> Result<(Summary, Duration, Option<f64>), Error> {
        let variant = self.processor.device_variant();
        let steps = timesteps_of(part);
        let plan = match &self.receivers {
            None => variant.record_on(part, device)?,
            Some(receivers) => receivers.record(self.problem, variant, self.steps_done, steps)?,
        };
        let energy_j = || self.telemetry.as_ref()?.read().energy_j;
        let mut energy = None;
        let began = Instant::now();
        let mut session = device.prepare(&variant.module, &plan)?;
        let mut run = || {
            // Nothing that a run before left can pass for a result of this one.
            reset(session.as_mut(), &plan, &self.fields)?;
            let before_j = energy_j();
            let timing = session.run()?;
            energy = before_j
                .zip(energy_j())
                .map(|(before_j, after_j)| after_j - before_j);
            Ok::<_, Error>(timing.device.unwrap_or(timing.host))
        };
        let mut times = once(run()?);
        let mut whole = began.elapsed();
        if let (Some(rule), DeviceKind::Cuda) = (rule, device.info().kind) {
            // Several processes stop together.
            times = match device.processes() {
                1 => rule.collect(|_| run())?,
                _ => SamplingRule::exactly(rule.min_samples).collect(|_| run())?,
            };
        }
        if !self.reads_results {
            return Ok((times, whole, energy));
        }
        let reading = Instant::now();
        let mut results = outputs(session.as_mut(), &plan)?;
        whole += reading.elapsed();
        if let Some(receivers) = &mut self.receivers
            && plan.find_output(SAMPLES).is_ok()
        {
            let samples: Vec<f32> = take(&mut results, SAMPLES)?.try_into()?;
            receivers.samples.extend(samples);
        }
        replace(&mut self.fields, results);
        Ok((times, whole, energy))
    }

    /// Computes something that is thrown away, so that what is timed next is not slower for being
    /// the first.
    ///
    /// # Errors
    ///
    /// As [`Stepper::advance`].
    pub fn warm_up(&self) -> Result<(), CommandError> {
        let _bar = Bar::spinner(format!("warming up {}", self.processor.name));
        let part = |steps: u32| {
            let all = timesteps_of(self.problem);
            part(self.problem, 0, all.min(steps))
        };
        let warm_up = || -> Result<(), Error> {
            let Some(device) = self.processor.device() else {
                let (part, mut fields) = (part(CPU_WARM_UP_STEPS), self.fields.clone());
                self.cores
                    .install(|| part.advance(&mut fields, Cpu::Parallel, &NoProgress))?;
                return Ok(());
            };
            if device.info().kind == DeviceKind::Cuda {
                let (time, steps) = GPU_WARM_UP;
                let variant = self.processor.device_variant();
                let plan = variant.record_on(part(steps).as_ref(), device)?;
                let mut session = device.prepare(&variant.module, &plan)?;
                reset(session.as_mut(), &plan, &self.fields)?;
                let began = Instant::now();
                session.run()?;
                while device.processes() == 1 && began.elapsed() < time {
                    session.run()?;
                }
            }
            Ok(())
        };
        warm_up().map_err(|error| self.explained(error))
    }

    /// Advances the same problem on the CPU as far, and compares the plan's outputs as the lab
    /// does: see [`Variant::check`]. Adds what it finds to `comparison`.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if memory is short.
    pub fn compare(&mut self, comparison: &mut Comparison) -> Result<(), CommandError> {
        let compared = self.compare_outputs(comparison);
        compared.map_err(|error| self.explained(error))
    }

    fn compare_outputs(&mut self, comparison: &mut Comparison) -> Result<(), Error> {
        let (done, expected) = &mut self.expected;
        if *done == 0 {
            *expected = self.problem.inputs()?;
        }
        let whole = part(self.problem, 0, self.steps_done);
        let part = part(self.problem, *done, self.steps_done - *done);
        let bar = Bar::since("the same on the CPU", self.began);
        self.cores
            .install(|| part.advance(expected, Cpu::Parallel, &bar))?;
        *done = self.steps_done;
        let variant = self.processor.device_variant();
        let mut add = |want: &NamedBuffers, checked: Result<(), CheckError>| {
            comparison.values += want.iter().map(|(_, want)| want.len() as u64).sum::<u64>();
            if let Err(error) = checked {
                comparison.add(self.problem, self.steps_done, &error);
            }
        };
        if !variant.is_exact() {
            // An oracle of all timesteps up to this one says which values are right.
            let is_output = |name: &str| self.processor.lab.outputs.contains(&name);
            let want = copies(expected, is_output)?;
            let got = copies(&self.fields, is_output)?;
            let inputs = self.problem.inputs()?;
            add(&want, variant.check(whole.as_ref(), &inputs, &want, &got)?);
            return Ok(());
        }
        for (name, _) in variant.record(part.as_ref())?.outputs() {
            let want = vec![(name.clone(), take(expected, name)?)];
            let got = vec![(name.clone(), take(&mut self.fields, name)?)];
            add(&want, check::exact(&want, &got));
            expected.extend(want);
            self.fields.extend(got);
        }
        Ok(())
    }

    /// The error; if memory is short, with the largest problem that fits.
    pub fn explained(&self, error: Error) -> CommandError {
        memory_advice::failure(error, self.processor.lab, self.processor.variant)
    }
}

/// Checks that the variant uses more than one of several devices.
fn uses_several(
    problem: &dyn LabCase,
    processor: &Processor,
    variant: &Variant,
    device: &dyn Device,
) -> Result<(), CommandError> {
    let devices = device.count();
    let steps = timesteps_of(problem).min(1);
    let lab = processor.lab;
    let plan = variant
        .record_for(part(problem, 0, steps).as_ref(), devices)
        .map_err(|error| match (&error, device.processes()) {
            // The number of devices is the command's, and no fault of a submission.
            (Error::Plan(PlanError::Unsupported { .. }), 1) => {
                CommandError::Input(format!("--gpus {devices}: {error}"))
            }
            (Error::Plan(PlanError::Unsupported { .. }), _) => {
                CommandError::Input(error.to_string())
            }
            _ => memory_advice::failure(error, lab, Some(variant)),
        })?;
    match plan.devices() {
        1 => Err(CommandError::Input(format!(
            "--variant {}: it computes on one GPU; with --gpus leave --variant out, or see `harness list {}`",
            variant.name, lab.name
        ))),
        _ => Ok(()),
    }
}

impl Comparison {
    fn add(&mut self, problem: &dyn LabCase, step: u32, error: &CheckError) {
        let first = match error {
            CheckError::Mismatch(mismatch) => {
                self.different += mismatch.count as u64;
                let place = problem.locate(&mismatch.buffer, mismatch.index);
                format!(
                    "{} after step {step} at {}: {}, not {}",
                    mismatch.buffer,
                    place.unwrap_or_else(|| format!("[{}]", mismatch.index)),
                    mismatch.got,
                    mismatch.expected
                )
            }
            other => format!("after step {step}: {other}"),
        };
        self.first.get_or_insert(first);
    }
}

/// Shows steps of a part as steps of the whole.
struct Within<'b> {
    bar: &'b Bar,
    /// Steps before the part.
    before: u64,
    /// Steps of the whole.
    all: u64,
}

impl Progress for Within<'_> {
    fn update(&self, done: u64, _of_part: u64) {
        self.bar.update(self.before + done, self.all);
    }
}

/// A single sample.
pub fn once(time: Duration) -> Summary {
    Summary::new(vec![time.as_secs_f64()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::DeviceArg;
    use crate::test_command::parse;
    use host::wave2d::Wave2d;
    use host::wave3d::{Start, Wave3d};
    use lab::{Cpu, Lab};
    use select::catalogue::Submitted;

    fn processor(lab: &'static Lab, device: &str) -> Processor {
        let arg: DeviceArg = parse(&[device]);
        let case = lab.small_cases().remove(0);
        arg.processor(lab, case.as_ref(), Submitted::NONE).unwrap()
    }

    /// The problem in pieces is the problem in one.
    fn in_pieces(lab: &'static Lab, problem: &dyn LabCase, pieces: &[u32], done: &[u32]) {
        let processor = processor(lab, "--device=cpu");
        let mut stepper = Stepper::new(problem, &processor, None).unwrap();
        let mut steps = Vec::new();
        for piece in pieces {
            steps.extend(
                stepper
                    .advance(*piece, None)
                    .unwrap()
                    .map(|chunk| chunk.steps),
            );
        }
        assert_eq!(steps, done);
        let whole = problem.reference(Cpu::Serial, &NoProgress).unwrap();
        for (name, expected) in whole {
            let got = device::check::find(&stepper.fields, &name).unwrap();
            assert!(got.bytes() == expected.bytes(), "{name}");
            assert!(got.bytes().iter().any(|byte| *byte != 0));
        }
    }

    #[test]
    fn pieces_add_up() {
        let problem = Wave2d::new(40, 30, 100, "double-slit").unwrap();
        in_pieces(&host::wave2d::LAB, &problem, &[1, 33, 66], &[1, 33, 66]);
        let volume = Wave3d::new([12, 11, 14], 70).unwrap();
        in_pieces(&host::wave3d::LAB, &volume, &[33, 33, 33, 33], &[33, 33, 4]);
    }

    #[test]
    fn every_bit_is_compared() {
        let problem = Wave3d::new([5, 6, 7], 4)
            .unwrap()
            .with_start(Start::Random { seed: 1.into() });
        let processor = processor(&host::wave3d::LAB, "--device=emulated");
        let mut stepper = Stepper::new(&problem, &processor, None).unwrap();
        let mut comparison = Comparison::default();
        stepper.advance(2, None).unwrap();
        stepper.compare(&mut comparison).unwrap();
        assert_eq!((comparison.values, comparison.different), (2 * 210, 0));
        assert_eq!(comparison.first, None);

        stepper.advance(2, None).unwrap();
        let mut u = take(&mut stepper.fields, "u").unwrap();
        let values = u.as_mut_slice::<f64>().unwrap();
        // On the border: a zero.
        values[1] = -0.0;
        values[100] = f64::NAN;
        replace(&mut stepper.fields, vec![("u".to_owned(), u)]);
        stepper.compare(&mut comparison).unwrap();
        assert_eq!((comparison.values, comparison.different), (4 * 210, 2));
        insta::assert_snapshot!(comparison.first.unwrap(), @"u after step 4 at i = 0, j = 0, k = 1: -0.0 (0x8000000000000000), not 0.0 (0x0)");
    }
}
