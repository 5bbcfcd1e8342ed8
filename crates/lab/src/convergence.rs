//! Timesteps until a field hardly changes.

use std::time::Duration;

use device::buffer::HostBuffer;
use device::{Device, Timing};

use crate::case::Cpu;
use crate::params::CaseError;
use crate::variant::Variant;

/// The rule for stopping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    tolerance: f64,
    check_every: u32,
}

impl Stop {
    /// Checks the change after every `check_every` iterations, and stops if no point changes by
    /// more than `tolerance`.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for a tolerance that is not above 0 or not finite, and for a
    /// `check_every` of 0.
    pub fn new(tolerance: f64, check_every: u32) -> Result<Stop, CaseError> {
        if !(tolerance > 0.0 && tolerance.is_finite()) {
            return Err(CaseError::invalid(
                "tolerance",
                tolerance,
                "a finite number above 0: the largest change of a point in one iteration",
            ));
        }
        if check_every == 0 {
            return Err(CaseError::invalid(
                "check_every",
                0,
                "iterations from one look at the change to the next, at least 1",
            ));
        }
        Ok(Stop {
            tolerance,
            check_every,
        })
    }

    /// The tolerance.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Iterations from one check to the next.
    pub fn check_every(&self) -> u32 {
        self.check_every
    }

    /// The iterations between checks, in order: `check_every` as often as it fits into `all`, then
    /// the rest.
    pub fn chunks(&self, all: u32) -> impl Iterator<Item = u32> + use<> {
        let whole = std::iter::repeat_n(self.check_every, (all / self.check_every) as usize);
        let rest = all % self.check_every;
        whole.chain((rest > 0).then_some(rest))
    }
}

/// The processor that iterates.
#[derive(Clone, Copy)]
pub enum By<'d> {
    /// The CPU, by the reference.
    Cpu(Cpu),
    /// A device, by a variant.
    Device(&'d dyn Device, &'d Variant),
}

/// The end of the iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Convergence {
    /// Iterations done: a multiple of `check_every`, unless it is the problem's number of
    /// iterations, which is the limit.
    pub iterations: u32,
    /// The largest change of a point in the last of them; infinite if there was none.
    pub change: f64,
    /// Whether the change is within the tolerance.
    pub reached: bool,
    /// The field after them: the lab's first output.
    pub u: HostBuffer,
    /// The time of iterations and checks, without allocation, transfers of the field, and
    /// recording.
    pub timing: Timing,
}

impl Convergence {
    /// Before the first iteration: the field, and no time of the device, if there is one.
    pub fn start(u: HostBuffer, device: Option<Duration>) -> Convergence {
        Convergence {
            iterations: 0,
            change: f64::INFINITY,
            reached: false,
            u,
            timing: Timing {
                device,
                host: Duration::ZERO,
            },
        }
    }

    /// Records the result of a check after this number of further iterations.
    pub fn looked(&mut self, iterations: u32, change: f64, stop: &Stop) {
        self.iterations += iterations;
        self.change = change;
        // NaN is not within any tolerance.
        self.reached = change <= stop.tolerance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_tolerances_are_named() {
        let refusal = |tolerance, every| Stop::new(tolerance, every).unwrap_err().to_string();
        insta::assert_snapshot!(refusal(0.0, 1), @"parameter `tolerance` = `0`: a finite number above 0: the largest change of a point in one iteration");
        insta::assert_snapshot!(refusal(-1.0, 1), @"parameter `tolerance` = `-1`: a finite number above 0: the largest change of a point in one iteration");
        insta::assert_snapshot!(refusal(f64::NAN, 1), @"parameter `tolerance` = `NaN`: a finite number above 0: the largest change of a point in one iteration");
        insta::assert_snapshot!(refusal(1.0, 0), @"parameter `check_every` = `0`: iterations from one look at the change to the next, at least 1");
    }
}
