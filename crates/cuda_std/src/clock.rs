//! Counters that time parts of a kernel.

use crate::llvm;

/// Cycles of this multiprocessor, low 32 bits; wraps within seconds.
///
/// The compiler keeps clock reads in order among themselves, but may move other instructions past
/// them: make what is timed depend on the first read, and the second read on its result.
#[inline(always)]
pub fn clock() -> u32 {
    // SAFETY: reading a special register has no preconditions.
    unsafe { llvm::clock() }
}

/// Cycles of this multiprocessor, as [`clock`] but 64 bits.
#[inline(always)]
pub fn clock64() -> u64 {
    // SAFETY: as `clock`.
    unsafe { llvm::clock64() }
}

/// Nanoseconds of the device's global timer. Its resolution differs between GPUs: from 32 ns to 1
/// us.
#[inline(always)]
pub fn globaltimer_ns() -> u64 {
    // SAFETY: as `clock`.
    unsafe { llvm::globaltimer() }
}
