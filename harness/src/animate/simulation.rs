//! A wave, advanced frame by frame.

use host::run::{outputs, reset};
use host::wave2d::{Fields, LAB, Wave2d, advance};
use host::{Case, Cpu, Device, Error, HostBuffer, Lab, NoProgress};

/// What computes.
#[derive(Clone, Copy)]
pub enum Runner<'d> {
    /// The parallel CPU reference.
    Cpu,
    /// A variant on a device.
    Device {
        /// The device.
        device: &'d dyn Device,
        /// The variant's name.
        variant: &'static str,
    },
}

/// A wave that starts from rest.
pub struct Simulation<'d> {
    problem: Wave2d,
    runner: Runner<'d>,
    fields: Fields<f32>,
    steps_done: u32,
}

impl<'d> Simulation<'d> {
    /// At timestep 0.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] if memory is short.
    pub fn new(problem: Wave2d, runner: Runner<'d>) -> Result<Simulation<'d>, Error> {
        Ok(Simulation {
            fields: problem.initial()?,
            problem,
            runner,
            steps_done: 0,
        })
    }

    /// Computes so many timesteps more.
    ///
    /// # Errors
    ///
    /// What the device answers.
    pub fn advance(&mut self, steps: u32) -> Result<(), Error> {
        let chunk = self
            .problem
            .clone()
            .with_first_step(self.steps_done)
            .with_steps(steps);
        match self.runner {
            Runner::Cpu => advance(&chunk, &mut self.fields, Cpu::Parallel, &NoProgress),
            Runner::Device { device, variant } => {
                let plan = chunk.record(variant)?;
                let mut session = device.prepare(LAB.module(), &plan)?;
                let take = |field: &mut Vec<f32>| HostBuffer::from(std::mem::take(field));
                let inputs = vec![
                    ("u0".to_owned(), take(&mut self.fields.u0)),
                    ("u1".to_owned(), take(&mut self.fields.u1)),
                ];
                reset(session.as_mut(), &plan, &inputs)?;
                session.run()?;
                for (name, buffer) in outputs(session.as_mut(), &plan)? {
                    let field = match name.as_str() {
                        "u0" => &mut self.fields.u0,
                        _ => &mut self.fields.u1,
                    };
                    *field = buffer.as_slice()?.to_vec();
                }
            }
        }
        self.steps_done += steps;
        Ok(())
    }

    /// The last field, n_x * n_y values, x contiguous.
    pub fn last_field(&self) -> &[f32] {
        &self.fields.u1
    }

    /// How many timesteps were computed.
    pub fn steps_done(&self) -> u32 {
        self.steps_done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up() {
        let problem = Wave2d::new(40, 30, 100, "double-slit").unwrap();
        let mut whole = Simulation::new(problem.clone(), Runner::Cpu).unwrap();
        whole.advance(100).unwrap();
        let mut pieces = Simulation::new(problem, Runner::Cpu).unwrap();
        for steps in [1, 33, 66] {
            pieces.advance(steps).unwrap();
        }
        assert_eq!(pieces.steps_done(), 100);
        assert_eq!(pieces.last_field(), whole.last_field());
        assert!(whole.last_field().iter().any(|value| value.abs() > 0.1));
    }
}
