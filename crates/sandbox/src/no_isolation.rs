//! A system without a sandbox: nothing is in force, and no program of a submission is run.

use std::io;
use std::process::Command;

use crate::{Finished, InForce, Sandbox};

/// The protections that this system gives: none.
pub fn available() -> io::Result<InForce> {
    Ok(InForce::from_bits(0))
}

/// Whether this system can keep a program from files ([`Layer::Files`](crate::Layer::Files)).
pub fn confines_files() -> bool {
    false
}

impl Sandbox {
    /// Refuses: sandboxes are Linux's.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn run(&self, _: &mut Command, _: &[u8]) -> io::Result<Finished> {
        Err(io::Error::other("submissions can only be built on Linux"))
    }
}
