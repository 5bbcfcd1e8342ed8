//! Integer arithmetic: `add`, `sub`, `mul`, `mad`, `div`, `rem`, `abs`, `neg`, `min`, `max`, `sad`,
//! `mul24`, `mad24`, `dp4a`, `dp2a`, packed 16-bit integers.
//!
//! All of it wraps, except where `.sat` clamps. Division and remainder by zero have no defined
//! result in PTX; here they give all ones, as the code that `ptxas` emits does. `MIN / -1` wraps to
//! `MIN`.

use ptx::ScalarType;

use crate::read::{IntType, Read, Reader};
use crate::registers::{
    Apply, Operands, Registers, lane_loop, map1, map2, map2_aux, map3, map3_aux, portable_loop,
};
use crate::runner::Op;
use crate::unset_values::facts::Rule;

/// `match` over an [`IntType`] with the Rust type bound to a name.
macro_rules! by_type {
    ($ty:expr, $name:ident => $e:expr) => {
        match $ty {
            IntType::U16 => {
                type $name = u16;
                $e
            }
            IntType::S16 => {
                type $name = i16;
                $e
            }
            IntType::U32 => {
                type $name = u32;
                $e
            }
            IntType::S32 => {
                type $name = i32;
                $e
            }
            IntType::U64 => {
                type $name = u64;
                $e
            }
            IntType::S64 => {
                type $name = i64;
                $e
            }
        }
    };
}

/// As [`by_type!`] where the sign makes no difference.
macro_rules! by_width {
    ($ty:expr, $name:ident => $e:expr) => {
        match $ty {
            IntType::U16 | IntType::S16 => {
                type $name = u16;
                $e
            }
            IntType::U32 | IntType::S32 => {
                type $name = u32;
                $e
            }
            IntType::U64 | IntType::S64 => {
                type $name = u64;
                $e
            }
        }
    };
}

/// Which part of a product is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    /// `.lo`: the low half (of `mul24`: bits 0 to 31 of the 48).
    Lo,
    /// `.hi`: the high half (of `mul24`: bits 16 to 47 of the 48).
    Hi,
    /// `.wide`: all of it; the destination (and the addend of `mad`) has twice the width of the
    /// type.
    Wide,
}

/// The halves by their modifiers; `.wide` last.
pub(super) const HALVES: [(&str, Half); 3] =
    [("lo", Half::Lo), ("hi", Half::Hi), ("wide", Half::Wide)];

/// Takes the half, and gives it with the type of the destination.
fn half_and_result(r: &mut Reader, ty: IntType) -> Read<(Half, ScalarType)> {
    let half = r.need("`.lo`, `.hi` or `.wide`", &HALVES)?;
    let result = match (half, ty.bits()) {
        (Half::Wide, 16) => ScalarType::B32,
        (Half::Wide, 32) => ScalarType::B64,
        (Half::Wide, _) => return Err(r.no_such_type(ty.scalar())),
        _ => ty.scalar(),
    };
    Ok((half, result))
}

/// How unset bits go through a sum or a difference.
fn sum_rule(is_clamped: bool) -> Rule {
    if is_clamped { Rule::Any } else { Rule::Above }
}

/// How unset bits go through a product.
fn product_rule(half: Half) -> Rule {
    if half == Half::Lo {
        Rule::Above
    } else {
        Rule::Any
    }
}

/// The opcodes that integers share with floating point.
pub(super) fn arithmetic(r: &mut Reader, ty: IntType) -> Read<Op> {
    let s = ty.scalar();
    let is_s32 = ty == IntType::S32;
    match r.opcode {
        "add" => {
            let sat = is_s32 && r.has("sat");
            r.rule = sum_rule(sat);
            r.lanes((add(ty, sat), 0), s, [s; 2])
        }
        "sub" => {
            let sat = is_s32 && r.has("sat");
            r.rule = sum_rule(sat);
            r.lanes((sub(ty, sat), 0), s, [s; 2])
        }
        "mul" => {
            let (half, result) = half_and_result(r, ty)?;
            r.rule = product_rule(half);
            r.lanes((mul(ty, half), 0), result, [s; 2])
        }
        "mad" => {
            let (half, result) = half_and_result(r, ty)?;
            let sat = is_s32 && half == Half::Hi && r.has("sat");
            r.rule = product_rule(half);
            r.lanes((mad(ty, half, sat), 0), result, [s, s, result])
        }
        "div" => r.lanes((div(ty), 0), s, [s; 2]),
        "abs" => r.lanes((abs(ty), 0), s, [s]),
        "neg" => r.lanes((neg(ty), 0), s, [s]),
        "min" => {
            let relu = is_s32 && r.has("relu");
            r.lanes((min(ty, relu), 0), s, [s; 2])
        }
        _ => {
            let relu = is_s32 && r.has("relu");
            r.lanes((max(ty, relu), 0), s, [s; 2])
        }
    }
}

/// The opcodes that only integers have.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    match r.opcode {
        "rem" => {
            let ty = r.int_type()?;
            r.lanes((rem(ty), 0), ty.scalar(), [ty.scalar(); 2])
        }
        "sad" => {
            let ty = r.int_type()?;
            r.lanes((sad(ty), 0), ty.scalar(), [ty.scalar(); 3])
        }
        "mul24" | "mad24" => {
            let ty = r.int_type_32()?;
            let s = ty.scalar();
            let half = r.need("`.lo` or `.hi`", &HALVES[..2])?;
            let aux = u32::from(ty.is_signed()) | u32::from(half == Half::Hi) << 1;
            if r.opcode == "mul24" {
                return r.lanes((mul24(), aux), s, [s; 2]);
            }
            let sat = ty == IntType::S32 && half == Half::Hi && r.has("sat");
            r.lanes((mad24(), aux | u32::from(sat) << 2), s, [s; 3])
        }
        _ => {
            let is_dp2a = r.opcode == "dp2a";
            let mut high = false;
            if is_dp2a {
                high = r.need("`.lo` or `.hi`", &[("lo", false), ("hi", true)])?;
            }
            let (a, b) = (r.int_type_32()?.is_signed(), r.int_type_32()?.is_signed());
            let aux = u32::from(a) | u32::from(b) << 1 | u32::from(high) << 2;
            let apply = if is_dp2a { dp2a() } else { dp4a() };
            r.lanes((apply, aux), ScalarType::B32, [ScalarType::B32; 3])
        }
    }
}

/// `add.u16x2`, `min.s16x2` and so on: two 16-bit halves of a 32-bit value.
pub(super) fn packed16(r: &mut Reader, is_signed: bool) -> Read<Op> {
    /// Applies `f` to both halves.
    #[inline(always)]
    fn halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
        u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
    }
    let apply = match (r.opcode, is_signed) {
        ("add", _) => lane_loop!(map2, |a: u32, b: u32| halves(a, b, u16::wrapping_add)),
        ("min", false) => lane_loop!(map2, |a: u32, b: u32| halves(a, b, u16::min)),
        ("max", false) => lane_loop!(map2, |a: u32, b: u32| halves(a, b, u16::max)),
        ("min", true) => lane_loop!(map2, |a: u32, b: u32| {
            halves(a, b, |x, y| (x as i16).min(y as i16) as u16)
        }),
        ("max", true) => lane_loop!(map2, |a: u32, b: u32| {
            halves(a, b, |x, y| (x as i16).max(y as i16) as u16)
        }),
        (_, true) => return Err(r.unsupported("type `.s16x2`")),
        (_, false) => return Err(r.unsupported("type `.u16x2`")),
    };
    if r.opcode == "add" {
        r.rule = Rule::Above;
    }
    r.lanes((apply, 0), ScalarType::B32, [ScalarType::B32; 2])
}

fn add(ty: IntType, sat: bool) -> Apply {
    if sat {
        lane_loop!(map2, |a: i32, b: i32| a.saturating_add(b))
    } else {
        by_width!(ty, T => lane_loop!(map2, |a: T, b: T| a.wrapping_add(b)))
    }
}

fn sub(ty: IntType, sat: bool) -> Apply {
    if sat {
        lane_loop!(map2, |a: i32, b: i32| a.saturating_sub(b))
    } else {
        by_width!(ty, T => lane_loop!(map2, |a: T, b: T| a.wrapping_sub(b)))
    }
}

/// The high half of a product, one lane of each type.
pub(super) trait MulHigh {
    fn mul_high(self, other: Self) -> Self;
}

macro_rules! mul_high {
    ($($type:ty, $wide:ty;)*) => {$(
        impl MulHigh for $type {
            #[inline(always)]
            fn mul_high(self, other: Self) -> Self {
                ((self as $wide * other as $wide) >> <$type>::BITS) as $type
            }
        }
    )*};
}
mul_high!(u16, u32; i16, i32; u32, u64; i32, i64; u64, u128; i64, i128;);

fn mul(ty: IntType, half: Half) -> Apply {
    match half {
        Half::Lo => by_width!(ty, T => lane_loop!(map2, |a: T, b: T| a.wrapping_mul(b))),
        Half::Hi => by_type!(ty, T => lane_loop!(map2, |a: T, b: T| a.mul_high(b))),
        Half::Wide => match ty {
            IntType::U16 => lane_loop!(map2, |a: u16, b: u16| u32::from(a) * u32::from(b)),
            IntType::S16 => lane_loop!(map2, |a: i16, b: i16| i32::from(a) * i32::from(b)),
            IntType::S32 => lane_loop!(map2, |a: i32, b: i32| i64::from(a) * i64::from(b)),
            _ => lane_loop!(map2, |a: u32, b: u32| u64::from(a) * u64::from(b)),
        },
    }
}

fn mad(ty: IntType, half: Half, sat: bool) -> Apply {
    match half {
        Half::Lo => {
            by_width!(ty, T => lane_loop!(map3, |a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)))
        }
        Half::Hi if sat => {
            lane_loop!(map3, |a: i32, b: i32, c: i32| a
                .mul_high(b)
                .saturating_add(c))
        }
        Half::Hi => {
            by_type!(ty, T => lane_loop!(map3, |a: T, b: T, c: T| a.mul_high(b).wrapping_add(c)))
        }
        Half::Wide => match ty {
            IntType::U16 => lane_loop!(map3, |a: u16, b: u16, c: u32| {
                (u32::from(a) * u32::from(b)).wrapping_add(c)
            }),
            IntType::S16 => lane_loop!(map3, |a: i16, b: i16, c: i32| {
                (i32::from(a) * i32::from(b)).wrapping_add(c)
            }),
            IntType::S32 => lane_loop!(map3, |a: i32, b: i32, c: i64| {
                (i64::from(a) * i64::from(b)).wrapping_add(c)
            }),
            _ => lane_loop!(map3, |a: u32, b: u32, c: u64| {
                (u64::from(a) * u64::from(b)).wrapping_add(c)
            }),
        },
    }
}

/// The 48-bit product of the low 24 bits: its low 32 bits, or bits 16 to 47.
fn product24(signed: bool, high: bool, a: u32, b: u32) -> u32 {
    let extend = |x: u32| {
        if signed {
            i64::from((x << 8) as i32 >> 8)
        } else {
            i64::from(x & 0xff_ffff)
        }
    };
    let product = extend(a) * extend(b);
    (if high { product >> 16 } else { product }) as u32
}

/// `aux` of `mul24` and `mad24`: bit 0: signed; bit 1: `.hi`; bit 2: `.sat`.
fn mul24() -> Apply {
    portable_loop!(map2_aux, |aux, a: u32, b: u32| -> u32 {
        product24(aux & 1 != 0, aux & 2 != 0, a, b)
    })
}

fn mad24() -> Apply {
    portable_loop!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
        let product = product24(aux & 1 != 0, aux & 2 != 0, a, b);
        if aux & 4 != 0 {
            (product as i32).saturating_add(c as i32) as u32
        } else {
            product.wrapping_add(c)
        }
    })
}

fn div(ty: IntType) -> Apply {
    by_type!(ty, T => portable_loop!(map2, |a: T, b: T| -> T {
        if b == 0 { !0 } else { a.wrapping_div(b) }
    }))
}

fn rem(ty: IntType) -> Apply {
    by_type!(ty, T => portable_loop!(map2, |a: T, b: T| -> T {
        if b == 0 { !0 } else { a.wrapping_rem(b) }
    }))
}

fn abs(ty: IntType) -> Apply {
    match ty {
        IntType::S16 | IntType::U16 => lane_loop!(map1, |a: i16| a.wrapping_abs()),
        IntType::S32 | IntType::U32 => lane_loop!(map1, |a: i32| a.wrapping_abs()),
        IntType::S64 | IntType::U64 => lane_loop!(map1, |a: i64| a.wrapping_abs()),
    }
}

fn neg(ty: IntType) -> Apply {
    by_width!(ty, T => lane_loop!(map1, |a: T| a.wrapping_neg()))
}

fn min(ty: IntType, relu: bool) -> Apply {
    if relu {
        lane_loop!(map2, |a: i32, b: i32| a.min(b).max(0))
    } else {
        by_type!(ty, T => lane_loop!(map2, |a: T, b: T| a.min(b)))
    }
}

fn max(ty: IntType, relu: bool) -> Apply {
    if relu {
        lane_loop!(map2, |a: i32, b: i32| a.max(b).max(0))
    } else {
        by_type!(ty, T => lane_loop!(map2, |a: T, b: T| a.max(b)))
    }
}

fn sad(ty: IntType) -> Apply {
    by_type!(ty, T => lane_loop!(map3, |a: T, b: T, c: T| {
        c.wrapping_add(if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) })
    }))
}

/// Byte (or half word) `index` of `x` as an integer.
fn element(x: u32, bits: u32, index: u32, signed: bool) -> i64 {
    let x = x >> (bits * index) << (32 - bits);
    if signed {
        i64::from(x as i32 >> (32 - bits))
    } else {
        i64::from(x >> (32 - bits))
    }
}

/// `aux` of `dp4a` and `dp2a`: bits 0 and 1: `a`, `b` are signed; bit 2: `.hi`.
fn dp4a() -> Apply {
    portable_loop!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
        let dot: i64 = (0..4)
            .map(|i| element(a, 8, i, aux & 1 != 0) * element(b, 8, i, aux & 2 != 0))
            .sum();
        c.wrapping_add(dot as u32)
    })
}

fn dp2a() -> Apply {
    portable_loop!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
        let first = if aux & 4 != 0 { 2 } else { 0 };
        let dot: i64 = (0..2)
            .map(|i| element(a, 16, i, aux & 1 != 0) * element(b, 8, first + i, aux & 2 != 0))
            .sum();
        c.wrapping_add(dot as u32)
    })
}
