//! The seismic stencil lab: problem, model of the ground, absorbing shell, CPU references.
//!
//! The scheme is that of `kernels_gpu::stencil25`, and the arrays' layout that of its `Grid`. A
//! problem starts from u (last), v (second-last) and phi. Its result is these three after some
//! timesteps.

mod lab;
mod model;
mod problem;
mod reference;
#[cfg(test)]
mod tests;

pub use crate::seismic::{Ricker, Start};
pub use lab::LAB;
pub use model::{Medium, Model};
pub use problem::{Fields, Stencil25};
pub use reference::advance;
