//! Where a factor's elements lie in shared memory: the matrix descriptor of `wgmma` (PTX ISA,
//! "Asynchronous Warpgroup-level Matrix Shared Memory Layout").
//!
//! A factor is read in units of 16 bytes. Along k it has two of them (K-major), or in each row of k
//! as many as its rows or columns take (MN-major). Eight units make a core matrix. Addresses are
//! computed without swizzle; the bits of 16-byte units are then combined with those of 128-byte
//! lines, in the address itself.

use crate::memory::swizzled;

/// Bytes of a unit.
pub(super) const UNIT: u32 = 16;

/// The direction in which neighbouring elements lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Major {
    /// Along k.
    K,
    /// Along m, or n: `imm-trans` is 1.
    Mn,
}

/// A matrix descriptor. Distances and addresses are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// The line, modulo 8, at which the pattern of the swizzle begins.
    base: u64,
    /// Units of a row of the pattern, as a power of 2: 0 without swizzle.
    swizzle: u32,
}

impl Descriptor {
    pub(super) fn new(bits: u64) -> Self {
        let field = |shift: u32| (bits >> shift & 0x3fff) * u64::from(UNIT);
        Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base: bits >> 49 & 7,
            swizzle: [0, 3, 2, 1][(bits >> 62) as usize],
        }
    }

    /// The address of a unit. K-major: that of row `mn`, number `k` (0 or 1). MN-major: number `mn`
    /// of row `k`.
    pub(super) fn unit(&self, major: Major, mn: usize, k: usize) -> u64 {
        let (mn, k, unit) = (mn as u64, k as u64, u64::from(UNIT));
        let width = 1 << self.swizzle;
        let offset = match (major, self.swizzle) {
            (Major::K, 0) => mn % 8 * unit + mn / 8 * self.stride + k * self.leading,
            (Major::K, _) => mn % 8 * width * unit + mn / 8 * self.stride + k * unit,
            (Major::Mn, 0) => k % 8 * unit + k / 8 * self.leading + mn * self.stride,
            (Major::Mn, _) => {
                (mn % width + k % 8 * width) * unit
                    + mn / width * self.leading
                    + k / 8 * self.stride
            }
        };
        let address = self.start + offset;
        // The pattern may begin elsewhere than at a multiple of its size.
        let shift = self.base << 7;
        swizzled(address.wrapping_sub(shift), self.swizzle).wrapping_add(shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(start: u64, leading: u64, stride: u64, swizzle: u64) -> Descriptor {
        Descriptor::new(start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | swizzle << 62)
    }

    #[test]
    fn rows_of_a_pattern_of_128_bytes() {
        // The second step along k of a tile at 1024: 32 bytes further.
        let tile = descriptor(1024 + 32, 0, 1024, 1);
        assert_eq!(tile.unit(Major::K, 0, 0), 1024 + 32);
        assert_eq!(tile.unit(Major::K, 1, 0), 1024 + 128 + (2 ^ 1) * 16);
        assert_eq!(tile.unit(Major::K, 7, 1), 1024 + 7 * 128 + (3 ^ 7) * 16);
        assert_eq!(tile.unit(Major::K, 9, 1), 2048 + 128 + (3 ^ 1) * 16);
    }

    #[test]
    fn without_swizzle_and_along_m() {
        let plain = descriptor(256, 128, 512, 0);
        assert_eq!(plain.unit(Major::K, 10, 1), 256 + 2 * 16 + 512 + 128);
        assert_eq!(plain.unit(Major::Mn, 2, 9), 256 + 16 + 128 + 2 * 512);
        let wide = descriptor(0, 4096, 1024, 1);
        assert_eq!(
            wide.unit(Major::Mn, 9, 10),
            4096 + 1024 + 256 + (1 ^ 2) * 16
        );
        let narrow = descriptor(0, 4096, 256, 3);
        // The second line: the two units of the row are exchanged.
        assert_eq!(narrow.unit(Major::Mn, 3, 5), 4096 + 160);
    }

    #[test]
    fn a_pattern_that_begins_elsewhere() {
        let bits = 128 >> 4 | 1024 >> 4 << 32 | 1 << 49 | 1 << 62;
        let tile = Descriptor::new(bits);
        assert_eq!(tile.unit(Major::K, 0, 1), 128 + 16);
        assert_eq!(tile.unit(Major::K, 2, 1), 128 + 256 + (1 ^ 2) * 16);
    }
}
