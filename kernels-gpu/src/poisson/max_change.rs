//! The largest difference of two fields between elements at the same place.
//!
//! A maximum is the same in any order. The result equals the CPU's bit for bit with any number of
//! threads.

use cuda_std::atomic::{AtomicU64, Ordering};
use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// The integer with the bits of |a - b|. Floats that are not negative have the order of these
/// integers. NaN is above all numbers.
#[inline(always)]
pub fn change(a: f64, b: f64) -> u64 {
    (a - b).abs().to_bits()
}

/// Raises `max` to the largest [`change`] between elements of `a` and `b`.
///
/// Block: [`BLOCK`]. Grid: any number of blocks; the threads divide the elements among them.
///
/// # Safety
/// - `a` and `b` have `len` elements each, which is below 2^32 minus the number of threads.
/// - `max` points to an initialised element that nothing else accesses during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn poisson_max_change(a: &[f64], b: &[f64], max: *mut u64, len: u32) {
    let stride = thread::grid_dim_x() * thread::block_dim_x();
    let mut largest = 0;
    let mut i = thread::index_1d();
    while i < len {
        // SAFETY: i < len.
        let (a, b) = unsafe { (*a.get_unchecked(i as usize), *b.get_unchecked(i as usize)) };
        largest = change(a, b).max(largest);
        i += stride;
    }
    let mut lanes = 16;
    while lanes > 0 {
        // SAFETY: all lanes of the warp are here.
        let (other, _) = unsafe { warp::warp_shuffle_xor(FULL_MASK, largest, lanes, 32) };
        largest = largest.max(other);
        lanes /= 2;
    }
    if warp::lane_id() == 0 {
        // SAFETY: all accesses to `max` during the launch are atomic.
        unsafe { AtomicU64::from_ptr(max) }.fetch_max(largest, Ordering::Relaxed);
    }
}
