//! The kernels. The crate is compiled to PTX by the build script of the crate above.

#![no_std]

use cuda_std::prelude::*;

/// `y += a * x`.
///
/// # Safety
///
/// `y` has as many elements as `x`.
#[kernel(max_threads = 256)]
pub unsafe fn axpy(a: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        // SAFETY: `i` is below the number of elements, and no other thread has the same.
        unsafe { *y.add(i) += a * x[i] }
    }
}
