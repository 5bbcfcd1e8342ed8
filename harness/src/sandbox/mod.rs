//! What a submission's code and its compilers run in: a child process with as little as Linux lets us leave it.
//!
//! | protection      | what it does                                                   | where it is missing             |
//! |-----------------|----------------------------------------------------------------|---------------------------------|
//! | `limits`        | bounds CPU time, memory, file size, open files; no core dumps  | -                               |
//! | `deadline`      | bounds wall-clock time and output; kills the whole process group | -                             |
//! | `privileges`    | no capabilities, and no way to get any                         | -                               |
//! | `files`         | Landlock: nothing but the named files and folders              | kernels before 5.13             |
//! | `system calls`  | seccomp: the recorder has a short list; compilers lack sockets, ptrace and their like | kernels without seccomp |
//! | `network`       | a network namespace with nothing in it                         | containers and systems that refuse user namespaces |
//! | `processes`     | a PID namespace: when the first process ends, all end          | the same                        |
//!
//! No protection needs root, and none is weaker under root. What a machine lacks is told ([`InForce`]), and the rest holds
//! without it: each is there for a reason, and most things are refused twice.
//!
//! The child's environment is empty but for what is given, its standard input is given bytes, and of its standard output
//! and error so many bytes are kept.

mod in_force;
#[cfg(target_os = "linux")]
mod linux;
mod types;

pub use in_force::{InForce, Layer};
pub use types::{Access, Calls, End, Finished, Limits, Sandbox};

#[cfg(not(target_os = "linux"))]
impl Sandbox {
    /// Refuses: sandboxes are Linux's.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn run(&self, _: &mut std::process::Command, _: &[u8]) -> std::io::Result<Finished> {
        Err(std::io::Error::other(
            "submissions can only be built on Linux",
        ))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
