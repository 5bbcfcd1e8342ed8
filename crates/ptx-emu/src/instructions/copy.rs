//! Asynchronous copies from global to shared memory: `cp.async`.
//!
//! A copy is made when the thread waits for its group, the latest moment that PTX allows: a kernel that forgets to
//! wait reads memory that nothing has written.

use ptx::{ScalarType, Space};

use crate::access::{GlobalRegion, Request, Span};
use crate::block::{At, BlockRunner, Execute, Next, Op, Stop};
use crate::counts::InstructionClass;
use crate::fault::AccessKind;
use crate::memory::Words;
use crate::read::{Read, Reader, Width, other};
use crate::registers::{Address, Flag, LANES, Row64, Slot, lanes};
use crate::warp::{AsyncCopy, Warp};

/// `cp`.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Other;
    if !r.has("async") {
        return Err(r.missing("`.async`"));
    }
    if r.has("commit_group") {
        r.operands(0)?;
        return other(Commit);
    }
    if r.has("wait_all") {
        r.operands(0)?;
        return other(Wait { pending: None });
    }
    if r.has("wait_group") {
        r.operands(1)?;
        let pending = Some(r.constant()?);
        return other(Wait { pending });
    }
    r.class = InstructionClass::Load;
    let bypasses_l1 = r.need("`.ca` or `.cg`", &[("ca", false), ("cg", true)])?;
    let policies = usize::from(r.has("L2::cache_hint"));
    let spaces = (r.space(), r.space());
    if spaces != (Some(Space::Shared), Some(Space::Global)) {
        return Err(r.missing("spaces `.shared.global`"));
    }
    let count = r.operands_between(3 + policies, 4 + policies)? - policies;
    let (dst, src) = (r.address(Space::Shared)?, r.address(Space::Global)?);
    let bytes = r.constant()?;
    if !(matches!(bytes, 4 | 8) && !bypasses_l1 || bytes == 16) {
        return Err(r.unsupported("size"));
    }
    let (mut src_bytes, mut ignore_src) = (None, None);
    if count > 3 {
        let operand = r.operand()?;
        match r.register(operand, ScalarType::Pred, Width::Exact) {
            Ok(pred) => {
                let slot = pred.row;
                ignore_src = Some(Flag { slot, flip: 0 });
            }
            Err(_) => src_bytes = Some(r.value(operand, ScalarType::U32, Width::Exact)?),
        }
    }
    r.function.note_access(Space::Shared, 4);
    other(Issue {
        dst,
        src,
        bytes,
        src_bytes,
        ignore_src,
        tally: r.function.tally(),
    })
}

/// Starts a copy.
#[derive(Debug)]
struct Issue {
    dst: Address,
    src: Address,
    /// 4, 8 or 16.
    bytes: u32,
    /// How many of them are read; the rest is zero.
    src_bytes: Option<Slot>,
    /// Where none is read.
    ignore_src: Option<Flag>,
    tally: u32,
}

impl Execute for Issue {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let registers = &warp.registers;
        let (dst, src) = (
            registers.addresses(&self.dst),
            registers.addresses(&self.src),
        );
        let ignored = self.ignore_src.map_or(0, |flag| registers.flag(flag));
        let queues = warp.copies.get_or_insert_default();
        for lane in lanes(at.active) {
            let wanted = match self.src_bytes {
                _ if ignored >> lane & 1 == 1 => 0,
                Some(slot) => registers.lane(slot, lane) as u32,
                None => self.bytes,
            };
            queues.open[lane].push(AsyncCopy {
                dst: dst[lane],
                src: src[lane],
                bytes: self.bytes,
                src_bytes: wanted.min(self.bytes),
            });
        }
        let traffic = &mut runner.tallies.traffic[self.tally as usize];
        let load = request(AccessKind::Load, &src, at.active, self.bytes, at.pc, warp);
        let span = Span::of(&src, at.active, self.bytes);
        load.count_global(&mut traffic.global, &span, runner.loaded.as_mut());
        let store = request(AccessKind::Store, &dst, at.active, self.bytes, at.pc, warp);
        let span = Span::of(&dst, at.active, self.bytes);
        store.count_shared(&mut traffic.copied_to_shared, &span);
        Ok(Next::Step)
    }
}

/// `cp.async.commit_group`.
#[derive(Debug)]
struct Commit;

impl Execute for Commit {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let queues = warp.copies.get_or_insert_default();
        for lane in lanes(at.active) {
            let group = std::mem::take(&mut queues.open[lane]);
            queues.groups[lane].push_back(group);
        }
        Ok(Next::Step)
    }
}

/// `cp.async.wait_group` until at most `pending` groups are under way, or `wait_all`.
#[derive(Debug)]
struct Wait {
    pending: Option<u32>,
}

impl Execute for Wait {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let mut queues = warp.copies.take().unwrap_or_default();
        for lane in lanes(at.active) {
            if self.pending.is_none() {
                let group = std::mem::take(&mut queues.open[lane]);
                queues.groups[lane].push_back(group);
            }
            while queues.groups[lane].len() > self.pending.unwrap_or(0) as usize {
                for copy in queues.groups[lane].pop_front().unwrap_or_default() {
                    make(runner, warp, lane, copy, at.pc)?;
                }
            }
        }
        warp.copies = Some(queues);
        Ok(Next::Step)
    }
}

fn request<'r>(
    kind: AccessKind,
    addresses: &'r Row64,
    mask: u32,
    width: u32,
    pc: u32,
    warp: &Warp,
) -> Request<'r> {
    Request {
        kind,
        addresses,
        mask,
        width,
        pc,
        warp: warp.index,
        strong: false,
        non_coherent: false,
    }
}

/// Makes a copy.
fn make(
    runner: &mut BlockRunner,
    warp: &Warp,
    lane: usize,
    copy: AsyncCopy,
    pc: u32,
) -> Result<(), Stop> {
    let launch = runner.launch;
    let (mask, mut data) = (1 << lane, [0u8; 16]);
    if copy.src_bytes > 0 {
        let sources = [copy.src; LANES];
        let whole = request(AccessKind::Load, &sources, mask, copy.bytes, pc, warp);
        let span = Span::of(&sources, mask, copy.bytes);
        runner.check_alignment(&whole, &span)?;
        let load = Request {
            width: copy.src_bytes,
            ..whole
        };
        let (buffer, _) = runner.buffer(&load, mask, &span)?;
        buffer.note(&load, &span);
        let mut region = GlobalRegion::new(buffer, launch.memory);
        runner.check_written(&load, &region, &span)?;
        if launch.sanitize.races {
            runner.check_load(&load, &mut region)?;
        }
        for (i, byte) in data[..copy.src_bytes as usize].iter_mut().enumerate() {
            *byte = region.load(lane, copy.src - buffer.base + i as u64, 1) as u8;
        }
    }
    let targets = [copy.dst; LANES];
    let store = request(AccessKind::Store, &targets, mask, copy.bytes, pc, warp);
    let span = Span::of(&targets, mask, copy.bytes);
    runner.check_alignment(&store, &span)?;
    runner.check_shared(&store, &span)?;
    let mut shared = std::mem::take(&mut runner.shared);
    if launch.sanitize.races {
        let checked = runner.check_stores(&store, &mut shared, |_, _| true, |_, _| {});
        if checked.is_err() {
            runner.shared = shared;
            return checked;
        }
    }
    runner.mark_written(&store, &mut shared, &span);
    for (i, byte) in data[..copy.bytes as usize].iter().enumerate() {
        shared.store(lane, copy.dst + i as u64, 1, (*byte).into());
    }
    runner.shared = shared;
    Ok(())
}
