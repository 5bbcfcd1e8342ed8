//! Tensor maps: how a tile of a tensor in global memory is copied to shared memory and back
//! (`cuTensorMapEncodeTiled`).
//!
//! A driver makes a map as 128 bytes that mean something to its own GPUs alone. Here they have a
//! layout of our own, with a mark, so that something else is told.

/// The first word of a map.
const MARK: u64 = u64::from_le_bytes(*b"emuTMAP1");

/// The most dimensions.
pub const MAX_RANK: usize = 5;

/// The type of a tensor's elements, by the numbers of `CUtensorMapDataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorElement {
    /// `u8`.
    U8 = 0,
    /// `u16`.
    U16 = 1,
    /// `u32`.
    U32 = 2,
    /// `i32`.
    S32 = 3,
    /// `u64`.
    U64 = 4,
    /// `i64`.
    S64 = 5,
    /// `f16`.
    F16 = 6,
    /// `f32`.
    F32 = 7,
    /// `f64`.
    F64 = 8,
    /// `bf16`.
    Bf16 = 9,
    /// `f32` whose subnormal numbers are zeros.
    F32Ftz = 10,
    /// `f32`; 10 bits behind the point count.
    Tf32 = 11,
    /// Such a one, whose subnormal numbers are zeros.
    Tf32Ftz = 12,
}

impl TensorElement {
    const ALL: [Self; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
        Self::F32Ftz,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    /// The type of a number of `CUtensorMapDataType`; `None` for those of packed bits, which no
    /// GPU before compute capability 10.0 has.
    pub fn new(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U64 | Self::S64 | Self::F64 => 8,
            _ => 4,
        }
    }

    /// Whether it is a type of floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16
                | Self::F32
                | Self::F64
                | Self::Bf16
                | Self::F32Ftz
                | Self::Tf32
                | Self::Tf32Ftz
        )
    }
}

/// A tensor and the tiles that it is copied by. The first dimension's neighbours are neighbours in
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Where the tensor starts, in global memory.
    pub address: u64,
    /// The type of its elements.
    pub element: TensorElement,
    /// Its dimensions, 1 to 5. The arrays count as far.
    pub rank: usize,
    /// Its extents, in elements.
    pub extents: [u64; MAX_RANK],
    /// Bytes from one element to the next along each dimension; along the first, an element's.
    pub strides: [u64; MAX_RANK],
    /// A tile's extents, in elements.
    pub tile: [u32; MAX_RANK],
    /// The distance of the elements of a tile that are copied, along each dimension. Along the
    /// first, all are.
    pub steps: [u32; MAX_RANK],
    /// The swizzle: units of 16 bytes in a row of its pattern, as a power of 2; 0 for none.
    pub swizzle: u32,
    /// Elements outside of the tensor are loaded as NaN, not as 0.
    pub fills_nan: bool,
}

impl TensorMap {
    /// The map in the 128 bytes of a `CUtensorMap`.
    pub fn encode(&self) -> [u64; 16] {
        let mut words = [0; 16];
        words[0] = MARK;
        words[1] = self.address;
        let last = self.rank as u64 | (self.element as u64) << 8 | u64::from(self.swizzle) << 16;
        words[2] = last | u64::from(self.fills_nan) << 24;
        words[3..8].copy_from_slice(&self.extents);
        words[8..12].copy_from_slice(&self.strides[1..]);
        for (index, (&tile, &step)) in self.tile.iter().zip(&self.steps).enumerate() {
            let field = u64::from(tile) << 4 | u64::from(step);
            words[12 + index / 4] |= field << (16 * (index % 4));
        }
        words
    }

    /// The map in these words, if [`TensorMap::encode`] has made them.
    pub fn decode(words: &[u64; 16]) -> Option<Self> {
        if words[0] != MARK {
            return None;
        }
        let byte = |shift: u32| (words[2] >> shift & 0xff) as u32;
        let element = TensorElement::new(byte(8))?;
        let mut strides = [element.bytes().into(); MAX_RANK];
        strides[1..].copy_from_slice(&words[8..12]);
        let field = |index: usize| (words[12 + index / 4] >> (16 * (index % 4)) & 0xffff) as u32;
        let map = Self {
            address: words[1],
            element,
            rank: byte(0) as usize,
            extents: std::array::from_fn(|index| words[3 + index]),
            strides,
            tile: std::array::from_fn(|index| field(index) >> 4),
            steps: std::array::from_fn(|index| field(index) & 15),
            swizzle: byte(16),
            fills_nan: byte(24) != 0,
        };
        let has_all = (1..=MAX_RANK).contains(&map.rank) && map.swizzle <= 3 && {
            map.steps[..map.rank].iter()
        }
        .all(|&step| step > 0);
        has_all.then_some(map)
    }

    /// Elements that a tile has along a dimension.
    pub(crate) fn count(&self, dimension: usize) -> u32 {
        match dimension {
            0 => self.tile[0],
            _ => self.tile[dimension].div_ceil(self.steps[dimension]),
        }
    }

    /// The value that is loaded from outside of the tensor, as bits.
    pub(crate) fn fill(&self) -> u64 {
        // The bits that an H200 writes, of elements of any size.
        let bits = if self.fills_nan {
            0x7ff7_7ff7_7ff7_7ff7_u64
        } else {
            0
        };
        bits >> (64 - 8 * self.element.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_what_it_was() {
        let map = TensorMap {
            address: 0x2000_0000_1000,
            element: TensorElement::Bf16,
            rank: 3,
            extents: [1 << 31, 7, 9, 0, 0],
            strides: [2, 1 << 33, 1 << 37, 0, 0],
            tile: [256, 4, 8, 0, 0],
            steps: [1, 8, 2, 0, 0],
            swizzle: 3,
            fills_nan: true,
        };
        let words = map.encode();
        assert_eq!(TensorMap::decode(&words), Some(map));
        assert_eq!(TensorMap::decode(&[0; 16]), None);
        assert_eq!((map.count(0), map.count(1), map.count(2)), (256, 1, 4));
    }
}
