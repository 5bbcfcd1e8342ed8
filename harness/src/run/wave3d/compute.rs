//! The wave, chunk by chunk: as many timesteps as lie between two outputs.

use std::time::{Duration, Instant};

use host::run::{outputs, reset};
use host::wave3d::{Coefficients, Fields, LAB, Wave3d, advance};
use host::{Case, Cpu, DeviceKind, Error, HostBuffer, Lab, NoProgress, Progress};

use crate::progress::Bar;
use crate::run::place::Place;

/// Work before the first timed chunk of a GPU, so that clocks have risen and code is loaded.
const WARM_UP: Duration = Duration::from_millis(500);

/// The same for the CPU, in timesteps: threads have started, and fields are in memory.
const CPU_WARM_UP: u32 = 5;

/// A part of the timesteps.
pub struct Chunk {
    /// How many.
    pub steps: u32,
    /// How long they took: no copies, no output.
    pub time: Duration,
    /// How many values of the two fields after it differ from the CPU's in any bit; 0 if nobody looked.
    pub different: u64,
    /// Where the first of them is.
    pub first_different: Option<String>,
}

/// A wave that advances.
pub struct Runner<'m> {
    problem: Wave3d,
    coefficients: Coefficients,
    place: Place<'m>,
    variant: &'static str,
    fields: Fields,
    /// The same on the CPU, if it is compared.
    expected: Option<Fields>,
    steps_done: u32,
    bar: Bar,
}

impl<'m> Runner<'m> {
    /// At timestep 0.
    pub fn new(
        problem: &Wave3d,
        place: Place<'m>,
        variant: &'static str,
        is_checked: bool,
    ) -> Result<Runner<'m>, Error> {
        Ok(Runner {
            coefficients: problem.coefficients(),
            fields: problem.initial()?,
            expected: is_checked.then(|| problem.initial()).transpose()?,
            problem: problem.clone(),
            place,
            variant,
            steps_done: 0,
            bar: Bar::new("advancing the wave"),
        })
    }

    /// How many timesteps were done.
    pub fn steps_done(&self) -> u32 {
        self.steps_done
    }

    /// The last field.
    pub fn u(&self) -> &[f64] {
        &self.fields.u
    }

    /// Advances by `steps`, or what is left of them; `None` if nothing is.
    pub fn advance(&mut self, steps: u32) -> Result<Option<Chunk>, Error> {
        let steps = steps.min(self.problem.steps() - self.steps_done);
        if steps == 0 {
            return Ok(None);
        }
        let part = self
            .problem
            .clone()
            .with_first_step(self.steps_done)
            .with_steps(steps);
        let time = match self.place {
            Place::Cpu => {
                if self.steps_done == 0 {
                    self.warm_up(&part)?;
                }
                let began = Instant::now();
                let fields = &mut self.fields;
                advance(
                    &part,
                    &self.coefficients,
                    fields,
                    Cpu::Parallel,
                    &NoProgress,
                );
                began.elapsed()
            }
            Place::Device(named) => self.on_device(named.device, &part)?,
        };
        self.steps_done += steps;
        let mut chunk = Chunk {
            steps,
            time,
            different: 0,
            first_different: None,
        };
        if let Some(expected) = &mut self.expected {
            advance(
                &part,
                &self.coefficients,
                expected,
                Cpu::Parallel,
                &NoProgress,
            );
            let pairs = [
                ("u_prev", &expected.u_prev, &self.fields.u_prev),
                ("u", &expected.u, &self.fields.u),
            ];
            for (name, expected, got) in pairs {
                let (different, first) = differences(expected, got);
                chunk.different += different;
                let step = self.steps_done;
                chunk.first_different = chunk.first_different.or_else(|| {
                    let first = first?;
                    let place = self.problem.locate(name, first)?;
                    let (got, expected) = (got[first], expected[first]);
                    Some(format!(
                        "{name} after step {step} at {place}: {got:e}, not {expected:e}"
                    ))
                });
            }
        }
        self.bar
            .update(self.steps_done.into(), self.problem.steps().into());
        Ok(Some(chunk))
    }

    /// Some timesteps that nobody sees.
    fn warm_up(&self, part: &Wave3d) -> Result<(), Error> {
        let few = part.clone().with_steps(part.steps().min(CPU_WARM_UP));
        let mut fields = few.initial()?;
        advance(
            &few,
            &self.coefficients,
            &mut fields,
            Cpu::Parallel,
            &NoProgress,
        );
        Ok(())
    }

    fn on_device(&mut self, device: &dyn host::Device, part: &Wave3d) -> Result<Duration, Error> {
        let plan = part.record(self.variant)?;
        let mut session = device.prepare(LAB.module(), &plan)?;
        let take = |values: &mut Vec<f64>| HostBuffer::from(std::mem::take(values));
        let inputs = vec![
            ("u_prev".to_owned(), take(&mut self.fields.u_prev)),
            ("u".to_owned(), take(&mut self.fields.u)),
            ("c2".to_owned(), self.coefficients.c2.clone().into()),
            ("d".to_owned(), self.coefficients.d.clone().into()),
        ];
        reset(session.as_mut(), &plan, &inputs)?;
        if self.steps_done == 0 && device.info().kind == DeviceKind::Cuda {
            let began = Instant::now();
            while began.elapsed() < WARM_UP {
                session.run()?;
            }
            reset(session.as_mut(), &plan, &inputs)?;
        }
        let timing = session.run()?;
        for (name, buffer) in outputs(session.as_mut(), &plan)? {
            let field = match name.as_str() {
                "u" => &mut self.fields.u,
                _ => &mut self.fields.u_prev,
            };
            *field = buffer.as_slice()?.to_vec();
        }
        Ok(timing.device.unwrap_or(timing.host))
    }
}

/// How many values differ in any bit, and which is the first.
fn differences(expected: &[f64], got: &[f64]) -> (u64, Option<usize>) {
    assert_eq!(expected.len(), got.len(), "fields of one problem");
    let mut different = expected
        .iter()
        .zip(got)
        .enumerate()
        .filter(|(_, (a, b))| a.to_bits() != b.to_bits())
        .map(|(index, _)| index);
    let first = different.next();
    (u64::from(first.is_some()) + different.count() as u64, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_counts() {
        assert_eq!(differences(&[0.0, 1.0], &[0.0, 1.0]), (0, None));
        let expected = [1.0, 0.0, 2.0, f64::NAN];
        assert_eq!(
            differences(&expected, &[1.0, -0.0, 2.5, f64::NAN]),
            (2, Some(1))
        );
    }

    #[test]
    fn pieces_add_up() {
        let problem = Wave3d::new([12, 11, 14], 70).unwrap();
        let mut runner = Runner::new(&problem, Place::Cpu, "single", false).unwrap();
        let mut steps = Vec::new();
        while let Some(chunk) = runner.advance(33).unwrap() {
            steps.push(chunk.steps);
        }
        assert_eq!(steps, [33, 33, 4]);
        let mut whole = problem.initial().unwrap();
        let coefficients = problem.coefficients();
        advance(
            &problem,
            &coefficients,
            &mut whole,
            Cpu::Serial,
            &NoProgress,
        );
        assert_eq!(differences(&whole.u, runner.u()), (0, None));
        assert!(whole.u.iter().any(|value| *value != 0.0));
    }
}
