//! The sandbox of a submission's code and its compilers: a child process with as little as Linux
//! lets us leave it.
//!
//! | protection     | effect                                         | missing on          |
//! |----------------|------------------------------------------------|---------------------|
//! | `limits`       | bounds CPU time, memory, file size, open files | -                   |
//! | `deadline`     | bounds time and output; kills all processes    | -                   |
//! | `privileges`   | no capabilities, and no way to get any         | -                   |
//! | `files`        | Landlock: only the named files and folders     | kernels before 5.13 |
//! | `system calls` | seccomp: few for the recorder, no sockets      | kernels without it  |
//! | `network`      | a network namespace with nothing in it         | some containers     |
//! | `processes`    | a PID namespace: all end with the first        | some containers     |
//!
//! No process leaves a core dump. Compilers may make more system calls than the recorder, but no
//! sockets and no ptrace. `network` and `processes` need user namespaces, which some containers and
//! systems refuse.
//!
//! No protection needs root, and none is weaker under root. What a machine lacks is reported
//! ([`InForce`]), and the rest holds without it: each is there for a reason, and most things are
//! refused twice.
//!
//! The child's environment holds the given variables only, its standard input is given bytes, and
//! of its standard output and error a limited number of bytes is kept.
//!
//! All of that is Linux's. Elsewhere, where [`HAS_ISOLATION`] is false, `deadline` alone is in
//! force, and a program keeps its user's environment. The caller decides whether that will do.

mod isolation;
mod layers;

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

pub use isolation::HAS_ISOLATION;
pub use layers::{InForce, Layer};

/// The protections that this system gives: those under which a program that does nothing ran.
///
/// # Errors
///
/// The system's, if it starts no process.
pub fn available() -> io::Result<InForce> {
    isolation::available()
}

/// Whether this system can keep a program from files ([`Layer::Files`]).
pub fn confines_files() -> bool {
    isolation::confines_files()
}

/// The system calls that a program may make.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// How much of everything.
    pub limits: ResourceLimits,
    /// Which files.
    pub access: Access,
    /// Which system calls.
    pub calls: Calls,
    /// Protections to leave out, as on a machine that lacks them.
    pub without: Vec<Layer>,
}

/// How much of everything a program may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimits {
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

/// The files that a program may use. A missing one is passed over; a folder includes all below it.
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
    /// Those that a program needs to start, allocate, read and write open files, and end. Starting
    /// a process or a thread or opening a socket kills it; other calls, and creating files, are
    /// refused.
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
    /// The layers that were in force.
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

impl Sandbox {
    /// Runs `command`, whose program is an absolute path, to its end, with `input` as its standard
    /// input. Of its environment it keeps what was set; without isolation it keeps all.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn run(&self, command: &mut Command, input: &[u8]) -> io::Result<Finished> {
        isolation::run(self, command, input)
    }
}

impl Finished {
    /// Whether it ended by itself with exit code 0.
    pub fn succeeded(&self) -> bool {
        self.end == End::Exited(0)
    }
}
