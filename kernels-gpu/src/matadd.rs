//! C = A + B on matrices of `f32`, n_x contiguous elements in each of n_y rows: which thread gets
//! which element.
//!
//! The addition is nothing; how grid and blocks are laid over the matrix is the lab.

/// The addition of one element, for kernels and CPU reference.
#[inline(always)]
pub fn add(a: f32, b: f32) -> f32 {
    a + b
}
