//! The order of accesses.

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
    /// Strong accesses do not race with each other, and are remembered apart.
    pub(crate) strong: bool,
    /// A load through the read-only path.
    pub(crate) non_coherent: bool,
}

/// The order among the accesses of a cluster's threads. Warps are numbered through all of its
/// blocks, by rank.
///
/// The knowledge of a warp is a row of numbers, and a warp that learns from another takes the
/// higher of each:
/// - for each warp of the cluster, the clock below which its accesses are ordered before those of
///   this one;
///
/// and if the kernel orders blocks:
/// - for each warp of the cluster, the clock below which a device-wide fence has followed its
///   accesses;
/// - the time of [`Fences`] up to which what other blocks have published is ordered before this
///   warp's accesses;
/// - the time of the last strong load or atomic, up to which a device-wide fence would order it.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// The clock of each warp.
    now: Vec<u32>,
    /// A row for each warp.
    seen: Vec<u32>,
    /// A row of everything that fences have released; empty before the first.
    released: Vec<u32>,
    /// For each warp the row that had been released at its last strong load or atomic; empty before
    /// there is one.
    observed: Vec<u32>,
    /// `seen` among lanes of one warp, for warps that synchronised part of their lanes.
    lanes: Vec<Option<Box<[[u32; LANES]; LANES]>>>,
    warps: usize,
    /// Warps of a block.
    block_warps: usize,
    /// Numbers of a row.
    width: usize,
}

/// Takes the higher of each number.
#[inline(always)]
fn join(row: &mut [u32], other: &[u32]) {
    for (ours, &theirs) in row.iter_mut().zip(other) {
        *ours = (*ours).max(theirs);
    }
}

impl Clocks {
    pub(crate) fn reset(&mut self, blocks: usize, block_warps: usize, orders_blocks: bool) {
        let warps = blocks * block_warps;
        self.warps = warps;
        self.block_warps = block_warps;
        self.width = if orders_blocks { 2 * warps + 2 } else { warps };
        self.now.clear();
        self.now.resize(warps, 1);
        self.seen.clear();
        self.seen.resize(warps * self.width, 0);
        self.released.clear();
        self.observed.clear();
        self.lanes.clear();
        self.lanes.resize(warps, None);
    }

    /// A row in which nothing is known.
    pub(crate) fn nothing(&self) -> Vec<u32> {
        vec![0; self.width]
    }

    /// The clock of a warp's accesses.
    pub(crate) fn now(&self, warp: usize) -> u32 {
        self.now[warp]
    }

    fn orders_blocks(&self) -> bool {
        self.width > self.warps
    }

    fn row(&mut self, warp: usize) -> &mut [u32] {
        &mut self.seen[warp * self.width..][..self.width]
    }

    /// A fence that releases: what the warp did before, and what it knows, is ordered before what
    /// others do once they have seen something it does later.
    pub(crate) fn release(&mut self, warp: usize, device: bool) {
        self.released.resize(self.width, 0);
        self.now[warp] += 1;
        let (now, warps) = (self.now[warp], self.warps);
        let orders_blocks = self.orders_blocks();
        let row = &mut self.seen[warp * self.width..][..self.width];
        if device && orders_blocks {
            let (seen, fenced) = row.split_at_mut(warps);
            join(&mut fenced[..warps], seen);
            fenced[warp] = now;
        }
        join(&mut self.released, row);
        self.released[warp] = now;
    }

    /// A strong load or an atomic at a time of [`Fences`]: an acquiring fence behind it orders what
    /// others have released.
    #[inline(always)]
    pub(crate) fn observe(&mut self, warp: usize, time: u32) {
        if self.orders_blocks() {
            let heard = 2 * self.warps + 1;
            let heard = &mut self.row(warp)[heard];
            *heard = time.max(*heard);
        }
        if !self.released.is_empty() {
            self.observed.resize(self.warps * self.width, 0);
            self.observed[warp * self.width..][..self.width].copy_from_slice(&self.released);
        }
    }

    /// A fence that acquires, or a load or an atomic that does: what was released before the warp's
    /// last strong load or atomic is ordered before what it does now.
    pub(crate) fn acquire(&mut self, warp: usize, device: bool) {
        let (width, warps) = (self.width, self.warps);
        let row = &mut self.seen[warp * width..][..width];
        if !self.observed.is_empty() {
            join(row, &self.observed[warp * width..][..width]);
        }
        if device && let Some([time, heard]) = row.get_mut(2 * warps..) {
            *time = (*time).max(*heard);
        }
    }

    /// For each warp of the cluster the clock below which its accesses are ordered before what the
    /// warp does next.
    pub(crate) fn known(&mut self, warp: usize) -> Vec<u32> {
        self.now[warp] += 1;
        let mut known = self.row(warp).to_vec();
        known.truncate(self.warps);
        known[warp] = self.now[warp];
        known
    }

    /// For each warp of the cluster the clock below which this warp knows that a device-wide fence
    /// has followed its accesses.
    pub(crate) fn fenced(&self, warp: usize) -> &[u32] {
        match self.orders_blocks() {
            true => &self.seen[warp * self.width + self.warps..][..self.warps],
            false => &[],
        }
    }

    /// The time up to which what other blocks have published is ordered before what the warp does.
    #[inline(always)]
    pub(crate) fn synchronized(&self, warp: usize) -> u32 {
        match self.orders_blocks() {
            true => self.seen[warp * self.width + 2 * self.warps],
            false => 0,
        }
    }

    /// An arrival at the cluster's barrier that releases: adds what the warp did, and what it knows
    /// of others, to `arriving`.
    pub(crate) fn arrive(&mut self, warp: usize, arriving: &mut [u32]) {
        self.now[warp] += 1;
        join(arriving, self.row(warp));
        arriving[warp] = self.now[warp];
    }

    /// The end of a warp's wait for the cluster's barrier, with what its arrivals have released.
    pub(crate) fn pass(&mut self, warp: usize, released: &[u32]) {
        join(self.row(warp), released);
    }

    /// True if an access of a warp at `clock` is ordered before what some warp of the block of that
    /// rank does next.
    pub(crate) fn has_seen(&self, rank: usize, warp: usize, clock: u32) -> bool {
        let first = rank * self.block_warps;
        (first..first + self.block_warps).any(|ours| self.seen[ours * self.width + warp] > clock)
    }

    /// A barrier of all lanes of some warps.
    pub(crate) fn barrier(&mut self, warps: &[usize]) {
        let mut joined = self.nothing();
        for &warp in warps {
            join(&mut joined, self.row(warp));
        }
        for &warp in warps {
            self.now[warp] += 1;
            joined[warp] = self.now[warp];
        }
        for &warp in warps {
            self.row(warp).copy_from_slice(&joined);
        }
    }

    /// A barrier of some lanes of a warp, of all that it has. Lanes that have exited take no part.
    pub(crate) fn warp_barrier(&mut self, warp: usize, mask: u32, all: u32) {
        let clock = self.now[warp] + 1;
        self.now[warp] = clock;
        if mask == all {
            self.row(warp)[warp] = clock;
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

    /// True if an access by `thread` at `clock` is ordered before an access by `now`. Each is a
    /// rank, and a thread of the block of that rank.
    #[inline(always)]
    fn is_before(&self, (rank, thread): (usize, u16), clock: u32, now: (usize, u16)) -> bool {
        let (own_rank, now) = now;
        let (thread, now) = (usize::from(thread), usize::from(now));
        let warp = rank * self.block_warps + thread / LANES;
        let ours = own_rank * self.block_warps + now / LANES;
        if self.seen[ours * self.width + warp] > clock {
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

    /// The same of a block of this cluster, beyond the order by the cluster's clocks.
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
    /// The publications of the blocks of this launch.
    pub(crate) fences: &'a Fences,
    /// [`Clocks::synchronized`] of the warp.
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
        let warp = usize::from(earlier.thread) / LANES;
        self.fences.of(block, warp, self.synchronized) > earlier.clock
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
        !self.is_after(earlier)
    }
}
