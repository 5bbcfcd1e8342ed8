//! Tensor maps: how a tile of a tensor in global memory is copied to shared memory and back
//! (`cuTensorMapEncodeTiled`).
//!
//! A driver makes a map as 128 bytes that mean something to its own GPUs alone. Here they have a
//! layout of our own, with a mark, so that something else is told.

/// The first word of a map.
pub(crate) const MARK: u64 = u64::from_le_bytes(*b"emuTMAP1");

/// Bytes of a map.
pub(crate) const MAP_BYTES: u64 = 128;

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
        let mut bytes = [0; MAP_BYTES as usize];
        let mut put = |field: Field, value: u64| {
            let (offset, size) = field.place();
            let (start, size) = (offset as usize, size as usize);
            bytes[start..start + size].copy_from_slice(&value.to_le_bytes()[..size]);
        };
        put(Field::Address, self.address);
        put(Field::Rank, self.rank as u64 - 1);
        put(Field::Element, self.element as u64);
        put(Field::Swizzle, self.swizzle.into());
        put(Field::Fill, self.fills_nan.into());
        for k in 0..MAX_RANK {
            put(Field::Extent(k), self.extents[k]);
            put(Field::Tile(k), self.tile[k].into());
            put(Field::Step(k), self.steps[k].into());
            if k > 0 {
                put(Field::Stride(k - 1), self.strides[k]);
            }
        }
        let mut words = [MARK; 16];
        for (word, part) in words.iter_mut().zip(bytes.as_chunks().0).skip(1) {
            *word = u64::from_le_bytes(*part);
        }
        words
    }

    /// The map in these words, if [`TensorMap::encode`] has made them.
    pub fn decode(words: &[u64; 16]) -> Option<Self> {
        if words[0] != MARK {
            return None;
        }
        let get = |field: Field| {
            let (offset, bytes) = field.place();
            let word = words[offset as usize / 8] >> (8 * (offset % 8));
            word & u64::MAX >> (64 - 8 * bytes)
        };
        let element = TensorElement::new(get(Field::Element) as u32)?;
        let mut strides = [element.bytes().into(); MAX_RANK];
        for (k, stride) in strides[1..].iter_mut().enumerate() {
            *stride = get(Field::Stride(k));
        }
        let map = Self {
            address: get(Field::Address),
            element,
            rank: get(Field::Rank) as usize + 1,
            extents: std::array::from_fn(|k| get(Field::Extent(k))),
            strides,
            tile: std::array::from_fn(|k| get(Field::Tile(k)) as u32),
            steps: std::array::from_fn(|k| get(Field::Step(k)) as u32),
            swizzle: get(Field::Swizzle) as u32,
            fills_nan: get(Field::Fill) != 0,
        };
        (map.rank <= MAX_RANK && map.swizzle <= 3).then_some(map)
    }

    /// The rule for the numbers of a map that this one breaks, by the names of their parameters
    /// (`cuda.h`, `cuTensorMapEncodeTiled`). A kernel that changes a map is held to them when the
    /// map is used.
    pub fn broken_rule(&self) -> Option<String> {
        let not_of_16 = |what: &str, number: u64| {
            let is_wrong = !number.is_multiple_of(16);
            is_wrong.then(|| format!("{what}, which is not a multiple of 16"))
        };
        let outside = |name: &str, k: usize, number: u64, most: u64, words: &str| {
            let is_wrong = !(1..=most).contains(&number);
            is_wrong.then(|| format!("`{name}[{k}]` is {number}; it must be 1 to {words}"))
        };
        let address = format!("`globalAddress` is {:#x}", self.address);
        let row = u64::from(self.tile[0]) * u64::from(self.element.bytes());
        let widest = 16 << self.swizzle;
        let of_dimension = |k: usize| {
            outside("globalDim", k, self.extents[k], 1 << 32, "2^32")
                .or_else(|| outside("boxDim", k, self.tile[k].into(), 256, "256"))
                .or_else(|| outside("elementStrides", k, self.steps[k].into(), 8, "8"))
        };
        let of_stride = |k: usize| {
            let (index, stride) = (k - 1, self.strides[k]);
            let is_wrong = !stride.is_multiple_of(16) || stride >= 1 << 40;
            is_wrong.then(|| {
                format!(
                    "`globalStrides[{index}]` is {stride}; it must be a multiple of 16 below 2^40"
                )
            })
        };
        let of_fill = || {
            let is_wrong = self.fills_nan && !self.element.is_float();
            is_wrong.then(|| "NaN as `oobFill` is of floating-point types alone".to_owned())
        };
        let of_swizzle = || {
            let is_wrong = self.swizzle != 0 && row > widest;
            is_wrong.then(|| {
                format!(
                    "`boxDim[0]` makes rows of {row} bytes; with this swizzle {widest} are the most"
                )
            })
        };
        not_of_16(&address, self.address)
            .or_else(|| (0..self.rank).find_map(of_dimension))
            .or_else(|| (1..self.rank).find_map(of_stride))
            .or_else(of_fill)
            .or_else(|| not_of_16(&format!("`boxDim[0]` makes rows of {row} bytes"), row))
            .or_else(of_swizzle)
    }

    /// Bytes of a tile.
    pub(crate) fn tile_bytes(&self) -> u64 {
        let counts = (0..self.rank).map(|k| u64::from(self.count(k)));
        counts.product::<u64>() * u64::from(self.element.bytes())
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

/// A part of a map that `tensormap.replace` changes, with its dimension where it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field {
    Address,
    /// One less than there are dimensions.
    Rank,
    Element,
    Interleave,
    Swizzle,
    Fill,
    Extent(usize),
    /// Along the dimension behind it.
    Stride(usize),
    Tile(usize),
    Step(usize),
}

impl Field {
    /// Its first byte in a map, and how many it has.
    pub(crate) fn place(self) -> (u64, u32) {
        let at = |start: u64, bytes: u32, k: usize| (start + u64::from(bytes) * k as u64, bytes);
        match self {
            Self::Address => (8, 8),
            Self::Rank => (16, 1),
            Self::Element => (17, 1),
            Self::Swizzle => (18, 1),
            Self::Fill => (19, 1),
            Self::Interleave => (20, 1),
            Self::Extent(k) => at(24, 8, k),
            Self::Stride(k) => at(64, 8, k),
            Self::Tile(k) => at(96, 2, k),
            Self::Step(k) => at(106, 1, k),
        }
    }

    pub(crate) fn is_of_dimension(self) -> bool {
        matches!(
            self,
            Self::Extent(_) | Self::Stride(_) | Self::Tile(_) | Self::Step(_)
        )
    }

    /// The same of another dimension.
    pub(crate) fn of(self, dimension: usize) -> Self {
        match self {
            Self::Extent(_) => Self::Extent(dimension),
            Self::Stride(_) => Self::Stride(dimension),
            Self::Tile(_) => Self::Tile(dimension),
            Self::Step(_) => Self::Step(dimension),
            whole => whole,
        }
    }

    /// Whether an instruction has its new value as a number that the PTX ISA gives a meaning.
    pub(crate) fn is_constant(self) -> bool {
        matches!(
            self,
            Self::Element | Self::Interleave | Self::Swizzle | Self::Fill
        )
    }

    /// What a map has for such a number; `None` if it is not modelled (PTX ISA,
    /// "tensormap.replace", the table of `new_val`).
    pub(crate) fn known(self, number: u32) -> Option<u64> {
        use TensorElement as E;
        const ELEMENTS: [E; 13] = [
            E::U8,
            E::U16,
            E::U32,
            E::S32,
            E::U64,
            E::S64,
            E::F16,
            E::F32,
            E::F32Ftz,
            E::F64,
            E::Bf16,
            E::Tf32,
            E::Tf32Ftz,
        ];
        match self {
            Self::Element => ELEMENTS.get(number as usize).map(|one| *one as u64),
            Self::Interleave => (number == 0).then_some(0),
            Self::Swizzle => (number <= 3).then_some(number.into()),
            Self::Fill => (number <= 1).then_some(number.into()),
            _ => None,
        }
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
        assert_eq!(map.tile_bytes(), 2 * 256 * 4);
        let wide = "`boxDim[0]` makes rows of 512 bytes; with this swizzle 128 are the most";
        assert_eq!(map.broken_rule().as_deref(), Some(wide));
    }
}
