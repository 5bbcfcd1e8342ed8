//! Bit fields: extracted, inserted, found, counted.

use ptx::{IntType, RegClass, ShiftMode};

use crate::registers::{
    Apply, Operands, Registers, lanes, lanes_portable, map1, map2_aux, map3, map3_aux,
};

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
