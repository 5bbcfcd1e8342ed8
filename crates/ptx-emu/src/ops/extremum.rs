//! Floating-point `min` and `max`.
//!
//! If one operand is NaN the result is the other, or NaN with `.NaN`; -0 is below +0. Results are chosen as bit
//! patterns, so that operands keep theirs. Two NaNs of f64 give the second, quieted, as an H100 does.

use ptx::FloatType;

use super::float::{CANONICAL_NAN_F32, flush, quieted_or};
use crate::registers::{Apply, Operands, Registers, lanes, lanes_portable, map2, map2_aux};

/// `min` (or `max`) of bit patterns: the other operand if one is NaN, or if `nan` what `$nan` makes of the NaN; -0 is
/// below +0.
macro_rules! extremum {
    ($name:ident, $type:ty, $bits:ty, $less:tt, $zero:tt, $nan:expr) => {
        #[inline(always)]
        fn $name(nan: bool, a: $type, b: $type) -> $bits {
            let (a_bits, b_bits) = (a.to_bits(), b.to_bits());
            if a.is_nan() {
                if nan || b.is_nan() { $nan(b_bits) } else { b_bits }
            } else if b.is_nan() {
                if nan { $nan(a_bits) } else { a_bits }
            } else if a == b {
                // Equal numbers differ in their bits only if they are zeros of both signs.
                a_bits $zero b_bits
            } else if a $less b {
                a_bits
            } else {
                b_bits
            }
        }
    };
}
extremum!(min32, f32, u32, <, |, |_: u32| CANONICAL_NAN_F32);
extremum!(max32, f32, u32, >, &, |_: u32| CANONICAL_NAN_F32);
extremum!(min64, f64, u64, <, |, |nan: u64| quieted_or(nan, nan));
extremum!(max64, f64, u64, >, &, |nan: u64| quieted_or(nan, nan));

/// `aux` of [`min`] and [`max`].
pub(crate) fn extremum_aux(ftz: bool, nan: bool, xorsign_abs: bool) -> u32 {
    u32::from(nan) | u32::from(ftz) << 2 | u32::from(xorsign_abs) << 4
}

/// Handles `.ftz` and `.xorsign.abs` around [`min32`] or [`max32`].
fn extremum_modified(aux: u32, a: f32, b: f32, f: impl Fn(bool, f32, f32) -> u32) -> u32 {
    let (mut a, mut b) = if aux & 4 != 0 {
        (flush(a), flush(b))
    } else {
        (a, b)
    };
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    let xorsign = aux & 16 != 0;
    if xorsign {
        (a, b) = (a.abs(), b.abs());
    }
    let result = f(aux & 1 != 0, a, b);
    if xorsign && result != CANONICAL_NAN_F32 {
        result | sign
    } else {
        result
    }
}

macro_rules! choose_extremum {
    ($ty:expr, $aux:expr, $f32:ident, $f64:ident) => {
        match ($ty, $aux) {
            (FloatType::F32, 0) => lanes!(map2, |a: f32, b: f32| $f32(false, a, b)),
            (FloatType::F32, _) => lanes_portable!(map2_aux, |aux, a: f32, b: f32| -> u32 {
                extremum_modified(aux, a, b, $f32)
            }),
            (FloatType::F64, _) => {
                lanes!(map2_aux, |aux, a: f64, b: f64| $f64(aux & 1 != 0, a, b))
            }
        }
    };
}

pub(crate) fn min(ty: FloatType, aux: u32) -> Apply {
    choose_extremum!(ty, aux, min32, min64)
}

pub(crate) fn max(ty: FloatType, aux: u32) -> Apply {
    choose_extremum!(ty, aux, max32, max64)
}
