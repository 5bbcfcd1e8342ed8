//! The 3D wave lab: problem, medium, source, CPU references.
//!
//! The scheme is that of `kernels_gpu::wave3d`. A field has n_x * n_y * n_z values of `f64`, z
//! contiguous, then y. A problem starts from two fields, u_prev (second-last) and u (last). Its
//! result is these two after some timesteps.

mod lab;
mod medium;
mod problem;
mod reference;
#[cfg(test)]
mod tests;

pub use crate::seismic::{Ricker, Start};
pub use lab::LAB;
pub use medium::{Coefficients, Model};
pub use problem::{Fields, MAX_SITES, Wave3d};
pub use reference::advance;
