//! Asynchronous copies of a thread from global to shared memory: `cp.async`. For those in bulk, see
//! `bulk`.
//!
//! A copy is made when the thread waits for its group, the latest moment that PTX allows. Until
//! then nothing may access where it goes.

use ptx::{ScalarType, Space};

use super::mbarrier::Change;
use crate::access::{GlobalRegion, words};
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, Stop};
use crate::memory::Words;
use crate::memory::claims::Claim;
use crate::read::{Read, Reader, Width, other};
use crate::registers::{Address, Flag, LANES, Slot, lanes, lanes_where};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::Rule;
use crate::warp::{AsyncCopy, Warp};

/// `cp.async`; `.async` is taken already.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Other, Rule::Strict);
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
    // The source is in no shared array.
    r.facts.places.pop();
    let bytes = r.constant()?;
    if !(matches!(bytes, 4 | 8) && !bypasses_l1 || bytes == 16) {
        return Err(r.unsupported("size"));
    }
    let (mut src_bytes, mut ignore_src) = (None, None);
    if count > 3 {
        let operand = r.operand()?;
        match r.source_register(operand, ScalarType::Pred, Width::Exact) {
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
        let wanted = |lane: usize| match self.src_bytes {
            _ if ignored >> lane & 1 == 1 => 0,
            Some(slot) => (registers.lane(slot, lane) as u32).min(self.bytes),
            None => self.bytes,
        };
        let load = Request::weak(
            AccessKind::Load,
            &src,
            at.active,
            self.bytes,
            at.pc,
            warp.index,
        );
        let mut rest = lanes_where(at.active, |lane| wanted(lane) > 0);
        while rest != 0 {
            let bytes = wanted(rest.trailing_zeros() as usize);
            let mask = lanes_where(rest, |lane| wanted(lane) == bytes);
            rest &= !mask;
            check_source(runner, &Request { mask, ..load }, bytes)?;
        }
        let store = Request::weak(
            AccessKind::Store,
            &dst,
            at.active,
            self.bytes,
            at.pc,
            warp.index,
        );
        let span = Span::of(&dst, at.active, self.bytes);
        runner.check_alignment(&store, &span, Some(&runner.block.shared))?;
        runner.check_shared(&store, &span)?;
        if runner.records {
            runner.note_copy(Space::Shared, &store, None);
        }
        for lane in lanes(at.active) {
            runner.claim(warp, &store, lane, Claim::All)?;
        }
        let traffic = runner.tallies.traffic(self.tally);
        store.count_shared(&mut traffic.copied_to_shared, &span);
        let read = Span::of(&src, at.active, self.bytes);
        load.count_global(&mut traffic.global, &read, runner.loaded.as_mut());
        let memory = runner.launch.memory;
        let queues = warp.copies.get_or_insert_default();
        for lane in lanes(at.active) {
            let mut copy = AsyncCopy {
                dst: dst[lane],
                src: src[lane],
                bytes: self.bytes,
                src_bytes: wanted(lane),
                data: [0; 4],
                pc: at.pc,
            };
            if let Some(buffer) = memory.find(copy.src, copy.src_bytes.into()) {
                let source = words(&buffer, copy.src - buffer.base, copy.src_bytes);
                copy.data
                    .iter_mut()
                    .zip(source)
                    .for_each(|(to, from)| *to = from);
            }
            queues.loads.open[lane].push(copy);
        }
        Ok(Next::Step)
    }
}

/// Checks what a copy is to read: `read` bytes of those that the request's alignment is for.
fn check_source(runner: &mut BlockRunner, request: &Request, read: u32) -> Result<(), Stop> {
    let span = Span::of(request.addresses, request.mask, request.width);
    runner.check_alignment(request, &span, None)?;
    let request = Request {
        width: read,
        ..*request
    };
    let read_span = Span::of(request.addresses, request.mask, read);
    runner.check_leaving(&request, &read_span)?;
    let launch = runner.launch;
    let mut rest = request.mask;
    while rest != 0 {
        let (buffer, mask) = runner.buffer(&request, rest, &read_span)?;
        rest &= !mask;
        let part = Request { mask, ..request };
        if runner.records {
            runner.note_access(Space::Global, &part, Some(buffer));
        }
        buffer.note(&part, &read_span);
        let mut region = GlobalRegion::new(buffer, launch);
        if launch.sanitize.races {
            runner.check_load(&part, &mut region, &read_span)?;
        }
    }
    Ok(())
}

/// `cp.async.commit_group`.
#[derive(Debug)]
struct Commit;

impl Execute for Commit {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let queues = warp.copies.get_or_insert_default();
        lanes(at.active).for_each(|lane| queues.loads.commit(lane));
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
        let loads = &mut queues.loads;
        if self.pending.is_none() {
            lanes(at.active).for_each(|lane| loads.commit(lane));
        }
        let pending = self.pending.unwrap_or(0) as usize;
        loop {
            let due = lanes_where(at.active, |lane| loads.groups[lane].len() > pending);
            if due == 0 {
                break;
            }
            let mut groups: [Vec<AsyncCopy>; LANES] = Default::default();
            for lane in lanes(due) {
                groups[lane] = loads.groups[lane].pop_front().unwrap_or_default();
            }
            let most = groups.iter().map(Vec::len).max().unwrap_or(0);
            for number in 0..most {
                let mut rest = lanes_where(due, |lane| number < groups[lane].len());
                while rest != 0 {
                    let first = groups[rest.trailing_zeros() as usize][number];
                    let mask = lanes_where(rest, |lane| groups[lane][number].is_like(&first));
                    rest &= !mask;
                    make(runner, warp, mask, |lane| &groups[lane][number])?;
                }
            }
            for lane in lanes(due) {
                loads.reuse(std::mem::take(&mut groups[lane]));
            }
        }
        warp.copies = Some(queues);
        Ok(Next::Step)
    }
}

/// `cp.async.mbarrier.arrive`: an arrival at an object once all copies that the thread has started
/// are made. They are made here, the earliest moment: other threads that do not wait for the object
/// have a race. Those that do see the copies, also if other threads make all other arrivals (PTX
/// ISA, "mbarrier.test_wait"). `.async` and `.mbarrier` are taken already.
pub(super) fn arrive_behind(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Barrier, Rule::Strict);
    if !r.has("arrive") {
        return Err(r.missing("`.arrive`"));
    }
    // Without `.noinc` the phase waits for one more arrival, which this then is.
    let is_awaited = r.has("noinc");
    let space = r.space().unwrap_or(Space::Generic);
    r.only_type(ScalarType::B64)?;
    r.operands(1)?;
    let (address, space) = r.address_in(space)?;
    let arrival = Change::arrival(r, address, space);
    other(ArriveBehind {
        is_awaited,
        arrival,
    })
}

#[derive(Debug)]
struct ArriveBehind {
    /// The phase waits for this arrival already.
    is_awaited: bool,
    arrival: Change,
}

impl Execute for ArriveBehind {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        Wait { pending: None }.execute(runner, warp, at)?;
        if self.is_awaited {
            return self.arrival.execute(runner, warp, at);
        }
        self.arrival.release(runner, warp, at)?;
        Ok(Next::Step)
    }
}

/// Makes copies of one instruction and size, those of the lanes of a mask.
fn make<'c>(
    runner: &mut BlockRunner,
    warp: &Warp,
    mask: u32,
    copy: impl Fn(usize) -> &'c AsyncCopy,
) -> Result<(), Stop> {
    let launch = runner.launch;
    let AsyncCopy {
        bytes,
        src_bytes,
        pc,
        ..
    } = *copy(mask.trailing_zeros() as usize);
    let (mut sources, mut targets) = ([0; LANES], [0; LANES]);
    for lane in lanes(mask) {
        (sources[lane], targets[lane]) = (copy(lane).src, copy(lane).dst);
    }
    let load = Request::weak(AccessKind::Load, &sources, mask, src_bytes, pc, warp.index);
    let read = Span::of(&sources, mask, src_bytes);
    let of_global = if src_bytes > 0 { mask } else { 0 };
    let mut data = [[0; 4]; LANES];
    let mut rest = of_global;
    while rest != 0 {
        let (buffer, part) = runner.buffer(&load, rest, &read)?;
        rest &= !part;
        let load = Request { mask: part, ..load };
        let mut region = GlobalRegion::new(buffer, launch);
        if launch.sanitize.races {
            runner.check_load(&load, &mut region, &read)?;
        }
        for lane in lanes(part) {
            let words = words(&region, sources[lane] - buffer.base, src_bytes);
            (data[lane].iter_mut().zip(words)).for_each(|(to, from)| *to = from);
            let before = &copy(lane).data;
            if data[lane] != *before {
                let before = before.map(u32::to_le_bytes);
                let load = Request {
                    mask: 1 << lane,
                    ..load
                };
                runner.check_source(&load, &mut region, before.as_flattened())?;
            }
        }
    }
    let store = Request::weak(AccessKind::Store, &targets, mask, bytes, pc, warp.index);
    let span = Span::of(&targets, mask, bytes);
    if runner.records {
        runner.note_arrival(Space::Shared, &store, None);
    }
    let mut shared = std::mem::take(&mut runner.block.shared);
    if let Some(claims) = &mut shared.claims {
        for lane in lanes(mask) {
            claims.release(targets[lane], bytes.into());
            claims.note_store(targets[lane], bytes.into());
        }
    }
    if launch.sanitize.races {
        let checked = runner.check_stores(&store, &mut shared, &span, |_, _| true, |_, _| {});
        if checked.is_err() {
            runner.block.shared = shared;
            return checked;
        }
    }
    runner.mark_written(&store, &mut shared, &span);
    for lane in lanes(mask) {
        for (at, word) in (0..bytes).step_by(4).zip(data[lane]) {
            shared.store(lane, targets[lane] + u64::from(at), 4, word.into());
        }
    }
    let mut unmarked = of_global;
    while unmarked != 0 {
        let Ok((buffer, part)) = runner.buffer(&load, unmarked, &read) else {
            break;
        };
        unmarked &= !part;
        let load = Request { mask: part, ..load };
        let region = GlobalRegion::new(buffer, launch);
        runner.pass_unset((&region, &load), (&mut shared, &targets));
    }
    runner.block.shared = shared;
    Ok(())
}
