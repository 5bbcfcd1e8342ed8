//! A problem with timesteps, advanced chunk by chunk on a device or the CPU.

use std::time::{Duration, Instant};

use host::buffer::BufferError;
use host::check::CheckError;
use host::run::{outputs, reset};
use host::{Case, Device, DeviceKind, Error, HostBuffer, Lab, NamedBuffers, NoProgress, Progress};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::processor::Processor;
use crate::failure::Failure;
use crate::fits;
use crate::progress::Bar;
use crate::stats::{Rule, Summary};

/// A GPU computes this long before its first timed chunk, so that clocks have risen and code is loaded.
const WARM_UP: Duration = Duration::from_millis(500);
/// In pieces of at most so many timesteps.
const GPU_WARM_UP_STEPS: u32 = 50;
/// The CPU computes so many timesteps: threads have started then, and fields are in memory.
const CPU_WARM_UP_STEPS: u32 = 5;

/// A lab's problem that `run` and `animate` can advance: what they need beyond [`Case`].
///
/// The names of the plan's outputs are names of inputs too: the outputs of some timesteps are the inputs of the next.
pub trait Stepped: Case + Clone {
    /// The problem's lab.
    fn lab(&self) -> &'static dyn Lab;

    /// The same problem with `steps` timesteps, numbered from `first` on.
    fn part(&self, first: u32, steps: u32) -> Self;

    /// Does all the problem's timesteps on the current thread pool. `fields` holds what [`Case::inputs`] names, and
    /// afterwards the outputs in their places. Answers how long the timesteps took, without setup.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] if memory is short, or `fields` is another problem's.
    fn advance(
        &self,
        fields: &mut NamedBuffers,
        progress: &dyn Progress,
    ) -> Result<Duration, Error>;
}

/// Removes a buffer, for [`Stepped::advance`] to compute with.
///
/// # Errors
///
/// [`BufferError::Missing`].
pub fn take(fields: &mut NamedBuffers, name: &str) -> Result<HostBuffer, BufferError> {
    match fields.iter().position(|(other, _)| other == name) {
        Some(position) => Ok(fields.swap_remove(position).1),
        None => Err(BufferError::Missing {
            name: name.to_owned(),
        }),
    }
}

/// Some timesteps that were done in one piece.
pub struct Chunk {
    /// How many.
    pub steps: u32,
    /// The work of the timesteps: see [`host::Work::updates`].
    pub updates: u64,
    /// How long they took, without copies and output.
    pub times: Summary,
    /// The same once, with allocation and transfers.
    pub whole: Duration,
}

/// What a comparison with the CPU found.
pub struct Comparison {
    /// Values that were compared.
    pub values: u64,
    /// Values that differ.
    pub different: u64,
    /// Where the first of them is, and how it differs.
    pub first: Option<String>,
}

/// A problem and how far it is.
pub struct Stepper<'p, P> {
    pub(super) problem: P,
    pub(super) processor: &'p Processor,
    /// What the CPU computes, it computes here.
    pub(super) cores: ThreadPool,
    steps: u32,
    fields: NamedBuffers,
    /// The same on the CPU, after `steps_compared` timesteps, if it is to be compared.
    expected: Option<NamedBuffers>,
    steps_compared: u32,
    steps_done: u32,
    began: Instant,
}

impl<'p, P: Stepped> Stepper<'p, P> {
    /// The problem before its first timestep.
    ///
    /// # Errors
    ///
    /// [`Failure::Environment`] if memory is short.
    pub fn new(
        problem: &P,
        processor: &'p Processor,
        cores: ThreadPool,
        is_compared: bool,
    ) -> Result<Stepper<'p, P>, Failure> {
        let inputs = || {
            let inputs = problem.inputs();
            inputs.map_err(|error| fits::failure(error, problem, processor.variant()))
        };
        Ok(Stepper {
            problem: problem.clone(),
            steps: problem.timesteps().unwrap_or(0) as u32,
            processor,
            cores,
            fields: inputs()?,
            expected: is_compared.then(inputs).transpose()?,
            steps_compared: 0,
            steps_done: 0,
            began: Instant::now(),
        })
    }

    /// How many timesteps are done.
    pub fn steps_done(&self) -> u32 {
        self.steps_done
    }

    /// The fields after them, by name.
    pub fn fields(&self) -> &NamedBuffers {
        &self.fields
    }

    /// The same, for good.
    pub fn into_fields(self) -> NamedBuffers {
        self.fields
    }

    /// Does `steps` timesteps, or what is left of them; `None` if nothing is. A GPU is timed as often as `rule` says.
    ///
    /// # Errors
    ///
    /// What the device answers; if memory is short, with the largest problem that fits.
    pub fn advance(&mut self, steps: u32, rule: Option<&Rule>) -> Result<Option<Chunk>, Failure> {
        let steps = steps.min(self.steps - self.steps_done);
        if steps == 0 {
            return Ok(None);
        }
        let part = self.problem.part(self.steps_done, steps);
        let computed = match self.processor.device() {
            Some(device) => self.on_device(device, &part, rule),
            None => self.on_cpu(&part),
        };
        let (times, whole) = computed.map_err(|error| self.explained(error))?;
        self.steps_done += steps;
        Ok(Some(Chunk {
            steps,
            updates: part.work(self.processor.variant()).updates,
            times,
            whole,
        }))
    }

    /// Takes over fields that were computed elsewhere, after so many timesteps more.
    pub fn take_over(&mut self, steps: u32, outputs: NamedBuffers) {
        for (name, buffer) in outputs {
            match self.fields.iter_mut().find(|(other, _)| *other == name) {
                Some((_, field)) => *field = buffer,
                None => self.fields.push((name, buffer)),
            }
        }
        self.steps_done += steps;
    }

    /// Computes something that is thrown away, so that what is timed next is not slower for being the first.
    ///
    /// # Errors
    ///
    /// As [`Stepper::advance`].
    pub fn warm_up(&self) -> Result<(), Failure> {
        let _bar = Bar::spinner(format!("warming up {}", self.processor.name()));
        let warmed_up = match self.processor.device() {
            Some(device) if device.info().kind == DeviceKind::Cuda => self.warm_up_gpu(device),
            Some(_) => Ok(()),
            None => {
                let part = self.problem.part(0, self.steps.min(CPU_WARM_UP_STEPS));
                let mut fields = self.fields.clone();
                let advance = || part.advance(&mut fields, &NoProgress).map(drop);
                self.cores.install(advance)
            }
        };
        warmed_up.map_err(|error| self.explained(error))
    }

    fn warm_up_gpu(&self, device: &dyn Device) -> Result<(), Error> {
        let part = self.problem.part(0, self.steps.min(GPU_WARM_UP_STEPS));
        let plan = part.record(self.processor.variant())?;
        let mut session = device.prepare(part.lab().module(), &plan)?;
        reset(session.as_mut(), &plan, &self.fields)?;
        let began = Instant::now();
        while began.elapsed() < WARM_UP {
            session.run()?;
        }
        Ok(())
    }

    fn on_cpu(&mut self, part: &P) -> Result<(Summary, Duration), Error> {
        let bar = self.bar(&self.label(), self.steps_done);
        let began = Instant::now();
        let fields = &mut self.fields;
        let time = self.cores.install(|| part.advance(fields, &bar))?;
        Ok((Summary::new(vec![time.as_secs_f64()]), began.elapsed()))
    }

    fn on_device(
        &mut self,
        device: &dyn Device,
        part: &P,
        rule: Option<&Rule>,
    ) -> Result<(Summary, Duration), Error> {
        // A device does not tell how far a plan is.
        let bar = if part.timesteps() == self.problem.timesteps() {
            Bar::spinner(self.label())
        } else {
            Bar::since(self.label(), self.began)
        };
        bar.update(self.steps_done.into(), self.steps.into());
        let plan = part.record(self.processor.variant())?;
        let began = Instant::now();
        let mut session = device.prepare(part.lab().module(), &plan)?;
        reset(session.as_mut(), &plan, &self.fields)?;
        let timing = session.run()?;
        let mut results = outputs(session.as_mut(), &plan)?;
        let whole = began.elapsed();

        let time = timing.device.unwrap_or(timing.host);
        let mut times = Summary::new(vec![time.as_secs_f64()]);
        if let (Some(rule), DeviceKind::Cuda) = (rule, device.info().kind) {
            times = rule.collect(|_| {
                // Nothing that the run before left can pass for a result of this one.
                reset(session.as_mut(), &plan, &self.fields)?;
                let timing = session.run()?;
                Ok::<_, Error>(timing.device.unwrap_or(timing.host))
            })?;
            results = outputs(session.as_mut(), &plan)?;
        }
        self.take_over(0, results);
        Ok((times, whole))
    }

    /// Advances the CPU's fields as far, and compares those that the problem's plan has as outputs, as the lab compares
    /// them: see [`Case::check`]. `None` if the fields are the CPU's own.
    ///
    /// # Errors
    ///
    /// [`Failure::Environment`] if memory is short.
    pub fn compare(&mut self) -> Result<Option<Comparison>, Failure> {
        let Some(mut expected) = self.expected.take() else {
            return Ok(None);
        };
        let steps = self.steps_done - self.steps_compared;
        let part = self.problem.part(self.steps_compared, steps);
        let bar = self.bar("the same on the CPU", self.steps_compared);
        let advanced = self.cores.install(|| part.advance(&mut expected, &bar));
        drop(bar);
        let plan = part.record(self.processor.variant());
        let plan = advanced.and(plan).map_err(|error| self.explained(error))?;
        let mut comparison = Comparison {
            values: 0,
            different: 0,
            first: None,
        };
        for (name, _) in plan.outputs() {
            let output = |fields: &mut NamedBuffers| -> Result<NamedBuffers, Error> {
                Ok(vec![(name.clone(), take(fields, name)?)])
            };
            let (one, other) = (output(&mut expected)?, output(&mut self.fields)?);
            comparison.values += one[0].1.len() as u64;
            if let Err(error) = part.check(self.processor.variant(), &one, &other) {
                self.found(&error, &mut comparison);
            }
            expected.extend(one);
            self.fields.extend(other);
        }
        self.expected = Some(expected);
        self.steps_compared = self.steps_done;
        Ok(Some(comparison))
    }

    fn found(&self, error: &CheckError, comparison: &mut Comparison) {
        let step = self.steps_done;
        let first = match error {
            CheckError::Mismatch(mismatch) => {
                comparison.different += mismatch.count as u64;
                let place = self.problem.locate(&mismatch.buffer, mismatch.index);
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
        comparison.first.get_or_insert(first);
    }

    /// A bar for all the problem's timesteps, of which some are done. It appears when the whole has taken a while.
    fn bar(&self, label: &str, done: u32) -> StepsBar {
        StepsBar {
            bar: Bar::since(label, self.began),
            done: done.into(),
            steps: self.steps.into(),
        }
    }

    fn label(&self) -> String {
        format!("computing on {}", self.processor.name())
    }

    /// The error; if memory is short, with the largest problem that fits.
    pub(super) fn explained(&self, error: Error) -> Failure {
        fits::failure(error, &self.problem, self.processor.variant())
    }
}

/// So many cores of the CPU, or all.
///
/// # Errors
///
/// [`Failure::Environment`] if the system starts no threads.
pub fn cores(threads: Option<u32>) -> Result<ThreadPool, Failure> {
    // 0 lets rayon choose.
    ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0) as usize)
        .build()
        .map_err(|error| Failure::Environment(format!("--threads: cannot start threads: {error}")))
}

/// Shows the progress of a chunk as that of the whole.
struct StepsBar {
    bar: Bar,
    done: u64,
    steps: u64,
}

impl Progress for StepsBar {
    fn update(&self, done: u64, _: u64) {
        self.bar.update(self.done + done, self.steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::processor::DeviceArg;
    use crate::run::test_command::parse;
    use host::Cpu;
    use host::wave2d::Wave2d;
    use host::wave3d::{Start, Wave3d};

    fn processor(device: &str) -> Processor {
        let arg: DeviceArg = parse(&[device]);
        arg.processor(&host::wave3d::LAB, "single").unwrap()
    }

    /// The problem in pieces is the problem in one.
    fn in_pieces<P: Stepped>(problem: &P, pieces: &[u32], done: &[u32]) {
        let processor = processor("--device=cpu");
        let cores = cores(None).unwrap();
        let mut stepper = Stepper::new(problem, &processor, cores, false).unwrap();
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
            let got = host::check::find(stepper.fields(), &name).unwrap();
            assert!(got.bytes() == expected.bytes(), "{name}");
            assert!(got.bytes().iter().any(|byte| *byte != 0));
        }
    }

    #[test]
    fn pieces_add_up() {
        let problem = Wave2d::new(40, 30, 100, "double-slit").unwrap();
        in_pieces(&problem, &[1, 33, 66], &[1, 33, 66]);
        let problem = Wave3d::new([12, 11, 14], 70).unwrap();
        in_pieces(&problem, &[33, 33, 33, 33], &[33, 33, 4]);
    }

    #[test]
    fn every_bit_is_compared() {
        let problem = Wave3d::new([5, 6, 7], 4).unwrap();
        let problem = problem.with_start(Start::Random { seed: 1 });
        let processor = processor("--device=emulated");
        let cores = cores(None).unwrap();
        let mut stepper = Stepper::new(&problem, &processor, cores, true).unwrap();
        stepper.advance(2, None).unwrap();
        let comparison = stepper.compare().unwrap().unwrap();
        assert_eq!((comparison.values, comparison.different), (2 * 210, 0));
        assert_eq!(comparison.first, None);

        stepper.advance(2, None).unwrap();
        let mut u = take(&mut stepper.fields, "u").unwrap();
        let values = u.as_mut_slice::<f64>().unwrap();
        // On the border: a zero.
        values[1] = -0.0;
        values[100] = f64::NAN;
        stepper.take_over(0, vec![("u".to_owned(), u)]);
        let comparison = stepper.compare().unwrap().unwrap();
        assert_eq!((comparison.values, comparison.different), (2 * 210, 2));
        insta::assert_snapshot!(comparison.first.unwrap(), @"");
    }
}
