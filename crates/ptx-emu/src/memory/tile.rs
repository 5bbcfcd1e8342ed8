//! The bytes that a bulk copy moves: rows of global memory, and where each byte lies in shared
//! memory.

use super::{Words, byte_mask, swizzled};

/// Bytes that a swizzle keeps together.
const UNIT: u32 = 16;

/// The bytes of a bulk copy. They are counted densely: row after row of the tile, those too that
/// lie outside of the tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// The rows, or parts of rows, that lie in the tensor.
    pub(crate) rows: Box<[TileRow]>,
    pub(crate) bytes: u32,
    /// Bytes of a row, and from one to the next in shared memory.
    pub(crate) row_bytes: u32,
    pub(crate) pitch: u32,
    /// Units of a row of the swizzle's pattern, as a power of 2; 0 without.
    pub(crate) swizzle: u32,
    /// The value that a load puts where the tensor ends, and its bytes.
    pub(crate) fill: (u64, u32),
}

/// Bytes that are consecutive in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TileRow {
    pub(crate) global: u64,
    pub(crate) bytes: u32,
    /// The first of them, counted densely.
    pub(crate) start: u32,
}

/// Bytes that are consecutive in shared memory too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Offset in shared memory.
    pub(crate) shared: u64,
    /// The first of them, counted densely.
    pub(crate) start: u32,
    pub(crate) bytes: u32,
}

impl Tile {
    /// Bytes that are consecutive in both.
    pub(crate) fn plain(global: u64, bytes: u32) -> Self {
        let row = TileRow {
            global,
            bytes,
            start: 0,
        };
        Self {
            rows: [row].into(),
            bytes,
            row_bytes: bytes.max(1),
            pitch: bytes,
            swizzle: 0,
            fill: (0, 1),
        }
    }

    /// Bytes of shared memory from its start to its end.
    pub(crate) fn span(&self) -> u32 {
        self.bytes / self.row_bytes * self.pitch
    }

    /// The parts of a range, counted densely, of a tile at an offset in shared memory.
    pub(crate) fn parts(&self, shared: u64, first: u32, bytes: u32) -> impl Iterator<Item = Part> {
        let end = first + bytes;
        let mut next = first;
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let start = next;
            let (row, column) = (start / self.row_bytes, start % self.row_bytes);
            let rest = match self.swizzle {
                0 => self.row_bytes - column,
                _ => UNIT - column % UNIT,
            };
            next = end.min(start + rest);
            let address = shared + u64::from(row * self.pitch + column);
            Some(Part {
                shared: swizzled(address, self.swizzle),
                start,
                bytes: next - start,
            })
        })
    }

    /// The whole tile as a load fills it where the tensor ends.
    pub(crate) fn filled(&self) -> Box<[u8]> {
        let (value, size) = self.fill;
        let value = value.to_le_bytes();
        (0..self.bytes)
            .map(|at| value[(at % size) as usize])
            .collect()
    }
}

/// The bytes of a range.
pub(crate) fn bytes_of(memory: &impl Words, offset: u64, bytes: u32) -> Vec<u8> {
    let end = offset + u64::from(bytes);
    let words =
        (offset / 4..end.div_ceil(4)).flat_map(|word| memory.word(0, word as usize).to_le_bytes());
    words
        .skip((offset % 4) as usize)
        .take(bytes as usize)
        .collect()
}

/// Stores the bytes of a range.
pub(crate) fn put_bytes(memory: &mut impl Words, start: u64, bytes: &[u8]) {
    let (mut rest, mut offset) = (bytes, start);
    while !rest.is_empty() {
        let shift = (offset % 4) as usize;
        let count = rest.len().min(4 - shift);
        let (now, later) = rest.split_at(count);
        let value = now
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u32::from(byte));
        let mask = (byte_mask(count as u32) << (8 * shift)) as u32;
        memory.set_word(0, (offset / 4) as usize, mask, value << (8 * shift));
        (rest, offset) = (later, offset + count as u64);
    }
}
