//! The time and the fuel of a case after others that did not end.
//!
//! A case that never ends costs all of its time. After the first of a submission, the cases that
//! follow are given a part of theirs: they are graded, and take seconds together. If all cases
//! of a submission end, it never meets this rule, however slow it is.

use std::time::Duration;

use super::emulated::FUEL;
use crate::lab_spec::Group;
use crate::outcome::Failure;

/// A case is given all of its time and fuel; after one that did not end, one in ten; after more,
/// one in a hundred.
const PARTS: [u32; 3] = [1, 10, 100];
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
        Share { ended_badly }
    }
}

/// How much of its time and fuel a case is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The cases before it that did not end.
    ended_badly: u32,
}

impl Share {
    /// It is given one in this number.
    fn one_in(self) -> u32 {
        PARTS[(self.ended_badly as usize).min(PARTS.len() - 1)]
    }

    /// Whether that is all.
    pub fn is_whole(self) -> bool {
        self.one_in() == 1
    }

    /// Warp instructions of a block on the emulated device.
    pub fn fuel(self) -> u64 {
        FUEL / u64::from(self.one_in())
    }

    /// The time of a run that may take `whole`.
    pub fn time(self, whole: Duration) -> Duration {
        (whole / self.one_in()).max(LEAST.min(whole))
    }

    /// The failure of a case that did not end, with what it was given if that was not all.
    pub fn told(self, mut failure: Failure) -> Failure {
        if self.ended_badly > 0 {
            let before = match self.ended_badly {
                1 => "a case",
                _ => "cases",
            };
            let note = format!(
                "this case had 1/{} of the usual time and instructions, because {before} before it did not end: with those \
                 mended, it has all",
                self.one_in()
            );
            match &mut failure.sanitizer {
                Some(said) => *said += &format!("\n{note}"),
                None => failure.message += &format!("; {note}"),
            }
        }
        failure
    }
}
