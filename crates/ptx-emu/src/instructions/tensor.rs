//! Copies of tiles of tensors, by tensor maps: `cp.async.bulk.tensor` and its relatives (PTX ISA,
//! "Tensors", "cp.async.bulk.tensor").
//!
//! A map and coordinates say which rows of global memory a tile is, and where each of their bytes
//! lies in shared memory. The rest is in `bulk`.

use ptx::Space;

use super::atomic::Update;
use super::images::Named;
use crate::fault::{FaultKind, Stop};
use crate::memory::tile::{Tile, TileRow};
use crate::memory::update::AtomicOp;
use crate::memory::{PARAM_FRAMES, PARAM_WINDOW, Words, space_of};
use crate::read::{Read, Reader};
use crate::registers::Slot;
use crate::runner::BlockRunner;
use crate::tensor_map::{MAP_BYTES, MAX_RANK, TensorElement, TensorMap};
use crate::warp::Warp;

/// The alignment of a map.
const MAP_ALIGN: u64 = 64;
/// Bytes in whose multiples a tile begins in its row.
const UNIT: u32 = 16;
/// The alignment of a tile in shared memory, in bytes.
pub(super) const TILE_ALIGN: u32 = 128;

/// The map and the coordinates of a tile, as rows of registers.
#[derive(Debug)]
pub(super) struct Coordinates {
    map: Slot,
    coordinates: Box<[Slot]>,
}

impl Coordinates {
    /// The next operand.
    pub(super) fn read(r: &mut Reader, rank: usize) -> Read<Self> {
        let named = Named::read(r)?;
        let coordinates = named.rows(r, &vec![ptx::ScalarType::S32; rank])?;
        Ok(Self {
            map: named.object,
            coordinates,
        })
    }
}

/// Takes the number of dimensions, if it is a copy of a tile.
pub(super) fn rank(r: &mut Reader) -> Read<Option<usize>> {
    if !r.has("tensor") {
        return Ok(None);
    }
    let dimensions = [("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)];
    r.need("dimensions", &dimensions).map(Some)
}

/// The update of an element of a type, if it is modelled.
pub(super) fn update(op: AtomicOp, element: TensorElement) -> Option<Update> {
    use ptx::ScalarType::*;
    let is_bitwise = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
    let ty = match (element, is_bitwise) {
        (TensorElement::U32 | TensorElement::S32, true) => B32,
        (TensorElement::U64 | TensorElement::S64, true) => B64,
        (TensorElement::U32, _) => U32,
        (TensorElement::S32, _) => S32,
        (TensorElement::S64, _) if op == AtomicOp::Add => U64,
        (TensorElement::U64, _) => U64,
        (TensorElement::S64, _) => S64,
        (TensorElement::F16, _) => F16,
        (TensorElement::Bf16, _) => Bf16,
        (TensorElement::F32, _) => F32,
        (TensorElement::F64, _) => F64,
        _ => return None,
    };
    Update::new(op, ty)
}

impl Coordinates {
    /// The map, and the tile that a lane names, to load it or to store to it.
    pub(super) fn tile(
        &self,
        runner: &BlockRunner,
        warp: &Warp,
        (lane, pc): (usize, u32),
        stores: bool,
    ) -> Result<(Tile, TensorMap), Stop> {
        let invalid = |reason: String| {
            let kind = FaultKind::InvalidCopy { reason };
            Err(runner.fault(warp.thread(lane), pc, kind))
        };
        let address = warp.registers.lane(self.map, lane);
        if !address.is_multiple_of(MAP_ALIGN) {
            return invalid(format!(
                "a copy by the tensor map at address {address:#x}, which is not a multiple of {MAP_ALIGN}"
            ));
        }
        let Some(words) = map_words(runner, address) else {
            return invalid(format!(
                "a copy by the tensor map at address {address:#x}, where there are not 128 bytes of global or constant memory, or of the launch's parameters"
            ));
        };
        let Some(map) = TensorMap::decode(&words) else {
            return invalid(format!(
                "a copy by something else than a tensor map (at address {address:#x}): `cuTensorMapEncodeTiled` makes one, which the kernel gets as a `__grid_constant__` parameter or in memory"
            ));
        };
        if let Some(rule) = map.broken_rule() {
            return invalid(format!(
                "a copy by the tensor map at address {address:#x}, which no GPU takes: {rule}"
            ));
        }
        if map.tile_bytes() > MOST_BYTES {
            return invalid(format!(
                "a copy of a tile of {} bytes: no shared memory has so many",
                map.tile_bytes()
            ));
        }
        let rank = self.coordinates.len();
        if map.rank != rank {
            return invalid(format!(
                "a copy with {rank} coordinates by a tensor map of {} dimensions",
                map.rank
            ));
        }
        let mut first = [0; MAX_RANK];
        for (to, &slot) in first.iter_mut().zip(&self.coordinates) {
            *to = i64::from(warp.registers.lane(slot, lane) as i32);
        }
        let size = i64::from(map.element.bytes());
        // An H200 stops at both.
        let stop = |reason: String| {
            let kind = FaultKind::IllegalInstruction { reason };
            Err(runner.fault(warp.thread(lane), pc, kind))
        };
        if first[0] * size % i64::from(UNIT) != 0 {
            return stop(format!(
                "a copy of a tile whose first coordinate is {}: with elements of {size} bytes it must be a multiple of {}",
                first[0],
                i64::from(UNIT) / size
            ));
        }
        if stores && let Some(coordinate) = first.iter().find(|&&coordinate| coordinate < 0) {
            return stop(format!(
                "a store of a tile with the coordinate {coordinate}: only loads may begin before the tensor"
            ));
        }
        Ok((tile_at(&map, &first), map))
    }
}

/// Rounds loaded elements as their type wants it; true if it may have changed some. As an H200
/// does it: to the nearest tf32, with one NaN, and without a change to subnormal numbers, also
/// where the type's name has `FTZ`.
pub(super) fn rounds(element: TensorElement, data: &mut [u8]) -> bool {
    if !matches!(element, TensorElement::Tf32 | TensorElement::Tf32Ftz) {
        return false;
    }
    for bytes in data.chunks_exact_mut(4) {
        let value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let bits = match value.to_bits() {
            _ if value.is_nan() => 0x7fff_e000,
            bits => (bits + 0x1000) & !0x1fff,
        };
        bytes.copy_from_slice(&bits.to_le_bytes());
    }
    true
}

/// The words of a map at a generic address.
fn map_words(runner: &BlockRunner, address: u64) -> Option<[u64; 16]> {
    if space_of(address) == Space::Param {
        let offset = address - PARAM_WINDOW;
        let params = runner.params();
        let start = usize::try_from(offset)
            .ok()
            .filter(|_| offset < PARAM_FRAMES)?;
        let bytes = params.get(start..start + MAP_BYTES as usize)?;
        let mut words = bytes
            .chunks_exact(8)
            .map(|word| word.try_into().map(u64::from_le_bytes));
        let mut map = [0; 16];
        for word in &mut map {
            *word = words.next()?.ok()?;
        }
        return Some(map);
    }
    let buffer = runner.launch.memory.find(address, MAP_BYTES)?;
    let start = address - buffer.base;
    Some(std::array::from_fn(|index| {
        buffer.load(0, start + 8 * index as u64, 8)
    }))
}

/// Bytes of a tile that are more than any GPU's shared memory.
const MOST_BYTES: u64 = 1 << 20;

/// The tile that begins at these coordinates.
fn tile_at(map: &TensorMap, first: &[i64; MAX_RANK]) -> Tile {
    let size = map.element.bytes();
    let row_bytes = map.tile[0] * size;
    let counts: Vec<u32> = (1..map.rank)
        .map(|dimension| map.count(dimension))
        .collect();
    let rows: u32 = counts.iter().product();
    // Of a row, the elements in the tensor.
    let extent = map.extents[0] as i64;
    let (from, to) = (
        first[0].max(0),
        (first[0] + i64::from(map.tile[0])).min(extent),
    );
    let mut found = Vec::new();
    for row in 0..if from < to { rows } else { 0 } {
        let start = map.address.wrapping_add(from as u64 * u64::from(size));
        let (mut rest, mut address) = (row, start);
        let mut is_inside = true;
        for (dimension, &count) in (1..).zip(&counts) {
            let step = i64::from(rest % count) * i64::from(map.steps[dimension]);
            let index = first[dimension] + step;
            rest /= count;
            is_inside &= (0..map.extents[dimension] as i64).contains(&index);
            address = address.wrapping_add((index as u64).wrapping_mul(map.strides[dimension]));
        }
        if is_inside {
            found.push(TileRow {
                global: address,
                bytes: (to - from) as u32 * size,
                start: row * row_bytes + (from - first[0]) as u32 * size,
            });
        }
    }
    // A row of a swizzle's pattern takes its whole width.
    let pitch = match map.swizzle {
        0 => row_bytes,
        swizzle => 16 << swizzle,
    };
    Tile {
        rows: found.into(),
        bytes: rows * row_bytes,
        row_bytes,
        pitch,
        swizzle: map.swizzle,
        fill: (map.fill(), size),
    }
}
