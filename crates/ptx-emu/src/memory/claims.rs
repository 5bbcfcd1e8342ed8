//! The parts of a block's shared memory that ordinary accesses must leave alone: where asynchronous
//! copies are under way, and objects of `mbarrier`.
//!
//! A block has none of this until its kernel copies asynchronously or makes an object, so that
//! others pay nothing.

use std::collections::BTreeMap;

use crate::check::race::LaneClocks;
use crate::check::writes::Bits;
use crate::memory::tile::Tile;

/// The claims on the shared memory of a block. Offsets are in bytes from its start.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// Bytes that must not be read: copies to them are under way, or they are of an object.
    unreadable: Bits,
    /// Bytes that must not be written: those, and what copies are under way from.
    unwritable: Bits,
    /// Bytes that ordinary instructions have stored, and nothing has shown to the asynchronous
    /// proxy since. Kept of kernels that copy in bulk.
    unfenced: Option<Bits>,
    /// The objects, by offset.
    pub(crate) barriers: BTreeMap<u64, Mbarrier>,
    /// Bulk copies into this memory that are under way, in the order of their start.
    pub(crate) arriving: Vec<BulkLoad>,
    /// The memory that products under way read.
    factors: Vec<Factors>,
    /// How many of those read a unit of 16 bytes, by its number; empty while there were none.
    readers: Vec<u32>,
    /// Another block of the cluster has completed a phase of an object, so that waits for it may
    /// end.
    pub(crate) completed_by_other: bool,
}

/// The shared memory that a warp's part of a product reads.
#[derive(Debug)]
struct Factors {
    warp: usize,
    /// The product among those of the warp.
    number: u64,
    /// Position of the instruction.
    pc: u32,
    /// The starts of units of [`FACTOR_UNIT`] bytes.
    units: Vec<u64>,
}

/// Bytes of a unit in which products read.
const FACTOR_UNIT: u64 = 16;

/// An object of `mbarrier` (PTX ISA, "mbarrier object").
#[derive(Clone, Debug)]
pub(crate) struct Mbarrier {
    /// Arrivals that a phase waits for.
    pub(crate) expected: u32,
    /// Those that the current phase still waits for.
    pub(crate) pending: u32,
    /// Bytes that it still waits for; copies may arrive before they are expected.
    pub(crate) bytes: i64,
    /// Phases that have completed.
    pub(crate) phase: u64,
    /// Other blocks of the cluster see it.
    pub(crate) is_fenced: bool,
    /// The release by the arrivals of the current phase, as `ClusterState::arriving`.
    pub(crate) arriving: Vec<u32>,
    /// The release by those of the phases before.
    pub(crate) released: Vec<u32>,
    /// What single lanes release by arrivals of the current phase, and by those of the phases
    /// before.
    pub(crate) lanes_arriving: LaneClocks,
    pub(crate) lanes_released: LaneClocks,
}

impl Mbarrier {
    /// Begins the next phase.
    pub(crate) fn complete(&mut self) {
        self.phase += 1;
        self.pending = self.expected;
        self.bytes = 0;
        for (released, arriving) in self.released.iter_mut().zip(&mut self.arriving) {
            *released = (*released).max(std::mem::take(arriving));
        }
        self.lanes_released.take(&mut self.lanes_arriving);
    }
}

/// A bulk copy to shared memory, and what it read where it was started.
#[derive(Debug)]
pub(crate) struct BulkLoad {
    pub(crate) copy: BulkCopy,
    pub(crate) tile: Tile,
    pub(crate) data: Box<[u8]>,
    /// The data is what global memory holds, not rounded.
    pub(crate) is_as_read: bool,
}

/// A bulk copy of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BulkCopy {
    /// Address in global memory, of the first row of a tile.
    pub(crate) global: u64,
    /// Offset in the block's shared memory.
    pub(crate) shared: u64,
    pub(crate) bytes: u32,
    /// The offset of the object that it reports to; of copies to global memory, 0.
    pub(crate) barrier: u64,
    /// Position of the instruction.
    pub(crate) pc: u32,
    /// The warp of the thread that started it, and the lane.
    pub(crate) warp: usize,
    pub(crate) lane: usize,
}

/// The accesses that a claim forbids to ordinary instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Reads and writes.
    All,
    /// Writes.
    Writes,
}

impl Claims {
    /// Without claims, on `bytes` bytes. `tracks_proxies`: stores are to be followed that the
    /// asynchronous proxy may not see.
    pub(crate) fn new(bytes: u64, tracks_proxies: bool) -> Self {
        let mut claims = Self::default();
        claims.unreadable.reset(bytes);
        claims.unwritable.reset(bytes);
        claims.unfenced = tracks_proxies.then(|| {
            let mut unfenced = Bits::default();
            unfenced.reset(bytes);
            unfenced
        });
        claims
    }

    /// Claims a range.
    pub(crate) fn claim(&mut self, offset: u64, bytes: u64, claim: Claim) {
        self.unwritable.mark(offset, bytes);
        if claim == Claim::All {
            self.unreadable.mark(offset, bytes);
        }
    }

    /// Ends all claims on a range.
    pub(crate) fn release(&mut self, offset: u64, bytes: u64) {
        self.unwritable.clear(offset, bytes);
        self.unreadable.clear(offset, bytes);
    }

    /// True if something of a range must not be read, or written.
    #[inline]
    pub(crate) fn keeps(&self, offset: u64, bytes: u64, writes: bool) -> bool {
        if writes {
            self.unwritable.touches(offset, bytes) || self.reads_of(offset, bytes)
        } else {
            self.unreadable.touches(offset, bytes)
        }
    }

    /// Claims, for a product of a warp, what it reads.
    pub(crate) fn claim_factors(&mut self, (warp, number, pc): (usize, u64, u32), units: Vec<u64>) {
        for unit in &units {
            let index = (unit / FACTOR_UNIT) as usize;
            if self.readers.len() <= index {
                self.readers.resize(index + 1, 0);
            }
            self.readers[index] += 1;
        }
        self.factors.push(Factors {
            warp,
            number,
            pc,
            units,
        });
    }

    /// A warp's products up to that of a number are done.
    pub(crate) fn end_factors(&mut self, warp: usize, number: u64) {
        let Self {
            factors, readers, ..
        } = self;
        factors.retain(|each| {
            let is_done = each.warp == warp && each.number <= number;
            if is_done {
                for unit in &each.units {
                    readers[(unit / FACTOR_UNIT) as usize] -= 1;
                }
            }
            !is_done
        });
    }

    /// True if a product reads something of a range.
    fn reads_of(&self, offset: u64, bytes: u64) -> bool {
        !self.factors.is_empty()
            && (offset / FACTOR_UNIT..(offset + bytes).div_ceil(FACTOR_UNIT)).any(|unit| {
                self.readers
                    .get(unit as usize)
                    .is_some_and(|&count| count > 0)
            })
    }

    /// The warp and the position of a product that reads something of a range.
    pub(crate) fn factor_at(&self, offset: u64, bytes: u64) -> Option<(usize, u32)> {
        let meets = |unit: &u64| *unit < offset + bytes && offset < unit + FACTOR_UNIT;
        let reads = |each: &&Factors| each.units.iter().any(meets);
        let found = self.factors.iter().find(reads)?;
        Some((found.warp, found.pc))
    }

    /// Notes a store by an ordinary instruction.
    pub(crate) fn note_store(&mut self, offset: u64, bytes: u64) {
        if let Some(unfenced) = &mut self.unfenced {
            unfenced.mark(offset, bytes);
        }
    }

    /// Notes that the asynchronous proxy sees what has been stored.
    pub(crate) fn note_fence(&mut self) {
        if let Some(unfenced) = &mut self.unfenced {
            unfenced.clear_all();
        }
    }

    /// Notes that the asynchronous proxy has written a range.
    pub(crate) fn note_copy(&mut self, offset: u64, bytes: u64) {
        if let Some(unfenced) = &mut self.unfenced {
            unfenced.clear(offset, bytes);
        }
    }

    /// True if the asynchronous proxy may not see something of a range.
    pub(crate) fn is_unfenced(&self, offset: u64, bytes: u64) -> bool {
        let unfenced = self.unfenced.as_ref();
        unfenced.is_some_and(|unfenced| unfenced.touches(offset, bytes))
    }
}
