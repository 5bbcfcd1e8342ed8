//! What is ordered before what.

use crate::check::fences::Fences;
use crate::registers::LANES;

/// One access, as the shadow remembers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Number of the block among all that the machine ever ran, from 1; 0 means no access.
    pub(crate) block: u32,
    /// Clock of the thread's warp at the time.
    pub(crate) clock: u32,
    /// Position of the instruction.
    pub(crate) pc: u32,
    /// Thread of the block.
    pub(crate) thread: u16,
    /// Strong accesses do not race with each other.
    pub(crate) strong: bool,
    /// Device-wide fences that the block had executed; [`u8::MAX`] stands for any more.
    pub(crate) fences: u8,
}

/// What orders the accesses of a cluster's threads. Warps are numbered through all of its blocks, by rank.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// The clock of each warp.
    now: Vec<u32>,
    /// `seen[w * warps + v]`: accesses of warp `v` below this clock are ordered before those of warp `w`.
    seen: Vec<u32>,
    /// The clock of each warp at its last fence; empty before the first.
    released: Vec<u32>,
    /// `seen` among lanes of one warp, for warps that synchronised part of their lanes.
    lanes: Vec<Option<Box<[[u32; LANES]; LANES]>>>,
    warps: usize,
    /// Warps of a block.
    block_warps: usize,
}

impl Clocks {
    pub(crate) fn reset(&mut self, blocks: usize, block_warps: usize) {
        let warps = blocks * block_warps;
        self.warps = warps;
        self.block_warps = block_warps;
        self.now.clear();
        self.now.resize(warps, 1);
        self.seen.clear();
        self.seen.resize(warps * warps, 0);
        self.released.clear();
        self.lanes.clear();
        self.lanes.resize(warps, None);
    }

    /// The clock of a warp's accesses.
    pub(crate) fn now(&self, warp: usize) -> u32 {
        self.now[warp]
    }

    /// A fence: what the warp did before is ordered before what others do once they have seen something it does
    /// later.
    pub(crate) fn release(&mut self, warp: usize) {
        self.released.resize(self.warps, 0);
        self.now[warp] += 1;
        self.released[warp] = self.now[warp];
    }

    /// A strong access: what other warps released may have been seen by it.
    #[inline(always)]
    pub(crate) fn acquire(&mut self, warp: usize) {
        if self.released.is_empty() {
            return;
        }
        let row = &mut self.seen[warp * self.warps..][..self.warps];
        for (seen, &released) in row.iter_mut().zip(&self.released) {
            *seen = (*seen).max(released);
        }
    }

    /// An arrival at the cluster's barrier that releases: adds what the warp did, and what it knows of others, to `arriving`.
    pub(crate) fn arrive(&mut self, warp: usize, arriving: &mut [u32]) {
        self.now[warp] += 1;
        let row = &self.seen[warp * self.warps..][..self.warps];
        for (arriving, &seen) in arriving.iter_mut().zip(row) {
            *arriving = (*arriving).max(seen);
        }
        arriving[warp] = self.now[warp];
    }

    /// The end of a warp's wait for the cluster's barrier, with what its arrivals have released.
    pub(crate) fn pass(&mut self, warp: usize, released: &[u32]) {
        let row = &mut self.seen[warp * self.warps..][..self.warps];
        for (seen, &released) in row.iter_mut().zip(released) {
            *seen = (*seen).max(released);
        }
    }

    /// True if an access of a warp at `clock` is ordered before what some warp of the block of that rank does next.
    pub(crate) fn has_seen(&self, rank: usize, warp: usize, clock: u32) -> bool {
        let first = rank * self.block_warps;
        (first..first + self.block_warps).any(|ours| self.seen[ours * self.warps + warp] > clock)
    }

    /// A barrier of all lanes of some warps.
    pub(crate) fn barrier(&mut self, warps: &[usize]) {
        let mut joined = vec![0; self.warps];
        for &warp in warps {
            let row = &self.seen[warp * self.warps..][..self.warps];
            for (joined, &seen) in joined.iter_mut().zip(row) {
                *joined = (*joined).max(seen);
            }
        }
        for &warp in warps {
            self.now[warp] += 1;
            joined[warp] = self.now[warp];
        }
        for &warp in warps {
            self.seen[warp * self.warps..][..self.warps].copy_from_slice(&joined);
        }
    }

    /// A barrier of some lanes of a warp, of all that it has. Lanes that have exited take no part.
    pub(crate) fn warp_barrier(&mut self, warp: usize, mask: u32, all: u32) {
        let clock = self.now[warp] + 1;
        self.now[warp] = clock;
        if mask == all {
            self.seen[warp * self.warps + warp] = clock;
            return;
        }
        let table = self.lanes[warp].get_or_insert_with(|| Box::new([[0; LANES]; LANES]));
        let mut joined = [0; LANES];
        let members = || (0..LANES).filter(|lane| mask >> lane & 1 == 1);
        for lane in members() {
            for (joined, &seen) in joined.iter_mut().zip(&table[lane]) {
                *joined = (*joined).max(seen);
            }
        }
        for lane in members() {
            joined[lane] = clock;
        }
        for lane in members() {
            table[lane] = joined;
        }
    }

    /// True if an access by `thread` at `clock` is ordered before an access by `now`. Each is a rank, and a thread of the block
    /// of that rank.
    #[inline(always)]
    fn is_before(&self, (rank, thread): (usize, u16), clock: u32, now: (usize, u16)) -> bool {
        let (own_rank, now) = now;
        let (thread, now) = (usize::from(thread), usize::from(now));
        let warp = rank * self.block_warps + thread / LANES;
        let ours = own_rank * self.block_warps + now / LANES;
        if self.seen[ours * self.warps + warp] > clock {
            return true;
        }
        warp == ours
            && self.lanes[warp]
                .as_ref()
                .is_some_and(|table| table[now % LANES][thread % LANES] > clock)
    }
}

/// Which accesses of other blocks may be taken as ordered before this block's.
pub(crate) trait BlockOrder {
    /// True if an access of another cluster's block is ordered before this block's.
    fn is_before(&self, earlier: &Record) -> bool;

    /// The same of a block of this cluster, besides what the cluster's clocks order.
    fn is_before_in_cluster(&self, earlier: &Record) -> bool {
        self.is_before(earlier)
    }
}

/// Of memory that clusters do not share: cells of other clusters' blocks are leftovers.
pub(crate) struct Leftovers;

impl BlockOrder for Leftovers {
    #[inline(always)]
    fn is_before(&self, _: &Record) -> bool {
        true
    }

    fn is_before_in_cluster(&self, _: &Record) -> bool {
        false
    }
}

/// Of memory that the blocks of a launch share.
pub(crate) struct DeviceOrder<'a> {
    /// Blocks below this one, in the numbering of [`Record::block`], are of an earlier launch.
    pub(crate) first_block: u32,
    /// Device-wide fences that each block of this launch has published.
    pub(crate) fences: &'a Fences,
    /// When this block last executed a strong access or an atomic, in the time of [`Fences`].
    pub(crate) synchronized: u32,
}

impl BlockOrder for DeviceOrder<'_> {
    #[inline]
    fn is_before(&self, earlier: &Record) -> bool {
        if earlier.block < self.first_block {
            return true;
        }
        if self.synchronized == 0 {
            return false;
        }
        let block = (earlier.block - self.first_block).into();
        let fences = self.fences.of(block, self.synchronized);
        fences > earlier.fences.into()
    }
}

/// The access being made.
pub(crate) struct Now<'a, B> {
    pub(crate) record: Record,
    pub(crate) clocks: &'a Clocks,
    pub(crate) blocks: B,
    /// The accessing block's rank in its cluster.
    pub(crate) rank: usize,
    /// The numbers of the cluster's blocks, by rank.
    pub(crate) cluster: &'a [u32],
}

impl<B: BlockOrder> Now<'_, B> {
    /// True if nothing can be wrong between `earlier` and this access.
    #[inline(always)]
    pub(super) fn is_after(&self, earlier: &Record) -> bool {
        if earlier.block != self.record.block {
            return earlier.block == 0 || self.is_after_block(earlier);
        }
        earlier.thread == self.record.thread
            || self.clocks.is_before(
                (self.rank, earlier.thread),
                earlier.clock,
                (self.rank, self.record.thread),
            )
    }

    /// The same for an access of another block.
    fn is_after_block(&self, earlier: &Record) -> bool {
        match self
            .cluster
            .iter()
            .position(|&block| block == earlier.block)
        {
            Some(rank) => {
                let now = (self.rank, self.record.thread);
                self.clocks
                    .is_before((rank, earlier.thread), earlier.clock, now)
                    || self.blocks.is_before_in_cluster(earlier)
            }
            None => self.blocks.is_before(earlier),
        }
    }

    #[inline(always)]
    pub(super) fn races_with(&self, earlier: &Record) -> bool {
        !(earlier.strong && self.record.strong || self.is_after(earlier))
    }
}
