//! The order of accesses.

use std::collections::HashMap;

use super::lane_clocks::{LaneClocks, join};
use super::strength::Scope;
use crate::check::fences::Fences;
use crate::registers::{LANES, lanes_where};
use crate::tally::InstructionInfo;
use crate::views::{Reader, Views};

/// One access, as the shadow remembers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Number of the block among all that the machine ever ran, from 1; 0 means no access.
    pub(crate) block: u32,
    /// Clock of the thread's warp at the time.
    pub(crate) clock: u32,
    /// Position of the instruction.
    pub(crate) pc: u32,
    /// The lanes of the warp that made it at this clock: one of the access being made.
    pub(crate) lanes: u32,
    /// Warp of the block.
    pub(crate) warp: u16,
    /// Strong accesses race only with weak ones and with strong ones that do not suit them, and
    /// are remembered apart.
    pub(crate) strong: bool,
    /// A load through the read-only path.
    pub(crate) non_coherent: bool,
}

impl Record {
    /// The thread of the block: of several, the first.
    pub(crate) fn thread(&self) -> u32 {
        u32::from(self.warp) * LANES as u32 + self.lanes.trailing_zeros()
    }

    /// True if both are of one warp between two of its barriers.
    #[inline(always)]
    pub(super) fn is_of_one_time(&self, other: &Record) -> bool {
        (self.block, self.warp, self.clock) == (other.block, other.warp, other.clock)
    }
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
    /// For each warp whether it looked at memory that blocks share by a strong load or an atomic,
    /// and whether a device-wide fence is behind the last: for messages.
    looked: Vec<Looked>,
    /// `seen` among lanes of one warp, for warps that synchronised part of their lanes.
    lanes: Vec<Option<Box<[[u32; LANES]; LANES]>>>,
    /// By warp, what it knows of lanes of other warps beyond `seen`; empty unless lanes arrive
    /// alone.
    pub(super) by_lane: HashMap<usize, LaneClocks>,
    warps: usize,
    /// Warps of a block.
    block_warps: usize,
    /// Numbers of a row.
    width: usize,
}

/// How a warp looked at memory that blocks share, by strong loads or atomics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Looked {
    Never,
    /// With a device-wide fence behind.
    Fenced,
    /// Without one.
    Unfenced,
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
        self.looked.clear();
        self.looked.resize(warps, Looked::Never);
        self.lanes.clear();
        self.lanes.resize(warps, None);
        self.by_lane.clear();
    }

    /// A row in which nothing is known.
    pub(crate) fn nothing(&self) -> Vec<u32> {
        vec![0; self.width]
    }

    /// The clock of a warp's accesses.
    pub(crate) fn now(&self, warp: usize) -> u32 {
        self.now[warp]
    }

    /// True if a warp may know more of single lanes of other warps than of all.
    #[inline(always)]
    pub(super) fn knows_lanes(&self) -> bool {
        !self.by_lane.is_empty()
    }

    fn orders_blocks(&self) -> bool {
        self.width > self.warps
    }

    /// The next clock of a warp.
    pub(super) fn advance(&mut self, warp: usize) -> u32 {
        self.now[warp] += 1;
        self.now[warp]
    }

    /// The clocks that lanes of a warp know of each other, if some have synchronised.
    pub(super) fn lanes_of(&self, warp: usize) -> Option<&[[u32; LANES]; LANES]> {
        self.lanes[warp].as_deref()
    }

    /// The clocks that lanes of a warp know of each other, to be changed where single lanes
    /// synchronise.
    fn lane_table(&mut self, warp: usize) -> &mut [[u32; LANES]; LANES] {
        self.lanes[warp].get_or_insert_with(|| Box::new([[0; LANES]; LANES]))
    }

    /// A lane learns from others of its warp, up to which of their clocks.
    pub(super) fn learn(&mut self, (warp, lane): (usize, usize), clocks: &[u32; LANES]) {
        join(&mut self.lane_table(warp)[lane], clocks);
    }

    pub(super) fn row(&mut self, warp: usize) -> &mut [u32] {
        &mut self.seen[warp * self.width..][..self.width]
    }

    /// A fence that releases: what the warp did before, and what it knows, is ordered before what
    /// others do once they have seen something it does later.
    pub(crate) fn release(&mut self, warp: usize, device: bool) {
        self.settle(warp);
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
        if time > 0 {
            self.looked[warp] = Looked::Unfenced;
        }
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
        if device && self.looked[warp] == Looked::Unfenced {
            self.looked[warp] = Looked::Fenced;
        }
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
        self.settle(warp);
        self.now[warp] += 1;
        let mut known = self.row(warp).to_vec();
        known.truncate(self.warps);
        known[warp] = self.now[warp];
        known
    }

    /// For each warp of the cluster the clock below which this warp knows that a device-wide fence
    /// has followed its accesses.
    pub(crate) fn fenced(&self, warp: usize) -> &[u32] {
        if self.orders_blocks() {
            &self.seen[warp * self.width + self.warps..][..self.warps]
        } else {
            &[]
        }
    }

    /// For each warp of the cluster the clock below which its accesses are ordered before this
    /// one's.
    pub(crate) fn seen(&self, warp: usize) -> &[u32] {
        &self.seen[warp * self.width..][..self.warps]
    }

    /// How the warps of the block of a rank looked at memory that blocks share: if one has no fence
    /// behind that, so.
    pub(crate) fn looked(&self, rank: usize) -> Looked {
        let warps = &self.looked[rank * self.block_warps..][..self.block_warps];
        warps.iter().copied().max().unwrap_or(Looked::Never)
    }

    /// The time up to which what other blocks have published is ordered before what the warp does.
    #[inline(always)]
    pub(crate) fn synchronized(&self, warp: usize) -> u32 {
        if self.orders_blocks() {
            self.seen[warp * self.width + 2 * self.warps]
        } else {
            0
        }
    }

    /// An arrival that releases, at a barrier of the block or the cluster for which others wait:
    /// adds what the warp did, and what it knows of others, to `arriving`.
    pub(crate) fn arrive(&mut self, warp: usize, arriving: &mut [u32]) {
        self.settle(warp);
        self.now[warp] += 1;
        join(arriving, self.row(warp));
        arriving[warp] = self.now[warp];
    }

    /// Starts asynchronous stores of a warp, which have a clock of their own: they are behind what
    /// the warp did and knows.
    pub(crate) fn start_async(&mut self, warp: usize, stores: usize) {
        self.settle(warp);
        self.now[warp] += 1;
        let known = self.row(warp).to_vec();
        join(self.row(stores), &known);
        self.row(stores)[warp] = self.now[warp];
    }

    /// The end of a warp's wait for such arrivals, with what they have released.
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
            self.settle(warp);
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

    /// True if there are no other warps than these, which are all different: not in the cluster
    /// either, and none of asynchronous stores.
    pub(crate) fn have_all(&self, warps: &[usize]) -> bool {
        warps.len() == self.warps
    }

    /// A barrier of some lanes of a warp, of all that it has. Lanes that have exited take no part.
    pub(crate) fn warp_barrier(&mut self, warp: usize, mask: u32, all: u32) {
        let clock = self.now[warp] + 1;
        self.now[warp] = clock;
        if mask == all {
            self.row(warp)[warp] = clock;
            return;
        }
        let table = self.lane_table(warp);
        let mut joined = [0; LANES];
        let members = || (0..LANES).filter(|lane| mask >> lane & 1 == 1);
        for lane in members() {
            for (own, &seen) in joined.iter_mut().zip(&table[lane]) {
                *own = (*own).max(seen);
            }
        }
        for lane in members() {
            joined[lane] = clock;
        }
        for lane in members() {
            table[lane] = joined;
        }
    }

    /// True if what a warp of the block of a rank did at `clock` is ordered before what all of its
    /// lanes do.
    fn has_passed(&self, rank: usize, warp: u16, clock: u32) -> bool {
        let warp = rank * self.block_warps + usize::from(warp);
        self.seen[warp * self.width + warp] > clock
    }

    /// The lanes of `earlier`, an access of a block of that rank, that nothing orders before `now`,
    /// one of a lane of a block of its own rank.
    #[inline(always)]
    fn unordered(
        &self,
        (rank, earlier): (usize, &Record),
        (own_rank, now): (usize, &Record),
    ) -> u32 {
        let warp = rank * self.block_warps + usize::from(earlier.warp);
        let ours = own_rank * self.block_warps + usize::from(now.warp);
        if self.seen[ours * self.width + warp] > earlier.clock {
            return 0;
        }
        if warp != ours {
            return match self.by_lane.get(&ours) {
                Some(by_lane) => by_lane.unordered(warp, earlier.lanes, earlier.clock),
                None => earlier.lanes,
            };
        }
        let others = earlier.lanes & !now.lanes;
        match &self.lanes[warp] {
            Some(table) if others != 0 => {
                let known = &table[now.lanes.trailing_zeros() as usize % LANES];
                lanes_where(others, |lane| known[lane] <= earlier.clock)
            }
            _ => others,
        }
    }
}

/// Which accesses of other blocks may be taken as ordered before this block's.
pub(crate) trait BlockOrder {
    /// True if an access of another cluster's block is ordered before this block's.
    fn is_before(&self, earlier: &Record) -> bool;

    /// True if an access of a block of this cluster is ordered before this block's, beyond the
    /// order by the cluster's clocks.
    fn is_before_in_cluster(&self, earlier: &Record) -> bool {
        self.is_before(earlier)
    }

    /// True if no access of this launch by another cluster's block is.
    fn orders_none(&self) -> bool {
        false
    }

    /// Whether two blocks run on one device.
    fn are_of_one_device(&self, _: u32, _: u32) -> bool {
        true
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
    /// Blocks of each device of this launch.
    pub(crate) device_blocks: u32,
    /// The publications of the blocks of this launch.
    pub(crate) fences: &'a Fences,
    /// [`Clocks::synchronized`] of the warp.
    pub(crate) synchronized: u32,
    /// Where stores arrive late, what each warp has read, and the warp that accesses.
    pub(crate) views: Option<(&'a Views, Reader)>,
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
        let warp = usize::from(earlier.warp);
        self.fences.of(block, warp, self.synchronized) > earlier.clock
            && (self.views)
                .is_none_or(|(views, by)| views.orders(by, ((block, warp), earlier.clock)))
    }

    #[inline(always)]
    fn orders_none(&self) -> bool {
        self.synchronized == 0
    }

    fn are_of_one_device(&self, one: u32, other: u32) -> bool {
        let [one, other] = [one, other].map(|block| block.checked_sub(self.first_block));
        match (one, other) {
            (Some(one), Some(other)) => one / self.device_blocks == other / self.device_blocks,
            _ => true,
        }
    }
}

/// How an earlier access stands to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// It is ordered before.
    Before,
    /// It is of the same warp, between the same two of its barriers.
    OneTime,
    /// It is of another warp, and nothing orders it.
    Unordered,
    /// It is of the same warp, and may be ordered before some lanes alone.
    Unclear,
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
    /// How the instructions make strong accesses, where that may differ.
    pub(crate) strengths: Option<&'a [InstructionInfo]>,
    /// It reads and writes at once, and the program looks at what it has read: it is behind all
    /// strong stores to these bytes before.
    pub(crate) is_last: bool,
}

impl<B: BlockOrder> Now<'_, B> {
    /// The lanes of `earlier` that nothing orders before this access, so that one may be wrong.
    #[inline(always)]
    pub(super) fn unordered(&self, earlier: &Record) -> u32 {
        if earlier.block != self.record.block {
            return match self.cluster {
                _ if earlier.block == 0 => 0,
                // No cluster, or one of one block: it is of another.
                [] | [_] if self.blocks.is_before(earlier) => 0,
                [] | [_] => earlier.lanes,
                _ => self.unordered_of_block(earlier),
            };
        }
        if earlier.warp == self.record.warp && earlier.lanes == self.record.lanes {
            return 0;
        }
        let (rank, now) = (self.rank, &self.record);
        self.clocks.unordered((rank, earlier), (rank, now))
    }

    /// The lanes of `earlier`, an access of another block, that nothing orders before this access.
    fn unordered_of_block(&self, earlier: &Record) -> u32 {
        let mut cluster = self.cluster.iter();
        match cluster.position(|&block| block == earlier.block) {
            Some(rank) => {
                let now = (self.rank, &self.record);
                if self.blocks.is_before_in_cluster(earlier) {
                    0
                } else {
                    self.clocks.unordered((rank, earlier), now)
                }
            }
            None if self.blocks.is_before(earlier) => 0,
            None => earlier.lanes,
        }
    }

    /// How an earlier access of any lanes stands to this one of any lanes.
    #[inline(always)]
    pub(super) fn relation(&self, earlier: &Record) -> Relation {
        let now = &self.record;
        if earlier.block != now.block || earlier.warp != now.warp {
            let earlier = Record {
                lanes: u32::MAX,
                ..*earlier
            };
            return if self.is_after(&earlier) {
                Relation::Before
            } else {
                Relation::Unordered
            };
        }
        if earlier.clock == now.clock {
            return Relation::OneTime;
        }
        if self.clocks.has_passed(self.rank, now.warp, earlier.clock) {
            Relation::Before
        } else {
            Relation::Unclear
        }
    }

    /// True if nothing can be wrong between `earlier` and this access.
    #[inline(always)]
    pub(super) fn is_after(&self, earlier: &Record) -> bool {
        self.unordered(earlier) == 0
    }

    /// True if this access and `earlier`, both strong, may meet without a race: their widths suit
    /// each other, and each is in the scope of the other.
    #[inline]
    pub(super) fn suits(&self, earlier: &Record) -> bool {
        let Some(infos) = self.strengths else {
            return true;
        };
        let [then, now] = [earlier, &self.record].map(|record| infos[record.pc as usize].strength);
        let is_of_cluster = || self.cluster.contains(&earlier.block);
        let reaches = |scope| match scope {
            Scope::Block => earlier.block == self.record.block,
            Scope::Cluster => is_of_cluster(),
            Scope::Device => self
                .blocks
                .are_of_one_device(earlier.block, self.record.block),
            Scope::System => true,
        };
        then.suits(&now) && reaches(then.scope) && reaches(now.scope)
    }
}
