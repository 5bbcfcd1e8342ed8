//! Keeps what the warps of some blocks do.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use ptx::Space;

use super::{
    RecordedAccess, RecordedBuffer, RecordedRegister, RecordedSpace, RecordedWrite, Recording,
    RecordingPlan, Step,
};
use crate::coalesce::{atomic_wavefronts, sectors, wavefronts};
use crate::counts::InstructionClass;
use crate::fault::AccessKind;
use crate::memory::global::Buffer;
use crate::registers::LANES;
use crate::request::Request;
use crate::runner::BlockRunner;
use crate::warp::{State, Warp};

/// Keeps the steps of one attempt at a launch.
#[derive(Debug)]
pub(crate) struct Recorder {
    plan: RecordingPlan,
    kept: Mutex<Kept>,
}

/// Things that steps name by their number.
#[derive(Debug)]
struct Numbered<T>(HashMap<T, usize>);

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Eq + Hash> Numbered<T> {
    fn number(&mut self, one: T) -> usize {
        let next = self.0.len();
        *self.0.entry(one).or_insert(next)
    }

    fn in_order(self) -> Vec<T> {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_by_key(|(_, number)| *number);
        all.into_iter().map(|(one, _)| one).collect()
    }
}

/// The steps, and what they name.
#[derive(Debug, Default)]
struct Kept {
    /// By position in the code.
    places: Numbered<u32>,
    registers: Numbered<RecordedRegister>,
    buffers: Numbered<RecordedBuffer>,
    steps: VecDeque<Step>,
    is_cut: bool,
    /// The latest step is not kept.
    is_over: bool,
}

impl Recorder {
    pub(crate) fn new(plan: RecordingPlan) -> Self {
        Self {
            plan,
            kept: Mutex::default(),
        }
    }

    /// Whether a block is recorded.
    pub(crate) fn wants(&self, block: u64) -> bool {
        self.plan.blocks.contains(&block)
    }

    /// Changes the latest step, if it is kept.
    fn change(&self, change: impl FnOnce(&mut Kept, &mut Step)) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_over {
            return;
        }
        if let Some(mut step) = kept.steps.pop_back() {
            change(&mut kept, &mut step);
            kept.steps.push_back(step);
        }
    }

    fn begin(&self, pc: u32, step: Step) {
        let kept = &mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.steps.len() == self.plan.most_steps {
            kept.is_cut = true;
            if !self.plan.keeps_last {
                kept.is_over = true;
                return;
            }
            kept.steps.pop_front();
        }
        let place = kept.places.number(pc);
        kept.steps.push_back(Step { place, ..step });
    }

    /// The recording, of a launch of this code.
    pub(crate) fn into_recording(self, launch: &crate::runner::Launch<'_>) -> Recording {
        let kept = self.kept.into_inner();
        let kept = kept.unwrap_or_else(PoisonError::into_inner);
        let places = kept.places.in_order().into_iter();
        Recording {
            kernel: launch.kernel_name().to_owned(),
            grid: launch.config.grid,
            block: launch.config.block,
            blocks: self.plan.blocks,
            shared_bytes: launch.shared_bytes,
            places: places
                .map(|pc| launch.code.infos[pc as usize].position.clone())
                .collect(),
            registers: kept.registers.in_order(),
            buffers: kept.buffers.in_order(),
            steps: kept.steps.into(),
            is_cut: kept.is_cut,
        }
    }
}

impl BlockRunner<'_> {
    /// Notes that lanes of a warp begin an instruction. The one before has ended.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_step(&self, warp: &Warp, pc: u32, lanes: u32, active: u32) {
        let Some(recorder) = &self.launch.recorder else {
            return;
        };
        let block = self.block.index;
        let blocks = &recorder.plan.blocks;
        let step = Step {
            block: blocks.iter().position(|one| *one == block).unwrap_or(0),
            warp: warp.index,
            lanes,
            active,
            is_barrier: self.launch.code.infos[pc as usize].class == InstructionClass::Barrier,
            ..Step::default()
        };
        recorder.begin(pc, step);
    }

    /// Completes the latest step by what it has left: the values of the registers that the
    /// instruction at `pc` writes, and how the warp's lanes stand.
    #[cold]
    #[inline(never)]
    pub(crate) fn end_step(&self, warp: &Warp, pc: u32) {
        let Some(recorder) = &self.launch.recorder else {
            return;
        };
        let code = self.launch.code;
        recorder.change(|kept, step| {
            step.exited = warp.lanes & !warp.live;
            let groups = warp.groups.iter();
            let waiting = groups.filter(|group| group.state != State::Ready);
            step.waiting = waiting.fold(0, |all, group| all | group.mask);
            step.writes.clear();
            for slot in code.writes.of(pc) {
                let Some(name) = code.register_name(pc, *slot, self.launch.program) else {
                    continue;
                };
                let register = RecordedRegister {
                    name: name.to_owned(),
                    bits: slot.class.bits(),
                };
                let values = std::array::from_fn(|lane| warp.registers.lane(*slot, lane));
                step.writes.push(RecordedWrite {
                    register: kept.registers.number(register),
                    values,
                });
            }
        });
    }

    /// Notes an access of the latest step, whose addresses are in `space`: in a buffer, if it is
    /// global.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_access(&self, space: Space, request: &Request, buffer: Option<&Buffer>) {
        let Some(recorder) = &self.launch.recorder else {
            return;
        };
        let cost = match (space, request.kind) {
            (Space::Global, _) => sectors(request.addresses, request.mask),
            (Space::Shared, AccessKind::Atomic) => {
                atomic_wavefronts(request.addresses, request.mask)
            }
            (Space::Shared, _) => wavefronts(request.addresses, request.mask, request.width).0,
            _ => 0,
        };
        let base = buffer.map_or(0, |buffer| buffer.start);
        let offsets: [u64; LANES] = request.addresses.map(|address| address.wrapping_sub(base));
        recorder.change(|kept, step| {
            let space = match buffer {
                Some(buffer) => RecordedSpace::Global(kept.buffers.number(RecordedBuffer {
                    name: buffer.name.clone(),
                    bytes: buffer.place(buffer.bytes),
                })),
                None if space == Space::Shared => RecordedSpace::Shared,
                None => RecordedSpace::Own,
            };
            step.accesses.push(RecordedAccess {
                kind: request.kind,
                space,
                lanes: request.mask,
                width: request.width,
                offsets,
                cost,
            });
        });
    }
}
