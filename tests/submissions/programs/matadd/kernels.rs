//! One thread an element.

use cuda_std::UVec2;
use cuda_std::prelude::*;

/// C = A + B.
///
/// # Safety
/// All three have n_x * n_y elements, and nothing else accesses `c` during the launch.
#[kernel]
pub unsafe fn matadd(a: &[f32], b: &[f32], c: *mut f32, n_x: u32, n_y: u32) {
    let UVec2 { x, y } = thread::index_2d();
    if x >= n_x || y >= n_y {
        return;
    }
    let i = (y * n_x + x) as usize;
    // SAFETY: the element is in the matrix, and this thread's own.
    unsafe { *c.add(i) = a[i] + b[i] }
}
