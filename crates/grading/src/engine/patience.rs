//! The time and the fuel of a case after others that did not end.
//!
//! A case that never ends costs all of its time. After the first few of a submission, the cases
//! that follow are given a part of theirs: they are graded, and take seconds together. If all cases
//! of a submission end, it never meets this rule, however slow it is.

use std::time::Duration;

use super::emulated::FUEL;
use crate::lab_spec::Group;
use crate::outcome::Failure;

/// How many cases may take all of their time and fuel.
const FIRST_FEW: u32 = 2;
/// The others have this part of them.
const PART: u32 = 20;
/// No run is given less time, if it had more.
const LEAST: Duration = Duration::from_secs(3);

/// How many cases did not end.
#[derive(Debug, Default)]
pub struct Patience {
    /// Of those that students know.
    known: u32,
    /// Of hidden ones.
    hidden: u32,
}

impl Patience {
    /// Takes note of a case that did not end.
    pub fn did_not_end(&mut self, group: Group) {
        match group {
            Group::Hidden => self.hidden += 1,
            Group::Small | Group::Large => self.known += 1,
        }
    }

    /// The share of the next case. Students see nothing of hidden cases in the shares of the cases
    /// that they know.
    pub fn share(&self, group: Group) -> Share {
        let ended_badly = match group {
            Group::Hidden => self.known + self.hidden,
            Group::Small | Group::Large => self.known,
        };
        match ended_badly < FIRST_FEW {
            true => Share::Whole,
            false => Share::Part,
        }
    }
}

/// How much of its time and fuel a case is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All.
    Whole,
    /// A part, because others did not end.
    Part,
}

impl Share {
    /// Warp instructions of a block on the emulated device.
    pub fn fuel(self) -> u64 {
        match self {
            Share::Whole => FUEL,
            Share::Part => FUEL / u64::from(PART),
        }
    }

    /// The time of a run that may take `whole`.
    pub fn time(self, whole: Duration) -> Duration {
        match self {
            Share::Whole => whole,
            Share::Part => (whole / PART).max(LEAST.min(whole)),
        }
    }

    /// The failure of a case that did not end, with what it was given if that was not all.
    pub fn told(self, mut failure: Failure) -> Failure {
        if self == Share::Part {
            let note = format!(
                "this case had 1/{PART} of the usual time and instructions, because {FIRST_FEW} cases before it did not end: \
                 with those mended, it has all"
            );
            match &mut failure.sanitizer {
                Some(said) => *said += &format!("\n{note}"),
                None => failure.message += &format!("; {note}"),
            }
        }
        failure
    }
}
