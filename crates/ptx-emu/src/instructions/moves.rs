//! Moves, packing, selection and address conversions: `mov`, `selp`, `slct`, `cvta`, `isspacep`.

use ptx::{Named, Operand, OperandKind, RegClass, ScalarType, Space};

use super::float::flush;
use crate::address_origin::Makes;
use crate::counts::InstructionClass;
use crate::fault::Stop;
use crate::memory::{CLUSTER_STEP, CONST_WINDOW, SHARED_WINDOW, WINDOW_BYTES, space_of, window};
use crate::read::{Read, Reader, Refusal, Width, class_of, other};
use crate::registers::{
    Apply, Blended, LANES, Operands, Registers, Slot, Value, Written, lane_loop, lanes,
    lanes_where, map1, map3_aux, portable_loop,
};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::special::Special;
use crate::unset_values::facts::{Company, RegisterUse, Rule};
use crate::warp::Warp;

/// `mov`.
pub(super) fn mov(r: &mut Reader) -> Read<Op> {
    (r.class, r.makes) = (InstructionClass::Move, Makes::OneOf);
    let count = r.choice(&[("v2", 2), ("v4", 4), ("v8", 8)]);
    let ty = r.width_type()?;
    r.operands(2)?;
    let (d, s) = (r.operand()?, r.operand()?);
    let to = r.vector(d)?;
    let from = match s.kind {
        OperandKind::Name(name, None) if count.is_none() && Special::is_vector(name) => None,
        _ => r.vector(s)?,
    };
    if let Some(count) = count {
        if ty == ScalarType::Pred {
            return Err(r.no_such_type(ty));
        }
        r.check_vector(ty, count, Space::Local)?;
        return mov_vector(r, ty, count, (d, to), (s, from));
    }
    // PTX ISA, "mov (packed)": of untyped bits only.
    let is_packed = to.is_some() != from.is_some();
    if is_packed && !matches!(ty, ScalarType::B16 | ScalarType::B32 | ScalarType::B64) {
        return Err(r.no_such_type(ty));
    }
    match (to, from) {
        (Some(_), Some(_)) => Err(r.missing("length, `.v2` or `.v4`")),
        (Some(elements), None) => {
            r.rule = Rule::Unpack;
            let element = element_type(r, ty, elements.len())?;
            let dst = elements
                .iter()
                .map(|e| r.register_or_sink(e, element, Width::Exact))
                .collect::<Read<_>>()?;
            other(Unpack {
                element_bits: element.bits(),
                dst,
                src: r.value(s, ty, Width::Exact)?,
            })
        }
        (None, Some(elements)) => {
            r.rule = Rule::Pack;
            let element = element_type(r, ty, elements.len())?;
            let dst = r.register(d, ty, Width::Exact)?;
            let src = elements
                .iter()
                .map(|e| r.value(e, element, Width::Exact))
                .collect::<Read<_>>()?;
            other(Pack {
                element_bits: element.bits(),
                dst,
                src,
            })
        }
        (None, None) => {
            r.rule = Rule::Each;
            mov_one(r, ty, d, s)
        }
    }
}

/// `mov.vN`: element by element, all at once.
fn mov_vector<'a>(
    r: &mut Reader<'_, '_, 'a>,
    ty: ScalarType,
    count: usize,
    (d, to): (&Operand<'a>, Option<Vec<Operand<'a>>>),
    (s, from): (&Operand<'a>, Option<Vec<Operand<'a>>>),
) -> Read<Op> {
    const EXPECTED: &str = "a vector of that length";
    let of_length = |elements: &Vec<Operand<'a>>| elements.len() == count;
    let to = to
        .filter(of_length)
        .ok_or_else(|| r.unexpected(d, EXPECTED))?;
    let from = from
        .filter(of_length)
        .ok_or_else(|| r.unexpected(s, EXPECTED))?;
    let dst = to
        .iter()
        .map(|e| r.register_or_sink(e, ty, Width::Exact))
        .collect::<Read<_>>()?;
    let src = from
        .iter()
        .map(|e| r.value(e, ty, Width::Exact))
        .collect::<Read<_>>()?;
    other(MoveVector { dst, src })
}

#[derive(Debug)]
struct MoveVector {
    /// `None` for `_`.
    dst: Box<[Option<Slot>]>,
    /// As long as `dst`, at most 8.
    src: Box<[Slot]>,
}

impl Execute for MoveVector {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        for lane in lanes(at.active) {
            let mut values = [0; 8];
            for (value, &slot) in values.iter_mut().zip(&self.src) {
                *value = warp.registers.lane(slot, lane);
            }
            for (slot, value) in self.dst.iter().zip(values) {
                if let Some(slot) = *slot {
                    warp.registers.set_lane(slot, lane, value);
                }
            }
        }
        Ok(Next::Step)
    }
}

fn mov_one<'a>(
    r: &mut Reader<'_, '_, 'a>,
    ty: ScalarType,
    d: &Operand<'a>,
    s: &Operand<'a>,
) -> Read<Op> {
    let dst = r.register(d, ty, Width::Exact)?;
    if let Some(special @ (Special::Clock(shift) | Special::GlobalTimer(shift))) = r.special(s)? {
        let is_global = matches!(special, Special::GlobalTimer(_));
        r.facts.company = Company::Order;
        return other(Clock {
            dst,
            shift,
            is_global,
        });
    }
    if let Some(special) = r.special(s)?.filter(|special| special.may_change()) {
        r.facts.company = Company::Order;
        r.exchange.asks_where = true;
        return other(Whereabouts { dst, special });
    }
    let src = r.value(s, ty, Width::Exact)?;
    r.facts.registers = RegisterUse::Copy;
    let apply: Apply = match class_of(ty) {
        RegClass::Pred => mov_pred,
        RegClass::B16 => lane_loop!(map1, |a: u16| a),
        RegClass::B32 => lane_loop!(map1, |a: u32| a),
        RegClass::B64 => lane_loop!(map1, |a: u64| a),
    };
    let o = Operands {
        d: dst.row,
        a: src.row,
        ..Operands::default()
    };
    Ok(Op::Apply { apply, o })
}

fn mov_pred(registers: &mut Registers, o: &Operands, mask: u32) {
    registers.set_pred(o.d, mask, registers.pred(o.a));
}

/// The type of one of `count` elements of a packed value.
fn element_type(r: &Reader, ty: ScalarType, count: usize) -> Read<ScalarType> {
    match (ty.bits(), count) {
        (64, 2) => Ok(ScalarType::B32),
        (64, 4) | (32, 2) => Ok(ScalarType::B16),
        (64, 8) | (32, 4) | (16, 2) => Ok(ScalarType::B8),
        _ => Err(r.unsupported("vector length")),
    }
}

/// The first value of `%globaltimer`, give or take [`SPREAD`]: nanoseconds of Unix time, in 2025.
const EPOCH: u64 = 1_750_000_000_000_000_000;
/// Half a year in nanoseconds.
const SPREAD: u64 = 15_768_000_000_000_000;
/// Nanoseconds from the start of a launch to that of the next, for each of its blocks.
const BLOCK_NANOS: u64 = 1000;
/// Clocks of multiprocessors show less than this at first.
const CLOCKS: u64 = 1 << 44;

/// A clock: warp instructions that the block has executed, from a start that follows from the seed;
/// of a multiprocessor's, for each block another.
#[derive(Debug)]
struct Clock {
    dst: Slot,
    shift: u32,
    is_global: bool,
}

impl Execute for Clock {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let (launch, block) = (runner.launch, u64::from(runner.block_number()));
        let random = |more: u64| fastrand::Rng::with_seed(launch.seed ^ more);
        let start = if self.is_global {
            EPOCH + random(0).u64(0..SPREAD) + u64::from(launch.first_block) * BLOCK_NANOS
        } else {
            random(block.wrapping_mul(0x9e37_79b9_7f4a_7c15)).u64(0..CLOCKS)
        };
        let now = start + runner.turn.executed;
        warp.registers.fill(self.dst, at.active, now >> self.shift);
        Ok(Next::Step)
    }
}

/// Where the block runs at this moment.
#[derive(Debug)]
struct Whereabouts {
    dst: Slot,
    special: Special,
}

impl Execute for Whereabouts {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let launch = runner.launch;
        let mut view = launch.view(runner.block.index);
        view.moment = launch.placement.moment(runner.turn.executed);
        let value = self.special.value(&view, warp.thread(0));
        warp.registers.fill(self.dst, at.active, value);
        Ok(Next::Step)
    }
}

/// `mov.bN d, {x, y, ..}`: element 0 in the low bits.
#[derive(Debug)]
struct Pack {
    element_bits: u32,
    dst: Slot,
    src: Box<[Slot]>,
}

impl Execute for Pack {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let element = u64::MAX >> (64 - self.element_bits);
        for lane in lanes(at.active) {
            let value = self.src.iter().rev().fold(0, |value: u64, &slot| {
                value << self.element_bits | (warp.registers.lane(slot, lane) & element)
            });
            warp.registers.set_lane(self.dst, lane, value);
        }
        Ok(Next::Step)
    }
}

/// `mov.bN {x, y, ..}, a`: element 0 from the low bits; `None` for `_`.
#[derive(Debug)]
struct Unpack {
    element_bits: u32,
    dst: Box<[Option<Slot>]>,
    src: Slot,
}

impl Execute for Unpack {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let element = u64::MAX >> (64 - self.element_bits);
        for lane in lanes(at.active) {
            let mut value = warp.registers.lane(self.src, lane);
            for slot in &self.dst {
                if let Some(slot) = slot {
                    warp.registers.set_lane(*slot, lane, value & element);
                }
                value >>= self.element_bits;
            }
        }
        Ok(Next::Step)
    }
}

/// `selp`: `a` if the predicate holds, else `b`.
pub(super) fn selp(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Move, Rule::Select);
    r.makes = Makes::OneOf;
    let ty = r.value_type()?;
    r.operands(4)?;
    let [dst, a, b] = [r.dst(ty)?, r.src(ty)?, r.src(ty)?];
    let choice = r.flag()?;
    let apply: Apply = match class_of(ty) {
        RegClass::B64 => pick::<u64>,
        _ => pick::<u32>,
    };
    let o = Operands {
        d: dst.row,
        a: a.row,
        b: b.row,
        c: choice.slot,
        aux: choice.flip,
        e: 0,
    };
    Ok(Op::Apply { apply, o })
}

/// The predicate is in slot `c`, negated if `aux` is all ones.
#[inline(always)]
fn pick<A: Value>(registers: &mut Registers, o: &Operands, mask: u32) {
    let choice = registers.pred(o.c) ^ o.aux;
    let (a, b) = (*A::row(registers, o.a), *A::row(registers, o.b));
    let d = A::row_mut(registers, o.d);
    for lane in 0..LANES {
        let value = if choice >> lane & 1 == 1 {
            a[lane]
        } else {
            b[lane]
        };
        d[lane] = if mask >> lane & 1 == 1 {
            value
        } else {
            d[lane]
        };
    }
}

/// `slct`: `a` if `c >= 0`, else `b` (also for NaN). `c` is `.f32` or `.s32`.
pub(super) fn slct(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Move;
    let ftz = r.has("ftz");
    let ty = r.value_type()?;
    let c_ty = r.ty()?;
    if !matches!(c_ty, ScalarType::S32 | ScalarType::F32) {
        return Err(r.no_such_type(c_ty));
    }
    if ftz && c_ty == ScalarType::S32 {
        return Err(r.no_such_type(c_ty));
    }
    let aux = u32::from(c_ty == ScalarType::F32) | u32::from(ftz) << 1;
    /// `aux` bit 0: `c` is a float; bit 1: `.ftz`.
    fn first(aux: u32, c: u32) -> bool {
        match aux & 1 != 0 {
            // -0 and a flushed subnormal are not below 0; NaN selects the second.
            true if aux & 2 != 0 => flush(f32::from_bits(c)) >= 0.0,
            true => f32::from_bits(c) >= 0.0,
            false => c as i32 >= 0,
        }
    }
    let apply = match class_of(ty) {
        RegClass::B64 => portable_loop!(map3_aux, |aux, a: u64, b: u64, c: u32| -> u64 {
            if first(aux, c) { a } else { b }
        }),
        _ => portable_loop!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
            if first(aux, c) { a } else { b }
        }),
    };
    r.lanes((apply, aux), ty, [ty, ty, c_ty])
}

/// `cvta`: between an address in a space and a generic address.
pub(super) fn cvta(r: &mut Reader) -> Read<Op> {
    (r.class, r.makes) = (InstructionClass::Move, Makes::OneOf);
    let to_space = r.has("to");
    let space = r.space();
    let ty = r.ty()?;
    if !matches!(ty, ScalarType::U32 | ScalarType::U64) {
        return Err(r.no_such_type(ty));
    }
    if r.names("param::func") {
        return Err(r.no_such_form());
    }
    let base = window(space.ok_or_else(|| r.missing("state space"))?);
    r.operands(2)?;
    let (dst, src) = (r.dst(ty)?, r.src(ty)?);
    if ty == ScalarType::U32 {
        let reason = "a generic address of less than 64 bits".to_string();
        return Err(Refusal::Unsupported(reason));
    }
    let add = if to_space { base.wrapping_neg() } else { base };
    other(ShiftAddress { dst, src, add })
}

/// Adds a window's base, or subtracts it.
#[derive(Debug)]
struct ShiftAddress {
    dst: Slot,
    src: Slot,
    add: u64,
}

impl Execute for ShiftAddress {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let src = *warp.registers.r64(self.src.row);
        let row = warp.registers.r64_mut(self.dst.row);
        Blended(at.active).write::<u64>(row, |lane| src[lane].wrapping_add(self.add));
        Ok(Next::Step)
    }
}

/// `isspacep`: whether a generic address lies in a space.
pub(super) fn is_space(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Move;
    let space = r.space().ok_or_else(|| r.missing("state space"))?;
    if r.names("param::func") {
        return Err(r.no_such_form());
    }
    r.operands(2)?;
    let dst = r.dst(ScalarType::Pred)?.row;
    let operand = r.operand()?;
    // A register may have 32 bits; anything else is an address of 64.
    let ty = match operand.kind {
        OperandKind::Name(name, None) if matches!(r.body.resolve(name), Some(Named::Reg(_))) => {
            ScalarType::B32
        }
        _ => ScalarType::B64,
    };
    let src = r.value(operand, ty, Width::AtLeast)?;
    other(IsSpace { space, dst, src })
}

#[derive(Debug)]
struct IsSpace {
    space: Space,
    dst: u32,
    src: Slot,
}

impl Execute for IsSpace {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let registers = &mut warp.registers;
        let inside = lanes_where(at.active, |lane| {
            let address = registers.lane(self.src, lane);
            let is_constant = address.wrapping_sub(CONST_WINDOW) < WINDOW_BYTES;
            match self.space {
                Space::Generic => false,
                Space::Const => is_constant,
                Space::Shared => address.wrapping_sub(SHARED_WINDOW) < CLUSTER_STEP,
                Space::SharedCluster => space_of(address) == Space::Shared,
                space => space_of(address) == space && !is_constant,
            }
        });
        registers.set_pred(self.dst, at.active, inside);
        Ok(Next::Step)
    }
}
