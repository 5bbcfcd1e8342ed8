//! Bit fields: `bfe`, `bfi`, `bfind`, `brev`, `popc`, `clz`, `fns`, `bmsk`, `szext`.

use ptx::{RegClass, ScalarType};

use super::bits::clamps;
use crate::read::{IntType, Read, Reader, class_of};
use crate::registers::{
    Apply, LANES, Operands, Registers, lane_loop, map1, map2_aux, map3, map3_aux, portable_loop,
};
use crate::runner::Op;
use crate::unset_values::facts::Rule;

const B32: ScalarType = ScalarType::B32;

/// All opcodes of this file.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    match r.opcode {
        "bfe" => {
            r.rule = Rule::Same(1);
            let ty = r.int_type()?;
            let aux = u32::from(ty.is_signed());
            r.lanes((bfe(ty), aux), ty.scalar(), [ty.scalar(), B32, B32])
        }
        "bfi" => {
            r.rule = Rule::Same(2);
            let ty = r.value_type()?;
            r.lanes((bfi(class_of(ty)), 0), ty, [ty, ty, B32, B32])
        }
        "bfind" => {
            let shift_amount = r.has("shiftamt");
            let ty = r.int_type()?;
            r.lanes((bfind(ty, shift_amount), 0), B32, [ty.scalar()])
        }
        "brev" => {
            r.rule = Rule::Same(1);
            let ty = r.value_type()?;
            let apply = match class_of(ty) {
                RegClass::B64 => lane_loop!(map1, |a: u64| a.reverse_bits()),
                _ => lane_loop!(map1, |a: u32| a.reverse_bits()),
            };
            r.lanes((apply, 0), ty, [ty])
        }
        "popc" => {
            let ty = r.value_type()?;
            let apply = match class_of(ty) {
                RegClass::B64 => lane_loop!(map1, |a: u64| a.count_ones()),
                _ => lane_loop!(map1, |a: u32| a.count_ones()),
            };
            r.lanes((apply, 0), B32, [ty])
        }
        "clz" => {
            let ty = r.value_type()?;
            let apply = match class_of(ty) {
                RegClass::B64 => lane_loop!(map1, |a: u64| a.leading_zeros()),
                _ => lane_loop!(map1, |a: u32| a.leading_zeros()),
            };
            r.lanes((apply, 0), B32, [ty])
        }
        "fns" => {
            r.only_type(B32)?;
            let apply = portable_loop!(map3, |mask: u32, base: u32, offset: i32| -> u32 {
                find_nth(mask, base, offset)
            });
            r.lanes((apply, 0), B32, [B32; 3])
        }
        "bmsk" => {
            let clamps = clamps(r)?;
            r.only_type(B32)?;
            r.lanes((bmsk(), u32::from(clamps)), B32, [B32; 2])
        }
        _ => {
            let clamps = clamps(r)?;
            let ty = r.int_type_32()?;
            let aux = u32::from(clamps) | u32::from(ty.is_signed()) << 1;
            r.lanes((szext(), aux), B32, [B32; 2])
        }
    }
}

/// A position or a length of a bit field, as the hardware takes it. The ISA restricts them to
/// 0..255; an H100 goes by the low byte in 32 bits, and takes them as they are in 64, where every
/// value beyond the width does the same.
fn extent(x: u32, width: u32) -> u32 {
    if width == 64 { x.min(0x100) } else { x & 0xff }
}

/// `bfe` on `width` bits. Bits beyond the width are copies of the sign (or 0).
fn extract(a: u64, position: u32, length: u32, width: u32, signed: bool) -> u64 {
    let (position, length) = (extent(position, width), extent(length, width));
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

/// `bfe`; `aux` is 1 for signed types.
fn bfe(ty: IntType) -> Apply {
    match ty.bits() {
        64 => portable_loop!(map3_aux, |aux, a: u64, position: u32, length: u32| -> u64 {
            extract(a, position, length, 64, aux != 0)
        }),
        _ => portable_loop!(map3_aux, |aux, a: u32, position: u32, length: u32| -> u32 {
            extract(u64::from(a), position, length, 32, aux != 0) as u32
        }),
    }
}

/// `bfi` on `width` bits.
fn insert(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
    let (position, length) = (extent(position, width), extent(length, width));
    if position >= width {
        return b;
    }
    let mask = low_ones(length) << position;
    ((a << position & mask) | (b & !mask)) & low_ones(width)
}

/// `bfi`: `d = insert(a, b, c, e)`.
fn bfi(class: RegClass) -> Apply {
    fn narrow(registers: &mut Registers, o: &Operands, mask: u32) {
        let (length, position) = (*registers.r32(o.e), *registers.r32(o.c));
        let (a, b) = (*registers.r32(o.a), *registers.r32(o.b));
        let d = registers.r32_mut(o.d);
        for i in (0..LANES).filter(|i| mask >> i & 1 == 1) {
            d[i] = insert(a[i].into(), b[i].into(), position[i], length[i], 32) as u32;
        }
    }
    fn wide(registers: &mut Registers, o: &Operands, mask: u32) {
        let (length, position) = (*registers.r32(o.e), *registers.r32(o.c));
        let (a, b) = (*registers.r64(o.a), *registers.r64(o.b));
        let d = registers.r64_mut(o.d);
        for i in (0..LANES).filter(|i| mask >> i & 1 == 1) {
            d[i] = insert(a[i], b[i], position[i], length[i], 64);
        }
    }
    if class == RegClass::B64 { wide } else { narrow }
}

/// `bfind`: position of the highest bit that differs from the sign, or all ones; or the left shift
/// that brings it to the top.
fn bfind(ty: IntType, shift_amount: bool) -> Apply {
    macro_rules! find {
        ($signed:ty, $unsigned:ty) => {
            match (ty.is_signed(), shift_amount) {
                (false, false) => portable_loop!(map1, |a: $unsigned| -> u32 {
                    a.checked_ilog2().unwrap_or(u32::MAX)
                }),
                (false, true) => portable_loop!(map1, |a: $unsigned| -> u32 {
                    if a == 0 { u32::MAX } else { a.leading_zeros() }
                }),
                (true, false) => portable_loop!(map1, |a: $signed| -> u32 {
                    let a = (if a < 0 { !a } else { a }) as $unsigned;
                    a.checked_ilog2().unwrap_or(u32::MAX)
                }),
                (true, true) => portable_loop!(map1, |a: $signed| -> u32 {
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

/// `bmsk`: a mask of `b` bits from bit `a` up. `aux` bit 0: `.clamp`.
fn bmsk() -> Apply {
    portable_loop!(map2_aux, |aux, a: u32, b: u32| -> u32 {
        let [first, count] = if aux & 1 != 0 {
            [a.min(32), b.min(32)]
        } else {
            [a & 31, b & 31]
        };
        (low_ones(count) << first) as u32
    })
}

/// `szext`: the low `b` bits of `a`, extended. `aux` bit 0: `.clamp`; bit 1: signed.
fn szext() -> Apply {
    portable_loop!(map2_aux, |aux, a: u32, b: u32| -> u32 {
        let bits = if aux & 1 != 0 { b.min(32) } else { b & 31 };
        match bits {
            0 => 0,
            _ if aux & 2 != 0 => ((a << (32 - bits)) as i32 >> (32 - bits)) as u32,
            _ => a & low_ones(bits) as u32,
        }
    })
}
