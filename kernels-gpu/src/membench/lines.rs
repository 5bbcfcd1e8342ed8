//! Latency of single lines of L2, from every multiprocessor.
//!
//! A line's slice of L2 lies nearer to some multiprocessors than to others. A load may be answered
//! by a copy in the nearer half; an atomic operation is done where the line is at home.

use cuda_std::atomic::{AtomicU64, Ordering};
use cuda_std::prelude::*;

/// Timed accesses per iteration of the loop.
pub const ACCESSES_PER_TURN: u32 = 8;

macro_rules! lines {
    ($($(#[$doc:meta])* $name:ident = $access:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// Block b accesses each of `count` lines, from line b on, `accesses` times in a row, each
        /// after the one before. `cycles` gets their sum for each block and line, `on` the block's
        /// multiprocessor, `strays` the number of accesses that did not give their own address.
        ///
        /// Grid: any along x, one thread each. `accesses` is a multiple of [`ACCESSES_PER_TURN`].
        ///
        /// # Safety
        /// `lines` was made by `membench_link`, every node its own successor. `cycles` points to
        /// `count` numbers for each block, `on` and `strays` to one each. Nothing else accesses
        /// them during the launch.
        #[kernel]
        pub unsafe fn $name(
            lines: *mut u64,
            words_per_line: u32,
            count: u32,
            accesses: u32,
            cycles: *mut u32,
            on: *mut u32,
            strays: *mut u32,
        ) {
            let block = thread::block_idx_x();
            let access = $access;
            let mut stray = 0;
            let mut k = 0;
            while k < count {
                let line = (block + k) % count;
                // SAFETY: line is below count, and each node is its own successor.
                unsafe {
                    let first = lines.add((line * words_per_line) as usize) as u64;
                    // The page's translation, the copies of the line: all is there afterwards.
                    let mut at = access(access(first));
                    // A store waits for the access that gives what it stores, and the clock is read
                    // after it: instructions issue in order.
                    strays.add(block as usize).write_volatile((at - first) as u32);
                    let began = clock::clock64();
                    let mut i = 0;
                    while i < accesses {
                        at = access(access(access(access(at))));
                        at = access(access(access(access(at))));
                        i += ACCESSES_PER_TURN;
                    }
                    strays.add(block as usize).write_volatile((at - first) as u32);
                    let ended = clock::clock64();
                    cycles
                        .add((block * count + line) as usize)
                        .write_volatile((ended - began) as u32);
                    stray += u32::from(at != first);
                }
                k += 1;
            }
            // SAFETY: each block has its own.
            unsafe {
                on.add(block as usize).write(thread::multiprocessor());
                strays.add(block as usize).write(stray);
            }
        }
    )*};
}

lines! {
    /// By `ld.global.cg`.
    membench_lines_load = |address: u64| {
        // SAFETY: it is the address of a line's first word, or what that word holds: the same.
        unsafe { mem::load_cg(address as *const u64) }
    };
    /// By `atom.add` of 0.
    membench_lines_atomic = |address: u64| {
        // SAFETY: it is the address of a line's first word, or what that word holds: the same. All
        // blocks access the word atomically.
        unsafe { AtomicU64::from_ptr(address as *mut u64).fetch_add(0, Ordering::Relaxed) }
    };
}
