//! Processes of workers and compilers, and room on a disk: the parts that differ by operating
//! system.

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "unix.rs")]
mod native;

pub use native::{
    ABORT, COMPILERS_PATH, free_bytes, limit_memory, private_stdout, processor_time, signal,
    status, this_program,
};
