//! The course: each lab's problem, CPU reference and built-in solutions.
//!
//! # Contract
//!
//! - A lab is declared once, by `static LAB` in its folder. Crate [`lab`] has the contract:
//!   what a lab declares, and what every command does with it.
//! - Scheme and order of operations are in `kernels-gpu/src`: kernels and CPU references call the
//!   same functions.
//! - Each built-in solution is a folder of `kernels-gpu/solutions`, and as it stands a submission.
//!   A student's copy of the course lacks these folders, and builds all the same.
//!
//! # Spine
//!
//! | file | content |
//! |---|---|
//! | `registry.rs` | the labs, by name |
//! | `wave2d/lab.rs` | a lab's declaration; the other labs have the same files |
//! | `wave2d/problem.rs` | its cases: size, parameters, inputs from a seed |
//! | `kernels-gpu/src/wave2d/update.rs` | the scheme for one cell |
//! | `wave2d/reference.rs` | the CPU reference |
//! | `kernels-gpu/solutions/wave2d/variants.rs` | the variants that users see |
//! | `kernels-gpu/solutions/wave2d/naive/kernels.rs` | a solution's device code |
//! | `kernels-gpu/solutions/wave2d/naive/launch.rs` | its host code, which records a plan |
//! | `solutions.rs` | all solutions, compiled here; programs in other languages |
//! | `kernels.rs` | the PTX of each lab, in this program |
//! | `limits/mod.rs` | a device's measured bandwidths and rates of arithmetic |
//!
//! # Limits
//!
//! A solution has one file of kernels. Code that several solutions share is in `kernels-gpu/src`,
//! which students have too.

mod arrays;
#[cfg(test)]
mod computed;
mod double;
mod fill;
mod kernels;
pub mod limits;
pub mod matadd;
pub mod membench;
pub mod poisson;
mod random;
pub mod registry;
mod seismic;
pub mod solutions;
pub mod stencil25;
pub mod wave2d;
pub mod wave3d;

pub use kernels::modules;
pub use registry::{find_lab, labs};
