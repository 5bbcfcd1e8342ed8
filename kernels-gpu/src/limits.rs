//! The best rate of a multiprocessor's arithmetic: independent chains of fused multiply-adds, in
//! registers.
//!
//! Each thread keeps [`CHAINS`] values x and replaces each by a x + b, over and over. A chain waits
//! for its own last result. A warp's other chains and the other warps do not, so the arithmetic
//! units are busy in every cycle. ptxas 13 compiles an iteration to 256 FFMA or DFMA and three more
//! instructions (sm_90). With a just above -1, a chain alternates between x and about b - x, and
//! all of its bits keep changing.

use cuda_std::prelude::*;

/// Independent chains of a thread.
pub const CHAINS: usize = 8;

/// Steps of each chain between two tests of the loop's end.
pub const STEPS_PER_TURN: u32 = 32;

/// Lanes whose numbers are equal modulo this start from the same values. The CPU need compute only
/// this number of lanes.
pub const STARTS: u32 = 4;

macro_rules! fma_rates {
    ($($(#[$doc:meta])* $name:ident: $real:ident, $start:ident;)*) => {$(
        /// The start value of chain `chain`, in lanes whose number is `lane` modulo [`STARTS`].
        #[inline(always)]
        pub fn $start(chain: usize, lane: u32) -> $real {
            (1 + chain as u32 * STARTS + lane) as $real / 64.0
        }

        $(#[$doc])*
        ///
        /// Each thread advances its chains by `turns` times [`STEPS_PER_TURN`] steps, and writes
        /// the sum of their last values, first chain first.
        ///
        /// Block: any along x. Grid: any along x.
        ///
        /// # Safety
        /// `sums` points to an element for each thread, which nothing else accesses during the
        /// launch.
        #[kernel(max_threads = 1024)]
        pub unsafe fn $name(sums: *mut $real, turns: u32, a: $real, b: $real) {
            let lane = thread::thread_idx_x() % STARTS;
            // An array could end up in local memory.
            let (mut x0, mut x1, mut x2, mut x3) =
                ($start(0, lane), $start(1, lane), $start(2, lane), $start(3, lane));
            let (mut x4, mut x5, mut x6, mut x7) =
                ($start(4, lane), $start(5, lane), $start(6, lane), $start(7, lane));
            let mut turn = 0;
            while turn < turns {
                for _ in 0..STEPS_PER_TURN {
                    x0 = x0.mul_add(a, b);
                    x1 = x1.mul_add(a, b);
                    x2 = x2.mul_add(a, b);
                    x3 = x3.mul_add(a, b);
                    x4 = x4.mul_add(a, b);
                    x5 = x5.mul_add(a, b);
                    x6 = x6.mul_add(a, b);
                    x7 = x7.mul_add(a, b);
                }
                turn += 1;
            }
            // SAFETY: it is the thread's own element.
            unsafe {
                *sums.add(thread::index_1d() as usize) = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
            }
        }
    )*};
}

fma_rates! {
    /// The rate of 32-bit fused multiply-adds.
    limits_fma_f32: f32, start_f32;
    /// The rate of 64-bit fused multiply-adds.
    limits_fma_f64: f64, start_f64;
}
