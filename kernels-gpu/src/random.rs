//! Pseudo-random bits, the same on CPU and GPU.

/// Element `i` of a buffer of inputs. The bits are pseudo-random: a result is right only if it
/// comes from the right elements.
///
/// The finaliser of MurmurHash3 (public domain): each bit of `i` changes about half of the
/// result's.
#[inline(always)]
pub fn value(i: u32, seed: u32) -> u32 {
    let mut h = i ^ seed;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}
