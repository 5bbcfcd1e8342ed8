//! Kernels that compile wherever any do: if these do not, the machine is at fault.

use cuda_std::prelude::*;

/// # Safety
/// `u` has an element for each thread.
#[kernel]
pub unsafe fn fill(u: *mut u32) {
    let i = thread::index_1d();
    unsafe { *u.add(i as usize) = i }
}
