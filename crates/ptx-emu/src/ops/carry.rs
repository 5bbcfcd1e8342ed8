//! Arithmetic with a carry flag: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
//!
//! The flag is a predicate slot that every frame has. `sub` holds the borrow in it.

use ptx::{Half, IntType};

use super::int::MulHigh;
use crate::registers::{Apply, Operands, Registers};

/// `aux` bit: the flag, in slot `e`, is read.
pub(crate) const IN: u32 = 1;
/// `aux` bit: the flag, in slot `e`, is written.
pub(crate) const OUT: u32 = 2;

macro_rules! carry_loop {
    ($registers:ident, $o:ident, $mask:ident, $row:ident, $row_mut:ident, $step:expr) => {{
        let flags = $registers.pred($o.e);
        let (a, b) = (*$registers.$row($o.a), *$registers.$row($o.b));
        let d = $registers.$row_mut($o.d);
        let mut out = 0;
        for lane in 0..crate::registers::LANES {
            if $mask >> lane & 1 == 1 {
                let flag = $o.aux & IN != 0 && flags >> lane & 1 == 1;
                let (value, flag) = $step(a[lane], b[lane], flag);
                d[lane] = value;
                out |= u32::from(flag) << lane;
            }
        }
        if $o.aux & OUT != 0 {
            $registers.set_pred($o.e, $mask, out);
        }
    }};
}

fn add_carry32(registers: &mut Registers, o: &Operands, mask: u32) {
    carry_loop!(
        registers,
        o,
        mask,
        r32,
        r32_mut,
        |a: u32, b: u32, carry: bool| {
            let sum = u64::from(a) + u64::from(b) + u64::from(carry);
            (sum as u32, sum >> 32 != 0)
        }
    );
}

fn add_carry64(registers: &mut Registers, o: &Operands, mask: u32) {
    carry_loop!(
        registers,
        o,
        mask,
        r64,
        r64_mut,
        |a: u64, b: u64, carry: bool| {
            let sum = u128::from(a) + u128::from(b) + u128::from(carry);
            (sum as u64, sum >> 64 != 0)
        }
    );
}

fn sub_carry32(registers: &mut Registers, o: &Operands, mask: u32) {
    carry_loop!(
        registers,
        o,
        mask,
        r32,
        r32_mut,
        |a: u32, b: u32, borrow: bool| {
            let (partial, x) = a.overflowing_sub(b);
            let (value, y) = partial.overflowing_sub(u32::from(borrow));
            (value, x || y)
        }
    );
}

fn sub_carry64(registers: &mut Registers, o: &Operands, mask: u32) {
    carry_loop!(
        registers,
        o,
        mask,
        r64,
        r64_mut,
        |a: u64, b: u64, borrow: bool| {
            let (partial, x) = a.overflowing_sub(b);
            let (value, y) = partial.overflowing_sub(u64::from(borrow));
            (value, x || y)
        }
    );
}

pub(crate) fn add_carry(ty: IntType) -> Apply {
    if ty.bits() == 64 {
        add_carry64
    } else {
        add_carry32
    }
}

pub(crate) fn sub_carry(ty: IntType) -> Apply {
    if ty.bits() == 64 {
        sub_carry64
    } else {
        sub_carry32
    }
}

/// `aux` of [`mad_carry`]: the carry bits, and above them which half and whether signed.
pub(crate) fn mad_carry_aux(ty: IntType, half: Half, carry_aux: u32) -> u32 {
    carry_aux | u32::from(half == Half::Hi) << 2 | u32::from(ty.is_signed()) << 3
}

fn mad_carry32(registers: &mut Registers, o: &Operands, mask: u32) {
    let (a, b, aux) = (*registers.r32(o.a), *registers.r32(o.b), o.aux);
    let product: crate::registers::Row32 =
        std::array::from_fn(|i| match (aux & 4 != 0, aux & 8 != 0) {
            (false, _) => a[i].wrapping_mul(b[i]),
            (true, false) => a[i].mul_high(b[i]),
            (true, true) => (a[i] as i32).mul_high(b[i] as i32) as u32,
        });
    add_product(
        registers,
        o,
        mask,
        |r| *r.r32(o.c),
        |r| r.r32_mut(o.d),
        |c, i, flag| {
            let sum = u64::from(product[i]) + u64::from(c) + u64::from(flag);
            (sum as u32, sum >> 32 != 0)
        },
    );
}

fn mad_carry64(registers: &mut Registers, o: &Operands, mask: u32) {
    let (a, b, aux) = (*registers.r64(o.a), *registers.r64(o.b), o.aux);
    let product: crate::registers::Row64 =
        std::array::from_fn(|i| match (aux & 4 != 0, aux & 8 != 0) {
            (false, _) => a[i].wrapping_mul(b[i]),
            (true, false) => a[i].mul_high(b[i]),
            (true, true) => (a[i] as i64).mul_high(b[i] as i64) as u64,
        });
    add_product(
        registers,
        o,
        mask,
        |r| *r.r64(o.c),
        |r| r.r64_mut(o.d),
        |c, i, flag| {
            let sum = u128::from(product[i]) + u128::from(c) + u128::from(flag);
            (sum as u64, sum >> 64 != 0)
        },
    );
}

/// The addition of `mad.cc` and its like, for either width.
fn add_product<T: Copy>(
    registers: &mut Registers,
    o: &Operands,
    mask: u32,
    addend: impl Fn(&Registers) -> [T; 32],
    destination: impl Fn(&mut Registers) -> &mut [T; 32],
    sum: impl Fn(T, usize, bool) -> (T, bool),
) {
    let flags = if o.aux & IN != 0 {
        registers.pred(o.e)
    } else {
        0
    };
    let c = addend(registers);
    let d = destination(registers);
    let mut out = 0;
    for i in (0..32).filter(|i| mask >> i & 1 == 1) {
        let (value, flag) = sum(c[i], i, flags >> i & 1 == 1);
        d[i] = value;
        out |= u32::from(flag) << i;
    }
    if o.aux & OUT != 0 {
        registers.set_pred(o.e, mask, out);
    }
}

/// `mad.cc`, `madc`.
pub(crate) fn mad_carry(ty: IntType) -> Apply {
    if ty.bits() == 64 {
        mad_carry64
    } else {
        mad_carry32
    }
}
