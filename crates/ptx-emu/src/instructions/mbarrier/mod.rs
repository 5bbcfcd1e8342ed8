//! Objects that threads and bulk copies arrive at, and threads wait for: `mbarrier`.
//!
//! An object is in the block's shared memory, where it takes 8 bytes; what it holds is kept in
//! `memory::claims`. A phase completes when all its arrivals have been made and all its bytes have
//! arrived. Bytes arrive when a thread waits and nothing else is missing, the latest moment: a
//! thread that does not wait finds its copies under way.
//!
//! `try_wait` waits until the phase has completed; that it may give up after a while is not
//! modelled. So a wait in vain is a deadlock.

mod elsewhere;
mod wait;

use ptx::{ScalarType, Space};

use wait::Wait;

use super::bulk;
use crate::access::{MBARRIER_BYTES, Region};
use crate::check::race::LaneClocks;
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, FaultKind, Stop};
use crate::memory::claims::{Claim, Mbarrier};
use crate::memory::{SHARED_WINDOW, rank_of, space_of};
use crate::read::{Read, Reader, Width, other};
use crate::registers::{Address, LANES, Row64, Slot, lanes};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::warp::{State, Warp};

/// The most arrivals of a phase, and the most bytes that it may wait for.
const MOST: i64 = (1 << 20) - 1;

/// The operations on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Init,
    Inval,
    ExpectTx,
    CompleteTx,
    Arrive,
    TestWait,
    TryWait,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::Init => "mbarrier.init",
            Self::Inval => "mbarrier.inval",
            Self::ExpectTx => "mbarrier.expect_tx",
            Self::CompleteTx => "mbarrier.complete_tx",
            Self::Arrive => "mbarrier.arrive",
            Self::TestWait => "mbarrier.test_wait",
            Self::TryWait => "mbarrier.try_wait",
        }
    }
}

/// `mbarrier`.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Barrier;
    let verb = r.need(
        "operation",
        &[
            ("init", Verb::Init),
            ("inval", Verb::Inval),
            ("expect_tx", Verb::ExpectTx),
            ("complete_tx", Verb::CompleteTx),
            ("arrive", Verb::Arrive),
            ("test_wait", Verb::TestWait),
            ("try_wait", Verb::TryWait),
        ],
    )?;
    let expects = verb == Verb::Arrive && r.has("expect_tx");
    let waits = matches!(verb, Verb::TestWait | Verb::TryWait);
    let by_parity = waits && r.has("parity");
    // Without a modifier, an arrival releases and a wait acquires.
    let orders = r.choice(&[("release", true), ("acquire", true), ("relaxed", false)]);
    r.scope();
    let space = match r.space() {
        None => Space::Generic,
        Some(space @ (Space::Shared | Space::SharedCluster)) => space,
        Some(space) => return Err(r.unsupported(&format!("modifier `.{}`", space.name()))),
    };
    r.only_type(ScalarType::B64)?;
    let (least, most) = match verb {
        Verb::Inval => (1, 1),
        Verb::Init | Verb::ExpectTx | Verb::CompleteTx => (2, 2),
        Verb::Arrive if expects => (3, 3),
        Verb::Arrive => (2, 3),
        Verb::TestWait => (3, 3),
        Verb::TryWait => (3, 4),
    };
    let count = r.operands_between(least, most)?;
    let mut dst = None;
    if waits {
        dst = Some(r.dst(ScalarType::Pred)?);
    } else if verb == Verb::Arrive {
        let operand = r.operand()?;
        dst = r.register_or_sink(operand, ScalarType::B64, Width::Exact)?;
    }
    let (address, space) = r.address_in(space)?;
    let operand = match verb {
        Verb::Inval => None,
        Verb::Arrive if count == 2 => None,
        Verb::TestWait | Verb::TryWait if !by_parity => Some(r.src(ScalarType::B64)?),
        _ => Some(r.src(ScalarType::U32)?),
    };
    if count == 4 {
        // How long to wait at most.
        r.src(ScalarType::U32)?;
    }
    r.function.note_access(Space::Shared, MBARRIER_BYTES as u32);
    if !matches!(verb, Verb::Init | Verb::Inval) {
        // Threads learn of each other: lanes run apart, and results are compared in several orders.
        r.exchange.note(Space::Shared);
    }
    let object = Object {
        address,
        is_generic: space == Space::Generic,
        verb,
    };
    if waits {
        return other(Wait {
            object,
            dst: dst.ok_or_else(|| r.missing("destination"))?,
            operand: operand.ok_or_else(|| r.missing("phase"))?,
            by_parity,
            acquires: orders.unwrap_or(true),
        });
    }
    other(Change {
        object,
        dst,
        operand,
        expects,
        releases: orders.unwrap_or(true),
    })
}

/// The objects that an instruction's lanes name.
#[derive(Debug)]
struct Object {
    address: Address,
    is_generic: bool,
    verb: Verb,
}

impl Object {
    /// The offset of each lane's object in the block's shared memory, checked as an access.
    fn locate(&self, runner: &mut BlockRunner, warp: &Warp, at: At) -> Result<Row64, Stop> {
        let mut offsets = warp.registers.addresses(&self.address);
        for lane in lanes(at.active) {
            let address = &mut offsets[lane];
            if self.is_generic {
                if space_of(*address) != Space::Shared {
                    let kind = FaultKind::NotShared {
                        instruction: self.verb.name(),
                        address: *address,
                    };
                    return Err(runner.fault(warp.thread(lane), at.pc, kind));
                }
                *address -= SHARED_WINDOW;
            }
            if let (Some(rank), offset) = rank_of(*address)
                && rank as usize == runner.block.rank
            {
                *address = offset;
            } else if rank_of(*address).0.is_some() {
                let reason = "an mbarrier object of another block of the cluster";
                return Err(runner.unsupported(warp.thread(lane), at.pc, reason));
            }
        }
        let is_plain = matches!(self.verb, Verb::Init | Verb::Inval);
        let request = Request {
            kind: if is_plain {
                AccessKind::Store
            } else {
                AccessKind::Atomic
            },
            addresses: &offsets,
            mask: at.active,
            width: MBARRIER_BYTES as u32,
            pc: at.pc,
            warp: warp.index,
            strong: !is_plain,
            non_coherent: false,
        };
        let span = Span::of(&offsets, at.active, request.width);
        runner.check_alignment(&request, &span, Some(&runner.block.shared))?;
        runner.check_shared(&request, &span)?;
        let is_shown = !is_plain && self.are_shown(runner, &offsets, at.active);
        if runner.launch.sanitize.races && !is_shown {
            let mut shared = std::mem::take(&mut runner.block.shared);
            let checked = runner.check_stores(&request, &mut shared, &span, |_, _| true, |_, _| {});
            runner.block.shared = shared;
            checked?;
        }
        Ok(offsets)
    }

    /// A lane's object, which must be there.
    fn check(
        &self,
        runner: &mut BlockRunner,
        thread: u32,
        pc: u32,
        offset: u64,
    ) -> Result<(), Stop> {
        if runner.claims().barriers.contains_key(&offset) {
            return Ok(());
        }
        let location = runner.block.shared.location(runner.launch, offset);
        let reason = format!(
            "{} of {location}, where no mbarrier object is: `mbarrier::init` makes one",
            self.verb.name()
        );
        Err(runner.fault(thread, pc, FaultKind::InvalidBarrier { reason }))
    }
}

/// An operation that changes an object.
#[derive(Debug)]
pub(super) struct Change {
    object: Object,
    /// The state before an arrival.
    dst: Option<Slot>,
    operand: Option<Slot>,
    /// An arrival that expects the operand's bytes before.
    expects: bool,
    releases: bool,
}

impl Change {
    /// One arrival, which releases, at the object of this address.
    pub(super) fn arrival(r: &mut Reader, address: Address, space: Space) -> Change {
        r.function.note_access(Space::Shared, MBARRIER_BYTES as u32);
        Change {
            object: Object {
                address,
                is_generic: space == Space::Generic,
                verb: Verb::Arrive,
            },
            dst: None,
            operand: None,
            expects: false,
            releases: true,
        }
    }

    /// Releases what every lane did to its object, which must be there, and counts no arrival.
    pub(super) fn release(
        &self,
        runner: &mut BlockRunner,
        warp: &Warp,
        at: At,
    ) -> Result<(), Stop> {
        let offsets = self.object.locate(runner, warp, at)?;
        lanes(at.active).try_for_each(|lane| {
            let (thread, offset) = (warp.thread(lane), offsets[lane]);
            self.object.check(runner, thread, at.pc, offset)?;
            runner.release_to(warp, lane, offset);
            Ok(())
        })
    }
}

impl Execute for Change {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let elsewhere = self.lanes_elsewhere(runner, warp, at);
        for lane in lanes(elsewhere) {
            self.arrive_elsewhere(runner, warp, (lane, at.pc))?;
        }
        let active = at.active & !elsewhere;
        if active == 0 {
            return Ok(Next::Step);
        }
        let at = At { active, ..at };
        let offsets = self.object.locate(runner, warp, at)?;
        runner.note_poll(warp, 1);
        for lane in lanes(at.active) {
            let (offset, thread) = (offsets[lane], warp.thread(lane));
            let operand = self
                .operand
                .map(|slot| warp.registers.lane(slot, lane))
                .map(|value| i64::from(value as u32));
            let verb = self.object.verb;
            if verb == Verb::Init {
                init(runner, warp, (thread, at.pc), offset, operand.unwrap_or(0))?;
                continue;
            }
            self.object.check(runner, thread, at.pc, offset)?;
            match verb {
                Verb::Inval => invalidate(runner, (thread, at.pc), offset)?,
                Verb::ExpectTx => {
                    expect(runner, (thread, at.pc), offset, operand.unwrap_or(0))?;
                }
                Verb::CompleteTx => {
                    expect(runner, (thread, at.pc), offset, -operand.unwrap_or(0))?;
                    runner.settle(warp, (thread, at.pc), offset)?;
                }
                _ => {
                    let mut arrivals = operand.unwrap_or(1);
                    if self.expects {
                        expect(runner, (thread, at.pc), offset, arrivals)?;
                        arrivals = 1;
                    }
                    let before =
                        runner.arrive(warp, lane, at.pc, offset, arrivals, self.releases)?;
                    if let Some(dst) = self.dst {
                        warp.registers.set_lane(dst, lane, before);
                    }
                }
            }
        }
        Ok(Next::Step)
    }
}

/// Makes an object.
fn init(
    runner: &mut BlockRunner,
    warp: &Warp,
    (thread, pc): (u32, u32),
    offset: u64,
    count: i64,
) -> Result<(), Stop> {
    let location = runner.block.shared.location(runner.launch, offset);
    let mut reason = None;
    if !runner.launch.sanitize.barriers && runner.claims().barriers.remove(&offset).is_some() {
        runner.claims().release(offset, MBARRIER_BYTES);
    }
    if !(1..=MOST).contains(&count) {
        reason = Some(format!(
            "an mbarrier object at {location} for {count} arrivals; a phase waits for 1 to {MOST}"
        ));
    } else if runner.claims().barriers.contains_key(&offset) {
        reason = Some(format!(
            "mbarrier.init of {location}, where an mbarrier object is: `mbarrier::invalidate` must end it before"
        ));
    }
    if let Some(reason) = reason {
        return Err(runner.fault(thread, pc, FaultKind::InvalidBarrier { reason }));
    }
    let (lane, addresses) = (thread as usize % LANES, [offset; LANES]);
    let request = Request {
        kind: AccessKind::Store,
        addresses: &addresses,
        mask: 1 << lane,
        width: MBARRIER_BYTES as u32,
        pc,
        warp: warp.index,
        strong: false,
        non_coherent: false,
    };
    let claims = runner.claims();
    if claims.keeps(offset, MBARRIER_BYTES, true)
        && let Some(taken) = runner.block.shared.claims.take()
    {
        let fault = runner.claimed(warp, &runner.block.shared, &taken, &request, lane);
        runner.block.shared.claims = Some(taken);
        return Err(fault);
    }
    let [arriving, released] = [(); 2].map(|()| runner.sanitizer.clocks.nothing());
    let own = runner.claims();
    own.claim(offset, MBARRIER_BYTES, Claim::All);
    let barrier = Mbarrier {
        expected: count as u32,
        pending: count as u32,
        bytes: 0,
        phase: 0,
        is_fenced: false,
        arriving,
        released,
        lanes_arriving: LaneClocks::default(),
        lanes_released: LaneClocks::default(),
    };
    own.barriers.insert(offset, barrier);
    Ok(())
}

/// Ends an object: its bytes are memory that nothing has written.
fn invalidate(runner: &mut BlockRunner, (thread, pc): (u32, u32), offset: u64) -> Result<(), Stop> {
    let claims = runner.claims();
    if claims
        .arriving
        .iter()
        .any(|load| load.copy.barrier == offset)
    {
        let location = runner.block.shared.location(runner.launch, offset);
        let reason =
            format!("mbarrier.inval of {location}, which copies that are under way report to");
        return Err(runner.fault(thread, pc, FaultKind::InvalidBarrier { reason }));
    }
    claims.barriers.remove(&offset);
    claims.release(offset, MBARRIER_BYTES);
    if runner.launch.sanitize.uninitialized {
        runner.block.shared.written.clear(offset, MBARRIER_BYTES);
    }
    Ok(())
}

/// Adds to the bytes that the current phase waits for.
fn expect(
    runner: &mut BlockRunner,
    (thread, pc): (u32, u32),
    offset: u64,
    bytes: i64,
) -> Result<(), Stop> {
    let Some(barrier) = runner.claims().barriers.get_mut(&offset) else {
        return Ok(());
    };
    barrier.bytes += bytes;
    let all = barrier.bytes;
    if all.abs() <= MOST {
        return Ok(());
    }
    let location = runner.block.shared.location(runner.launch, offset);
    let reason = format!(
        "the mbarrier object at {location} is to wait for {all} bytes; {MOST} is the most that a phase counts"
    );
    Err(runner.fault(thread, pc, FaultKind::InvalidBarrier { reason }))
}

impl BlockRunner<'_> {
    /// Makes a lane's arrivals at an object; gives its state before.
    fn arrive(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        pc: u32,
        offset: u64,
        arrivals: i64,
        releases: bool,
    ) -> Result<u64, Stop> {
        let thread = warp.thread(lane);
        let Some(barrier) = self.claims().barriers.get_mut(&offset) else {
            return Ok(0);
        };
        let (phase, pending) = (barrier.phase, i64::from(barrier.pending));
        if !(1..=pending).contains(&arrivals) {
            let expected = barrier.expected;
            let location = self.block.shared.location(self.launch, offset);
            let reason = format!(
                "{arrivals} arrival{} at the mbarrier object at {location}, whose phase {phase} waits for {pending} more: it was made for {expected}",
                if arrivals == 1 { "" } else { "s" }
            );
            return Err(self.fault(thread, pc, FaultKind::InvalidBarrier { reason }));
        }
        barrier.pending -= arrivals as u32;
        if releases {
            self.release_to(warp, lane, offset);
        }
        self.settle(warp, (thread, pc), offset)?;
        Ok(phase)
    }

    /// Shows what a lane did to those that wait for the current phase of an object.
    fn release_to(&mut self, warp: &Warp, lane: usize, offset: u64) {
        let by = (self.warp_number(warp.index), lane);
        let claims = self.block.shared.claims.as_mut();
        if let Some(barrier) = claims.and_then(|claims| claims.barriers.get_mut(&offset))
            && self.launch.sanitize.races
        {
            let (arriving, by_lane) = (&mut barrier.arriving, &mut barrier.lanes_arriving);
            let clocks = &mut self.sanitizer.clocks;
            clocks.arrive_alone(by, warp.lanes, arriving, by_lane);
        }
    }

    /// Completes the phase of an object if nothing is missing. If only bytes are missing, no more
    /// may be under way than it waits for.
    pub(super) fn settle(
        &mut self,
        warp: &mut Warp,
        (thread, pc): (u32, u32),
        offset: u64,
    ) -> Result<(), Stop> {
        let under_way = self.bytes_to(offset);
        let Some(barrier) = self.claims().barriers.get_mut(&offset) else {
            return Ok(());
        };
        let (phase, bytes) = (barrier.phase, barrier.bytes);
        if barrier.pending > 0 {
            return Ok(());
        }
        if under_way > bytes {
            let location = self.block.shared.location(self.launch, offset);
            let reason = format!(
                "copies of {under_way} bytes are under way to the mbarrier object at {location}, whose phase {phase} expects {bytes}: it would complete before they have arrived"
            );
            return Err(self.fault(thread, pc, FaultKind::InvalidBarrier { reason }));
        }
        if bytes == 0 {
            self.complete_phase(warp, offset);
        } else if under_way == bytes {
            // Those that wait let the copies arrive.
            self.wake_waiting(warp, offset);
        }
        Ok(())
    }

    /// Lets those try again that wait for an object. `warp` is the one that runs.
    fn wake_waiting(&mut self, warp: &mut Warp, offset: u64) {
        for each in self.block.warps.iter_mut().map(Box::as_mut).chain([warp]) {
            for group in &mut each.groups {
                if group.state == State::Mbarrier(offset) {
                    group.state = State::Ready;
                }
            }
        }
    }

    /// Bytes under way that report to an object.
    fn bytes_to(&mut self, offset: u64) -> i64 {
        let copies = self
            .claims()
            .arriving
            .iter()
            .map(|load| &load.copy)
            .filter(|copy| copy.barrier == offset);
        copies.map(|copy| i64::from(copy.bytes)).sum()
    }

    /// Lets the copies arrive that an object waits for, if nothing else is missing.
    fn let_arrive(&mut self, warp: &mut Warp, offset: u64) -> Result<(), Stop> {
        let under_way = self.bytes_to(offset);
        let is_last = |barrier: &Mbarrier| barrier.pending == 0 && barrier.bytes == under_way;
        let claims = self.claims();
        if !claims.barriers.get(&offset).is_some_and(is_last) {
            return Ok(());
        }
        let (arriving, others): (Vec<_>, _) = std::mem::take(&mut claims.arriving)
            .into_iter()
            .partition(|load| load.copy.barrier == offset);
        claims.arriving = others;
        for load in arriving {
            bulk::arrive(self, &load)?;
            let number = self.warp_number(load.copy.warp);
            let shared = self.block.shared.claims.as_mut();
            if let Some(barrier) = shared.and_then(|held| held.barriers.get_mut(&offset))
                && self.launch.sanitize.races
            {
                self.sanitizer.clocks.arrive(number, &mut barrier.arriving);
            }
        }
        self.complete_phase(warp, offset);
        Ok(())
    }

    /// Begins the next phase of an object, and lets those go on that wait for it. `warp` is the one
    /// that runs.
    fn complete_phase(&mut self, warp: &mut Warp, offset: u64) {
        let Some(barrier) = self.claims().barriers.get_mut(&offset) else {
            return;
        };
        barrier.complete();
        self.wake_waiting(warp, offset);
    }

    /// Lets those try again that wait for an object, if another block has completed a phase since.
    pub(crate) fn wake_for_others(&mut self) {
        let Some(claims) = &mut self.block.shared.claims else {
            return;
        };
        if !std::mem::take(&mut claims.completed_by_other) {
            return;
        }
        for group in self
            .block
            .warps
            .iter_mut()
            .flat_map(|warp| &mut warp.groups)
        {
            if let State::Mbarrier(_) = group.state {
                group.state = State::Ready;
            }
        }
    }

    /// The arrivals and bytes that an object waits for, in words.
    pub(super) fn describe_mbarrier(&self, offset: u64) -> String {
        let location = self.block.shared.location(self.launch, offset);
        let claims = self.block.shared.claims.as_ref();
        let Some(barrier) = claims.and_then(|claims| claims.barriers.get(&offset)) else {
            return format!("the mbarrier object ({location})");
        };
        let (phase, pending, bytes) = (barrier.phase, barrier.pending, barrier.bytes);
        let plural = if pending == 1 { "" } else { "s" };
        format!(
            "the mbarrier object ({location}; phase {phase}: {pending} arrival{plural} and {bytes} bytes are missing)"
        )
    }
}
