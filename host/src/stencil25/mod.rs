//! The seismic stencil lab: problem, model of the ground, absorbing shell, CPU references.
//!
//! The scheme is `kernels_gpu::stencil25`'s, the arrays' layout its `Grid`'s. A problem starts from
//! u (last), v (second-last) and phi, and its result is these three after some timesteps.

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
