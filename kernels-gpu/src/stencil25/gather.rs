//! Values along a line through an array, gathered side by side: receivers along the line record
//! them at a timestep.

use cuda_std::prelude::*;

/// Copies `len` elements of `values`, from element `first` on, `stride` apart, to `out`.
///
/// Block: any along x. Grid: a thread for each element.
///
/// # Safety
/// `out` points to `len` elements that nothing else accesses during the launch.
#[kernel(max_threads = 1024)]
pub unsafe fn stencil25_gather(values: &[f32], first: u32, stride: u32, out: *mut f32, len: u32) {
    let at = thread::index_1d();
    if at < len {
        let value = values[first as usize + at as usize * stride as usize];
        // SAFETY: element `at` is one of `len`, and this thread's own.
        unsafe { *out.add(at as usize) = value };
    }
}
