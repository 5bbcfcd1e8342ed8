//! Atomics: `atom`, `red`.

use std::sync::atomic::{Ordering, fence};

use ptx::{ScalarType, Space};

use super::float::{atomic_add32, atomic_add64};
use super::half::{self, Half};
use crate::access::{Action, MemoryAccess, Region};
use crate::check::race::Strength;
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, Stop};
use crate::frame::Returning;
use crate::memory::update::AtomicOp;
use crate::memory::{byte_mask, space_of};
use crate::polls::Watched;
use crate::read::{Read, Reader, Width, other};
use crate::registers::{Address, LANES, Registers, Slot, lanes, lanes_where};
use crate::request::{Request, Span};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::{Rule, Word, WordAccess};
use crate::views::{self, Reach};
use crate::warp::Warp;

/// `atom`, `red`.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Atomic, Rule::Strict);
    // Whether it acquires, and whether it releases. Without a modifier, atomics are relaxed.
    let order = r.choice(&[
        ("relaxed", (false, false)),
        ("acquire", (true, false)),
        ("release", (false, true)),
        ("acq_rel", (true, true)),
    ]);
    let (acquires, releases) = order.unwrap_or_default();
    r.exchange.orders |= acquires || releases;
    let scope = r.exact_scope();
    let device = scope.has_blocks();
    let space = r.space().unwrap_or(Space::Generic);
    let op = r.need(
        "operation",
        &[
            ("add", AtomicOp::Add),
            ("min", AtomicOp::Min),
            ("max", AtomicOp::Max),
            ("and", AtomicOp::And),
            ("or", AtomicOp::Or),
            ("xor", AtomicOp::Xor),
            ("exch", AtomicOp::Exch),
            ("cas", AtomicOp::Cas),
            ("inc", AtomicOp::Inc),
            ("dec", AtomicOp::Dec),
        ],
    )?;
    let has_policy = r.has("L2::cache_hint");
    let keeps_subnormal = r.has("noftz");
    let ty = r.ty()?;
    match (Half::of(ty), keeps_subnormal) {
        (Some(_), false) => return Err(r.missing("`.noftz`")),
        (None, true) => return Err(r.no_such_type(ty)),
        _ => {}
    }
    r.check_common(space)?;
    let Some(update) = Update::new(op, ty) else {
        return Err(if ty == ScalarType::B128 || Half::of(ty).is_some() {
            r.unsupported_type(ty)
        } else {
            r.no_such_type(ty)
        });
    };
    let (is_red, is_cas) = (r.opcode == "red", op == AtomicOp::Cas);
    if is_red && matches!(op, AtomicOp::Exch | AtomicOp::Cas) {
        return Err(r.unsupported("an operation that only returns a value"));
    }
    r.operands(3 - usize::from(is_red) + usize::from(is_cas) + usize::from(has_policy))?;
    let mut dst = None;
    if !is_red {
        let operand = r.operand()?;
        dst = r.register_or_sink(operand, ty, Width::Exact)?;
    }
    let ((address, space), b) = (r.address_in(space)?, r.src(ty)?);
    let c = if is_cas { Some(r.src(ty)?) } else { None };
    r.function.note_access(space, ty.bytes());
    match (dst, update.kind()) {
        (Some(dst), Some(kind)) => r.returning = Some(Returning { dst, space, kind }),
        (None, Some(kind)) => r.exchange.silent |= kind,
        (_, None) => r.exchange.note(space),
    }
    r.function.orders_blocks |= releases;
    note_word(r, (space, address), ty.bytes(), is_cas);
    let strength = Strength {
        scope,
        bytes: ty.bytes(),
        is_last: dst.is_some(),
        is_volatile: false,
        is_of_part: update.may_be_of_part(),
    };
    r.facts.strength = Some(strength);
    r.exchange.note_strength(strength);
    other(Atomic {
        access: MemoryAccess {
            kind: AccessKind::Atomic,
            space,
            address,
            width: ty.bytes(),
            strong: true,
            non_coherent: false,
            tally: r.function.tally(),
        },
        update,
        dst,
        b,
        c,
        acquires,
        releases,
        device,
    })
}

/// Notes the word that an atomic updates.
fn note_word(r: &mut Reader, (space, address): (Space, Address), bytes: u32, is_cas: bool) {
    r.facts.word = Some(Word {
        space,
        address,
        bytes,
        access: if is_cas {
            WordAccess::CompareAndSwap
        } else {
            WordAccess::Update
        },
    });
}

#[derive(Debug)]
struct Atomic {
    access: MemoryAccess,
    update: Update,
    dst: Option<Slot>,
    b: Slot,
    c: Option<Slot>,
    acquires: bool,
    releases: bool,
    /// Its order holds among blocks.
    device: bool,
}

impl Execute for Atomic {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        if self.is_held(runner, warp, at) {
            runner.note_poll(warp, 1);
            // Other lanes of the warp go first in its next turn.
            warp.groups[at.group].gave_way = runner.turn.executed;
            runner.turn.end = runner.turn.executed;
            return Ok(Next::Choose);
        }
        if runner.park(warp, at, false) {
            return Ok(Next::Choose);
        }
        runner.note_poll(warp, 1);
        if self.releases {
            runner.note_release(warp, self.device);
        }
        runner.publish(warp, self.access.space);
        runner.note_observed(warp, self.access.space);
        if self.acquires {
            runner.note_acquire(warp, self.device);
        }
        // Relaxed updates on all hosts, ordered here, so that fences of the program are those of
        // the host.
        fence(Ordering::SeqCst);
        let own = self.lanes_of_own_memory(warp, at.active);
        if own != 0 {
            let reason = "an atomic operation on local memory or parameters";
            return Err(runner.unsupported(warp.first_thread(own), at.pc, reason));
        }
        let (before, polled) = (runner.turn.changes, warp.polled(&self.access));
        runner.access(warp, at, &self.access, self)?;
        if runner.turn.changes == before {
            runner.watch(warp, at, &self.access, polled)
        } else {
            warp.spin.is_pure = false
        }
        Ok(Next::Step)
    }

    fn is_quiet(&self) -> bool {
        true
    }
}

impl Atomic {
    /// The order that it makes where stores arrive late.
    fn ordering(&self) -> views::Ordering {
        if self.dst.is_some() {
            views::Ordering::of(Reach::Device, true, true)
        } else {
            views::Ordering::of(Reach::of(self.device), self.acquires, self.releases)
        }
    }

    /// Whether the warp waits once more before its compare-and-swap: see `hold`.
    fn is_held(&self, runner: &BlockRunner, warp: &Warp, at: At) -> bool {
        let Some(hold) = &runner.launch.hold else {
            return false;
        };
        if self.update.op != AtomicOp::Cas {
            return false;
        }
        let first = at.active.trailing_zeros() as usize;
        let address = warp.registers.addresses(&self.access.address)[first];
        let word = Watched {
            address: self.access.generic(address),
            bytes: self.access.width,
            value: 0,
        };
        let Some(value) = runner.peek(&word) else {
            return false;
        };
        let expected = warp.registers.lane(self.b, first) & byte_mask(self.access.width);
        let held = (runner.block.index, warp.index, at.pc);
        hold.waits(held, value != expected)
    }

    /// The lanes whose addresses lie in memory that no other thread sees.
    fn lanes_of_own_memory(&self, warp: &Warp, active: u32) -> u32 {
        let is_own = |space| matches!(space, Space::Local | Space::Param);
        match self.access.space {
            Space::Generic => {
                let addresses = warp.registers.addresses(&self.access.address);
                lanes_where(active, |lane| is_own(space_of(addresses[lane])))
            }
            space if is_own(space) => active,
            _ => 0,
        }
    }
}

impl Action for Atomic {
    fn run<R: Region>(
        &self,
        runner: &mut BlockRunner,
        registers: &mut Registers,
        region: &mut R,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        if self.update.may_be_of_part() && runner.launch.granule < request.width {
            self.check_parts(runner, registers, region, request)?;
        } else {
            self.check(runner, region, request, span)?;
        }
        for lane in lanes(request.mask) {
            let b = registers.lane(self.b, lane);
            let c = self.c.map_or(0, |c| registers.lane(c, lane));
            let offset = request.addresses[lane] - region.base();
            let new = |old| self.update.apply(old, b, c, R::IS_GLOBAL);
            let old = region.update(lane, offset, request.width, new);
            runner.turn.changes += u64::from(new(old) != old);
            if let Some(views) = runner.views_of::<R>(request) {
                let place = runner.place::<R>(request.addresses[lane], request.width);
                let writes = self.update.op != AtomicOp::Cas || old == b;
                let by = runner.reader(request.warp);
                views.update(by, place, (old, new(old)), writes, self.ordering());
            }
            if let Some(dst) = self.dst {
                registers.set_lane(dst, lane, old);
            }
        }
        Ok(())
    }
}

impl Atomic {
    /// Checks an access, and notes it.
    fn check<R: Region>(
        &self,
        runner: &mut BlockRunner,
        region: &mut R,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        // An exchange whose old value nothing reads is a store.
        let infos = &runner.launch.code.infos;
        let reads = self.update.op != AtomicOp::Exch || infos[request.pc as usize].strength.is_last;
        if reads {
            runner.check_written(request, region, span)?;
        } else {
            runner.mark_written(request, region, span);
        }
        if runner.launch.sanitize.races {
            runner.check_stores(request, region, span, |_, _| true, |_, _| {})?;
        }
        Ok(())
    }

    /// Checks an access in a kernel that accesses parts of words: of each lane's word the part that
    /// the operands leave to it. The rest stays as it is, also where others store to it.
    fn check_parts<R: Region>(
        &self,
        runner: &mut BlockRunner,
        registers: &Registers,
        region: &mut R,
        request: &Request,
    ) -> Result<(), Stop> {
        let width = runner.launch.granule;
        for lane in lanes(request.mask) {
            let b = registers.lane(self.b, lane);
            let c = self.c.map_or(0, |c| registers.lane(c, lane));
            let part = self.update.part(b, c);
            for at in (0..request.width).step_by(width as usize) {
                if part >> (8 * at) & byte_mask(width) == 0 {
                    continue;
                }
                let addresses = [request.addresses[lane] + u64::from(at); LANES];
                let granule = Request {
                    addresses: &addresses,
                    mask: 1 << lane,
                    width,
                    ..*request
                };
                let span = Span::of(&addresses, granule.mask, width);
                self.check(runner, region, &granule, &span)?;
            }
        }
        Ok(())
    }
}

/// A read-modify-write of one location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    op: AtomicOp,
    ty: ScalarType,
}

impl Update {
    /// `None` if the ISA has no such operation on the type, or it is not modelled.
    pub(super) fn new(op: AtomicOp, ty: ScalarType) -> Option<Self> {
        use AtomicOp::*;
        use ScalarType::*;
        let is_modelled = match op {
            Add => matches!(ty, U32 | S32 | U64 | F32 | F64) || Half::of(ty).is_some(),
            Min | Max => matches!(ty, U32 | S32 | U64 | S64),
            And | Or | Xor | Exch => matches!(ty, B32 | B64),
            Cas => matches!(ty, B16 | B32 | B64),
            Inc | Dec => ty == U32,
        };
        is_modelled.then_some(Self { op, ty })
    }

    /// Bytes of the location.
    pub(super) fn bytes(self) -> u32 {
        self.ty.bytes()
    }

    /// The kind of update, a bit, if updates of this kind give the same in any order.
    fn kind(self) -> Option<u32> {
        use ScalarType::*;
        let commutes = match self.op {
            AtomicOp::Add | AtomicOp::Min | AtomicOp::Max => !self.ty.is_float(),
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => true,
            AtomicOp::Exch | AtomicOp::Cas | AtomicOp::Inc | AtomicOp::Dec => false,
        };
        let ty = match self.ty {
            U32 | B32 => 0,
            S32 => 1,
            U64 | B64 => 2,
            _ => 3,
        };
        commutes.then(|| 1 << (4 * self.op as u32 + ty))
    }

    /// True if compilers take it for one of a part of its word.
    fn may_be_of_part(self) -> bool {
        use AtomicOp::*;
        matches!(self.op, Cas | Or | And | Xor) && self.ty.bytes() <= Strength::WORD
    }

    /// The bits of the word that it may change with these operands. There are none where a lock
    /// that is taken is asked for once more: which part that is of, nothing says.
    fn part(self, b: u64, c: u64) -> u64 {
        let all = byte_mask(self.ty.bytes());
        let part = match self.op {
            AtomicOp::Cas => b ^ c,
            AtomicOp::Or | AtomicOp::Xor => b,
            AtomicOp::And => !b,
            _ => all,
        };
        part & all
    }

    /// The new value. In global memory an f32 sum flushes subnormals, and an f64 sum passes NaNs on
    /// as they are.
    pub(super) fn apply(&self, old: u64, b: u64, c: u64, in_global: bool) -> u64 {
        use ScalarType::*;
        let new = match self.op {
            AtomicOp::Add => match self.ty {
                F32 => {
                    let [old, b] = [old, b].map(|x| f32::from_bits(x as u32));
                    u64::from(atomic_add32(in_global, old, b))
                }
                F64 => atomic_add64(in_global, f64::from_bits(old), f64::from_bits(b)),
                ty => match Half::of(ty) {
                    Some((half, is_pair)) => {
                        half::atomic_add(half, is_pair, old as u32, b as u32).into()
                    }
                    None => old.wrapping_add(b),
                },
            },
            AtomicOp::Min => match self.ty {
                S32 => i64::from((old as i32).min(b as i32)) as u64,
                S64 => (old as i64).min(b as i64) as u64,
                _ => old.min(b),
            },
            AtomicOp::Max => match self.ty {
                S32 => i64::from((old as i32).max(b as i32)) as u64,
                S64 => (old as i64).max(b as i64) as u64,
                _ => old.max(b),
            },
            AtomicOp::And => old & b,
            AtomicOp::Or => old | b,
            AtomicOp::Xor => old ^ b,
            AtomicOp::Exch => b,
            AtomicOp::Cas => {
                if old == b {
                    c
                } else {
                    old
                }
            }
            AtomicOp::Inc => {
                if old >= b {
                    0
                } else {
                    old + 1
                }
            }
            AtomicOp::Dec => {
                if old == 0 || old > b {
                    b
                } else {
                    old - 1
                }
            }
        };
        new & (u64::MAX >> (64 - 8 * self.ty.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(op: AtomicOp, ty: ScalarType, old: u64, b: u64, c: u64) -> u64 {
        Update::new(op, ty)
            .expect("supported")
            .apply(old, b, c, true)
    }

    #[test]
    fn updates() {
        use AtomicOp::*;
        use ScalarType::*;
        assert_eq!(apply(Add, U32, 0xffff_ffff, 2, 0), 1);
        assert_eq!(apply(Add, U64, u64::MAX, 2, 0), 1);
        assert_eq!(apply(Min, S32, 0xffff_ffff, 1, 0), 0xffff_ffff);
        assert_eq!(apply(Min, U32, 0xffff_ffff, 1, 0), 1);
        assert_eq!(apply(Max, S32, 0xffff_ffff, 1, 0), 1);
        assert_eq!(apply(Inc, U32, 3, 3, 0), 0);
        assert_eq!(apply(Inc, U32, 2, 3, 0), 3);
        assert_eq!(apply(Dec, U32, 0, 3, 0), 3);
        assert_eq!(apply(Dec, U32, 9, 3, 0), 3);
        assert_eq!(apply(Dec, U32, 2, 3, 0), 1);
        assert_eq!(apply(Cas, B32, 7, 7, 9), 9);
        assert_eq!(apply(Cas, B32, 8, 7, 9), 8);
        assert_eq!(apply(Exch, B64, 8, 7, 0), 7);
    }

    #[test]
    fn the_part_of_a_word_that_an_update_is_of() {
        use AtomicOp::*;
        let part = |op, b, c| {
            let update = Update::new(op, ScalarType::B32).expect("supported");
            update.may_be_of_part().then(|| update.part(b, c))
        };
        assert_eq!(part(Cas, 0x1100_2233, 0x1101_2233), Some(0x1_0000));
        assert_eq!(part(Or, 0x100, 0), Some(0x100));
        assert_eq!(part(And, 0xffff_00ff, 0), Some(0xff00));
        assert_eq!(part(Cas, 7, 7), Some(0));
        assert_eq!(part(Exch, 7, 0), None);
    }

    #[test]
    fn a_float_sum_flushes_only_where_told() {
        let add = Update::new(AtomicOp::Add, ScalarType::F32).expect("supported");
        let tiny = 1u64;
        assert_eq!(add.apply(tiny, tiny, 0, true), 0);
        assert_eq!(add.apply(tiny, tiny, 0, false), 2);
    }

    #[test]
    fn a_double_sum_quiets_nans_in_shared_memory_only() {
        let add = Update::new(AtomicOp::Add, ScalarType::F64).expect("supported");
        let one = 1f64.to_bits();
        let (signalling, quiet) = (0xfff0_1234_5678_9abc, 0xfff8_1234_5678_9abc);
        for [old, b] in [[one, signalling], [signalling, one]] {
            assert_eq!(add.apply(old, b, 0, true), signalling);
            assert_eq!(add.apply(old, b, 0, false), quiet);
        }
        // Of two, in global memory the operand, in shared memory the old value.
        assert_eq!(add.apply(u64::MAX, signalling, 0, true), signalling);
        assert_eq!(add.apply(signalling, u64::MAX, 0, false), quiet);
        let infinities = [f64::INFINITY, f64::NEG_INFINITY].map(f64::to_bits);
        assert_eq!(
            add.apply(infinities[0], infinities[1], 0, true),
            0xfff8 << 48
        );
    }
}
