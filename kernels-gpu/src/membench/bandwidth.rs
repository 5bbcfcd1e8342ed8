//! Bandwidth of each level of memory.
//!
//! Reads end in a sum that the CPU computes too.

use cuda_std::prelude::*;

use super::{total, value};

/// Loads of a thread that are in flight at the same time.
pub const LOADS_AT_ONCE: u32 = 4;

/// 16-byte vectors that a thread writes or copies.
pub const VECTORS_PER_THREAD: u32 = 4;

/// 16-byte vectors for each thread of [`membench_read_shared`] and [`membench_read_l1`].
pub const SHARED_VECTORS_PER_THREAD: u32 = 4;

/// Reads by `ld.global.cg`: L2's bandwidth, if all regions fit in L2.
///
/// Each block reads its own region, `words` 64-bit words, `passes` times, and adds both halves of
/// each word to `sum`.
///
/// Block: a multiple of 32 threads along x; `words` is a multiple of [`LOADS_AT_ONCE`] times their
/// number.
///
/// # Safety
/// `src` points to `words` initialised words for each block; `sum` to a number that nothing else
/// accesses during the launch.
#[kernel(max_threads = 1024)]
pub unsafe fn membench_read_cg(src: *const u64, sum: *mut u32, words: u32, passes: u32) {
    let threads = thread::block_dim_x();
    let mut part = 0_u32;
    // SAFETY: the region is the block's, and i + 3 * threads < words.
    unsafe {
        let region = src.add(thread::block_idx_x() as usize * words as usize);
        let mut pass = 0;
        while pass < passes {
            let mut i = thread::thread_idx_x();
            while i < words {
                let load = |j: u32| mem::load_cg(region.add((i + j * threads) as usize));
                part = add_halves(part, [load(0), load(1), load(2), load(3)]);
                i += LOADS_AT_ONCE * threads;
            }
            pass += 1;
        }
        total::add_to(sum, part);
    }
}

/// Each block reads its own region of `src` `passes` times by 16-byte loads, and adds all to `sum`.
/// L1 answers if the regions of a multiprocessor's blocks fit in it.
///
/// Block: a power of two of threads along x, at least 32, with [`SHARED_VECTORS_PER_THREAD`] * 16
/// bytes of `src` each.
///
/// # Safety
/// `src` is aligned to 16 bytes and has these bytes for each block; `sum` points to a number that
/// nothing else accesses during the launch.
#[kernel(max_threads = 1024)]
pub unsafe fn membench_read_l1(src: *const u32, sum: *mut u32, passes: u32) {
    let words = 4 * SHARED_VECTORS_PER_THREAD as usize * thread::block_dim_x() as usize;
    // SAFETY: the region is the block's.
    let region = unsafe { src.add(thread::block_idx_x() as usize * words) };
    // SAFETY: the region has the block's vectors; the whole block is here.
    unsafe { total::add_to(sum, sum_of_vectors(region, passes)) }
}

/// Reads the block's vectors of 16 bytes `passes` times, and adds up this thread's.
///
/// # Safety
/// `words` is aligned to 16 bytes and has [`SHARED_VECTORS_PER_THREAD`] initialised vectors for
/// each thread of the block, whose number is a power of two.
#[inline(always)]
unsafe fn sum_of_vectors(words: *const u32, passes: u32) -> u32 {
    let (threads, first) = (thread::block_dim_x(), thread::thread_idx_x());
    let mut part = 0_u32;
    let mut pass = 0;
    while pass < passes {
        // The addresses change with the pass: the compiler cannot keep values that it has read.
        let turned = (first + pass) & (threads - 1);
        for j in 0..SHARED_VECTORS_PER_THREAD {
            // SAFETY: vector turned + j * threads is one of SHARED_VECTORS_PER_THREAD * threads.
            let vector: [u32; 4] =
                unsafe { mem::load_vector(words.add(4 * (turned + j * threads) as usize)) };
            part = part.wrapping_add(vector[0]).wrapping_add(vector[1]);
            part = part.wrapping_add(vector[2]).wrapping_add(vector[3]);
        }
        pass += 1;
    }
    part
}

#[inline(always)]
fn add_halves(mut sum: u32, words: [u64; 4]) -> u32 {
    sum = sum
        .wrapping_add(words[0] as u32)
        .wrapping_add((words[0] >> 32) as u32);
    sum = sum
        .wrapping_add(words[1] as u32)
        .wrapping_add((words[1] >> 32) as u32);
    sum = sum
        .wrapping_add(words[2] as u32)
        .wrapping_add((words[2] >> 32) as u32);
    sum.wrapping_add(words[3] as u32)
        .wrapping_add((words[3] >> 32) as u32)
}

/// Each block fills its dynamic shared memory with [`value`]s 0, 1, 2, ..., reads all of it
/// `passes` times by 16-byte loads, and adds the values to `sum`.
///
/// Block: a power of two of threads along x, at least 32, with [`SHARED_VECTORS_PER_THREAD`] * 16
/// bytes of dynamic shared memory each.
///
/// # Safety
/// `sum` points to a number that nothing else accesses during the launch.
#[kernel(max_threads = 1024)]
pub unsafe fn membench_read_shared(sum: *mut u32, passes: u32, seed: u32) {
    let words = shared::dynamic_shared_mem::<u32>();
    let threads = thread::block_dim_x();
    let mut i = thread::thread_idx_x();
    while i < 4 * SHARED_VECTORS_PER_THREAD * threads {
        // SAFETY: the launch has room for 4 * SHARED_VECTORS_PER_THREAD words per thread.
        unsafe { *words.add(i as usize) = value(i, seed) };
        i += threads;
    }
    thread::sync_threads();
    // SAFETY: the vectors were written before the barrier; the whole block is here.
    unsafe { total::add_to(sum, sum_of_vectors(words, passes)) }
}

/// Adds every element of `src` to `sum`. Block: a multiple of 32 threads along x. Grid: as for
/// [`membench_write`].
///
/// # Safety
/// `src` is aligned to 16 bytes and has a multiple of 4 elements; `sum` points to a number that
/// nothing else accesses during the launch.
#[kernel(max_threads = 1024)]
pub unsafe fn membench_read(src: &[u32], sum: *mut u32) {
    let threads = thread::block_dim_x() as usize;
    let start = thread::block_idx_x() as usize * VECTORS_PER_THREAD as usize * threads;
    let first = start + thread::thread_idx_x() as usize;
    // SAFETY: the vector is in `src`.
    let load = |i: usize| unsafe { mem::load_vector::<u32, 4>(src.as_ptr().add(i)) };
    let add = |part: u32, vector: [u32; 4]| vector.iter().fold(part, |sum, v| sum.wrapping_add(*v));
    let mut part = 0_u32;
    if 4 * (start + VECTORS_PER_THREAD as usize * threads) <= src.len() {
        for j in 0..VECTORS_PER_THREAD as usize {
            part = add(part, load(4 * (first + j * threads)));
        }
    } else {
        for j in 0..VECTORS_PER_THREAD as usize {
            let i = 4 * (first + j * threads);
            if i < src.len() {
                part = add(part, load(i));
            }
        }
    }
    // SAFETY: the whole block is here.
    unsafe { total::add_to(sum, part) }
}

/// Writes [`value`] i to every element i of `dst`.
///
/// Block: any along x. Grid: blocks of 4 * [`VECTORS_PER_THREAD`] elements per thread, rounded up.
///
/// # Safety
/// `dst` is aligned to 16 bytes and points to `len` elements, a multiple of 4 below 2^32, which
/// nothing else accesses during the launch.
#[kernel(max_threads = 1024)]
pub unsafe fn membench_write(dst: *mut u32, len: u64, seed: u32) {
    each_vector(len, |i| {
        let first = i as u32;
        let vector = [
            value(first, seed),
            value(first + 1, seed),
            value(first + 2, seed),
            value(first + 3, seed),
        ];
        // SAFETY: elements i to i + 3 are in `dst`, and this thread's.
        unsafe { mem::store_vector(dst.add(i), vector) }
    });
}

/// Copies `src` to `dst`. Block and grid as for [`membench_write`].
///
/// # Safety
/// As [`membench_write`], with the length of `src`; both are aligned to 16 bytes.
#[kernel(max_threads = 1024)]
pub unsafe fn membench_copy(src: &[u32], dst: *mut u32) {
    let threads = thread::block_dim_x() as usize;
    let tile = 4 * VECTORS_PER_THREAD as usize * threads;
    let start = thread::block_idx_x() as usize * tile;
    // SAFETY: in a whole tile, vectors j * threads + thread are within it; elsewhere `each_vector`
    // gives those in bounds.
    unsafe {
        if start + tile <= src.len() {
            let at = |j: usize| start + 4 * (j * threads + thread::thread_idx_x() as usize);
            let from = |j: usize| mem::load_vector::<u32, 4>(src.as_ptr().add(at(j)));
            // All loads come before the first store.
            let loaded = [from(0), from(1), from(2), from(3)];
            for (j, &[a, b, c, d]) in loaded.iter().enumerate() {
                // The vector is rebuilt from its elements: a whole vector that is only moved would
                // become two 8-byte copies.
                mem::store_vector(dst.add(at(j)), [a, b, c, d]);
            }
        } else {
            each_vector(src.len() as u64, |i| {
                let [a, b, c, d] = mem::load_vector(src.as_ptr().add(i));
                mem::store_vector(dst.add(i), [a, b, c, d]);
            });
        }
    }
}

/// Gives the thread the first element of each of its vectors.
#[inline(always)]
fn each_vector(len: u64, visit: impl Fn(usize)) {
    let threads = thread::block_dim_x() as usize;
    let start = thread::block_idx_x() as usize * VECTORS_PER_THREAD as usize * threads;
    for j in 0..VECTORS_PER_THREAD as usize {
        let i = 4 * (start + j * threads + thread::thread_idx_x() as usize);
        if i < len as usize {
            visit(i);
        }
    }
}
