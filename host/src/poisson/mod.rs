//! The Poisson lab: problem, CPU references.
//!
//! Iteration, walls and source are `kernels_gpu::poisson`'s. The field u has N^3 values of `f64`, x
//! contiguous, then y. A problem starts from u with the walls' values on the walls. Its result is u
//! after a number of iterations or, with [`Stop`](::lab::Stop) and [`to_tolerance`], when u hardly
//! changes.

mod converge;
mod lab;
mod problem;
mod reference;
#[cfg(test)]
mod tests;

pub use converge::{to_tolerance, to_tolerance_on_cpu};
pub use lab::LAB;
pub use problem::{Poisson, Start};
pub use reference::{Box3, Field, Jacobi, Source};
