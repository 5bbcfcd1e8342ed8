//! The state of one warp.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ptx::RegClass;

use crate::frame::{Constant, FunctionCode};
use crate::memory::claims::BulkCopy;
use crate::memory::lanes::LaneMemory;
use crate::memory::tile::Tile;
use crate::memory::update::AtomicOp;
use crate::polls::{Parked, Spin};
use crate::products::Products;
use crate::registers::{Bases, Flag, LANES, Registers, Slot};
use crate::tally::InstructionInfo;
use crate::tensor_map::TensorElement;

/// A group that has executed this many atomics, strong accesses, fences or sleeps while others of
/// its warp could run gives way to them: it may be waiting for what they do.
pub(crate) const PATIENCE: u32 = 64;

/// The state of a group of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Can step.
    Ready,
    /// Waits for a barrier of the block.
    Barrier(BarrierWait),
    /// Waits for the barrier of the cluster.
    ClusterBarrier,
    /// Polls memory, and is parked until that changes: see `spin`.
    Polling,
    /// Waits for a phase of the `mbarrier` object at this offset in shared memory.
    Mbarrier(u64),
    /// Waits for other lanes to reach the operation at its position, there or elsewhere.
    Lanes {
        /// The lanes that execute it together.
        mask: u32,
    },
}

impl State {
    /// True if it waits for what others do where they are, so that they need not come to its
    /// position.
    pub(crate) fn is_met_elsewhere(&self) -> bool {
        matches!(
            self,
            Self::Barrier(_) | Self::ClusterBarrier | Self::Mbarrier(_)
        )
    }
}

/// The wait of a group at a barrier of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BarrierWait {
    /// The barrier's number.
    pub(crate) id: u32,
    /// Threads to wait for; `None` for the whole block.
    pub(crate) threads: Option<u32>,
    /// All threads of a warp must execute the same instruction together.
    pub(crate) aligned: bool,
    pub(crate) reduction: Option<Reduction>,
}

/// The value that a barrier computes from the predicates of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) op: ReductionOp,
    /// A predicate slot for `And` and `Or`, a 32-bit row for `Popc`.
    pub(crate) dst: u32,
    pub(crate) src: Flag,
}

/// The operation of a [`Reduction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReductionOp {
    /// The number of threads whose predicate is true.
    Popc,
    /// True where all are.
    And,
    /// True where any is.
    Or,
}

/// One lane's asynchronous copy from global to shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) dst: u64,
    pub(crate) src: u64,
    pub(crate) bytes: u32,
    /// Bytes to read; the rest is zero.
    pub(crate) src_bytes: u32,
    /// The data that it read where it was started.
    pub(crate) data: [u32; 4],
    /// Position of the instruction.
    pub(crate) pc: u32,
}

impl AsyncCopy {
    /// Whether one request can make both, for two lanes.
    pub(crate) fn is_like(&self, other: &AsyncCopy) -> bool {
        (self.pc, self.bytes, self.src_bytes) == (other.pc, other.bytes, other.src_bytes)
    }
}

/// Copies of each lane: those not in a group yet, and the groups, the oldest first.
#[derive(Debug)]
pub(crate) struct CopyGroups<T> {
    pub(crate) open: [Vec<T>; LANES],
    pub(crate) groups: [VecDeque<Vec<T>>; LANES],
    /// Memory of groups that are done, for others.
    spare: Vec<Vec<T>>,
}

impl<T> Default for CopyGroups<T> {
    fn default() -> Self {
        Self {
            open: Default::default(),
            groups: Default::default(),
            spare: Vec::new(),
        }
    }
}

impl<T> CopyGroups<T> {
    /// Closes a lane's group.
    pub(crate) fn commit(&mut self, lane: usize) {
        let next = self.spare.pop().unwrap_or_default();
        let group = std::mem::replace(&mut self.open[lane], next);
        self.groups[lane].push_back(group);
    }

    /// Takes a group that is done, for its memory.
    pub(crate) fn reuse(&mut self, mut group: Vec<T>) {
        group.clear();
        self.spare.push(group);
    }

    /// All copies, with their lanes.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, &T)> {
        (0..LANES).flat_map(|lane| {
            let groups = self.groups[lane].iter().chain([&self.open[lane]]);
            groups.flatten().map(move |copy| (lane, copy))
        })
    }
}

/// The asynchronous copies that each lane has under way.
#[derive(Debug, Default)]
pub(crate) struct AsyncQueues {
    /// To shared memory.
    pub(crate) loads: CopyGroups<AsyncCopy>,
    /// Bulk copies to global memory.
    pub(crate) stores: CopyGroups<BulkStore>,
}

/// A bulk copy to global memory, and what it has read of shared memory, once it has.
#[derive(Clone, Debug)]
pub(crate) struct BulkStore {
    pub(crate) copy: BulkCopy,
    pub(crate) tile: Tile,
    /// The update of global memory, of a reduction.
    pub(crate) update: Option<(AtomicOp, TensorElement)>,
    pub(crate) data: Option<Box<[u8]>>,
    /// The bytes of it that are not set, and come from global memory.
    pub(crate) unset: Vec<u64>,
}

/// Lanes of a warp at one position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    /// Index into [`Warp::frames`].
    pub(crate) frame: u32,
    pub(crate) state: State,
    /// When it last let others of its warp go first (`executed` of the block); 0 if it need not.
    pub(crate) gave_way: u64,
    pub(crate) way: Way,
}

/// How far a group is in the kernel's own code since the latest barrier of the block that it took
/// part in: a thread that ends without the next barrier has returned before it, or gone past it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    /// The furthest branch that it has executed.
    furthest: u32,
    /// Where it came to by its latest jump.
    from: u32,
    /// The latest barrier; 0 before the first.
    pub(crate) barrier: u32,
}

impl Way {
    /// A branch at a position has been passed.
    #[inline(always)]
    pub(crate) fn pass(&mut self, pc: u32) {
        self.furthest = self.furthest.max(pc);
    }

    /// A branch at a position leads to another. One that leads back is a new start.
    #[inline(always)]
    pub(crate) fn jump(&mut self, pc: u32, target: u32) {
        self.furthest = if target > pc {
            self.furthest.max(pc)
        } else {
            target
        };
        self.from = target;
    }

    /// A barrier of the block at a position has been passed.
    pub(crate) fn restart(&mut self, pc: u32) {
        *self = Self {
            furthest: 0,
            from: pc,
            barrier: pc,
        };
    }

    /// The furthest position at which it did anything before it ended at `pc`.
    pub(crate) fn end(&self, pc: u32) -> u32 {
        if pc > self.from {
            self.furthest.max(pc - 1)
        } else {
            self.furthest
        }
    }

    fn join(&mut self, other: Self) {
        self.furthest = self.furthest.max(other.furthest);
        self.from = self.from.max(other.from);
    }
}

/// Lanes that have ended since the latest barrier of the whole block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ended {
    /// There are some.
    pub(crate) are_there: bool,
    /// The furthest position at which one of them did anything, and that lane.
    pub(crate) furthest: u32,
    pub(crate) lane: u32,
}

/// A call chain: lanes that came the same way share it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) function: u32,
    /// The caller's frame; itself for the kernel's.
    pub(crate) parent: u32,
    /// Position of the call.
    pub(crate) call_pc: u32,
    pub(crate) depth: u32,
    pub(crate) bases: Bases,
    /// Start and end of the frame in local memory.
    pub(crate) local: (u64, u64),
    /// Bytes of stack that frames of a recursion take, with this one, beyond its first call.
    pub(crate) recursion_bytes: u64,
    /// Start and end of the frame's parameters.
    pub(crate) params: (u64, u64),
}

/// Bytes of the stack that a call takes at least.
const RETURN_ADDRESS: u64 = 8;

/// One warp.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) index: usize,
    pub(crate) registers: Registers,
    pub(crate) groups: Vec<Group>,
    /// Lanes that there are.
    pub(crate) lanes: u32,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    pub(crate) ended: Ended,
    /// Lanes for which others have waited at a warp-wide operation since they took part in one.
    pub(crate) awaited: u32,
    /// Lanes that have accessed memory that threads share; of those that are awaited, since then.
    pub(crate) acted: u32,
    /// Instructions since a turn with a poll.
    pub(crate) computed: u64,
    /// The position of the wait for an `mbarrier` object that ended without success, if the last
    /// one did.
    pub(crate) gave_up: Option<u32>,
    /// Lanes that have arrived at the cluster's barrier and have not waited for it since.
    pub(crate) arrived: u32,
    /// Those of them for which the barrier has completed.
    pub(crate) passed: u32,
    /// Position of the latest arrival.
    pub(crate) arrived_at: u32,
    pub(crate) frames: Vec<Frame>,
    calls: HashMap<(u32, u32, u32), u32>,
    pub(crate) local: LaneMemory,
    pub(crate) params: LaneMemory,
    pub(crate) copies: Option<Box<AsyncQueues>>,
    /// Those of its warpgroup that it takes part in; `None` before the first.
    pub(crate) products: Option<Box<Products>>,
    /// The constants of the kernel's frame are in place.
    pub(crate) has_constants: bool,
    /// Lanes that ran last, and the polling instructions that they have executed since they were
    /// chosen: see [`PATIENCE`].
    chosen: u32,
    pub(crate) spins: u32,
    /// Lanes that run ahead of the others, where lanes run apart; else 0.
    pub(crate) ahead: u32,
    /// The lane whose group is first among those.
    pub(crate) leader: u32,
    /// How often lanes were chosen to run ahead.
    pub(crate) lane_splits: u64,
    pub(crate) spin: Spin,
    pub(crate) parked: Vec<Parked>,
}

impl Warp {
    /// Puts the warp at the start of a kernel with these lanes.
    pub(crate) fn start(&mut self, index: usize, lanes: u32, kernel: u32, code: &FunctionCode) {
        self.index = index;
        self.lanes = lanes;
        self.live = lanes;
        self.ended = Ended::default();
        self.awaited = 0;
        self.acted = 0;
        self.arrived = 0;
        self.gave_up = None;
        self.computed = 0;
        self.passed = 0;
        self.local.clear();
        self.params.clear();
        self.copies = None;
        self.products = None;
        self.chosen = 0;
        self.ahead = 0;
        self.lane_splits = 0;
        self.spin = Spin::default();
        self.parked.clear();
        self.registers.bases = Bases::default();
        self.clear_registers(code);
        self.calls.clear();
        self.frames.clear();
        self.frames.push(Frame {
            function: kernel,
            parent: 0,
            call_pc: 0,
            depth: 0,
            bases: Bases::default(),
            local: (0, code.local_bytes.into()),
            recursion_bytes: 0,
            params: (0, code.param_frame_bytes.into()),
        });
        self.groups.clear();
        self.groups.push(Group {
            pc: code.entry,
            mask: lanes,
            frame: 0,
            state: State::Ready,
            gave_way: 0,
            way: Way {
                furthest: 0,
                from: code.entry,
                barrier: 0,
            },
        });
    }

    /// Zeroes the kernel's registers. Constants stay from block to block.
    fn clear_registers(&mut self, code: &FunctionCode) {
        let Registers {
            rows32,
            rows64,
            preds,
            ..
        } = &mut self.registers;
        preds.fill(0);
        let wide = code
            .constants
            .partition_point(|(slot, _)| slot.class != RegClass::B64);
        let (narrow, wide) = code.constants.split_at(wide);
        clear_between(rows32, narrow, code.rows_cleared.r32);
        clear_between(rows64, wide, code.rows_cleared.r64);
    }

    /// Notes the lanes that run next.
    pub(crate) fn choose(&mut self, mask: u32) {
        if std::mem::replace(&mut self.chosen, mask) != mask {
            self.spins = 0;
        }
    }

    /// The thread number of a lane in its block.
    pub(crate) fn thread(&self, lane: usize) -> u32 {
        (self.index * LANES + lane) as u32
    }

    /// The thread of the lowest lane of a mask.
    pub(crate) fn first_thread(&self, mask: u32) -> u32 {
        self.thread((mask.trailing_zeros() as usize).min(LANES - 1))
    }

    /// True if some group can step.
    pub(crate) fn is_ready(&self) -> bool {
        self.groups.iter().any(|group| group.state == State::Ready)
    }

    /// Whether a call of `callee` from a frame is one of a function that runs already, or in one.
    fn is_in_recursion(&self, parent: u32, callee: u32) -> bool {
        let mut at = parent;
        loop {
            let frame = &self.frames[at as usize];
            if frame.function == callee || frame.recursion_bytes > 0 {
                return true;
            }
            if at == 0 {
                return false;
            }
            at = frame.parent;
        }
    }

    /// The frame of `callee` called from a position of a frame; made on the first such call.
    pub(crate) fn callee_frame(
        &mut self,
        parent: u32,
        call_pc: u32,
        callee: u32,
        functions: &[Arc<FunctionCode>],
    ) -> u32 {
        if let Some(&frame) = self.calls.get(&(parent, call_pc, callee)) {
            return frame;
        }
        let caller = self.frames[parent as usize];
        let used = functions[caller.function as usize].rows;
        let function = &functions[callee as usize];
        let local = caller
            .local
            .1
            .next_multiple_of(u64::from(function.local_align).max(16));
        let frame = self.frames.len() as u32;
        self.frames.push(Frame {
            function: callee,
            parent,
            call_pc,
            depth: caller.depth + 1,
            bases: Bases {
                r32: caller.bases.r32 + used.r32,
                r64: caller.bases.r64 + used.r64,
                pred: caller.bases.pred + used.pred,
            },
            local: (local, local + u64::from(function.local_bytes)),
            recursion_bytes: if self.is_in_recursion(parent, callee) {
                caller.recursion_bytes + u64::from(function.local_bytes) + RETURN_ADDRESS
            } else {
                0
            },
            params: (
                caller.params.1,
                caller.params.1 + u64::from(function.param_frame_bytes),
            ),
        });
        self.calls.insert((parent, call_pc, callee), frame);
        frame
    }

    /// The position of a group as the positions of its calls, outermost first, then its own.
    fn path(&self, group: &Group) -> Vec<u32> {
        let mut path = vec![group.pc];
        let mut frame = group.frame;
        while frame != 0 {
            let Frame {
                parent, call_pc, ..
            } = self.frames[frame as usize];
            path.push(call_pc);
            frame = parent;
        }
        path.reverse();
        path
    }

    /// Orders groups by position.
    pub(crate) fn compare(&self, a: &Group, b: &Group) -> std::cmp::Ordering {
        if a.frame == b.frame {
            a.pc.cmp(&b.pc)
        } else {
            self.path(a).cmp(&self.path(b))
        }
    }

    /// True if lanes of a group run ahead.
    pub(crate) fn is_ahead(&self, group: &Group) -> bool {
        group.mask & self.ahead != 0
    }

    /// Joins groups that can step and are at the same position. Those that run apart meet only
    /// where one waits for the other, or where all stay together. `infos` are of all instructions.
    pub(crate) fn merge(&mut self, infos: &[InstructionInfo]) {
        let mut i = 0;
        while i < self.groups.len() {
            let mut j = i + 1;
            while j < self.groups.len() {
                let (a, b) = (self.groups[i], self.groups[j]);
                let mergeable = a.pc == b.pc && a.frame == b.frame;
                let retry = |state: State| !state.is_met_elsewhere();
                let both_wait = a.state != State::Ready && b.state != State::Ready;
                let apart = || {
                    self.is_ahead(&a) != self.is_ahead(&b)
                        && (a.state, b.state) == (State::Ready, State::Ready)
                        && !infos[a.pc as usize].stays_together
                };
                if mergeable && retry(a.state) && retry(b.state) && !both_wait && !apart() {
                    self.groups[i].mask |= b.mask;
                    // A waiting group tries again now that it has grown.
                    self.groups[i].state = State::Ready;
                    self.groups[i].gave_way = a.gave_way.max(b.gave_way);
                    self.groups[i].way.join(b.way);
                    self.groups.swap_remove(j);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }

    /// Moves the lanes of `taken` to `target`, as a group of their own that can step, and the rest
    /// of the group to `next`. Gives the index of the new group.
    pub(crate) fn split(&mut self, group: usize, taken: u32, target: u32, next: u32) -> usize {
        let rest = &mut self.groups[group];
        rest.mask &= !taken;
        rest.pc = next;
        let other = Group {
            mask: taken,
            pc: target,
            state: State::Ready,
            ..*rest
        };
        self.groups.push(other);
        self.groups.len() - 1
    }

    /// Lanes go on after their wait for the cluster's barrier.
    pub(crate) fn leave_cluster_barrier(&mut self, mask: u32) {
        self.arrived &= !mask;
        self.passed &= !mask;
    }

    /// Removes lanes for good. Groups that wait for lanes try again.
    pub(crate) fn exit(&mut self, mask: u32) {
        self.live &= !mask;
        for group in &mut self.groups {
            if matches!(group.state, State::Lanes { .. }) {
                group.state = State::Ready;
            }
        }
    }
}

/// Zeroes the first `count` rows (those that exist) but those of constants, which ascend.
fn clear_between<T: Default + Copy>(
    rows: &mut [[T; LANES]],
    constants: &[(Slot, Constant)],
    count: u32,
) {
    let end = rows.len().min(count as usize);
    let mut start = 0;
    for row in constants
        .iter()
        .map(|(slot, _)| slot.row as usize)
        .chain([end])
    {
        if start < row.min(end) {
            // Flat, it is one `memset`.
            rows[start..row.min(end)]
                .as_flattened_mut()
                .fill(T::default());
        }
        start = row + 1;
    }
}
