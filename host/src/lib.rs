//! The course: each lab's problem, CPU reference and built-in solutions.
//!
//! | module | what it holds |
//! |---|---|
//! | [`wave2d`], [`wave3d`], [`stencil25`] | the lab of that name: problem, reference, declaration |
//! | [`poisson`], [`matadd`], [`membench`] | the lab of that name |
//! | [`lab`] | what every lab offers for testing, timing and showing it |
//! | [`catalogue`], [`devices`] | which labs, variants, cases and devices a command is about |
//! | [`course_root`] | the folder that has the course |
//! | [`memory_advice`] | what a case that does not fit could be instead |
//! | [`registry`] | the labs, by name |
//! | [`solutions`] | the built-in solutions, from `kernels-gpu/solutions` |
//! | [`run`] | one case of a lab on one device |
//! | [`limits`] | the device's measured bandwidths and rates of arithmetic |

#[cfg(test)]
extern crate self as host;

pub mod catalogue;
pub mod course_root;
pub mod devices;
mod double;
mod fill;
mod kernels;
pub mod lab;
pub mod limits;
pub mod matadd;
pub mod membench;
pub mod memory_advice;
pub mod poisson;
pub mod registry;
pub mod run;
mod seismic;
pub mod solutions;
pub mod stencil25;
#[cfg(test)]
#[allow(dead_code)]
#[path = "../../crates/test_lab/src/lib.rs"]
mod test_lab;
pub mod wave2d;
pub mod wave3d;

pub use lab::{Case, CaseParams, Cpu, Lab, Parameter, Variant, Work, find_shaped};
pub use registry::{find_lab, find_variant, labs};
