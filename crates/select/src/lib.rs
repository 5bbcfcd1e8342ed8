//! The labs, variants, cases and devices that a command is about, and why.
//!
//! # Purpose
//!
//! A command line names little. `harness run wave3d` names no variant, no shape, no device; `perf`
//! measures "all" variants. The rest is decided here and nowhere else, so that `run`, `perf`,
//! `tune` and `test` mean the same.
//!
//! # Contract
//!
//! - [`choice::choose`] picks a variant and its launch shape for a case on these devices, and keeps
//!   the reasons. [`choice::explain`] tells them in sentences: `harness run LAB --explain`.
//! - [`choice::measured`] picks the variants that are measured, [`choice::is_tuned_for`] the cases
//!   for which one is tuned.
//! - Labs are an argument: nothing here knows the course's.
//!
//! # Spine
//!
//! | file | content |
//! |---|---|
//! | `choice.rs` | variant and shape for a case, which others there are, and why |
//! | `tuned.rs` | `tuned.toml`, the shapes that were found, and which of them fits a case |
//! | `fastest.rs` | the variant that takes the least time by `tuned.toml` |
//! | `kernels.rs` | whether a measurement is of this program's kernels |
//! | `outdated.rs` | what `tuned.toml` has of other kernels |
//! | `catalogue.rs` | the labs, variants, submissions and cases that flags name |
//! | `devices/mod.rs` | `--device`; the devices of this machine |
//! | `devices/gpus.rs` | `--gpus` |
//! | `memory_advice.rs` | the case that would fit where memory is short |
//! | `course_root.rs` | the folder that has the course |
//!
//! # Limits
//!
//! A choice is made before anything runs: from what a lab says of itself and from `tuned.toml`. The
//! clock of the run at hand has no say.

pub mod catalogue;
pub mod choice;
pub mod course_root;
pub mod devices;
pub mod fastest;
pub mod kernels;
pub mod memory_advice;
pub mod outdated;
pub mod tuned;
