//! The parts that differ by operating system: links, owners and modes of files, signals.
//!
//! Here a port of the crate is written; the rest of it is the same everywhere. Other crates that
//! make or open files take what they need from here.

#[cfg_attr(not(unix), path = "no_owners.rs")]
mod files;
#[cfg_attr(not(unix), path = "no_signals.rs")]
mod signals;

pub use files::{follow_no_link, link, make_executable, private};
pub(crate) use files::{identity, is_own, never_wait, with_mode};
pub use signals::outlive_file_size_limit;
pub(crate) use signals::{exit, watch_signals};
