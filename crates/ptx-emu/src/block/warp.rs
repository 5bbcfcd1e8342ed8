//! The state of one warp.

use std::collections::HashMap;

use ptx::Special;

use super::{BlockRunner, LaunchContext};
use crate::code::{Constant, Function};
use crate::memory::PARAM_FRAMES;
use crate::memory::lanes::LaneMemory;
use crate::registers::{ALL, Bases, File, LANES, Registers, Slot};
use crate::step::AsyncQueues;

/// What a group of lanes does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Can step.
    Ready,
    /// Waits for a barrier of the block.
    Barrier {
        /// Its number.
        id: u32,
        /// Threads to wait for; `None` for the whole block.
        threads: Option<u32>,
    },
    /// Waits for other lanes to reach the same instruction.
    Lanes,
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
    /// Start and end of the frame's parameters.
    pub(crate) params: (u64, u64),
}

/// One warp.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) index: usize,
    pub(crate) registers: Registers,
    pub(crate) groups: Vec<Group>,
    /// Lanes that have not exited.
    pub(crate) live: u32,
    pub(crate) frames: Vec<Frame>,
    calls: HashMap<(u32, u32, u32), u32>,
    pub(crate) local: LaneMemory,
    pub(crate) params: LaneMemory,
    pub(crate) copies: Option<Box<AsyncQueues>>,
    /// The constants of the kernel's frame are in place.
    has_constants: bool,
    /// Lanes that ran last, and the polling instructions that they have executed since they were chosen: see
    /// [`PATIENCE`](super::PATIENCE).
    chosen: u32,
    pub(crate) spins: u32,
}

impl Warp {
    /// Puts the warp at the start of the kernel with these lanes.
    pub(super) fn start(&mut self, index: usize, lanes: u32, launch: &LaunchContext) {
        let kernel = &launch.code.functions[launch.kernel as usize];
        self.index = index;
        self.live = lanes;
        self.local.clear();
        self.params.clear();
        self.copies = None;
        self.chosen = 0;
        self.registers.bases = Bases::default();
        let Registers {
            rows32,
            rows64,
            preds,
            ..
        } = &mut self.registers;
        let variables = kernel.variables;
        let ours = variables.r32.min(rows32.len() as u32);
        rows32[..ours as usize].fill([0; LANES]);
        let ours = variables.r64.min(rows64.len() as u32);
        rows64[..ours as usize].fill([0; LANES]);
        preds.fill(0);
        self.calls.clear();
        self.frames.clear();
        self.frames.push(Frame {
            function: launch.kernel,
            parent: 0,
            call_pc: 0,
            depth: 0,
            bases: Bases::default(),
            local: (0, kernel.local_bytes.into()),
            params: (0, kernel.param_frame_bytes.into()),
        });
        self.groups.clear();
        self.groups.push(Group {
            pc: kernel.entry,
            mask: lanes,
            frame: 0,
            state: State::Ready,
            gave_way: 0,
        });
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

    /// The frame of `callee` called from a position of a frame; made on the first such call.
    pub(crate) fn callee_frame(
        &mut self,
        parent: u32,
        call_pc: u32,
        callee: u32,
        functions: &[Function],
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

    /// Joins groups that can step and are at the same position.
    pub(crate) fn merge(&mut self) {
        let mut i = 0;
        while i < self.groups.len() {
            let mut j = i + 1;
            while j < self.groups.len() {
                let (a, b) = (self.groups[i], self.groups[j]);
                let mergeable = a.pc == b.pc && a.frame == b.frame;
                let retry = matches!(
                    (a.state, b.state),
                    (State::Ready | State::Lanes, State::Ready | State::Lanes)
                );
                if mergeable && retry {
                    self.groups[i].mask |= b.mask;
                    // A waiting group tries again now that it has grown.
                    self.groups[i].state = State::Ready;
                    self.groups[i].gave_way = a.gave_way.min(b.gave_way);
                    self.groups.swap_remove(j);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }

    /// Removes lanes for good. Groups that wait for lanes try again.
    pub(crate) fn exit(&mut self, mask: u32) {
        self.live &= !mask;
        for group in &mut self.groups {
            if group.state == State::Lanes {
                group.state = State::Ready;
            }
        }
    }
}

impl BlockRunner<'_> {
    /// Makes a frame's rows accessible and writes its constants for the lanes of a mask.
    pub(crate) fn enter_frame(&self, warp: &mut Warp, frame: u32, mask: u32) {
        let Frame {
            function,
            bases,
            local,
            params,
            ..
        } = warp.frames[frame as usize];
        let function = &self.launch.code.functions[function as usize];
        warp.registers.reserve(Bases {
            r32: bases.r32 + function.rows.r32,
            r64: bases.r64 + function.rows.r64,
            pred: bases.pred + function.rows.pred,
        });
        warp.registers.bases = bases;
        warp.registers.set_pred(function.always, mask, u32::MAX);
        warp.registers.set_pred(function.never, mask, 0);
        // Constants of the kernel's frame stay from block to block, except for the block's index.
        let again = frame == 0 && std::mem::replace(&mut warp.has_constants, true);
        for &(file, row, constant) in &function.constants {
            if again && !matches!(constant, Constant::Special(Special::Ctaid(_))) {
                continue;
            }
            let value = match constant {
                Constant::Bits(bits) => bits,
                Constant::DynamicShared(offset) => {
                    u64::from(self.launch.dynamic_shared_offset).wrapping_add_signed(offset)
                }
                Constant::Local(offset) => local.0.wrapping_add_signed(offset),
                Constant::FrameParam(offset) => {
                    (PARAM_FRAMES + params.0).wrapping_add_signed(offset)
                }
                Constant::Special(special) => {
                    for lane in crate::coalesce::lanes(mask) {
                        let value = self.special(special, warp.thread(lane));
                        warp.registers.set_lane(Slot { file, row }, lane, value);
                    }
                    continue;
                }
            };
            match (file, mask) {
                (File::B64, ALL) => *warp.registers.r64_mut(row) = [value; LANES],
                (_, ALL) => *warp.registers.r32_mut(row) = [value as u32; LANES],
                _ => crate::coalesce::lanes(mask)
                    .for_each(|lane| warp.registers.set_lane(Slot { file, row }, lane, value)),
            }
        }
    }

    /// A special register that does not change while the thread runs.
    fn special(&self, special: Special, thread: u32) -> u64 {
        let launch = self.launch;
        let lane = thread % LANES as u32;
        let value = match special {
            Special::Tid(axis) => launch.thread_index(thread)[axis.index()],
            Special::Ntid(axis) => launch.config.block[axis.index()],
            Special::Ctaid(axis) => launch.block_index(self.block)[axis.index()],
            Special::Nctaid(axis) => launch.config.grid[axis.index()],
            Special::LaneId => lane,
            Special::WarpId => thread / LANES as u32,
            Special::NWarpId => launch.limits.threads_per_block / LANES as u32,
            Special::SmId => 0,
            Special::NSmId => 1,
            Special::LaneMaskEq => 1 << lane,
            Special::LaneMaskLe => u32::MAX >> (31 - lane),
            Special::LaneMaskLt => (1 << lane) - 1,
            Special::LaneMaskGe => u32::MAX << lane,
            Special::LaneMaskGt => (u32::MAX << lane) << 1,
            Special::DynamicSharedSize => launch.config.shared_mem_bytes,
            Special::TotalSharedSize => launch.shared_bytes as u32,
            // Clocks are read by an instruction of their own.
            Special::GridId
            | Special::Clock
            | Special::ClockHi
            | Special::Clock64
            | Special::GlobalTimer
            | Special::GlobalTimerLo
            | Special::GlobalTimerHi => 0,
        };
        value.into()
    }
}
