//! Device code: `build.rs` of the crate above compiles it to PTX.
#![no_std]

use cuda_std::prelude::*;

/// y = a x + y.
///
/// # Safety
///
/// `y` has as many elements as `x`, and nothing else accesses it during the launch.
#[kernel]
pub unsafe fn axpy(a: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        // SAFETY: the element is in `y`, and no other thread has it.
        unsafe { *y.add(i) += a * x[i] }
    }
}
