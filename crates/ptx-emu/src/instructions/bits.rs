//! Bitwise operations, shifts, permutations of bytes: `and`, `or`, `xor`, `not`, `cnot`, `shl`,
//! `shr`, `shf`, `prmt`, `lop3`.
//!
//! Shift amounts beyond the width count as the width. 16-bit values live zero-extended in 32-bit
//! rows.

use ptx::{Literal, OperandKind, RegClass, ScalarType};

use super::compare::BOOL_OPS;
use crate::address_origin::Makes;
use crate::fault::Stop;
use crate::read::{IntType, Read, Reader, class_of, other};
use crate::registers::{
    Apply, Combination, Operands, Registers, lane_loop, lanes, map1, map2, map3, map3_aux,
    portable_loop,
};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::Rule;
use crate::warp::Warp;

const B32: ScalarType = ScalarType::B32;

/// All opcodes of this file.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    match r.opcode {
        "and" | "or" | "xor" => {
            let ty = r.width_type()?;
            let class = class_of(ty);
            if r.opcode == "or" {
                // As compilers add what has no bit in common.
                r.makes = Makes::Sum;
            }
            let (apply, rule) = match r.opcode {
                "and" => (and(class), Rule::And),
                "or" => (or(class), Rule::Or),
                _ => (xor(class), Rule::Each),
            };
            r.rule = rule;
            r.lanes((apply, 0), ty, [ty; 2])
        }
        "not" => {
            r.rule = Rule::Each;
            let ty = r.width_type()?;
            r.lanes((not(class_of(ty)), 0), ty, [ty])
        }
        "cnot" => {
            let ty = r.value_type()?;
            let apply = match class_of(ty) {
                RegClass::B64 => lane_loop!(map1, |a: u64| u64::from(a == 0)),
                _ => lane_loop!(map1, |a: u32| u32::from(a == 0)),
            };
            r.lanes((apply, 0), ty, [ty])
        }
        "shl" => {
            r.rule = Rule::Same(1);
            let ty = r.value_type()?;
            r.lanes((shl(class_of(ty)), 0), ty, [ty, B32])
        }
        "shr" => {
            r.rule = Rule::Same(1);
            let ty = r.int_type()?;
            r.lanes((shr(ty), 0), ty.scalar(), [ty.scalar(), B32])
        }
        "shf" => {
            r.rule = Rule::Same(2);
            let left = r.need("`.l` or `.r`", &[("l", true), ("r", false)])?;
            let clamps = clamps(r)?;
            r.only_type(B32)?;
            r.lanes((shift_funnel(left, clamps), 0), B32, [B32; 3])
        }
        "prmt" => {
            r.rule = Rule::Same(2);
            let mode = r.choice(&[
                ("f4e", PrmtMode::Forward4Extract),
                ("b4e", PrmtMode::Backward4Extract),
                ("rc8", PrmtMode::Replicate8),
                ("ecl", PrmtMode::EdgeClampLeft),
                ("ecr", PrmtMode::EdgeClampRight),
                ("rc16", PrmtMode::Replicate16),
            ]);
            r.only_type(B32)?;
            let apply = prmt(mode.unwrap_or(PrmtMode::Index));
            r.lanes((apply, 0), B32, [B32; 3])
        }
        _ => lop3(r),
    }
}

/// The treatment of amounts beyond the width: taken modulo 32, or as 32.
pub(super) fn clamps(r: &mut Reader) -> Read<bool> {
    r.need("`.wrap` or `.clamp`", &[("wrap", false), ("clamp", true)])
}

/// `lop3`: bit `i` of the result is bit `a_i * 4 + b_i * 2 + c_i` of a table. With a boolean
/// operation, `lop3.BoolOp.b32 d|p, a, b, c, lut, q` also gives `p = (d != 0) BoolOp q`.
fn lop3(r: &mut Reader) -> Read<Op> {
    r.rule = Rule::Each;
    let combine = r.choice(&BOOL_OPS);
    r.only_type(B32)?;
    r.operands(if combine.is_some() { 6 } else { 5 })?;
    let (dst, pred) = match combine {
        None => (Some(r.dst(B32)?), None),
        Some(_) => r.pair(B32)?,
    };
    if combine.is_some() && pred.is_none() {
        return Err(r.unsupported("a missing predicate destination"));
    }
    let o = Operands {
        d: dst.map_or(0, |slot| slot.row),
        a: r.src(B32)?.row,
        b: r.src(B32)?.row,
        c: r.src(B32)?.row,
        e: 0,
        aux: table(r)?,
    };
    let Some(combine) = combine else {
        let apply = lane_loop!(map3_aux, |lut, a: u32, b: u32, c: u32| lop3_lane(
            lut, a, b, c
        ));
        return Ok(Op::Apply { apply, o });
    };
    let then = Combination {
        with: Some((combine, r.flag()?)),
        dst: pred,
        complement: None,
    };
    other(Lop3Pred {
        o,
        then,
        has_dst: dst.is_some(),
    })
}

fn table(r: &mut Reader) -> Read<u32> {
    let operand = r.operand()?;
    match operand.kind {
        // `ptxas` takes the low 8 bits of a larger one.
        OperandKind::Literal(Literal::Int(value)) => Ok((value & 0xFF) as u32),
        _ => Err(r.unexpected(operand, "a table of 8 bits")),
    }
}

/// `lop3` with a predicate result; the table is in `aux`.
#[derive(Debug)]
struct Lop3Pred {
    o: Operands,
    then: Combination,
    has_dst: bool,
}

impl Execute for Lop3Pred {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let (registers, o) = (&mut warp.registers, &self.o);
        let mut nonzero = 0;
        for lane in lanes(at.active) {
            let [a, b, c] = [o.a, o.b, o.c].map(|row| registers.r32(row)[lane]);
            let value = lop3_lane(o.aux, a, b, c);
            nonzero |= u32::from(value != 0) << lane;
            if self.has_dst {
                registers.r32_mut(o.d)[lane] = value;
            }
        }
        self.then.store(registers, at.active, nonzero);
        Ok(Next::Step)
    }
}

/// One of four functions, by the class.
macro_rules! logic {
    ($name:ident, $map:ident, |$($x:ident),+| $e:expr) => {
        fn $name(class: RegClass) -> Apply {
            fn predicates(registers: &mut Registers, o: &Operands, mask: u32) {
                let [$($x),+, ..] = [o.a, o.b].map(|slot| registers.pred(slot));
                registers.set_pred(o.d, mask, $e);
            }
            match class {
                RegClass::Pred => predicates,
                RegClass::B16 => lane_loop!($map, |$($x: u16),+| $e),
                RegClass::B32 => lane_loop!($map, |$($x: u32),+| $e),
                RegClass::B64 => lane_loop!($map, |$($x: u64),+| $e),
            }
        }
    };
}
logic!(and, map2, |a, b| a & b);
logic!(or, map2, |a, b| a | b);
logic!(xor, map2, |a, b| a ^ b);
logic!(not, map1, |a| !a);

fn shl(class: RegClass) -> Apply {
    match class {
        RegClass::B16 => lane_loop!(map2, |a: u16, n: u32| if n < 16 { a << n } else { 0 }),
        RegClass::B64 => lane_loop!(map2, |a: u64, n: u32| if n < 64 { a << n } else { 0 }),
        _ => lane_loop!(map2, |a: u32, n: u32| if n < 32 { a << n } else { 0 }),
    }
}

fn shr(ty: IntType) -> Apply {
    match ty {
        IntType::U16 => lane_loop!(map2, |a: u16, n: u32| if n < 16 { a >> n } else { 0 }),
        IntType::U32 => lane_loop!(map2, |a: u32, n: u32| if n < 32 { a >> n } else { 0 }),
        IntType::U64 => lane_loop!(map2, |a: u64, n: u32| if n < 64 { a >> n } else { 0 }),
        IntType::S16 => lane_loop!(map2, |a: i16, n: u32| a >> n.min(15)),
        IntType::S32 => lane_loop!(map2, |a: i32, n: u32| a >> n.min(31)),
        IntType::S64 => lane_loop!(map2, |a: i64, n: u32| a >> n.min(63)),
    }
}

/// `shf`: 32 bits out of the 64 bits `b:a` (`b` high): the high ones of a left shift, the low ones
/// of a right shift.
fn shift_funnel(left: bool, clamps: bool) -> Apply {
    macro_rules! funnel {
        ($amount:expr, $shift:expr) => {
            lane_loop!(map3, |a: u32, b: u32, n: u32| {
                $shift(u64::from(b) << 32 | u64::from(a), $amount(n))
            })
        };
    }
    fn left_part(wide: u64, n: u32) -> u32 {
        ((wide << n) >> 32) as u32
    }
    fn right_part(wide: u64, n: u32) -> u32 {
        (wide >> n) as u32
    }
    match (left, clamps) {
        (true, false) => funnel!(|n: u32| n & 31, left_part),
        (true, true) => funnel!(|n: u32| n.min(32), left_part),
        (false, false) => funnel!(|n: u32| n & 31, right_part),
        (false, true) => funnel!(|n: u32| n.min(32), right_part),
    }
}

/// Byte selection of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrmtMode {
    /// No mode: four selector nibbles, the top bit of each replicates the sign.
    Index,
    /// `.f4e`.
    Forward4Extract,
    /// `.b4e`.
    Backward4Extract,
    /// `.rc8`.
    Replicate8,
    /// `.ecl`.
    EdgeClampLeft,
    /// `.ecr`.
    EdgeClampRight,
    /// `.rc16`.
    Replicate16,
}

/// The selector nibbles of a `prmt` mode for the low bits of its selector, lowest byte first.
fn prmt_nibbles(mode: PrmtMode, selector: u32) -> [u32; 4] {
    let s = selector & 3;
    match mode {
        PrmtMode::Index => [0, 4, 8, 12].map(|shift| selector >> shift & 15),
        PrmtMode::Forward4Extract => [s, s + 1, s + 2, s + 3],
        PrmtMode::Backward4Extract => [
            s,
            s.wrapping_sub(1) & 7,
            s.wrapping_sub(2) & 7,
            s.wrapping_sub(3) & 7,
        ],
        PrmtMode::Replicate8 => [s; 4],
        PrmtMode::EdgeClampLeft => [0, 1, 2, 3].map(|i: u32| i.max(s)),
        PrmtMode::EdgeClampRight => [0, 1, 2, 3].map(|i: u32| i.min(s)),
        PrmtMode::Replicate16 => {
            let base = (s & 1) * 2;
            [base, base + 1, base, base + 1]
        }
    }
}

/// `prmt`, one lane.
fn permute(mode: PrmtMode, a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    u32::from_le_bytes(prmt_nibbles(mode, selector).map(|nibble| {
        let byte = bytes[(nibble & 7) as usize];
        if nibble & 8 != 0 {
            ((byte as i8) >> 7) as u8
        } else {
            byte
        }
    }))
}

fn prmt(mode: PrmtMode) -> Apply {
    macro_rules! permutation {
        ($mode:path) => {
            portable_loop!(map3, |a: u32, b: u32, s: u32| -> u32 {
                permute($mode, a, b, s)
            })
        };
    }
    match mode {
        PrmtMode::Index => permutation!(PrmtMode::Index),
        PrmtMode::Forward4Extract => permutation!(PrmtMode::Forward4Extract),
        PrmtMode::Backward4Extract => permutation!(PrmtMode::Backward4Extract),
        PrmtMode::Replicate8 => permutation!(PrmtMode::Replicate8),
        PrmtMode::EdgeClampLeft => permutation!(PrmtMode::EdgeClampLeft),
        PrmtMode::EdgeClampRight => permutation!(PrmtMode::EdgeClampRight),
        PrmtMode::Replicate16 => permutation!(PrmtMode::Replicate16),
    }
}

/// `lop3`, one lane: the sum of the minterms of the table.
#[inline(always)]
fn lop3_lane(lut: u32, a: u32, b: u32, c: u32) -> u32 {
    let mut result = 0;
    for minterm in 0..8 {
        let x = if minterm & 4 != 0 { a } else { !a };
        let y = if minterm & 2 != 0 { b } else { !b };
        let z = if minterm & 1 != 0 { c } else { !c };
        let wanted = 0u32.wrapping_sub(lut >> minterm & 1);
        result |= x & y & z & wanted;
    }
    result
}
