//! The matrix addition lab: C = A + B, and how grid and blocks are laid over the matrix.
//!
//! Mappings and kernels are `kernels_gpu::matadd`'s. A matrix has n_y rows of n_x contiguous `f32`. Every variant is a
//! mapping with a block shape, so that timing the lab's variants is the sweep over launch configurations.
//! [`check_index`] shows which thread gets which element.

mod index;
mod lab;
mod problem;
mod solutions;
#[cfg(test)]
mod tests;

pub use index::{IndexMap, Owner, check_index, index_plan};
pub use lab::LAB;
pub use problem::MatAdd;
pub use solutions::{Layout, layout};
