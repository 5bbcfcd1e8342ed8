//! The course: each lab's problem, CPU reference and built-in solutions.
//!
//! | module | what it holds |
//! |---|---|
//! | [`wave2d`], [`wave3d`], [`stencil25`] | the lab of that name: problem, reference, declaration |
//! | [`poisson`], [`matadd`], [`membench`] | the lab of that name |
//! | [`registry`] | the labs, by name |
//! | [`solutions`] | the built-in solutions, from `kernels-gpu/solutions` |
//! | [`course_root`] | the folder that has the course |
//! | [`limits`] | the device's measured bandwidths and rates of arithmetic |
//!
//! Crate [`lab`](::lab) has the contract: what a lab declares, and what every command does with it.

#[cfg(test)]
mod computed;
pub mod course_root;
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

pub use registry::{find_lab, labs};
