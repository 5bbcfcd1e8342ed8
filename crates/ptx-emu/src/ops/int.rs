//! Integer arithmetic.
//!
//! All of it wraps, except where `.sat` clamps. Division and remainder by zero have no defined result in PTX;
//! here they give all ones, as the code that `ptxas` emits does. `MIN / -1` wraps to `MIN`.

use ptx::{Half, IntType, PackedOp};

use crate::registers::{
    Apply, Operands, Registers, lanes, lanes_portable, map1, map2, map2_aux, map3, map3_aux,
};

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

pub(crate) fn add(ty: IntType, sat: bool) -> Apply {
    match sat {
        true => lanes!(map2, |a: i32, b: i32| a.saturating_add(b)),
        false => by_width!(ty, T => lanes!(map2, |a: T, b: T| a.wrapping_add(b))),
    }
}

pub(crate) fn sub(ty: IntType, sat: bool) -> Apply {
    match sat {
        true => lanes!(map2, |a: i32, b: i32| a.saturating_sub(b)),
        false => by_width!(ty, T => lanes!(map2, |a: T, b: T| a.wrapping_sub(b))),
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

pub(crate) fn mul(ty: IntType, half: Half) -> Apply {
    match half {
        Half::Lo => by_width!(ty, T => lanes!(map2, |a: T, b: T| a.wrapping_mul(b))),
        Half::Hi => by_type!(ty, T => lanes!(map2, |a: T, b: T| a.mul_high(b))),
        Half::Wide => match ty {
            IntType::U16 => lanes!(map2, |a: u16, b: u16| u32::from(a) * u32::from(b)),
            IntType::S16 => lanes!(map2, |a: i16, b: i16| i32::from(a) * i32::from(b)),
            IntType::S32 => lanes!(map2, |a: i32, b: i32| i64::from(a) * i64::from(b)),
            _ => lanes!(map2, |a: u32, b: u32| u64::from(a) * u64::from(b)),
        },
    }
}

pub(crate) fn mad(ty: IntType, half: Half, sat: bool) -> Apply {
    match half {
        Half::Lo => {
            by_width!(ty, T => lanes!(map3, |a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)))
        }
        Half::Hi if sat => {
            lanes!(map3, |a: i32, b: i32, c: i32| a
                .mul_high(b)
                .saturating_add(c))
        }
        Half::Hi => {
            by_type!(ty, T => lanes!(map3, |a: T, b: T, c: T| a.mul_high(b).wrapping_add(c)))
        }
        Half::Wide => match ty {
            IntType::U16 => lanes!(map3, |a: u16, b: u16, c: u32| {
                (u32::from(a) * u32::from(b)).wrapping_add(c)
            }),
            IntType::S16 => lanes!(map3, |a: i16, b: i16, c: i32| {
                (i32::from(a) * i32::from(b)).wrapping_add(c)
            }),
            IntType::S32 => lanes!(map3, |a: i32, b: i32, c: i64| {
                (i64::from(a) * i64::from(b)).wrapping_add(c)
            }),
            _ => lanes!(map3, |a: u32, b: u32, c: u64| {
                (u64::from(a) * u64::from(b)).wrapping_add(c)
            }),
        },
    }
}

/// The 48-bit product of the low 24 bits: its low 32 bits, or bits 16 to 47.
fn product24(signed: bool, high: bool, a: u32, b: u32) -> u32 {
    let extend = |x: u32| match signed {
        true => i64::from((x << 8) as i32 >> 8),
        false => i64::from(x & 0xff_ffff),
    };
    let product = extend(a) * extend(b);
    (if high { product >> 16 } else { product }) as u32
}

/// `aux` of [`mul24`] and [`mad24`].
pub(crate) fn aux24(ty: IntType, half: Half, sat: bool) -> u32 {
    u32::from(ty.is_signed()) | u32::from(half == Half::Hi) << 1 | u32::from(sat) << 2
}

pub(crate) fn mul24() -> Apply {
    lanes_portable!(map2_aux, |aux, a: u32, b: u32| -> u32 {
        product24(aux & 1 != 0, aux & 2 != 0, a, b)
    })
}

pub(crate) fn mad24() -> Apply {
    lanes_portable!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
        let product = product24(aux & 1 != 0, aux & 2 != 0, a, b);
        match aux & 4 != 0 {
            true => (product as i32).saturating_add(c as i32) as u32,
            false => product.wrapping_add(c),
        }
    })
}

pub(crate) fn div(ty: IntType) -> Apply {
    by_type!(ty, T => lanes_portable!(map2, |a: T, b: T| -> T {
        if b == 0 { !0 } else { a.wrapping_div(b) }
    }))
}

pub(crate) fn rem(ty: IntType) -> Apply {
    by_type!(ty, T => lanes_portable!(map2, |a: T, b: T| -> T {
        if b == 0 { !0 } else { a.wrapping_rem(b) }
    }))
}

pub(crate) fn abs(ty: IntType) -> Apply {
    match ty {
        IntType::S16 | IntType::U16 => lanes!(map1, |a: i16| a.wrapping_abs()),
        IntType::S32 | IntType::U32 => lanes!(map1, |a: i32| a.wrapping_abs()),
        IntType::S64 | IntType::U64 => lanes!(map1, |a: i64| a.wrapping_abs()),
    }
}

pub(crate) fn neg(ty: IntType) -> Apply {
    by_width!(ty, T => lanes!(map1, |a: T| a.wrapping_neg()))
}

pub(crate) fn min(ty: IntType, relu: bool) -> Apply {
    match relu {
        true => lanes!(map2, |a: i32, b: i32| a.min(b).max(0)),
        false => by_type!(ty, T => lanes!(map2, |a: T, b: T| a.min(b))),
    }
}

pub(crate) fn max(ty: IntType, relu: bool) -> Apply {
    match relu {
        true => lanes!(map2, |a: i32, b: i32| a.max(b).max(0)),
        false => by_type!(ty, T => lanes!(map2, |a: T, b: T| a.max(b))),
    }
}

pub(crate) fn sad(ty: IntType) -> Apply {
    by_type!(ty, T => lanes!(map3, |a: T, b: T, c: T| {
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

/// `aux` of [`dp4a`] and [`dp2a`].
pub(crate) fn dot_aux(a_signed: bool, b_signed: bool, high: bool) -> u32 {
    u32::from(a_signed) | u32::from(b_signed) << 1 | u32::from(high) << 2
}

pub(crate) fn dp4a() -> Apply {
    lanes_portable!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
        let dot: i64 = (0..4)
            .map(|i| element(a, 8, i, aux & 1 != 0) * element(b, 8, i, aux & 2 != 0))
            .sum();
        c.wrapping_add(dot as u32)
    })
}

pub(crate) fn dp2a() -> Apply {
    lanes_portable!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
        let first = if aux & 4 != 0 { 2 } else { 0 };
        let dot: i64 = (0..2)
            .map(|i| element(a, 16, i, aux & 1 != 0) * element(b, 8, first + i, aux & 2 != 0))
            .sum();
        c.wrapping_add(dot as u32)
    })
}

pub(crate) fn packed16(op: PackedOp) -> Apply {
    /// Applies `f` to both halves.
    #[inline(always)]
    fn halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
        u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
    }
    match op {
        PackedOp::Add => lanes!(map2, |a: u32, b: u32| halves(a, b, u16::wrapping_add)),
        PackedOp::MinU => lanes!(map2, |a: u32, b: u32| halves(a, b, u16::min)),
        PackedOp::MaxU => lanes!(map2, |a: u32, b: u32| halves(a, b, u16::max)),
        PackedOp::MinS => lanes!(map2, |a: u32, b: u32| {
            halves(a, b, |x, y| (x as i16).min(y as i16) as u16)
        }),
        PackedOp::MaxS => lanes!(map2, |a: u32, b: u32| {
            halves(a, b, |x, y| (x as i16).max(y as i16) as u16)
        }),
    }
}
