//! The steps of a running block, as a recording keeps them.

use ptx::Space;

use super::recorder::Recorder;
use super::{
    RecordedAccess, RecordedBuffer, RecordedKind, RecordedRegister, RecordedSpace, RecordedWrite,
    Recording, Step,
};
use crate::coalesce::{atomic_wavefronts, sectors, wavefronts};
use crate::counts::InstructionClass;
use crate::memory::global::Buffer;
use crate::registers::{LANES, lanes, lanes_where};
use crate::request::Request;
use crate::runner::{BlockRunner, Launch};
use crate::warp::{State, Warp};

impl Launch<'_> {
    /// The recording of an attempt at it.
    pub(crate) fn recording(&self, recorder: Recorder) -> Recording {
        let kept = recorder.into_kept();
        let places = kept.places.in_order().into_iter();
        Recording {
            kernel: self.kernel_name().to_owned(),
            grid: self.config.grid,
            block: self.config.block,
            blocks: kept.blocks.in_order(),
            shared_bytes: self.shared_bytes,
            places: places
                .map(|pc| self.code.infos[pc as usize].position.clone())
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
        let step = Step {
            warp: warp.index,
            lanes,
            active,
            is_barrier: self.launch.code.infos[pc as usize].class == InstructionClass::Barrier,
            ..Step::default()
        };
        recorder.begin(pc, self.block.index, step);
    }

    /// Completes the latest step by what it has left: the values of the registers that the
    /// instruction at `pc` has written, and how the warp's lanes stand. One that ended with a fault
    /// has written nothing.
    #[cold]
    #[inline(never)]
    pub(crate) fn end_step(&self, warp: &Warp, pc: u32, is_done: bool) {
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
            let written = code.writes.of(pc).iter().filter(|_| is_done);
            for slot in written {
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
        self.note(request.kind.into(), space, request, buffer);
    }

    /// Notes that the latest step begins an asynchronous copy, which stores there later.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_copy(&self, space: Space, request: &Request, buffer: Option<&Buffer>) {
        self.note(RecordedKind::Copy, space, request, buffer);
    }

    /// Notes that an asynchronous copy arrives in the latest step. Those of several lanes are one.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_arrival(&self, space: Space, request: &Request, buffer: Option<&Buffer>) {
        self.note(RecordedKind::Arrival, space, request, buffer);
    }

    fn note(&self, kind: RecordedKind, space: Space, request: &Request, buffer: Option<&Buffer>) {
        let Some(recorder) = &self.launch.recorder else {
            return;
        };
        let cost = match (space, kind) {
            (_, RecordedKind::Copy) => 0,
            (Space::Global, _) => sectors(request.addresses, request.mask),
            (Space::Shared, RecordedKind::Atomic) => {
                atomic_wavefronts(request.addresses, request.mask)
            }
            (Space::Shared, RecordedKind::Load | RecordedKind::Store) => {
                wavefronts(request.addresses, request.mask, request.width).0
            }
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
            let access = RecordedAccess {
                kind,
                space,
                lanes: request.mask,
                width: request.width,
                offsets,
                cost,
            };
            match step.accesses.last_mut() {
                Some(last) if last.is_with(&access) => last.add(&access),
                _ => step.accesses.push(access),
            }
        });
        let width = u64::from(request.width);
        if let (Some(byte), Some(_)) = (recorder.watched(), buffer)
            && kind.stores()
            && lanes_where(request.mask, |lane| {
                byte.wrapping_sub(request.addresses[lane]) < width
            }) != 0
        {
            recorder.note_storing();
        }
    }
}

impl RecordedAccess {
    /// Whether another lane's copy arrives with those of this access.
    fn is_with(&self, other: &RecordedAccess) -> bool {
        let of = |access: &RecordedAccess| (access.kind, access.space, access.width);
        self.kind == RecordedKind::Arrival && of(self) == of(other) && self.lanes & other.lanes == 0
    }

    /// Adds the lanes of another access.
    fn add(&mut self, other: &RecordedAccess) {
        for lane in lanes(other.lanes) {
            self.offsets[lane] = other.offsets[lane];
        }
        self.lanes |= other.lanes;
    }
}
