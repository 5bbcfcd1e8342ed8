//! What a sandbox allows, and how what ran in it ended.

use std::path::PathBuf;
use std::time::Duration;

use super::{InForce, Layer};

/// What a program may do.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// How much of everything.
    pub limits: Limits,
    /// Which files.
    pub access: Access,
    /// Which system calls.
    pub calls: Calls,
    /// Protections to leave out, as on a machine that lacks them.
    pub without: Vec<Layer>,
}

/// How much of everything a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From start to end.
    pub wall: Duration,
    /// Of the processors, for each process.
    pub cpu_s: u64,
    /// Address space of each process.
    pub memory_bytes: u64,
    /// Size of each file.
    pub file_bytes: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// Standard output and error together; who writes more is killed.
    pub output_bytes: usize,
}

/// Which files a program may use. What is not there is passed over; what is below a folder is allowed with it.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// To read and execute.
    pub read: Vec<PathBuf>,
    /// To read and write; in folders also to create and remove.
    pub write: Vec<PathBuf>,
}

/// Which system calls a program may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// All but those that no compiler or linker needs: sockets, ptrace, namespaces, ...
    Compiler,
    /// Those that a program needs to start, allocate, read and write open files, and end. Starting a process or a thread
    /// or opening a socket kills it; other calls, and creating files, are refused.
    Recorder,
}

/// How a program ended, and what it printed.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// Its standard output, as far as allowed.
    pub stdout: Vec<u8>,
    /// Its standard error, as far as allowed.
    pub stderr: Vec<u8>,
    /// What it ran under.
    pub in_force: InForce,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Exited(i32),
    /// It used more wall-clock or CPU time than allowed.
    TimedOut,
    /// It printed more than allowed.
    TooMuchOutput,
    /// It wrote a larger file than allowed.
    FileTooLarge,
    /// It made a system call that is answered with death.
    ForbiddenCall,
    /// Another signal ended it.
    Signal(i32),
}

impl Finished {
    /// Whether it ended by itself with exit code 0.
    pub fn succeeded(&self) -> bool {
        self.end == End::Exited(0)
    }
}
