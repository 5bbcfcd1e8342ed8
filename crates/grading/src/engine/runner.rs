//! What runs the cases' jobs.

use std::process::Command;

use super::child::{self, Deadlines, Ended, Request};
use crate::failure::Failure;

/// What runs jobs.
pub trait Runner {
    /// Runs a job.
    ///
    /// # Errors
    ///
    /// What keeps every job from being run.
    fn run(&self, request: &Request, deadlines: &Deadlines) -> Result<Ended, Failure>;
}

/// Each job in a process of its own: this program again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Processes;

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "grade-case";

impl Runner for Processes {
    fn run(&self, request: &Request, deadlines: &Deadlines) -> Result<Ended, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::Environment(format!("this program does not find itself: {error}"))
        })?;
        let mut command = Command::new(program);
        command.arg(SUBCOMMAND);
        // Kernels are loaded with their module, not when they are first launched, which would be timed.
        command.env("CUDA_MODULE_LOADING", "EAGER");
        child::run(command, request, deadlines)
    }
}

/// What is said of a process that died: how, and its last words.
pub fn died(how: &str, said: &str) -> String {
    let last = said.lines().last().unwrap_or_default();
    let colon = if last.is_empty() { "" } else { ": " };
    format!("the process that ran it died ({how}){colon}{last}")
}
