//! Latency: one thread follows a chain of pointers. Each load's result is the address of the next.
//!
//! A chain visits all its nodes before it repeats. Nodes lie a line apart, in random order: each
//! load is of a line that no other node has loaded, and that a prefetcher cannot predict.

use cuda_std::prelude::*;

/// Timed loads per iteration of the loop: the counter's work overlaps with the loads' latency.
pub const LOADS_PER_TURN: u32 = 8;

/// Turns node numbers into addresses: node i, at `chain` + i * `words_per_node`, gets the address
/// of node `next[i]`.
///
/// Grid: at least one thread per node, along x.
///
/// # Safety
/// `chain` points to `words_per_node` words for each element of `next`, which nothing else accesses
/// during the launch; every element of `next` is below their number.
#[kernel]
pub unsafe fn membench_link(next: &[u32], chain: *mut u64, words_per_node: u32) {
    let i = thread::index_1d() as usize;
    if i < next.len() {
        let words = words_per_node as usize;
        // SAFETY: node i and node next[i] are in the chain; only this thread writes node i.
        unsafe {
            let to = chain.add(*next.get_unchecked(i) as usize * words);
            *chain.add(i * words) = to as u64;
        }
    }
}

macro_rules! chases {
    ($($(#[$doc:meta])* $name:ident = $load:path;)*) => {$(
        $(#[$doc])*
        ///
        /// Follows `warm_loads` pointers from the first node, then `loads`, timed. `places` gets
        /// the place after each of the two parts, in bytes from `chain`. `times` gets the cycles
        /// and the nanoseconds of the timed part.
        ///
        /// Grid and block: one thread. `loads` is a multiple of [`LOADS_PER_TURN`].
        ///
        /// # Safety
        /// `chain` was made by [`membench_link`]; `places` and `times` point to two numbers each,
        /// which nothing else accesses during the launch.
        #[kernel]
        pub unsafe fn $name(
            chain: *const u64,
            places: *mut u64,
            times: *mut u64,
            warm_loads: u32,
            loads: u32,
        ) {
            // SAFETY: every element of the chain is the address of an element.
            unsafe {
                follow(chain as u64, places, times, warm_loads, loads, |address| {
                    $load(address as *const u64)
                })
            }
        }
    )*};
}

chases! {
    /// By `ld.global.ca`: L1, then L2, then device memory.
    membench_chase_ca = mem::load_ca;
    /// By `ld.global.cg`: L2, then device memory.
    membench_chase_cg = mem::load_cg;
    /// By `ld.global.cv`: fetched again each time.
    membench_chase_cv = mem::load_cv;
}

/// As the kernels above, in shared memory: `next` becomes a chain there, one word for each node.
///
/// Grid: one block, with 4 bytes of dynamic shared memory for each node; the first thread follows
/// the chain.
///
/// # Safety
/// Every element of `next` is below their number; `places` and `times` as above.
#[kernel(max_threads = 1024)]
pub unsafe fn membench_chase_shared(
    next: &[u32],
    places: *mut u64,
    times: *mut u64,
    warm_loads: u32,
    loads: u32,
) {
    let chain = shared::dynamic_shared_mem::<u32>();
    let mut i = thread::thread_idx_x() as usize;
    while i < next.len() {
        // SAFETY: the launch has room for `next.len()` words; thread i writes word i.
        unsafe { *chain.add(i) = *next.get_unchecked(i) * 4 };
        i += thread::block_dim_x() as usize;
    }
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        // SAFETY: every word of the chain is the place of a word, in bytes.
        unsafe {
            follow(0, places, times, warm_loads, loads, |place| {
                u64::from(*chain.byte_add(place as usize))
            })
        }
    }
}

/// Follows the chain by `load` and writes places, from `first` on, and times.
///
/// # Safety
/// `places` and `times` as above; `load` may be called with `first` and with its own results.
#[inline(always)]
unsafe fn follow(
    first: u64,
    places: *mut u64,
    times: *mut u64,
    warm_loads: u32,
    loads: u32,
    load: impl Fn(u64) -> u64,
) {
    let mut at = first;
    let mut i = 0;
    while i < warm_loads {
        at = load(at);
        i += 1;
    }
    // SAFETY: the caller's. The store of the place waits for the load that gives it. Instructions
    // issue in order: each reading of the clock comes after the loads before it.
    unsafe {
        places.write_volatile(at - first);
        let ns = clock::globaltimer_ns();
        let cycles = clock::clock64();
        let mut i = 0;
        while i < loads {
            at = load(load(load(load(load(load(load(load(at))))))));
            i += LOADS_PER_TURN;
        }
        places.add(1).write_volatile(at - first);
        times.write_volatile(clock::clock64() - cycles);
        times.add(1).write_volatile(clock::globaltimer_ns() - ns);
    }
}
