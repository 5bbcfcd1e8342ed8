//! Bitwise operations, shifts, selection.
//!
//! Shift amounts beyond the width count as the width. Widths: 16-bit values live zero-extended in 32-bit rows.

use ptx::{BoolOp, IntType, PrmtMode, RegClass, ShiftDirection, ShiftMode};

use crate::registers::{
    Apply, Operands, Registers, lanes, lanes_portable, map1, map2, map3, map3_aux,
};

pub(crate) fn and(class: RegClass) -> Apply {
    match class {
        RegClass::Pred => pred_and,
        RegClass::B16 | RegClass::B32 => lanes!(map2, |a: u32, b: u32| a & b),
        RegClass::B64 => lanes!(map2, |a: u64, b: u64| a & b),
    }
}

pub(crate) fn or(class: RegClass) -> Apply {
    match class {
        RegClass::Pred => pred_or,
        RegClass::B16 | RegClass::B32 => lanes!(map2, |a: u32, b: u32| a | b),
        RegClass::B64 => lanes!(map2, |a: u64, b: u64| a | b),
    }
}

pub(crate) fn xor(class: RegClass) -> Apply {
    match class {
        RegClass::Pred => pred_xor,
        RegClass::B16 | RegClass::B32 => lanes!(map2, |a: u32, b: u32| a ^ b),
        RegClass::B64 => lanes!(map2, |a: u64, b: u64| a ^ b),
    }
}

pub(crate) fn not(class: RegClass) -> Apply {
    match class {
        RegClass::Pred => pred_not,
        RegClass::B16 => lanes!(map1, |a: u16| !a),
        RegClass::B32 => lanes!(map1, |a: u32| !a),
        RegClass::B64 => lanes!(map1, |a: u64| !a),
    }
}

fn pred_and(registers: &mut Registers, o: &Operands, mask: u32) {
    registers.set_pred(o.d, mask, registers.pred(o.a) & registers.pred(o.b));
}

fn pred_or(registers: &mut Registers, o: &Operands, mask: u32) {
    registers.set_pred(o.d, mask, registers.pred(o.a) | registers.pred(o.b));
}

fn pred_xor(registers: &mut Registers, o: &Operands, mask: u32) {
    registers.set_pred(o.d, mask, registers.pred(o.a) ^ registers.pred(o.b));
}

fn pred_not(registers: &mut Registers, o: &Operands, mask: u32) {
    registers.set_pred(o.d, mask, !registers.pred(o.a));
}

/// `mov.pred`.
pub(crate) fn pred_mov(registers: &mut Registers, o: &Operands, mask: u32) {
    registers.set_pred(o.d, mask, registers.pred(o.a));
}

pub(crate) fn mov(class: RegClass) -> Apply {
    match class {
        RegClass::Pred => pred_mov,
        RegClass::B16 => lanes!(map1, |a: u16| a),
        RegClass::B32 => lanes!(map1, |a: u32| a),
        RegClass::B64 => lanes!(map1, |a: u64| a),
    }
}

/// Combines two predicate masks.
pub(crate) fn combine(op: BoolOp, a: u32, b: u32) -> u32 {
    match op {
        BoolOp::And => a & b,
        BoolOp::Or => a | b,
        BoolOp::Xor => a ^ b,
    }
}

pub(crate) fn cnot(class: RegClass) -> Apply {
    match class {
        RegClass::B64 => lanes!(map1, |a: u64| u64::from(a == 0)),
        _ => lanes!(map1, |a: u32| u32::from(a == 0)),
    }
}

pub(crate) fn shl(class: RegClass) -> Apply {
    match class {
        RegClass::B16 => lanes!(map2, |a: u16, n: u32| if n < 16 { a << n } else { 0 }),
        RegClass::B64 => lanes!(map2, |a: u64, n: u32| if n < 64 { a << n } else { 0 }),
        _ => lanes!(map2, |a: u32, n: u32| if n < 32 { a << n } else { 0 }),
    }
}

pub(crate) fn shr(ty: IntType) -> Apply {
    match ty {
        IntType::U16 => lanes!(map2, |a: u16, n: u32| if n < 16 { a >> n } else { 0 }),
        IntType::U32 => lanes!(map2, |a: u32, n: u32| if n < 32 { a >> n } else { 0 }),
        IntType::U64 => lanes!(map2, |a: u64, n: u32| if n < 64 { a >> n } else { 0 }),
        IntType::S16 => lanes!(map2, |a: i16, n: u32| a >> n.min(15)),
        IntType::S32 => lanes!(map2, |a: i32, n: u32| a >> n.min(31)),
        IntType::S64 => lanes!(map2, |a: i64, n: u32| a >> n.min(63)),
    }
}

pub(crate) fn shift_funnel(direction: ShiftDirection, mode: ShiftMode) -> Apply {
    macro_rules! funnel {
        ($amount:expr, $shift:expr) => {
            lanes!(map3, |a: u32, b: u32, n: u32| {
                $shift(u64::from(b) << 32 | u64::from(a), $amount(n))
            })
        };
    }
    match (direction, mode) {
        (ShiftDirection::Left, ShiftMode::Wrap) => {
            funnel!(|n: u32| n & 31, |wide: u64, n: u32| ((wide << n) >> 32)
                as u32)
        }
        (ShiftDirection::Left, ShiftMode::Clamp) => {
            funnel!(|n: u32| n.min(32), |wide: u64, n: u32| ((wide << n) >> 32)
                as u32)
        }
        (ShiftDirection::Right, ShiftMode::Wrap) => {
            funnel!(|n: u32| n & 31, |wide: u64, n: u32| (wide >> n) as u32)
        }
        (ShiftDirection::Right, ShiftMode::Clamp) => {
            funnel!(|n: u32| n.min(32), |wide: u64, n: u32| (wide >> n) as u32)
        }
    }
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

pub(crate) fn prmt(mode: PrmtMode) -> Apply {
    macro_rules! permutation {
        ($mode:path) => {
            lanes_portable!(map3, |a: u32, b: u32, s: u32| -> u32 {
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
pub(crate) fn lop3_lane(lut: u32, a: u32, b: u32, c: u32) -> u32 {
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

/// `lop3` with the table in `aux`.
pub(crate) fn lop3() -> Apply {
    lanes!(map3_aux, |lut, a: u32, b: u32, c: u32| lop3_lane(
        lut, a, b, c
    ))
}

/// `selp`: the predicate is in slot `c`, negated if `aux` is all ones.
pub(crate) fn selp(class: RegClass) -> Apply {
    #[inline(always)]
    fn pick<A: crate::registers::Value>(registers: &mut Registers, o: &Operands, mask: u32) {
        let choice = registers.pred(o.c) ^ o.aux;
        let (a, b) = (*A::row(registers, o.a), *A::row(registers, o.b));
        let d = A::row_mut(registers, o.d);
        for lane in 0..crate::registers::LANES {
            let value = if choice >> lane & 1 == 1 {
                a[lane]
            } else {
                b[lane]
            };
            if mask >> lane & 1 == 1 {
                d[lane] = value;
            }
        }
    }
    match class {
        RegClass::B64 => pick::<u64>,
        _ => pick::<u32>,
    }
}

/// `slct`: `aux` bit 0: `c` is a float; bit 1: `.ftz`.
pub(crate) fn slct(class: RegClass) -> Apply {
    fn first(aux: u32, c: u32) -> bool {
        match aux & 1 != 0 {
            // -0 and a flushed subnormal are not below 0; NaN selects the second.
            true if aux & 2 != 0 => super::float::flush(f32::from_bits(c)) >= 0.0,
            true => f32::from_bits(c) >= 0.0,
            false => c as i32 >= 0,
        }
    }
    match class {
        RegClass::B64 => lanes_portable!(map3_aux, |aux, a: u64, b: u64, c: u32| -> u64 {
            if first(aux, c) { a } else { b }
        }),
        _ => lanes_portable!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
            if first(aux, c) { a } else { b }
        }),
    }
}
