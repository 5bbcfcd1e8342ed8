//! Asynchronous copies: one word per thread, and in bulk. Blocks have 64 threads.

use cuda_std::prelude::*;

/// Mean of a cell and its neighbours. Copies set cells beyond the ends to 0. The wait is left out.
#[kernel]
pub unsafe fn mean(x: *const f32, out: *mut f32, n: u32) {
    let tile = shared_array![f32; 66];
    let (i, t) = (thread::index_1d(), thread::thread_idx_x() as usize);
    let mut k = t;
    while k < 66 {
        let from = (i as usize + k - t).wrapping_sub(1);
        async_copy::copy_4(tile.add(k), x.wrapping_add(from), from < n as usize); //~ fault
        k += 64;
    }
    async_copy::commit();
    thread::sync_threads();
    if i < n {
        *out.add(i as usize) = (*tile.add(t) + *tile.add(t + 1) + *tile.add(t + 2)) / 3.0; //~ fault
    }
}

/// With the wait.
#[kernel]
pub unsafe fn mean_fixed(x: *const f32, out: *mut f32, n: u32) {
    let tile = shared_array![f32; 66];
    let (i, t) = (thread::index_1d(), thread::thread_idx_x() as usize);
    let mut k = t;
    while k < 66 {
        let from = (i as usize + k - t).wrapping_sub(1);
        async_copy::copy_4(tile.add(k), x.wrapping_add(from), from < n as usize);
        k += 64;
    }
    async_copy::commit();
    async_copy::wait::<0>();
    thread::sync_threads();
    if i < n {
        *out.add(i as usize) = (*tile.add(t) + *tile.add(t + 1) + *tile.add(t + 2)) / 3.0;
    }
}

/// One block doubles rows of 128 `f32`, and copies the next in bulk. It expects `EXPECTED` bytes of
/// a row, from cell `SKIPPED` on. `WAITS` says whether the block waits for a row.
#[inline(always)]
unsafe fn double_rows<const EXPECTED: u32, const SKIPPED: usize, const WAITS: bool>(
    x: *const f32,
    out: *mut f32,
    rows: usize,
) {
    let ring = shared_array![f32; 256];
    let result = shared_array![f32; 128];
    let full = shared_array![u64; 2];
    let t = thread::thread_idx_x() as usize;
    if t == 0 {
        mbarrier::init(full, 1);
        mbarrier::init(full.add(1), 1);
        mbarrier::fence_init();
    }
    thread::sync_threads();
    let fetch = |row: usize| {
        let slot = row % 2;
        mbarrier::arrive_expect_tx(full.add(slot), EXPECTED); //~ fault
        let from = x.add(row * 128 + SKIPPED);
        bulk_copy::to_shared(ring.add(slot * 128), from, 512, full.add(slot)); //~ fault
    };
    if t == 0 {
        fetch(0);
    }
    for row in 0..rows {
        if t == 0 && row + 1 < rows {
            fetch(row + 1);
        }
        if WAITS {
            mbarrier::wait(full.add(row % 2), row as u32 / 2); //~ fault
        }
        let a = *ring.add(row % 2 * 128 + t); //~ fault
        let b = *ring.add(row % 2 * 128 + t + 64);
        *result.add(t) = 2.0 * a;
        *result.add(t + 64) = 2.0 * b;
        bulk_copy::fence_shared();
        thread::sync_threads();
        if t == 0 {
            bulk_copy::to_global(out.add(row * 128), result, 512);
            bulk_copy::commit();
            bulk_copy::wait_read::<0>();
        }
        thread::sync_threads();
    }
}

/// The block does not wait for its rows.
#[kernel(capability = "9.0")]
pub unsafe fn rows_at_once(x: *const f32, out: *mut f32, rows: usize) {
    double_rows::<512, 0, false>(x, out, rows); //~ fault
}

/// The block expects fewer bytes than it copies.
#[kernel(capability = "9.0")]
pub unsafe fn rows_in_part(x: *const f32, out: *mut f32, rows: usize) {
    double_rows::<128, 0, true>(x, out, rows); //~ fault
}

/// The block expects more bytes than it copies: those of the ring.
#[kernel(capability = "9.0")]
pub unsafe fn rows_and_more(x: *const f32, out: *mut f32, rows: usize) {
    double_rows::<1024, 0, true>(x, out, rows); //~ fault
}

/// Rows that begin at any cell.
#[kernel(capability = "9.0")]
pub unsafe fn rows_aslant(x: *const f32, out: *mut f32, rows: usize) {
    double_rows::<512, 1, true>(x, out, rows); //~ fault
}

/// Whole rows, waited for.
#[kernel(capability = "9.0")]
pub unsafe fn rows_fixed(x: *const f32, out: *mut f32, rows: usize) {
    double_rows::<512, 0, true>(x, out, rows);
}
