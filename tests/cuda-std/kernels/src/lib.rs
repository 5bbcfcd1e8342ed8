//! Kernels that call the device library, and on the host the functions that they compute.

#![no_std]
#![allow(
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc,
    missing_docs,
    reason = "each kernel is a few calls of the library; the tests launch it as it needs"
)]

pub mod functions;
pub mod halves;
pub mod heap;
pub mod indices;
pub mod libdevice;
pub mod memory;
pub mod raw;
pub mod warps;
