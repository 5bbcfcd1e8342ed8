//! The 2D wave lab: problem, CPU references.
//!
//! Scheme and scenes are those of `kernels_gpu::wave2d`. A field has n_x * n_y values of `f32`, x
//! contiguous. A problem starts from two fields, u0 (second-last) and u1 (last). Its result is
//! these two after some timesteps.

mod lab;
mod problem;
mod reference;
#[cfg(test)]
mod tests;

pub use lab::LAB;
pub use problem::{Fields, Start, Wave2d};
pub use reference::{advance, advance_fused, oracle};
