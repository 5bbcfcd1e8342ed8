//! How unset bits pass through an instruction.

use ptx::RegClass;

use super::facts::{Facts, Rule};
use super::shadows::{Shadow, Shadows};
use crate::fault::UnsetUse;
use crate::memory::extend;
use crate::registers::{ALL, Apply, LANES, Operands, Registers, Row64, Slot, lanes};
use crate::unset_origin::Origin;

/// A register or a constant, and its rows if it may be unset.
#[derive(Clone, Copy, Debug)]
struct Value {
    slot: Slot,
    shadow: Option<Shadow>,
}

/// How an instruction that names a register which may be unset passes unset bits on.
#[derive(Debug)]
pub(crate) struct Propagation {
    /// The rows of its guard.
    guard: Option<Shadow>,
    reads: Box<[Value]>,
    /// Those of its flags, and of its addresses.
    flags: Box<[Shadow]>,
    addresses: Box<[Shadow]>,
    writes: Box<[Option<Value>]>,
    /// The rows of unset bits of everything that it reads, and of its results.
    watched: Box<[Slot]>,
    results: Box<[Slot]>,
    rule: Rule,
    /// A row of zeros as wide as its first operand.
    zero: u32,
    opcode: Box<str>,
}

/// Lanes that use a value which is not set.
#[derive(Debug)]
pub(crate) struct Unset {
    pub(crate) lanes: u32,
    pub(crate) used: UnsetUse,
    /// Where that of the first of them comes from.
    pub(crate) origin: Origin,
}

/// A fault if one of these is unset in a lane of a mask.
fn require_set(
    registers: &Registers,
    shadows: &[Shadow],
    mask: u32,
    used: impl FnOnce() -> UnsetUse,
) -> Result<(), Unset> {
    let all = shadows.iter();
    let unset = all.map(|shadow| unset_lanes(registers, shadow.bits));
    let lanes = unset.fold(0, |sum, lanes| sum | lanes) & mask;
    if lanes == 0 {
        return Ok(());
    }
    let lane = lanes.trailing_zeros() as usize;
    let is_unset = |shadow: &&Shadow| registers.lane(shadow.bits, lane) != 0;
    let first = shadows.iter().find(is_unset);
    Err(Unset {
        lanes,
        used: used(),
        origin: first.map_or(Origin::UNKNOWN, |first| origin_of(registers, first, lane)),
    })
}

/// Where the unset bits of a lane come from.
fn origin_of(registers: &Registers, shadow: &Shadow, lane: usize) -> Origin {
    Origin::from_bits(registers.r32(shadow.origin)[lane])
}

impl Propagation {
    /// `None` if the instruction names no register that may be unset. `zero` gives a row of zeros.
    pub(super) fn new(
        facts: &Facts,
        shadows: &Shadows,
        zero: impl FnOnce(RegClass) -> u32,
    ) -> Option<Self> {
        let value = |slot: Slot| Value {
            slot,
            shadow: shadows.of(slot),
        };
        let known = |slots: &[Slot]| slots.iter().filter_map(|&slot| shadows.of(slot)).collect();
        let guard = facts.guard.and_then(|row| {
            let class = RegClass::Pred;
            shadows.of(Slot { class, row })
        });
        let bits = |slot: Slot| shadows.of(slot).map(|shadow| shadow.bits);
        let operands = facts.operands().filter_map(bits);
        let results = facts.writes.iter().flatten().filter_map(|&slot| bits(slot));
        let mut propagation = Self {
            guard,
            reads: facts.reads.iter().map(|&slot| value(slot)).collect(),
            flags: known(&facts.flags),
            addresses: known(&facts.addresses),
            writes: facts.writes.iter().map(|slot| slot.map(value)).collect(),
            watched: operands.collect(),
            results: match facts.rule {
                Rule::Memory(_) => Box::default(),
                _ => results.collect(),
            },
            rule: facts.rule,
            zero: 0,
            opcode: facts.opcode.as_deref().unwrap_or_default().into(),
        };
        let has_shadow = |each: &Value| each.shadow.is_some();
        let is_touched = guard.is_some()
            || !propagation.watched.is_empty()
            || propagation.writes.iter().flatten().any(has_shadow);
        if !is_touched {
            return None;
        }
        if let (Rule::Same(_), Some(first)) = (propagation.rule, propagation.reads.first()) {
            propagation.zero = zero(first.slot.class);
        }
        Some(propagation)
    }

    /// Passes the unset bits of the operands on to the results, which are not computed yet. `mask`
    /// has the lanes of the group, `active` those whose guard is true; `op` is the operation, if it
    /// is arithmetic.
    pub(crate) fn follow(
        &self,
        registers: &mut Registers,
        (mask, active): (u32, u32),
        op: Option<(Apply, &Operands)>,
    ) -> Result<(), Unset> {
        require_set(registers, self.guard.as_slice(), mask, || {
            UnsetUse::Condition
        })?;
        if active == 0 {
            return Ok(());
        }
        if self
            .watched
            .iter()
            .all(|&shadow| is_clear(registers, shadow))
        {
            self.results
                .iter()
                .for_each(|&shadow| clear(registers, shadow, active));
            return Ok(());
        }
        require_set(registers, &self.addresses, active, || UnsetUse::Address)?;
        if let Rule::Memory(_) = self.rule {
            return Ok(());
        }
        let used = || UnsetUse::Operand(self.opcode.to_string());
        if self.rule == Rule::Shuffled {
            let others: Vec<Shadow> = self
                .reads
                .iter()
                .skip(1)
                .filter_map(|value| value.shadow)
                .collect();
            let predicates = self.writes.iter().skip(1).flatten();
            predicates
                .filter_map(|value| value.shadow)
                .for_each(|shadow| clear(registers, shadow.bits, active));
            return require_set(registers, &others, active, used);
        }
        if self.rule == Rule::Strict {
            let reads = self.reads.iter().filter_map(|value| value.shadow);
            let all: Vec<Shadow> = reads.chain(self.flags.iter().copied()).collect();
            require_set(registers, &all, active, used)?;
        }
        let flags = self
            .flags
            .iter()
            .map(|shadow| unset_lanes(registers, shadow.bits))
            .fold(0, |all, lanes| all | lanes)
            & active;
        let reads = self
            .reads
            .iter()
            .filter_map(|value| value.shadow)
            .map(|shadow| unset_lanes(registers, shadow.bits));
        let unset = flags | reads.fold(0, |all, lanes| all | lanes) & active;
        let mut origins = [Origin::UNKNOWN; LANES];
        for lane in lanes(unset) {
            origins[lane] = self.origin(registers, lane, flags >> lane & 1 == 1);
        }
        let of_op = op.map(|(_, o)| o);
        let note_origins = |to: &mut Registers, shadow: Shadow| {
            let row = to.r32_mut(shadow.origin);
            lanes(unset).for_each(|lane| row[lane] = origins[lane].to_bits());
        };
        if unset != 0
            && let (Rule::Same(moved), Some((apply, o))) = (self.rule, op)
            && let [Some(result)] = self.writes[..]
            && let Some(shadow) = result.shadow
        {
            let row = |index: usize| self.reads.get(index).and_then(|value| value.shadow);
            let others = self
                .reads
                .iter()
                .skip(moved)
                .filter_map(|value| value.shadow)
                .fold(0, |all, source| all | unset_lanes(registers, source.bits));
            let o = Operands {
                d: shadow.bits.row,
                a: row(0).map_or(self.zero, |source| source.bits.row),
                b: match moved {
                    1 => o.b,
                    _ => row(1).map_or(self.zero, |source| source.bits.row),
                },
                ..*o
            };
            note_origins(registers, shadow);
            // SAFETY: the pointer is the operation's own, from `lane_loop!` or `portable_loop!`,
            // which choose code that this host can run.
            unsafe { apply(registers, &o, active) };
            registers.fill(shadow.bits, others & active, u64::MAX);
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
                    _ => self.unset_bits(registers, lane, index, of_op),
                };
            }
            note_origins(registers, shadow);
            set(registers, shadow.bits, active, &row, unset);
        }
        Ok(())
    }

    /// Where the unset bits of a lane's results come from, where the operands, or the flags, have
    /// some: from the first that is unset. They are moved only if all of them are.
    fn origin(&self, registers: &Registers, lane: usize, has_flags: bool) -> Origin {
        let is_unset = |shadow: &&Shadow| registers.lane(shadow.bits, lane) != 0;
        let reads = self.reads.iter().filter_map(|value| value.shadow.as_ref());
        let unset = reads.chain(&self.flags).filter(is_unset);
        let mut origins = unset.map(|shadow| origin_of(registers, shadow, lane));
        let first = origins.next().unwrap_or_default();
        let moves = !has_flags && self.moves(registers, lane) && origins.all(Origin::is_moved);
        if moves { first } else { first.computed() }
    }

    /// True if the unset bits of a lane's operands only change their places.
    fn moves(&self, registers: &Registers, lane: usize) -> bool {
        let is = |value: &Value| registers.lane(value.slot, lane);
        let bits = |value: &Value| {
            let shadow = value.shadow;
            shadow.map_or(0, |shadow| registers.lane(shadow.bits, lane))
        };
        // Bits that are combined with the unset ones of the other operand.
        let beside = |a: &Value, b: &Value, flip: u64| {
            bits(a) & ((is(b) ^ flip) | bits(b)) == 0 && bits(b) & ((is(a) ^ flip) | bits(a)) == 0
        };
        match (self.rule, &*self.reads) {
            (Rule::Each | Rule::Or, [a, b]) => beside(a, b, 0),
            (Rule::And, [a, b]) => beside(a, b, u64::MAX),
            (Rule::Each, reads) => reads.len() == 1,
            (Rule::Same(_) | Rule::Select | Rule::Resize(..) | Rule::Pack | Rule::Unpack, _) => {
                true
            }
            _ => false,
        }
    }

    /// The unset bits of a lane's result, where there are some in the operands but none in the
    /// flags.
    fn unset_bits(
        &self,
        registers: &Registers,
        lane: usize,
        index: usize,
        o: Option<&Operands>,
    ) -> u64 {
        let bits = |value: &Value| {
            value
                .shadow
                .map_or(0, |shadow| registers.lane(shadow.bits, lane))
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
                let choice = o.map_or(u32::MAX, |o| registers.pred(o.c) ^ o.aux);
                match choice >> lane & 1 {
                    1 => bits(a),
                    _ => bits(b),
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

/// Sets the unset bits of the lanes of a mask: those of `unset_values` to those of `row`, the
/// others to none.
fn set(registers: &mut Registers, shadow: Slot, mask: u32, row: &Row64, unset: u32) {
    clear(registers, shadow, mask);
    for lane in lanes(unset) {
        registers.set_lane(shadow, lane, row[lane]);
    }
}
