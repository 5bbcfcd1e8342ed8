//! A kernel that solves nothing.

use cuda_std::prelude::*;

/// # Safety
/// `u` has `n` elements.
#[kernel]
pub unsafe fn halve(u: *mut f64, n: u64) {
    let i = u64::from(thread::index_1d());
    if i < n {
        unsafe { *u.add(i as usize) *= 0.5 }
    }
}

/// An item that the host code uses too.
pub const THREADS: u32 = 128;
