//! Arithmetic of 16-bit floats, alone and in pairs: `add`, `sub`, `mul`, `fma`, `min`, `max`,
//! `neg`, `abs`, `ex2`, `tanh` of `.f16`, `.f16x2`, `.bf16`, `.bf16x2`.
//!
//! A value is widened to f64, exactly. Sums and products are computed there with what is lost kept
//! in the last bit ([`round_to_odd`]), so that the one rounding that counts is that to 16 bits.
//! Every NaN result is the canonical one, `0x7fff`. `min` and `max` choose bit patterns, by the
//! rules that `float` states.

use ptx::ScalarType;

use crate::counts::InstructionClass;
use crate::read::{Read, Reader};
use crate::registers::{
    Apply, Operands, Registers, Value, map1_aux, map2_aux, map3_aux, portable_loop,
};
use crate::runner::Op;

/// The NaN of every result, in both formats.
pub(super) const CANONICAL_NAN: u16 = 0x7fff;
const SIGN: u16 = 0x8000;

/// A format of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    F16,
    Bf16,
}

impl Half {
    /// The format of a type, and whether it is of pairs.
    pub(super) fn of(ty: ScalarType) -> Option<(Half, bool)> {
        match ty {
            ScalarType::F16 => Some((Half::F16, false)),
            ScalarType::F16x2 => Some((Half::F16, true)),
            ScalarType::Bf16 => Some((Half::Bf16, false)),
            ScalarType::Bf16x2 => Some((Half::Bf16, true)),
            _ => None,
        }
    }

    /// The value of a bit pattern, exactly.
    #[inline]
    pub(super) fn widen(self, bits: u16) -> f32 {
        match self {
            Half::Bf16 => f32::from_bits(u32::from(bits) << 16),
            Half::F16 => {
                let magnitude = u32::from(bits & !SIGN) << 13;
                let sign = u32::from(bits & SIGN) << 16;
                // The exponents differ by 112, for subnormal numbers too; that of infinity does not
                // follow.
                let scaled = match bits & 0x7c00 {
                    0x7c00 => magnitude | 0x7f80_0000,
                    _ => (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits(),
                };
                f32::from_bits(sign | scaled)
            }
        }
    }

    /// The bits of the nearest value, ties to even.
    #[inline]
    pub(super) fn narrow(self, x: f64) -> u16 {
        if x.is_nan() {
            return CANONICAL_NAN;
        }
        let infinity = self.infinity();
        let magnitude = match self {
            Half::F16 => nearest(x, 10, -14),
            Half::Bf16 => nearest(x, 7, -126),
        };
        let sign = if x.is_sign_negative() { SIGN } else { 0 };
        sign | magnitude.min(infinity.into()) as u16
    }

    pub(super) fn infinity(self) -> u16 {
        match self {
            Half::F16 => 0x7c00,
            Half::Bf16 => 0x7f80,
        }
    }

    fn is_nan(self, bits: u16) -> bool {
        bits & !SIGN > self.infinity()
    }

    fn is_subnormal(self, bits: u16) -> bool {
        bits & self.infinity() == 0
    }
}

/// The magnitude of the bit pattern nearest to `x`, which is a number or infinite, in a format with
/// this many fraction bits whose smallest normal number is 2 to the `least`; ties to even. Beyond
/// the format's largest number it goes on as if there were more exponents.
#[inline]
pub(super) fn nearest(x: f64, fraction_bits: u32, least: i32) -> u64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let significand = bits & ((1 << 52) - 1) | 1 << 52;
    let from = exponent.max(least);
    let shift = 52 - fraction_bits + (from - exponent) as u32;
    if shift > 60 {
        return 0;
    }
    let (kept, cut) = (significand >> shift, significand & ((1 << shift) - 1));
    let half = 1 << (shift - 1);
    let up = cut > half || cut == half && kept & 1 == 1;
    (((from - least) as u64) << fraction_bits) + kept + u64::from(up)
}

/// `a + b`, rounded to f64 so that any rounding to a narrower format gives what it would of the sum
/// itself: an inexact result has its last bit set.
#[inline]
fn round_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's two-sum.
    let (b_part, a_part) = (sum - a, sum - (sum - a));
    let error = (a - a_part) + (b - b_part);
    let bits = sum.to_bits();
    if error == 0.0 || error.is_nan() || bits & 1 == 1 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// 2^-14: only f16 has `.ftz`.
const LEAST_NORMAL_F16: f64 = 1.0 / 16384.0;
/// `aux`: the format is bf16.
const BF16: u32 = 1;
/// `aux`: values are pairs.
const PAIR: u32 = 1 << 1;
const FTZ: u32 = 1 << 2;
const SAT: u32 = 1 << 3;
const RELU: u32 = 1 << 4;
/// `aux`: `.NaN` of `min` and `max`.
const NAN: u32 = 1 << 5;
/// `aux`: `.xorsign.abs` of them.
const XORSIGN: u32 = 1 << 6;

#[inline]
fn format(aux: u32) -> Half {
    if aux & BF16 != 0 {
        Half::Bf16
    } else {
        Half::F16
    }
}

/// True if the instruction has a type of this file.
pub(super) fn is_half(r: &Reader) -> bool {
    let mut types = r.syntax().modifiers.iter();
    types.any(|m| ScalarType::from_name(m).is_some_and(|ty| Half::of(ty).is_some()))
}

/// An instruction of this file; its type is not taken yet.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    let ty = r.ty()?;
    arithmetic(r, ty)
}

/// An instruction of this file whose type has been taken: `ty`.
pub(super) fn arithmetic(r: &mut Reader, ty: ScalarType) -> Read<Op> {
    let Some((half, is_pair)) = Half::of(ty) else {
        return Err(r.unsupported_type(ty));
    };
    r.class = InstructionClass::Float32;
    let aux = if half == Half::Bf16 { BF16 } else { 0 } | if is_pair { PAIR } else { 0 };
    match r.opcode {
        "add" | "sub" | "mul" => sum_or_product(r, ty, aux),
        "fma" => fused(r, ty, aux),
        "min" | "max" => smaller_or_larger(r, ty, aux),
        "neg" | "abs" => signs(r, ty, aux),
        "ex2" | "tanh" => approximation(r, ty, aux),
        _ => Err(r.unsupported_type(ty)),
    }
}

/// The bit of a modifier, if the instruction has it.
fn bit(r: &mut Reader, name: &str, bit: u32) -> u32 {
    if r.has(name) { bit } else { 0 }
}

/// `.ftz` and `.sat`, which only f16 has.
fn modifiers(r: &mut Reader, aux: u32) -> u32 {
    match format(aux) {
        Half::F16 => aux | bit(r, "ftz", FTZ) | bit(r, "sat", SAT),
        Half::Bf16 => aux,
    }
}

fn sum_or_product(r: &mut Reader, ty: ScalarType, aux: u32) -> Read<Op> {
    r.has("rn");
    let aux = modifiers(r, aux);
    let apply: Apply = match r.opcode {
        "add" => portable_loop!(map2_aux, |aux, a: u32, b: u32| -> u32 {
            binary(aux, a, b, round_to_odd)
        }),
        "sub" => portable_loop!(map2_aux, |aux, a: u32, b: u32| -> u32 {
            binary(aux, a, b, |x, y| round_to_odd(x, -y))
        }),
        _ => portable_loop!(map2_aux, |aux, a: u32, b: u32| -> u32 {
            binary(aux, a, b, |x, y| x * y)
        }),
    };
    r.lanes((apply, aux), ty, [ty; 2])
}

fn fused(r: &mut Reader, ty: ScalarType, aux: u32) -> Read<Op> {
    if !r.has("rn") {
        return Err(r.missing("rounding"));
    }
    let aux = modifiers(r, aux) | bit(r, "relu", RELU);
    let apply = portable_loop!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
        multiply_add(aux, a, b, c)
    });
    r.lanes((apply, aux), ty, [ty; 3])
}

fn smaller_or_larger(r: &mut Reader, ty: ScalarType, mut aux: u32) -> Read<Op> {
    if format(aux) == Half::F16 {
        aux |= bit(r, "ftz", FTZ);
    }
    aux |= bit(r, "NaN", NAN) | bit(r, "xorsign", XORSIGN);
    if aux & XORSIGN != 0 && !r.has("abs") {
        return Err(r.missing("`.abs` behind `.xorsign`"));
    }
    let apply = match r.opcode {
        "min" => portable_loop!(map2_aux, |aux, a: u32, b: u32| -> u32 {
            each2(aux, a, b, |x, y| extremum(aux, x, y, false))
        }),
        _ => portable_loop!(map2_aux, |aux, a: u32, b: u32| -> u32 {
            each2(aux, a, b, |x, y| extremum(aux, x, y, true))
        }),
    };
    r.lanes((apply, aux), ty, [ty; 2])
}

fn signs(r: &mut Reader, ty: ScalarType, mut aux: u32) -> Read<Op> {
    if format(aux) == Half::F16 {
        aux |= bit(r, "ftz", FTZ);
    }
    let apply = match r.opcode {
        "neg" => portable_loop!(map1_aux, |aux, a: u32| -> u32 {
            each1(aux, a, |x| finish(aux, x ^ SIGN))
        }),
        _ => portable_loop!(map1_aux, |aux, a: u32| -> u32 {
            each1(aux, a, |x| finish(aux, x & !SIGN))
        }),
    };
    r.lanes((apply, aux), ty, [ty])
}

fn approximation(r: &mut Reader, ty: ScalarType, mut aux: u32) -> Read<Op> {
    if !r.has("approx") {
        return Err(r.missing("`.approx`"));
    }
    let apply = match r.opcode {
        "ex2" => {
            aux |= bit(r, "ftz", FTZ);
            portable_loop!(map1_aux, |aux, a: u32| -> u32 {
                each1(aux, a, |x| unary(aux, x, libm::exp2))
            })
        }
        _ => portable_loop!(map1_aux, |aux, a: u32| -> u32 {
            each1(aux, a, |x| unary(aux, x, libm::tanh))
        }),
    };
    r.lanes((apply, aux), ty, [ty])
}

#[inline]
fn each1(aux: u32, a: u32, f: impl Fn(u16) -> u16) -> u32 {
    let low = u32::from(f(a as u16));
    if aux & PAIR == 0 {
        return low;
    }
    low | u32::from(f((a >> 16) as u16)) << 16
}

#[inline]
fn each2(aux: u32, a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    let low = u32::from(f(a as u16, b as u16));
    if aux & PAIR == 0 {
        return low;
    }
    low | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// An operand's value.
#[inline]
fn value(aux: u32, bits: u16) -> f64 {
    f64::from(format(aux).widen(flushed(aux, bits)))
}

/// A bit pattern with `.ftz` applied.
#[inline]
fn flushed(aux: u32, bits: u16) -> u16 {
    if aux & FTZ != 0 && format(aux).is_subnormal(bits) {
        bits & SIGN
    } else {
        bits
    }
}

/// A result with the modifiers and the rule of NaNs applied.
#[inline]
fn finish(aux: u32, bits: u16) -> u16 {
    let half = format(aux);
    let is_nan = half.is_nan(bits);
    let bits = flushed(aux, bits);
    if aux & SAT != 0 {
        let one = half.narrow(1.0);
        return if is_nan || bits & SIGN != 0 {
            0
        } else {
            bits.min(one)
        };
    }
    if is_nan {
        return CANONICAL_NAN;
    }
    if aux & RELU != 0 && bits & SIGN != 0 {
        return 0;
    }
    bits
}

/// A result of arithmetic, rounded, with the modifiers applied. A GPU flushes what is subnormal
/// before it is rounded, as differential tests on an H100 show.
fn rounded(aux: u32, result: f64) -> u16 {
    let is_flushed = aux & FTZ != 0 && result.abs() < LEAST_NORMAL_F16;
    let result = if is_flushed {
        0f64.copysign(result)
    } else {
        result
    };
    finish(aux, format(aux).narrow(result))
}

fn unary(aux: u32, a: u16, f: impl Fn(f64) -> f64) -> u16 {
    finish(aux, format(aux).narrow(f(value(aux, a))))
}

fn binary(aux: u32, a: u32, b: u32, f: impl Fn(f64, f64) -> f64) -> u32 {
    each2(aux, a, b, |x, y| {
        let result = f(value(aux, x), value(aux, y));
        rounded(aux, result)
    })
}

fn multiply_add(aux: u32, a: u32, b: u32, c: u32) -> u32 {
    let one = |shift: u32| {
        let [a, b, c] = [a, b, c].map(|x| value(aux, (x >> shift) as u16));
        // The product of two values of 16 bits is exact in f64.
        let result = round_to_odd(a * b, c);
        u32::from(rounded(aux, result))
    };
    match aux & PAIR {
        0 => one(0),
        _ => one(0) | one(16) << 16,
    }
}

/// `min`, or `max`.
fn extremum(aux: u32, a: u16, b: u16, largest: bool) -> u16 {
    let half = format(aux);
    let (mut a, mut b) = (flushed(aux, a), flushed(aux, b));
    let sign = (a ^ b) & SIGN;
    let xorsign = aux & XORSIGN != 0;
    if xorsign {
        (a, b) = (a & !SIGN, b & !SIGN);
    }
    let result = match (half.is_nan(a), half.is_nan(b)) {
        (true, true) => CANONICAL_NAN,
        (true, false) | (false, true) if aux & NAN != 0 => CANONICAL_NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let (x, y) = (half.widen(a), half.widen(b));
            // Of two zeros, the negative one counts as less.
            let first = if x == y {
                (a & SIGN == 0) == largest
            } else {
                (x > y) == largest
            };
            if first { a } else { b }
        }
    };
    if xorsign && result != CANONICAL_NAN {
        result | sign
    } else {
        result
    }
}

/// The sum of two values as an atomic addition without `.ftz` gives it; pairs too.
pub(super) fn atomic_add(half: Half, is_pair: bool, a: u32, b: u32) -> u32 {
    let aux = if half == Half::Bf16 { BF16 } else { 0 } | if is_pair { PAIR } else { 0 };
    binary(aux, a, b, round_to_odd)
}

/// The value of an f16 with a subnormal number replaced by 0.
pub(super) fn flush_f16(x: f32) -> f32 {
    if x.abs() < f32::from_bits(0x3880_0000) {
        0.0
    } else {
        x
    }
}

/// The low or high half of a register as a value to compare.
macro_rules! compared {
    ($name:ident, $half:expr, $shift:literal) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name(f32);

        impl $name {
            pub(super) fn is_nan(self) -> bool {
                self.0.is_nan()
            }

            pub(super) fn value(self) -> f32 {
                self.0
            }
        }

        impl Value for $name {
            type Raw = u32;
            fn row(registers: &Registers, slot: u32) -> &[u32; 32] {
                registers.r32(slot)
            }
            fn row_mut(registers: &mut Registers, slot: u32) -> &mut [u32; 32] {
                registers.r32_mut(slot)
            }
            fn from_raw(raw: u32) -> Self {
                Self($half.widen((raw >> $shift) as u16))
            }
            fn into_raw(self) -> u32 {
                u32::from($half.narrow(self.0.into())) << $shift
            }
        }
    };
}
compared!(LowF16, Half::F16, 0);
compared!(HighF16, Half::F16, 16);
compared!(LowBf16, Half::Bf16, 0);
compared!(HighBf16, Half::Bf16, 16);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{self, F64, Rounding};

    fn exact_format(half: Half) -> &'static exact::Format {
        match half {
            Half::F16 => &exact::F16,
            Half::Bf16 => &exact::BF16,
        }
    }

    #[test]
    fn every_value_widens_and_narrows_back() {
        for half in [Half::F16, Half::Bf16] {
            for bits in 0..=u16::MAX {
                let wide = half.widen(bits);
                let expected =
                    exact::convert(bits.into(), exact_format(half), &F64, Rounding::Nearest);
                if half.is_nan(bits) {
                    assert!(wide.is_nan(), "{bits:#x}")
                } else {
                    assert_eq!(f64::from(wide).to_bits(), expected, "{bits:#x}");
                    assert_eq!(half.narrow(wide.into()), bits);
                }
            }
        }
    }

    #[test]
    fn arithmetic_rounds_once() {
        let mut random = fastrand::Rng::with_seed(7);
        for half in [Half::F16, Half::Bf16] {
            let format = exact_format(half);
            let aux = if half == Half::Bf16 { BF16 } else { 0 };
            for _ in 0..300_000 {
                let [a, b, c] = [(); 3].map(|()| random.u16(..));
                let wide = [a, b, c].map(u64::from);
                let sum = exact::add(wide[0], wide[1], format, Rounding::Nearest);
                let product = exact::mul(wide[0], wide[1], format, Rounding::Nearest);
                let fused = exact::fma(wide[0], wide[1], wide[2], format, Rounding::Nearest);
                let (x, y) = (u32::from(a), u32::from(b));
                assert_eq!(
                    u64::from(binary(aux, x, y, round_to_odd)),
                    sum,
                    "{a:x} + {b:x}"
                );
                assert_eq!(
                    u64::from(binary(aux, x, y, |p, q| p * q)),
                    product,
                    "{a:x} {b:x}"
                );
                let ours = multiply_add(aux, x, y, c.into());
                assert_eq!(u64::from(ours), fused, "{a:x} * {b:x} + {c:x}");
            }
        }
    }
}
