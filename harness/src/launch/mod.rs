//! `harness launch`: starts this program several times on this machine, as the ranks of one run.
//!
//! Each copy learns its rank as from torchrun, by `RANK`, `WORLD_SIZE` and the like
//! (`ranks::World`). When one fails, all end.

#[cfg_attr(not(unix), path = "no_local_ranks.rs")]
mod local_ranks;

use std::ffi::OsString;

use clap::Args;

pub use local_ranks::run;

/// Arguments of `harness launch`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Rank 0 writes as if it were alone; lines of the others begin with their rank: [rank 1].\n\
                  Exits with 0 if all processes do, else as the first that failed; 128 and a signal's number if one ended it."
)]
pub struct LaunchArgs {
    /// How many processes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    processes: u32,
    /// A command of `harness` with its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
}
