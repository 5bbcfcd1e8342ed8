//! Loads and stores: `ld`, `ldu`, `st`.

use std::borrow::Cow;
use std::sync::atomic::{Ordering, fence};

use ptx::{Operand, OperandKind, RegClass, ScalarType, Space, Symbol};

use super::elements::Elements;
use super::late;
use super::load_param::LoadParam;
use super::used::LoadUsed;
use crate::access::{Action, MemoryAccess, Region, Unwritten};
use crate::address_origin::Makes;
use crate::check::race::{Scope, Strength};
use crate::counts::InstructionClass;
use crate::fault::{AccessKind, Stop, UnsetUse};
use crate::memory::{byte_mask, extend};
use crate::read::{Read, Reader, Target, Width, other};
use crate::registers::{Registers, Row64, Slot, lanes};
use crate::request::{Piece, Request, Span};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_origin::Origin;
use crate::unset_values::facts::{self, LoadsOwn, Rule, Word, WordAccess};
use crate::unset_values::shadows::Shadow;
use crate::views::Reach;
use crate::warp::Warp;

/// Memory consistency of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// `.weak`, or nothing: may race.
    Weak,
    /// `.relaxed`.
    Strong,
    /// Strong for all threads.
    Volatile,
    Acquire,
    Release,
}

/// The modifiers that loads and stores share, except the space.
struct Modifiers {
    order: Order,
    /// The threads that it is strong for.
    scope: Scope,
    ty: ScalarType,
    count: usize,
    /// 1 if a cache policy is the last operand.
    policies: usize,
}

impl Modifiers {
    fn is_strong(&self) -> bool {
        self.order != Order::Weak
    }

    /// Whether its order holds among blocks.
    fn has_blocks(&self) -> bool {
        self.scope.has_blocks()
    }

    /// Elements of its type in these registers.
    fn elements(&self, registers: Box<[Option<Slot>]>) -> Elements {
        Elements {
            registers,
            bytes: self.ty.bytes(),
            is_signed: self.ty.is_signed(),
            unset: None,
            late: None,
        }
    }

    /// Notes an access to this space, and how it is made if it is a strong one.
    fn note(&self, r: &mut Reader, space: Space) {
        let bytes = self.ty.bytes();
        r.function.note_access(space, bytes);
        r.facts.elements = Some(facts::Elements {
            space,
            bytes,
            is_constant: false,
        });
        if !self.is_strong() {
            return;
        }
        let strength = Strength {
            scope: self.scope,
            bytes,
            is_last: false,
            is_volatile: self.order == Order::Volatile,
            is_of_part: false,
        };
        r.exchange.note(space);
        r.exchange.note_strength(strength);
        r.facts.strength = Some(strength);
    }
}

/// Reads the space and the other modifiers.
fn modifiers(r: &mut Reader) -> Read<(Space, Modifiers)> {
    let order = r.choice(&[
        ("weak", Order::Weak),
        ("volatile", Order::Volatile),
        ("relaxed", Order::Strong),
        ("acquire", Order::Acquire),
        ("release", Order::Release),
    ]);
    let scope = match order {
        Some(Order::Volatile) => Scope::System,
        _ => r.exact_scope(),
    };
    let space = r.space().unwrap_or(Space::Generic);
    // Caches are coherent here.
    let of_loads = r.choice(&[
        ("ca", true),
        ("lu", true),
        ("cv", true),
        ("wb", false),
        ("wt", false),
    ]);
    if of_loads.is_some_and(|of_loads| of_loads == (r.opcode == "st")) {
        return Err(r.no_such_form());
    }
    r.choice(&[("cg", ()), ("cs", ())]);
    let policies = usize::from(r.has("L2::cache_hint"));
    let count = r.choice(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1);
    let ty = r.ty()?;
    if ty == ScalarType::B128 {
        return Err(r.unsupported_type(ty));
    }
    r.check_vector(ty, count, space)?;
    let order = match order.unwrap_or(Order::Weak) {
        // No other thread sees local memory. Compilers say it since PTX 9.1, and ptxas refuses it
        // of versions before ("Feature 'ld/st with .local.volatile'").
        Order::Volatile if space == Space::Local && r.body.program().version >= (9, 1) => {
            Order::Weak
        }
        order => order,
    };
    Ok((
        space,
        Modifiers {
            order,
            scope,
            ty,
            count,
            policies,
        },
    ))
}

/// The elements of a vector operand, or the one of a scalar.
fn elements<'s, 'a>(
    r: &mut Reader<'_, '_, 'a>,
    operand: &'s Operand<'a>,
    count: usize,
) -> Read<Cow<'s, [Operand<'a>]>> {
    let expected = match count {
        1 => "one register",
        2 => "a vector of 2",
        4 => "a vector of 4",
        _ => "a vector of 8",
    };
    match &operand.kind {
        OperandKind::Vector(elements) if elements.len() == count => Ok(elements.into()),
        OperandKind::Vector(_) => Err(r.unexpected(operand, expected)),
        _ if count == 1 => Ok(std::slice::from_ref(operand).into()),
        _ => match r.vector(operand)? {
            Some(elements) if elements.len() == count => Ok(elements.into()),
            _ => Err(r.unexpected(operand, expected)),
        },
    }
}

/// `ld`, `ldu`.
pub(super) fn load(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Load;
    let (space, modifiers) = modifiers(r)?;
    let (ty, is_strong) = (modifiers.ty, modifiers.is_strong());
    if modifiers.order == Order::Release {
        return Err(r.unsupported("modifier `.release`"));
    }
    if is_strong {
        r.check_common(space)?;
    }
    let (is_cached, is_uniform) = (r.has("nc"), r.opcode == "ldu");
    let is_global = space == Space::Global || is_uniform && space == Space::Generic;
    let non_coherent = is_cached || is_uniform;
    if non_coherent && !is_global {
        return Err(r.no_such_form());
    }
    r.operands(2 + modifiers.policies)?;
    let operand = r.operand()?;
    let registers = elements(r, operand, modifiers.count)?
        .iter()
        .map(|e| r.register_or_sink(e, ty, Width::AtLeast))
        .collect::<Read<_>>()?;
    let elements = modifiers.elements(registers);
    let target = r.target(space)?;
    r.makes = match space {
        // Arguments of a function, and what lies in memory of the thread.
        Space::Param if !r.facts.reads_launch => Makes::Anything,
        Space::Local | Space::Generic => Makes::Anything,
        _ => Makes::Number,
    };
    let space = r.space_of(target, space);
    if let (Space::Param, Target::Symbol(Symbol::KernelParam(start), offset)) = (space, target)
        && let Ok(offset) = u32::try_from(offset + i64::from(start))
    {
        let tally = r.function.tally();
        return other(LoadParam {
            offset,
            elements,
            tally,
        });
    }
    modifiers.note(r, space);
    if let Some(loaded) = &mut r.facts.elements {
        loaded.is_constant = non_coherent;
    }
    r.rule = Rule::Memory(match space {
        Space::Local | Space::Param => LoadsOwn::Yes,
        Space::Generic => LoadsOwn::Perhaps,
        Space::Shared | Space::SharedCluster | Space::Global => LoadsOwn::Never,
        Space::Const => LoadsOwn::No,
    });
    let address = r.locate(target);
    if modifiers.count == 1 && !non_coherent {
        r.facts.word = Some(Word {
            space,
            address,
            bytes: ty.bytes(),
            access: if is_strong {
                WordAccess::StrongLoad
            } else {
                WordAccess::WeakLoad
            },
        });
    }
    let load = Load {
        access: MemoryAccess {
            kind: AccessKind::Load,
            space,
            address,
            width: elements.width(),
            strong: is_strong,
            non_coherent,
            tally: r.function.tally(),
        },
        is_compared: false,
        is_strong,
        elements,
        acquires: (modifiers.order == Order::Acquire).then(|| modifiers.has_blocks()),
    };
    match r.syntax().used_bytes {
        Some(used) if !is_strong && matches!(space, Space::Global | Space::Generic) => {
            other(LoadUsed::new(load, used))
        }
        _ => other(load),
    }
}

/// `st`.
pub(super) fn store(r: &mut Reader) -> Read<Op> {
    other(read_store(r, 2)?)
}

/// A store with this many operands. Reads the first two: the address and the value.
pub(super) fn read_store(r: &mut Reader, operands: usize) -> Read<Store> {
    r.class = InstructionClass::Store;
    let (space, modifiers) = modifiers(r)?;
    if modifiers.order == Order::Acquire {
        return Err(r.unsupported("modifier `.acquire`"));
    }
    if space == Space::Const || r.names("param::entry") {
        return Err(r.no_such_form());
    }
    if modifiers.is_strong() {
        r.check_common(space)?;
    }
    r.operands(operands + modifiers.policies)?;
    let (address, space) = r.address_in(space)?;
    let operand = r.operand()?;
    let registers = elements(r, operand, modifiers.count)?
        .iter()
        .map(|e| r.value(e, modifiers.ty, Width::AtLeast).map(Some))
        .collect::<Read<_>>()?;
    let elements = modifiers.elements(registers);
    modifiers.note(r, space);
    r.rule = Rule::Memory(LoadsOwn::No);
    let releases = (modifiers.order == Order::Release).then(|| modifiers.has_blocks());
    r.function.orders_blocks |= releases == Some(true);
    Ok(Store {
        access: MemoryAccess {
            kind: AccessKind::Store,
            space,
            address,
            width: elements.width(),
            strong: modifiers.is_strong(),
            non_coherent: false,
            tally: r.function.tally(),
        },
        elements,
        releases,
    })
}

#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) access: MemoryAccess,
    pub(super) elements: Elements,
    /// Of a load that acquires, whether it orders blocks.
    acquires: Option<bool>,
    /// An atomic compares what it loads with the word.
    is_compared: bool,
    /// The instruction says so, beside [`MemoryAccess::strong`].
    is_strong: bool,
}

impl Load {
    /// True if no check is due: bytes that others have, or that nothing has set, are compared with
    /// what is there, in a kernel that accesses parts of words. See `relaxed`.
    fn is_of_part(&self, runner: &BlockRunner, request: &Request) -> bool {
        self.is_compared && runner.launch.granule < request.width
    }

    /// Whether others may change what it loads.
    fn may_poll(&self) -> bool {
        !matches!(
            self.access.space,
            Space::Const | Space::Local | Space::Param
        )
    }
}

impl Execute for Load {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let polls = self.access.strong || self.may_poll() && runner.turn.is_quiet();
        if polls && runner.park(warp, at, !self.access.strong) {
            return Ok(Next::Choose);
        }
        if self.access.strong {
            runner.note_poll(warp, 1);
            runner.note_observed(warp, self.access.space);
        }
        if let Some(device) = self.acquires {
            runner.note_acquire(warp, device);
        }
        let polled = if self.may_poll() {
            warp.polled(&self.access)
        } else {
            None
        };
        let is_late = warp.registers.late;
        runner.access(warp, at, &self.access, self)?;
        if warp.registers.late && !is_late {
            let loaded: Vec<_> = self
                .elements
                .tracked(true)
                .map(|(_, row)| row.bits)
                .collect();
            runner.follow_loaded(warp, at, &loaded);
        }
        if std::mem::take(&mut runner.turn.has_read_late) {
            // It will find more the next time.
            warp.spin.is_pure = false;
        }
        runner.watch(warp, at, &self.access, polled);
        if self.acquires.is_some() {
            fence(Ordering::Acquire);
        }
        Ok(Next::Step)
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        self.elements.track(shadow, is_late);
    }

    fn element_bytes(&self) -> Option<u32> {
        let is_vector = self.elements.registers.len() > 1;
        is_vector.then_some(self.elements.bytes)
    }

    fn strengthen(&mut self, is_compared: bool) {
        self.access.strong = true;
        self.is_compared = is_compared;
    }
}

impl Action for Load {
    #[inline(always)]
    fn run<R: Region>(
        &self,
        runner: &mut BlockRunner,
        registers: &mut Registers,
        region: &mut R,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let mut unwritten = None;
        if !self.is_of_part(runner, request) {
            unwritten = runner.check_loaded(request, region, span);
            registers.late |= unwritten.is_some();
            if runner.launch.sanitize.races {
                runner.check_load(request, region, span)?;
            }
        }
        let (mask, bytes, base) = (request.mask, self.elements.bytes, region.base());
        let offset = |lane: usize| request.addresses[lane] - base;
        let views = runner.views_of::<R>(request).filter(|_| self.is_strong);
        if let Some(views) = views {
            let acquires = self.acquires.map(Reach::of);
            late::load(
                &self.elements,
                (views, acquires),
                runner,
                registers,
                region,
                request,
            );
        } else if let Some(row) = self.elements.single(RegClass::B32) {
            let row = registers.r32_mut(row);
            if span.is_scattered {
                lanes(mask).for_each(|lane| row[lane] = region.load(lane, offset(lane), 4) as u32);
            } else {
                for Piece { lanes, is_same } in span.pieces(mask) {
                    let (lane, offset) = (lanes.start, offset(lanes.start));
                    if is_same {
                        region.load_same(lane, offset, &mut row[lanes])
                    } else {
                        region.load_row(lane, offset, &mut row[lanes])
                    }
                }
            }
        } else if request.strong {
            self.elements.gather(registers, mask, |lane, k| {
                region.load_strong(lane, offset(lane) + k, bytes)
            });
        } else if let Some(row) = self.elements.single(RegClass::B64) {
            let row = registers.r64_mut(row);
            let pieces = if span.is_consecutive { mask } else { 0 };
            lanes(mask & !pieces).for_each(|lane| row[lane] = region.load(lane, offset(lane), 8));
            for Piece { lanes, .. } in span.pieces(pieces) {
                region.load_wide_row(lanes.start, offset(lanes.start), &mut row[lanes]);
            }
        } else {
            self.elements.gather(registers, mask, |lane, k| {
                region.load(lane, offset(lane) + k, bytes)
            });
        }
        if self.elements.rows(registers.late).is_some() {
            self.follow(runner, registers, region, request, unwritten.as_deref());
        }
        Ok(())
    }
}

impl Load {
    /// Notes which bits of the loaded registers are unset, and where they come from.
    #[inline(never)]
    fn follow<R: Region>(
        &self,
        runner: &mut BlockRunner,
        registers: &mut Registers,
        region: &R,
        request: &Request,
        unwritten: Option<&Unwritten>,
    ) {
        let Elements {
            bytes, is_signed, ..
        } = self.elements;
        // A thread's own memory knows each bit.
        let of_others = unwritten.map_or(0, |unwritten| unwritten.lanes);
        let unset_lanes = if R::IS_OWN { request.mask } else { of_others };
        for (k, shadow) in self.elements.tracked(registers.late) {
            registers.fill(shadow.bits, request.mask, 0);
            for lane in lanes(unset_lanes) {
                let offset = request.addresses[lane] - region.base() + k;
                let unset = region.unset(lane, offset, bytes);
                if unset == 0 {
                    continue;
                }
                let first = offset + u64::from(unset.trailing_zeros() / 8);
                let stored = region.origin(lane, first);
                let origin = unwritten.map_or(stored, |unwritten| unwritten.origin(lane, stored));
                registers.set_lane(shadow.bits, lane, extend(unset, bytes, is_signed));
                registers.r32_mut(shadow.origin)[lane] = origin.to_bits();
                // Padding, and what a call passes on, are not where it comes from.
                if unset == byte_mask(bytes) && R::IS_OWN && region.base() == 0 {
                    runner.sanitizer.unset_load = Some(request.pc);
                }
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Store {
    access: MemoryAccess,
    elements: Elements,
    /// Of a store that releases, whether it orders blocks.
    releases: Option<bool>,
}

impl Store {
    /// Whether it is weak, to this space.
    pub(super) fn is_weak_to(&self, space: Space) -> bool {
        self.access.space == space && !self.access.strong
    }

    /// The addresses of the lanes.
    pub(super) fn addresses(&self, registers: &Registers) -> Row64 {
        registers.addresses(&self.access.address)
    }

    /// Bytes that one lane stores.
    pub(super) fn width(&self) -> u32 {
        self.access.width
    }
}

impl Execute for Store {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        if let Some(device) = self.releases {
            fence(Ordering::Release);
            runner.note_release(warp, device);
        }
        if self.access.strong {
            runner.note_poll(warp, 1);
            runner.publish(warp, self.access.space);
        }
        runner.turn.changes += u64::from(self.access.space != Space::Shared);
        runner.turn.stored_at = runner.turn.executed;
        runner.access(warp, at, &self.access, self)?;
        Ok(Next::Step)
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        self.elements.track(shadow, is_late);
    }
}

impl Action for Store {
    #[inline(always)]
    fn run<R: Region>(
        &self,
        runner: &mut BlockRunner,
        registers: &mut Registers,
        region: &mut R,
        request: &Request,
        span: &Span,
    ) -> Result<(), Stop> {
        let (mask, bytes, base) = (request.mask, self.elements.bytes, region.base());
        let offset = |lane: usize| request.addresses[lane] - base;
        let is_late = registers.late;
        let tracks = self.elements.rows(is_late).is_some() && runner.launch.sanitize.uninitialized;
        if tracks && R::IS_GLOBAL {
            self.check_set(runner, registers, request)?;
        }
        let words = self
            .elements
            .single(RegClass::B32)
            .map(|row| registers.r32(row));
        let doubles = self
            .elements
            .single(RegClass::B64)
            .map(|row| registers.r64(row));
        let store_lanes = |to: &mut R, some: u32| match words {
            Some(words) if span.is_scattered => lanes(some).for_each(|lane| {
                to.store(lane, offset(lane), 4, words[lane].into());
            }),
            Some(words) => span.pieces(some).for_each(|Piece { lanes, is_same }| {
                let (lane, offset) = (lanes.start, offset(lanes.start));
                if is_same {
                    to.store_same(lane, offset, &words[lanes])
                } else {
                    to.store_row(lane, offset, &words[lanes])
                }
            }),
            None if request.strong => self.elements.scatter(registers, some, |lane, k, value| {
                to.store_strong(lane, offset(lane) + k, bytes, value);
            }),
            None => match doubles {
                Some(doubles) if span.is_consecutive => {
                    span.pieces(some).for_each(|Piece { lanes, .. }| {
                        let offset = offset(lanes.start);
                        to.store_wide_row(lanes.start, offset, &doubles[lanes]);
                    });
                }
                _ => self.elements.scatter(registers, some, |lane, k, value| {
                    to.store(lane, offset(lane) + k, bytes, value);
                }),
            },
        };
        if let Some(views) = runner.views_of::<R>(request) {
            let releases = self.releases.map(Reach::of);
            late::store(
                &self.elements,
                (views, releases),
                runner,
                registers,
                region,
                request,
            );
        }
        if runner.launch.sanitize.races {
            let changes = |held: &R, lane: usize| {
                let mut changed = false;
                self.elements
                    .scatter(registers, 1 << lane, |one, k, value| {
                        let old = held.load(one, offset(one) + k, bytes);
                        changed |= (old ^ value) & byte_mask(bytes) != 0;
                    });
                changed
            };
            runner.check_stores(request, region, span, changes, store_lanes)?;
        } else {
            store_lanes(region, mask);
        }
        runner.mark_written(request, region, span);
        if tracks {
            for (k, shadow) in self.elements.tracked(is_late) {
                for lane in lanes(mask) {
                    let unset = registers.lane(shadow.bits, lane) & byte_mask(bytes);
                    if unset != 0 {
                        let origin = Origin::from_bits(registers.r32(shadow.origin)[lane]);
                        let place = (lane, offset(lane) + k);
                        runner.mark_unset(region, place, (bytes, unset), origin);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Store {
    /// Checks that something of each element is set, or that it is moved from global memory.
    fn check_set(
        &self,
        runner: &mut BlockRunner,
        registers: &mut Registers,
        request: &Request,
    ) -> Result<(), Stop> {
        let all = byte_mask(self.elements.bytes);
        for (_, shadow) in self.elements.tracked(registers.late) {
            let origin = |lane: usize| Origin::from_bits(registers.r32(shadow.origin)[lane]);
            let is_told = |&lane: &usize| {
                registers.lane(shadow.bits, lane) & all == all && !origin(lane).is_moved()
            };
            if let Some(lane) = lanes(request.mask).find(is_told) {
                let (place, origin) = ((request.thread(lane), request.pc), origin(lane));
                runner.use_unset(place, UnsetUse::Store, origin)?;
                registers.late = false;
                return Ok(());
            }
        }
        Ok(())
    }
}
