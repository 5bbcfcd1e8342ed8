//! One sum, several assignments of elements to threads.
//!
//! Each thread loads `x` elements (1, 2, 4, 8, 16 or 32), all of them before it adds: the loads are
//! in flight at the same time. The kernels differ in the elements that a warp's lanes load in one
//! instruction. These determine the number of 32-byte sectors that the instruction touches (CUDA
//! C++ Best Practices Guide, "Coalesced Access to Global Memory").

use cuda_std::prelude::*;

/// Calls `$run::<X>`, where the constant X equals `$x`. Numbers above 32 count as 32.
macro_rules! with_constant {
    ($x:expr, $run:ident($($argument:expr),*)) => {
        match $x {
            1 => $run::<1>($($argument),*),
            2 => $run::<2>($($argument),*),
            4 => $run::<4>($($argument),*),
            8 => $run::<8>($($argument),*),
            16 => $run::<16>($($argument),*),
            _ => $run::<32>($($argument),*),
        }
    };
}

/// Sums `src`. The x loads of a thread are `block_dim_x` elements apart: the lanes of a warp load
/// neighbours.
///
/// Block: a multiple of 32 threads along x. Grid: blocks of x * block_dim_x elements, rounded up.
///
/// # Safety
/// `x` is one of the numbers of the module; `sum` points to a number that nothing else accesses
/// during the launch.
#[kernel(max_threads = 1024)]
pub unsafe fn membench_coalesced_load(src: &[u32], sum: *mut u32, x: u32) {
    let part = with_constant!(x, coalesced(src));
    // SAFETY: the whole block is here.
    unsafe { total::add_to(sum, part) }
}

#[inline(always)]
fn coalesced<const X: usize>(src: &[u32]) -> u32 {
    let threads = thread::block_dim_x() as usize;
    let first = thread::thread_idx_x() as usize;
    sum_tile::<X>(src, thread::block_idx_x(), |j| j * threads + first)
}

/// Sums `src`. The x loads of a thread are neighbours: the lanes of a warp load elements that are x
/// apart.
///
/// Block and grid as for [`membench_coalesced_load`].
///
/// # Safety
/// As [`membench_coalesced_load`].
#[kernel(max_threads = 1024)]
pub unsafe fn membench_non_coalesced_load(src: &[u32], sum: *mut u32, x: u32) {
    let part = with_constant!(x, non_coalesced(src));
    // SAFETY: the whole block is here.
    unsafe { total::add_to(sum, part) }
}

#[inline(always)]
fn non_coalesced<const X: usize>(src: &[u32]) -> u32 {
    let first = thread::thread_idx_x() as usize * X;
    sum_tile::<X>(src, thread::block_idx_x(), |j| first + j)
}

/// The sum of a thread's elements: `offset(0)` to `offset(X - 1)` of the block's tile.
#[inline(always)]
fn sum_tile<const X: usize>(src: &[u32], block: u32, offset: impl Fn(usize) -> usize) -> u32 {
    let tile = thread::block_dim_x() as usize * X;
    let start = block as usize * tile;
    let mut sum = 0_u32;
    if start + tile <= src.len() {
        for j in 0..X {
            // SAFETY: offsets are below `tile`.
            sum = sum.wrapping_add(unsafe { *src.get_unchecked(start + offset(j)) });
        }
    } else {
        for j in 0..X {
            sum = sum.wrapping_add(or_zero(src, start + offset(j)));
        }
    }
    sum
}

/// Element `i`, or 0 beyond the end.
#[inline(always)]
fn or_zero(src: &[u32], i: usize) -> u32 {
    if i < src.len() {
        // SAFETY: just compared.
        unsafe { *src.get_unchecked(i) }
    } else {
        0
    }
}

/// Sums `src` by vectors: as [`membench_coalesced_load`], with loads of four elements, or x if that
/// is fewer.
///
/// # Safety
/// As [`membench_coalesced_load`]; `src` is aligned to 16 bytes.
#[kernel(max_threads = 1024)]
pub unsafe fn membench_vector_load(src: &[u32], sum: *mut u32, x: u32) {
    let part = match x {
        1 => coalesced::<1>(src),
        2 => vectors::<1, 2>(src),
        4 => vectors::<1, 4>(src),
        8 => vectors::<2, 4>(src),
        16 => vectors::<4, 4>(src),
        _ => vectors::<8, 4>(src),
    };
    // SAFETY: the whole block is here.
    unsafe { total::add_to(sum, part) }
}

#[inline(always)]
fn vectors<const LOADS: usize, const WIDTH: usize>(src: &[u32]) -> u32 {
    let threads = thread::block_dim_x() as usize;
    let tile = threads * LOADS * WIDTH;
    let start = thread::block_idx_x() as usize * tile;
    let offset = |j| (j * threads + thread::thread_idx_x() as usize) * WIDTH;
    let mut sum = 0_u32;
    if start + tile <= src.len() {
        for j in 0..LOADS {
            // SAFETY: the vector is within the tile, and starts at a multiple of its width.
            let vector: [u32; WIDTH] =
                unsafe { mem::load_vector(src.as_ptr().add(start + offset(j))) };
            // `for value in vector` would leave an array in local memory.
            sum = vector
                .iter()
                .fold(sum, |sum, value| sum.wrapping_add(*value));
        }
    } else {
        for j in 0..LOADS {
            for i in 0..WIDTH {
                sum = sum.wrapping_add(or_zero(src, start + offset(j) + i));
            }
        }
    }
    sum
}

/// Sums `src` in `stride` passes, one for each block along y: pass p takes elements p, p + stride,
/// p + 2 stride, ..., and neighbouring lanes take elements that are `stride` apart.
///
/// Block: a multiple of 32 threads along x. Grid: blocks of x * block_dim_x elements of one pass
/// along x, rounded up; `stride` along y.
///
/// # Safety
/// As [`membench_coalesced_load`]; `stride` is at least 1 and the grid's extent along y.
#[kernel(max_threads = 1024)]
pub unsafe fn membench_strided_load(src: &[u32], sum: *mut u32, x: u32, stride: u32) {
    let part = with_constant!(x, strided(src, stride));
    // SAFETY: the whole block is here.
    unsafe { total::add_to(sum, part) }
}

#[inline(always)]
fn strided<const X: usize>(src: &[u32], stride: u32) -> u32 {
    let threads = thread::block_dim_x() as usize;
    let stride = stride as usize;
    let start = thread::block_idx_x() as usize * threads * X;
    let first = start + thread::thread_idx_x() as usize;
    let pass = thread::block_idx_y() as usize;
    let element = |j: usize| (first + j * threads) * stride + pass;
    let mut sum = 0_u32;
    if (start + X * threads) * stride <= src.len() {
        for j in 0..X {
            // SAFETY: the largest element of the tile is (start + X * threads - 1) * stride +
            // stride - 1.
            sum = sum.wrapping_add(unsafe { *src.get_unchecked(element(j)) });
        }
    } else {
        for j in 0..X {
            sum = sum.wrapping_add(or_zero(src, element(j)));
        }
    }
    sum
}

/// The sum over a grid. It is a copy of the instruments' function: shared memory belongs to the
/// crate of its kernels.
mod total {
    use cuda_std::atomic::{AtomicU32, Ordering};
    use cuda_std::prelude::*;
    use cuda_std::warp::{FULL_MASK, WARP_SIZE};

    /// The largest number of warps of a block.
    const WARPS: usize = 32;

    /// Adds every thread's `part` to `sum`, modulo 2^32: the order does not change the result.
    ///
    /// # Safety
    /// - All threads of the block are here; their number is a multiple of 32, along x.
    /// - `sum` points to a number that nothing else accesses during the launch.
    #[inline(always)]
    pub(super) unsafe fn add_to(sum: *mut u32, part: u32) {
        let warps: *mut u32 = shared_array![u32; WARPS];
        let lane = warp::lane_id();
        let warp_of_block = thread::thread_idx_x() / WARP_SIZE;
        // SAFETY: whole warps are here, and each writes its own element before the barrier.
        unsafe {
            let of_warp = warp::warp_reduce_add(FULL_MASK, part);
            if lane == 0 {
                *warps.add(warp_of_block as usize) = of_warp;
            }
            thread::sync_threads();
            if warp_of_block == 0 {
                let count = thread::block_dim_x() / WARP_SIZE;
                let of_warp = if lane < count {
                    *warps.add(lane as usize)
                } else {
                    0
                };
                let of_block = warp::warp_reduce_add(FULL_MASK, of_warp);
                if lane == 0 {
                    AtomicU32::from_ptr(sum).fetch_add(of_block, Ordering::Relaxed);
                }
            }
        }
    }
}
