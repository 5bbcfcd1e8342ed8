//! Memory microbenchmarks: latency, bandwidth, coalescing.
//!
//! Every kernel gives a result that the CPU computes too, so that a load that the compiler dropped, or an access that went
//! elsewhere, shows as a wrong sum or a wrong place, not as a good figure.
//!
//! - `chase`: latency, by loads each of which gives the address of the next.
//! - `coalesce`: the same elements summed under different assignments of elements to threads.
//! - `bandwidth`: L1, L2, shared and device memory read, written, copied.

#[cfg(feature = "instruments")]
pub mod bandwidth;
#[cfg(feature = "instruments")]
pub mod chase;
#[cfg(feature = "solutions")]
pub mod coalesce;
#[cfg(feature = "instruments")]
mod total;

/// Element `i` of every buffer that is summed, written or copied: bits without a pattern, so that a sum is right only if
/// it is of the right elements.
///
/// The finaliser of MurmurHash3 (public domain): each bit of `i` changes about half of the result's.
#[inline(always)]
pub fn value(i: u32, seed: u32) -> u32 {
    let mut h = i ^ seed;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}
