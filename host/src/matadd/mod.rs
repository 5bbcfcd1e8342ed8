//! The matrix addition lab: C = A + B, and how grid and blocks are laid over the matrix.
//!
//! Mappings and kernels are `kernels_gpu::matadd`'s. A matrix has n_y rows of n_x contiguous `f32`. Every variant is a
//! mapping with a block shape, so that timing the lab's variants is the sweep over launch configurations.
//! [`check_index`] shows which thread gets which element.

#[cfg(feature = "solutions")]
mod index;
mod lab;
mod problem;
#[cfg(feature = "solutions")]
mod solutions;
#[cfg(all(test, feature = "solutions"))]
mod tests;

#[cfg(feature = "solutions")]
pub use index::{IndexMap, Owner, check_index, index_plan};
pub use lab::LAB;
pub use problem::MatAdd;
#[cfg(feature = "solutions")]
pub use solutions::{Layout, layout};
