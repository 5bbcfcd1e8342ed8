//! Labs without timesteps: each is an instrument, whose run is a command of its own.

mod matadd;
mod membench;

use clap::Subcommand;
use exit::{CommandError, Ending};
use select::catalogue::{SubmissionArg, Submitted};
use terminal::stdout::Out;

/// An instrument, with its arguments.
#[derive(Debug, Clone, Subcommand)]
pub enum Instrument {
    /// Matrix addition: which thread of a launch gets which element
    Matadd(matadd::MataddArgs),
    /// Latency and bandwidth of each level of a GPU's memory, with a plot; coalesced and other
    /// loads
    Membench(membench::MembenchArgs),
}

impl Instrument {
    /// Does what was asked.
    ///
    /// # Errors
    ///
    /// As [`run`](crate::run).
    pub fn run(&self, submitted: Submitted, out: &mut Out<'_>) -> Result<Ending, CommandError> {
        match self {
            Instrument::Matadd(args) => matadd::run(args, submitted, out),
            Instrument::Membench(args) => membench::run(args, out),
        }
    }

    /// The lab, and the submissions that are to run it.
    pub fn own(&self) -> Option<(&'static str, &SubmissionArg)> {
        match self {
            Instrument::Matadd(args) => Some(("matadd", args.own())),
            Instrument::Membench(_) => None,
        }
    }
}
