//! Random choices among counted things. `fastrand` makes others of a `usize` where it has 32 bits,
//! as in WebAssembly; an order of threads must not depend on the machine.

use fastrand::Rng;

/// A number below `count`, which is not 0.
pub(crate) fn below(random: &mut Rng, count: usize) -> usize {
    random.u64(0..count as u64) as usize
}

/// Puts the things into a random order.
pub(crate) fn shuffle<T>(random: &mut Rng, things: &mut [T]) {
    for last in 1..things.len() {
        things.swap(last, below(random, last + 1));
    }
}
