//! Bitwise operations, shifts and bit fields.
//!
//! Shift amounts beyond the width count as the width. Widths: 16-bit values live zero-extended in 32-bit rows.

use ptx::{BoolOp, IntType, PrmtMode, RegClass, ShiftDirection, ShiftMode};

use crate::registers::{
    Apply, Operands, Registers, lanes, lanes_portable, map1, map2, map2_aux, map3, map3_aux,
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

/// A position or a length of a bit field. The ISA restricts them to 0..255; an H100 goes by the low byte in 32 bits, and
/// takes them as they are in 64, where every value beyond the width does the same.
fn place(x: u32, width: u32) -> u32 {
    if width == 64 { x.min(0x100) } else { x & 0xff }
}

/// `bfe` on `width` bits. Bits beyond the width are copies of the sign (or 0).
fn extract(a: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
    let (position, length) = (place(position, width), place(length, width));
    let bit = |index: u32| a >> index & 1 == 1;
    let sign = match length {
        0 => false,
        _ => signed && bit((position + length - 1).min(width - 1)),
    };
    let field = if position < width { a >> position } else { 0 };
    // Bits of the field that `a` has.
    let present = length.min(width.saturating_sub(position));
    let mask = low_ones(present);
    let value = if sign { field | !mask } else { field & mask };
    value & low_ones(width)
}

fn low_ones(count: u32) -> u64 {
    if count >= 64 {
        u64::MAX
    } else {
        (1 << count) - 1
    }
}

/// `aux` of [`bfe`].
pub(crate) fn bfe_aux(ty: IntType) -> u32 {
    u32::from(ty.is_signed())
}

pub(crate) fn bfe(ty: IntType) -> Apply {
    match ty.bits() {
        64 => lanes_portable!(map3_aux, |aux, a: u64, position: u32, length: u32| -> u64 {
            extract(a, position, length, 64, aux != 0)
        }),
        _ => lanes_portable!(map3_aux, |aux, a: u32, position: u32, length: u32| -> u32 {
            extract(u64::from(a), position, length, 32, aux != 0) as u32
        }),
    }
}

/// `bfi` on `width` bits.
fn insert(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
    let (position, length) = (place(position, width), place(length, width));
    if position >= width {
        return b;
    }
    let mask = low_ones(length) << position;
    ((a << position & mask) | (b & !mask)) & low_ones(width)
}

/// `bfi`: `d = insert(a, b, c, e)`.
pub(crate) fn bfi(class: RegClass) -> Apply {
    fn narrow(registers: &mut Registers, o: &Operands, mask: u32) {
        let (length, position) = (*registers.r32(o.e), *registers.r32(o.c));
        let (a, b) = (*registers.r32(o.a), *registers.r32(o.b));
        let d = registers.r32_mut(o.d);
        for i in (0..32).filter(|i| mask >> i & 1 == 1) {
            d[i] = insert(a[i].into(), b[i].into(), position[i], length[i], 32) as u32;
        }
    }
    fn wide(registers: &mut Registers, o: &Operands, mask: u32) {
        let (length, position) = (*registers.r32(o.e), *registers.r32(o.c));
        let (a, b) = (*registers.r64(o.a), *registers.r64(o.b));
        let d = registers.r64_mut(o.d);
        for i in (0..32).filter(|i| mask >> i & 1 == 1) {
            d[i] = insert(a[i], b[i], position[i], length[i], 64);
        }
    }
    if class == RegClass::B64 { wide } else { narrow }
}

pub(crate) fn bfind(ty: IntType, shift_amount: bool) -> Apply {
    macro_rules! find {
        ($signed:ty, $unsigned:ty) => {
            match (ty.is_signed(), shift_amount) {
                (false, false) => lanes_portable!(map1, |a: $unsigned| -> u32 {
                    a.checked_ilog2().unwrap_or(u32::MAX)
                }),
                (false, true) => lanes_portable!(map1, |a: $unsigned| -> u32 {
                    if a == 0 { u32::MAX } else { a.leading_zeros() }
                }),
                (true, false) => lanes_portable!(map1, |a: $signed| -> u32 {
                    let a = (if a < 0 { !a } else { a }) as $unsigned;
                    a.checked_ilog2().unwrap_or(u32::MAX)
                }),
                (true, true) => lanes_portable!(map1, |a: $signed| -> u32 {
                    let a = (if a < 0 { !a } else { a }) as $unsigned;
                    if a == 0 { u32::MAX } else { a.leading_zeros() }
                }),
            }
        };
    }
    if ty.bits() == 64 {
        find!(i64, u64)
    } else {
        find!(i32, u32)
    }
}

pub(crate) fn brev(class: RegClass) -> Apply {
    match class {
        RegClass::B64 => lanes!(map1, |a: u64| a.reverse_bits()),
        _ => lanes!(map1, |a: u32| a.reverse_bits()),
    }
}

pub(crate) fn popc(class: RegClass) -> Apply {
    match class {
        RegClass::B64 => lanes!(map1, |a: u64| a.count_ones()),
        _ => lanes!(map1, |a: u32| a.count_ones()),
    }
}

pub(crate) fn clz(class: RegClass) -> Apply {
    match class {
        RegClass::B64 => lanes!(map1, |a: u64| a.leading_zeros()),
        _ => lanes!(map1, |a: u32| a.leading_zeros()),
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

/// `fns`, one lane (PTX ISA, "Integer Arithmetic Instructions: fns").
fn find_nth(mask: u32, base: u32, offset: i32) -> u32 {
    let base = base & 31;
    let upward = offset >= 0;
    let mut wanted = match offset {
        0 => {
            return if mask >> base & 1 == 1 {
                base
            } else {
                u32::MAX
            };
        }
        _ => offset.unsigned_abs(),
    };
    let mut position = i64::from(base);
    while (0..32).contains(&position) {
        if mask >> position & 1 == 1 {
            wanted -= 1;
            if wanted == 0 {
                return position as u32;
            }
        }
        position += if upward { 1 } else { -1 };
    }
    u32::MAX
}

pub(crate) fn fns() -> Apply {
    lanes_portable!(map3, |mask: u32, base: u32, offset: i32| -> u32 {
        find_nth(mask, base, offset)
    })
}

/// `aux` of [`bmsk`] and [`szext`].
pub(crate) fn mode_aux(mode: ShiftMode, signed: bool) -> u32 {
    u32::from(mode == ShiftMode::Clamp) | u32::from(signed) << 1
}

pub(crate) fn bmsk() -> Apply {
    lanes_portable!(map2_aux, |aux, a: u32, b: u32| -> u32 {
        let [first, count] = match aux & 1 != 0 {
            true => [a.min(32), b.min(32)],
            false => [a & 31, b & 31],
        };
        (low_ones(count) << first) as u32
    })
}

pub(crate) fn szext() -> Apply {
    lanes_portable!(map2_aux, |aux, a: u32, b: u32| -> u32 {
        let bits = if aux & 1 != 0 { b.min(32) } else { b & 31 };
        match bits {
            0 => 0,
            _ if aux & 2 != 0 => ((a << (32 - bits)) as i32 >> (32 - bits)) as u32,
            _ => a & low_ones(bits) as u32,
        }
    })
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
