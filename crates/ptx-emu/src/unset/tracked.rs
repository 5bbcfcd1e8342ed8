//! An instruction that names a register which may be unset.

use std::fmt;

use ptx::RegClass;

use super::Shadows;
use super::facts::{Facts, Rule};
use crate::block::{At, BlockRunner, Execute, Inst, Next, Op, Stop};
use crate::fault::{FaultKind, UnsetUse};
use crate::memory::extend;
use crate::registers::{ALL, ALWAYS, LANES, Operands, Registers, Row64, Slot, lanes};
use crate::warp::{Frame, Warp};

/// A register or a constant, and the row of its unset bits if it has one.
#[derive(Clone, Copy, Debug)]
struct Value {
    slot: Slot,
    shadow: Option<Slot>,
}

/// An instruction, and what it makes of unset bits.
pub(super) struct Tracked {
    op: Op,
    /// Its guard, all ones if that is negated, and the row of its unset lanes.
    guard: Option<(u32, u32, u32)>,
    reads: Box<[Value]>,
    /// Rows of the unset bits of its flags, and of its addresses.
    flags: Box<[Slot]>,
    addresses: Box<[Slot]>,
    writes: Box<[Option<Value>]>,
    /// The rows of unset bits of everything that it reads, and of its results.
    watched: Box<[Slot]>,
    results: Box<[Slot]>,
    rule: Rule,
    /// A row of zeros as wide as its first operand.
    zero: u32,
    opcode: Box<str>,
}

impl fmt::Debug for Tracked {
    /// As the instruction alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((guard, flip, _)) = self.guard {
            let not = if flip == 0 { "" } else { "!" };
            write!(f, "@{not}{guard} ")?;
        }
        self.op.fmt(f)
    }
}

impl Tracked {
    /// Puts itself in the place of an instruction that names a register which may be unset. `zero` gives a row of zeros.
    pub(super) fn wrap(
        inst: &mut Inst,
        facts: &Facts,
        shadows: &Shadows,
        zero: impl FnOnce(RegClass) -> u32,
    ) {
        let value = |slot: Slot| Value {
            slot,
            shadow: shadows.of(slot),
        };
        let known = |slots: &[Slot]| slots.iter().filter_map(|&slot| shadows.of(slot)).collect();
        let guard = facts.guard.and_then(|row| {
            let class = RegClass::Pred;
            shadows.of(Slot { class, row })
        });
        let mut tracked = Tracked {
            op: Op::Branch { target: 0 },
            guard: guard.map(|shadow| (inst.guard, inst.flip, shadow.row)),
            reads: facts.reads.iter().map(|&slot| value(slot)).collect(),
            flags: known(&facts.flags),
            addresses: known(&facts.addresses),
            writes: facts.writes.iter().map(|slot| slot.map(value)).collect(),
            watched: facts
                .operands()
                .filter_map(|slot| shadows.of(slot))
                .collect(),
            results: match facts.rule {
                Rule::Memory => Box::default(),
                _ => facts
                    .writes
                    .iter()
                    .flatten()
                    .filter_map(|&slot| shadows.of(slot))
                    .collect(),
            },
            rule: facts.rule,
            zero: 0,
            opcode: facts.opcode.as_deref().unwrap_or_default().into(),
        };
        let has_shadow = |value: &Value| value.shadow.is_some();
        let is_touched = guard.is_some()
            || tracked.reads.iter().any(has_shadow)
            || tracked.writes.iter().flatten().any(has_shadow)
            || !tracked.flags.is_empty()
            || !tracked.addresses.is_empty();
        if !is_touched {
            return;
        }
        if let (Rule::Same(_), Some(first)) = (tracked.rule, tracked.reads.first()) {
            tracked.zero = zero(first.slot.class);
        }
        std::mem::swap(&mut tracked.op, &mut inst.op);
        if let (Rule::Memory, Op::Other(op)) = (tracked.rule, &mut tracked.op) {
            op.track(&|slot| shadows.of(slot));
        }
        if tracked.guard.is_some() {
            (inst.guard, inst.flip) = (ALWAYS, 0);
        }
        inst.op = Op::Other(Box::new(tracked));
    }

    /// The lanes that the instruction is for, by its guard.
    fn guarded(&self, runner: &mut BlockRunner, warp: &Warp, at: At) -> Result<u32, Stop> {
        let Some((guard, flip, shadow)) = self.guard else {
            return Ok(at.active);
        };
        let unset = warp.registers.pred(shadow) & at.active;
        if unset != 0 && runner.launch.sanitize.uninitialized {
            return Err(runner.unset(warp.first_thread(unset), at.pc, UnsetUse::Condition));
        }
        let active = at.active & (warp.registers.pred(guard) ^ flip);
        let left_out = (at.active & !active).count_ones();
        runner.tallies.execution(at.pc).threads -= u64::from(left_out);
        Ok(active)
    }

    /// Follows the unset bits of the operands to the results, which are not computed yet.
    fn follow(&self, runner: &BlockRunner, warp: &mut Warp, at: At) -> Result<(), Stop> {
        let registers = &mut warp.registers;
        if self
            .watched
            .iter()
            .all(|&shadow| is_clear(registers, shadow))
        {
            self.results
                .iter()
                .for_each(|&shadow| clear(registers, shadow, at.active));
            return Ok(());
        }
        let of = |shadows: &[Slot]| {
            let unset = shadows.iter().map(|&shadow| unset_lanes(registers, shadow));
            unset.fold(0, |all, lanes| all | lanes) & at.active
        };
        let unset = of(&self.addresses);
        if unset != 0 {
            return Err(runner.unset(warp.first_thread(unset), at.pc, UnsetUse::Address));
        }
        if self.rule == Rule::Memory {
            return Ok(());
        }
        let flags = of(&self.flags);
        let reads = self.reads.iter().filter_map(|value| value.shadow);
        let reads = reads.map(|shadow| unset_lanes(registers, shadow));
        let unset = flags | reads.fold(0, |all, lanes| all | lanes) & at.active;
        if unset != 0 && self.rule == Rule::Strict {
            let used = UnsetUse::Operand(self.opcode.to_string());
            return Err(runner.unset(warp.first_thread(unset), at.pc, used));
        }
        if unset != 0
            && let (Rule::Same(moved), Op::Apply { apply, o }) = (self.rule, &self.op)
            && let [Some(result)] = self.writes[..]
            && let Some(shadow) = result.shadow
        {
            let row = |index: usize| self.reads.get(index).and_then(|value| value.shadow);
            let others = self
                .reads
                .iter()
                .skip(moved)
                .filter_map(|value| value.shadow);
            let others = others.fold(0, |all, shadow| all | unset_lanes(registers, shadow));
            let o = Operands {
                d: shadow.row,
                a: row(0).map_or(self.zero, |shadow| shadow.row),
                b: match moved {
                    1 => o.b,
                    _ => row(1).map_or(self.zero, |shadow| shadow.row),
                },
                ..*o
            };
            // SAFETY: as for the operation itself: the pointer comes from `lane_loop!` or `portable_loop!`.
            unsafe { apply(registers, &o, at.active) };
            registers.fill(shadow, others & at.active, u64::MAX);
            return Ok(());
        }
        for index in 0..self.writes.len() {
            let Some(shadow) = self.writes[index].and_then(|value| value.shadow) else {
                continue;
            };
            let mut row = [0; LANES];
            for lane in lanes(unset) {
                row[lane] = match flags >> lane & 1 {
                    1 => u64::MAX,
                    _ => self.unset_bits(registers, lane, index),
                };
            }
            set(registers, shadow, at.active, &row, unset);
        }
        Ok(())
    }

    /// The unset bits of a lane's result, where there are some in the operands but none in the flags.
    fn unset_bits(&self, registers: &Registers, lane: usize, index: usize) -> u64 {
        let bits = |value: &Value| {
            value
                .shadow
                .map_or(0, |shadow| registers.lane(shadow, lane))
        };
        let is = |value: &Value| registers.lane(value.slot, lane);
        let each = || self.reads.iter().fold(0, |all, value| all | bits(value));
        match (self.rule, &*self.reads) {
            (Rule::Each, _) => each(),
            (Rule::And, [a, b]) => {
                let (zero_a, zero_b) = (!is(a) & !bits(a), !is(b) & !bits(b));
                each() & !zero_a & !zero_b
            }
            (Rule::Or, [a, b]) => {
                let (one_a, one_b) = (is(a) & !bits(a), is(b) & !bits(b));
                each() & !one_a & !one_b
            }
            (Rule::Above, _) => {
                let all = each();
                all | all.wrapping_neg()
            }
            (Rule::Select, [a, b]) => {
                // `flags` of a selection is its choice: see `selects_first`.
                if self.selects_first(registers, lane) {
                    bits(a)
                } else {
                    bits(b)
                }
            }
            (Rule::Resize(dst, src), [a]) => {
                let value = extend(bits(a), src.bytes(), src.is_signed());
                extend(value, dst.bytes(), dst.is_signed())
            }
            (Rule::Pack, elements) => {
                let width = self.writes[0].map_or(64, |value| value.slot.class.bits());
                let width = width / elements.len() as u32;
                let values = elements.iter().rev();
                values.fold(0, |all, value| {
                    all << width | bits(value) & (u64::MAX >> (64 - width))
                })
            }
            (Rule::Unpack, [whole]) => {
                let width = whole.slot.class.bits() / self.writes.len() as u32;
                bits(whole) >> (width * index as u32) & (u64::MAX >> (64 - width))
            }
            _ => u64::MAX,
        }
    }

    /// Whether a selection takes its first operand.
    fn selects_first(&self, registers: &Registers, lane: usize) -> bool {
        match &self.op {
            Op::Apply { o, .. } => (registers.pred(o.c) ^ o.aux) >> lane & 1 == 1,
            _ => true,
        }
    }

    /// Executes the instruction itself.
    fn perform(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let At { group, pc, active } = at;
        match &self.op {
            Op::Apply { apply, o } => {
                // SAFETY: the pointer comes from `lane_loop!` or `portable_loop!`, which choose code that this host
                // can run.
                unsafe { apply(&mut warp.registers, o, active) };
            }
            Op::Compare { test, o, then } => {
                // SAFETY: as for `Apply`.
                let bits = unsafe { test(&warp.registers, o) };
                then.store(&mut warp.registers, active, bits);
            }
            Op::Branch { target } => {
                if active == warp.groups[group].mask {
                    warp.groups[group].pc = *target;
                } else {
                    runner.tallies.execution(pc).divergent += 1;
                    warp.split(group, active, *target, pc + 1);
                }
                return Ok(Next::Choose);
            }
            Op::Other(op) => return op.execute(runner, warp, at),
        }
        Ok(Next::Step)
    }
}

impl Execute for Tracked {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let active = self.guarded(runner, warp, at)?;
        if active == 0 {
            return Ok(Next::Step);
        }
        let at = At { active, ..at };
        if runner.launch.sanitize.uninitialized {
            self.follow(runner, warp, at)?;
        }
        self.perform(runner, warp, at)
    }

    fn after_return(&self, warp: &mut Warp, caller: Frame, callee: Frame, active: u32) {
        if let Op::Other(op) = &self.op {
            op.after_return(warp, caller, callee, active);
        }
    }
}

/// The lanes in which a row of unset bits has some.
#[inline]
fn unset_lanes(registers: &Registers, shadow: Slot) -> u32 {
    fn lanes_of<T: Copy + Default + PartialEq>(row: &[T; LANES]) -> u32 {
        let mut bits = 0;
        for (lane, &value) in row.iter().enumerate() {
            bits |= u32::from(value != T::default()) << lane;
        }
        bits
    }
    match shadow.class {
        RegClass::Pred => registers.pred(shadow.row),
        RegClass::B64 => lanes_of(registers.r64(shadow.row)),
        _ => lanes_of(registers.r32(shadow.row)),
    }
}

/// True if a row of unset bits has none.
#[inline]
fn is_clear(registers: &Registers, shadow: Slot) -> bool {
    match shadow.class {
        RegClass::Pred => registers.pred(shadow.row) == 0,
        RegClass::B64 => {
            registers
                .r64(shadow.row)
                .iter()
                .fold(0, |all, bits| all | bits)
                == 0
        }
        _ => {
            registers
                .r32(shadow.row)
                .iter()
                .fold(0, |all, bits| all | bits)
                == 0
        }
    }
}

/// Sets the unset bits of the lanes of a mask to none.
#[inline]
fn clear(registers: &mut Registers, shadow: Slot, mask: u32) {
    match (shadow.class, mask) {
        (RegClass::Pred, _) => registers.set_pred(shadow.row, mask, 0),
        (RegClass::B64, ALL) => *registers.r64_mut(shadow.row) = [0; LANES],
        (_, ALL) => *registers.r32_mut(shadow.row) = [0; LANES],
        _ => registers.fill(shadow, mask, 0),
    }
}

/// Sets the unset bits of the lanes of a mask: those of `unset` to those of `row`, the others to none.
fn set(registers: &mut Registers, shadow: Slot, mask: u32, row: &Row64, unset: u32) {
    clear(registers, shadow, mask);
    for lane in lanes(unset) {
        registers.set_lane(shadow, lane, row[lane]);
    }
}

impl BlockRunner<'_> {
    /// The fault of a thread that uses a value which is not set.
    pub(crate) fn unset(&self, thread: u32, pc: u32, used: UnsetUse) -> Stop {
        let infos = &self.launch.code.infos;
        let kind = FaultKind::UnsetValue {
            used,
            loaded: self
                .unset_load
                .map(|pc| infos[pc as usize].position.clone()),
        };
        self.fault(thread, pc, kind)
    }
}
