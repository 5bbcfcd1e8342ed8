//! Floating-point arithmetic: `add`, `sub`, `mul`, `fma`, `mad`, `neg`, `abs`, `min`, `max`,
//! `copysign`.
//!
//! Round-to-nearest forms use the host's arithmetic, which is IEEE 754; directed forms go through
//! [`exact`]. Every NaN result of an f32 instruction is `0x7fffffff`. The PTX ISA ("Floating-Point
//! Instructions") leaves the payloads of f64 open; here they are as an H100 makes them:
//!
//! | f64 | NaN operands | result |
//! |-----|--------------|--------|
//! | `add`, `sub`, `mul` | of `a`, `b`: `b` | quiet; `sub` keeps its sign |
//! | `fma`, `mad` | `b`, else `c`, else `a` | quiet |
//! | `div` | of `a`, `b`: `a` | quiet |
//! | `neg`, `abs`, `sqrt`, `rcp` | `a` | quiet, of its own sign |
//! | `min`, `max` | one: the number; both: `b` | quiet |
//! | `atom`/`red.add` in global memory | of the old value and the operand: the operand | as it is |
//! | `atom`/`red.add` in shared memory | of the old value and the operand: the old value | quiet |
//! | invalid operation | none | [`DEFAULT_NAN_F64`] |
//!
//! `.ftz` replaces subnormal operands and results by the zero of their sign. Whether a result is
//! subnormal is seen after rounding it to the type's precision as if exponents had no limit, as an
//! H100 does: `2^-126 (1 - 2^-24)` becomes 0, though rounded as a subnormal number it would be
//! `2^-126`. `.sat` clamps to [0, 1] and sends NaN to +0.
//!
//! `min` and `max`: if one operand is NaN the result is the other, or NaN with `.NaN`; -0 is below
//! +0. Results are chosen as bit patterns, so that operands keep theirs.
//!
//! `add`, `sub`, `mul` without a rounding modifier are rounded to nearest here; the assembler may
//! contract such a multiplication and addition into an `fma`, which this does not show.

use crate::exact::{self, DEFAULT_NAN_F64, F32, F64, Format, Rounding};
use crate::read::{FloatType, Read, Reader};
use crate::registers::{
    Apply, Operands, Registers, lane_loop, map1, map2, map2_aux, map3, map3_aux, portable_loop,
};
use crate::runner::Op;

/// The opcodes that floating point shares with integers.
pub(super) fn arithmetic(r: &mut Reader, ty: FloatType) -> Read<Op> {
    let s = ty.scalar();
    match r.opcode {
        "add" | "sub" | "mul" => {
            let rounding = r.rounding();
            if rounding.is_none() {
                let unrounded = &mut r.function.unrounded[usize::from(ty == FloatType::F64)];
                unrounded.products |= r.opcode == "mul";
                unrounded.sums |= r.opcode != "mul";
            }
            let m = Modifiers::with(r, ty, rounding.unwrap_or(Rounding::Nearest));
            let apply = match r.opcode {
                "add" => add(ty, &m),
                "sub" => sub(ty, &m),
                _ => mul(ty, &m),
            };
            r.lanes((apply, m.aux()), s, [s; 2])
        }
        // PTX ISA, "mad": written without rounding for the devices before sm_20 alone.
        "mad" => {
            let is_old = r.body.program().architecture() < Some(20);
            fma_or_mad(r, ty, is_old.then_some(Rounding::Nearest))
        }
        "abs" | "neg" => {
            let ftz = r.ftz(ty);
            let apply = match r.opcode {
                "abs" => abs(ty, ftz),
                _ => neg(ty, ftz),
            };
            r.lanes((apply, 0), s, [s])
        }
        _ => {
            let ftz = r.ftz(ty);
            let nan = ty == FloatType::F32 && r.has("NaN");
            let xorsign_abs = ty == FloatType::F32 && r.has("xorsign");
            if xorsign_abs && !r.has("abs") {
                return Err(r.missing("`.abs` behind `.xorsign`"));
            }
            let aux = u32::from(nan) | u32::from(ftz) << 2 | u32::from(xorsign_abs) << 4;
            let apply = match r.opcode {
                "min" => min(ty, aux),
                _ => max(ty, aux),
            };
            r.lanes((apply, aux), s, [s; 2])
        }
    }
}

/// `fma`.
pub(super) fn fma(r: &mut Reader) -> Read<Op> {
    let ty = r.float_type()?;
    fma_or_mad(r, ty, None)
}

fn fma_or_mad(r: &mut Reader, ty: FloatType, default: Option<Rounding>) -> Read<Op> {
    let m = Modifiers::read(r, ty, default)?;
    let s = ty.scalar();
    r.lanes((multiply_add(ty, &m), m.aux()), s, [s; 3])
}

/// `copysign`: the sign of `a` with the magnitude of `b`.
pub(super) fn copysign(r: &mut Reader) -> Read<Op> {
    let ty = r.float_type()?;
    let apply = match ty {
        FloatType::F32 => lane_loop!(map2, |a: f32, b: f32| b.copysign(a)),
        FloatType::F64 => lane_loop!(map2, |a: f64, b: f64| b.copysign(a)),
    };
    r.lanes((apply, 0), ty.scalar(), [ty.scalar(); 2])
}

/// Rounding, `.ftz` and `.sat`.
#[derive(Clone, Copy)]
pub(super) struct Modifiers {
    pub(super) rounding: Rounding,
    pub(super) ftz: bool,
    pub(super) sat: bool,
}

impl Modifiers {
    /// Takes them. Without a default the rounding must be there.
    fn read(r: &mut Reader, ty: FloatType, default: Option<Rounding>) -> Read<Modifiers> {
        let rounding = r.rounding().or(default);
        let rounding = rounding.ok_or_else(|| r.missing("rounding"))?;
        Ok(Self::with(r, ty, rounding))
    }

    fn with(r: &mut Reader, ty: FloatType, rounding: Rounding) -> Modifiers {
        Modifiers {
            rounding,
            ftz: r.ftz(ty),
            sat: ty == FloatType::F32 && r.has("sat"),
        }
    }

    /// `aux` of an operation with these modifiers: [`directed`] decodes it.
    pub(super) fn aux(&self) -> u32 {
        self.rounding.to_aux() | u32::from(self.ftz) << 2 | u32::from(self.sat) << 3
    }
}

/// The NaN of every f32 result.
pub(super) const CANONICAL_NAN_F32: u32 = 0x7fff_ffff;
const QUIET_F64: u64 = 1 << 51;

/// A subnormal as the zero of its sign.
#[inline(always)]
pub(super) fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    })
}

#[inline(always)]
pub(super) fn flush_if<const FTZ: bool>(x: f32) -> f32 {
    if FTZ { flush(x) } else { x }
}

/// The bits of an f32 result with `.ftz`, `.sat` and the NaN rule applied.
///
/// NaNs are replaced as integers: the compiler may assume that the payload of a floating-point
/// result is arbitrary, and drop a choice between two NaNs.
#[inline(always)]
pub(super) fn finish<const FTZ: bool, const SAT: bool>(x: f32) -> u32 {
    let x = flush_if::<FTZ>(x);
    let bits = if SAT { saturate(x) } else { x }.to_bits();
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        CANONICAL_NAN_F32
    } else {
        bits
    }
}

/// Clamps to [0, 1]; NaN and -0 become +0.
///
/// By the bits: of a comparison and a choice a compiler makes a minimum or a maximum, and hosts
/// differ in what those do with a signalling NaN.
#[inline(always)]
pub(super) fn saturate(x: f32) -> f32 {
    let bits = x.to_bits();
    // Below are 0 and all positive numbers, above are NaNs and what is negative.
    let is_number = bits <= f32::INFINITY.to_bits();
    f32::from_bits(if is_number { bits } else { 0 }.min(1f32.to_bits()))
}

/// The bits of the f64 result `x` of an operation on `operands`. The first NaN among these is
/// passed on, quieted.
#[inline(always)]
pub(super) fn finish64<const N: usize>(operands: [f64; N], x: f64) -> u64 {
    let mut bits = x.to_bits();
    if is_nan64(bits) {
        bits = DEFAULT_NAN_F64;
    }
    for operand in operands.into_iter().rev() {
        let operand = operand.to_bits();
        if is_nan64(operand) {
            bits = operand | QUIET_F64;
        }
    }
    bits
}

#[inline(always)]
fn is_nan64(bits: u64) -> bool {
    bits & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000
}

/// `x` as it is, or as a zero of its sign if `tiny`.
#[inline(always)]
pub(super) fn zero_if(tiny: bool, x: f32) -> f32 {
    if tiny { 0f32.copysign(x) } else { x }
}

/// The smallest normal number of f32.
pub(super) const SMALLEST_NORMAL: f64 = f32::MIN_POSITIVE as f64;
/// What is smaller than this is subnormal when rounded to the 24 bits of f32 with exponents that
/// have no limit; this itself is a tie and rounds to [`SMALLEST_NORMAL`].
const TINY: f64 = SMALLEST_NORMAL * (1.0 - 1.0 / (1u32 << 25) as f64);

#[inline(always)]
fn add32<const FTZ: bool, const SAT: bool>(a: f32, b: f32) -> u32 {
    finish::<FTZ, SAT>(flush_if::<FTZ>(a) + flush_if::<FTZ>(b))
}

#[inline(always)]
fn sub32<const FTZ: bool, const SAT: bool>(a: f32, b: f32) -> u32 {
    finish::<FTZ, SAT>(flush_if::<FTZ>(a) - flush_if::<FTZ>(b))
}

#[inline(always)]
fn mul32<const FTZ: bool, const SAT: bool>(a: f32, b: f32) -> u32 {
    let (a, b) = (flush_if::<FTZ>(a), flush_if::<FTZ>(b));
    // A product of two f32 is exact in f64.
    let tiny = FTZ && (f64::from(a) * f64::from(b)).abs() < TINY;
    finish::<FTZ, SAT>(zero_if(tiny, a * b))
}

#[inline(always)]
fn fma32<const FTZ: bool, const SAT: bool>(a: f32, b: f32, c: f32) -> u32 {
    let (a, b, c) = (flush_if::<FTZ>(a), flush_if::<FTZ>(b), flush_if::<FTZ>(c));
    let tiny = FTZ && is_tiny_sum(f64::from(a) * f64::from(b), f64::from(c));
    finish::<FTZ, SAT>(zero_if(tiny, a.mul_add(b, c)))
}

/// Whether `|p + c|` is below [`TINY`], exactly.
#[inline(always)]
fn is_tiny_sum(p: f64, c: f64) -> bool {
    let sum = p + c;
    // Knuth's two-sum: `p + c` is `sum + error`, exactly.
    let (c_part, p_part) = (sum - p, sum - (sum - p));
    let error = (p - p_part) + (c - c_part);
    let magnitude = sum.abs();
    let below = error != 0.0 && (error < 0.0) == (sum > 0.0);
    magnitude < TINY || (magnitude == TINY && below)
}

/// Evaluates an operation on bit patterns in the direction and with the modifiers of `aux`.
pub(super) fn directed<const N: usize>(
    aux: u32,
    format: &Format,
    operands: [u64; N],
    f: impl Fn([u64; N], &Format, Rounding) -> u64,
) -> u64 {
    let rounding = Rounding::from_aux(aux);
    if aux & 4 != 0 {
        let flushing = format.flushing();
        f(operands.map(|x| format.flush(x)), &flushing, rounding)
    } else {
        f(operands, format, rounding)
    }
}

pub(super) fn directed32<const N: usize>(
    aux: u32,
    operands: [u32; N],
    f: impl Fn([u64; N], &Format, Rounding) -> u64,
) -> u32 {
    let result = directed(aux, &F32, operands.map(u64::from), f) as u32;
    if aux & 8 != 0 {
        saturate(f32::from_bits(result)).to_bits()
    } else {
        result
    }
}

/// One of four versions of an f32 function, by `.ftz` and `.sat`.
macro_rules! by_modifiers {
    ($map:ident, $f:ident, $modifiers:expr) => {
        match ($modifiers.ftz, $modifiers.sat) {
            (false, false) => lane_loop!($map, $f::<false, false>),
            (false, true) => lane_loop!($map, $f::<false, true>),
            (true, false) => lane_loop!($map, $f::<true, false>),
            (true, true) => lane_loop!($map, $f::<true, true>),
        }
    };
}

/// A two-operand operation of [`exact`] with rounding and modifiers in `aux`.
macro_rules! exact2 {
    ($ty:expr, $f:path) => {
        match $ty {
            FloatType::F32 => portable_loop!(map2_aux, |aux, a: u32, b: u32| -> u32 {
                directed32(aux, [a, b], |[a, b], format, mode| $f(a, b, format, mode))
            }),
            FloatType::F64 => portable_loop!(map2_aux, |aux, a: u64, b: u64| -> u64 {
                directed(aux, &F64, [a, b], |[a, b], format, mode| {
                    $f(a, b, format, mode)
                })
            }),
        }
    };
}

pub(super) use {by_modifiers, exact2};

fn add(ty: FloatType, m: &Modifiers) -> Apply {
    match (m.rounding, ty) {
        (Rounding::Nearest, FloatType::F32) => by_modifiers!(map2, add32, m),
        (Rounding::Nearest, FloatType::F64) => {
            lane_loop!(map2, |a: f64, b: f64| finish64([b, a], a + b))
        }
        _ => exact2!(ty, exact::add),
    }
}

fn sub(ty: FloatType, m: &Modifiers) -> Apply {
    match (m.rounding, ty) {
        (Rounding::Nearest, FloatType::F32) => by_modifiers!(map2, sub32, m),
        (Rounding::Nearest, FloatType::F64) => {
            lane_loop!(map2, |a: f64, b: f64| finish64([b, a], a - b))
        }
        _ => exact2!(ty, exact::sub),
    }
}

fn mul(ty: FloatType, m: &Modifiers) -> Apply {
    match (m.rounding, ty) {
        (Rounding::Nearest, FloatType::F32) => by_modifiers!(map2, mul32, m),
        (Rounding::Nearest, FloatType::F64) => {
            lane_loop!(map2, |a: f64, b: f64| finish64([b, a], a * b))
        }
        _ => exact2!(ty, exact::mul),
    }
}

fn fma_directed32(aux: u32, operands: [u32; 3]) -> u32 {
    directed32(aux, operands, |[a, b, c], format, mode| {
        exact::fma(a, b, c, format, mode)
    })
}

/// `a * b + c`, rounded down; `None` for what is zero, not finite or overflows.
fn multiply_add_down([a, b, c]: [f32; 3]) -> Option<f32> {
    // The product is exact, and so is the sum together with its error.
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    let added = sum - product;
    let error = (product - (sum - added)) + (c - added);
    if sum == 0.0 || sum.is_nan() || sum.abs() >= f64::from(f32::MAX) {
        return None;
    }
    let nearest = sum as f32;
    let wide = f64::from(nearest);
    let is_above = wide > sum || wide == sum && error < 0.0;
    Some(if is_above {
        nearest.next_down()
    } else {
        nearest
    })
}

fn multiply_add(ty: FloatType, m: &Modifiers) -> Apply {
    match (m.rounding, ty) {
        (Rounding::Nearest, FloatType::F32) => by_modifiers!(map3, fma32, m),
        (Rounding::Nearest, FloatType::F64) => {
            lane_loop!(map3, |a: f64, b: f64, c: f64| finish64(
                [b, c, a],
                a.mul_add(b, c)
            ))
        }
        // `exp` begins with it.
        (Rounding::Down, FloatType::F32) if !m.ftz && !m.sat => {
            portable_loop!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
                match multiply_add_down([a, b, c].map(f32::from_bits)) {
                    Some(result) => result.to_bits(),
                    None => fma_directed32(aux, [a, b, c]),
                }
            })
        }
        (_, FloatType::F32) => portable_loop!(map3_aux, |aux, a: u32, b: u32, c: u32| -> u32 {
            fma_directed32(aux, [a, b, c])
        }),
        (_, FloatType::F64) => portable_loop!(map3_aux, |aux, a: u64, b: u64, c: u64| -> u64 {
            directed(aux, &F64, [a, b, c], |[x, y, z], format, mode| {
                exact::fma(x, y, z, format, mode)
            })
        }),
    }
}

/// `neg`: flips the sign. PTX leaves the bits of a NaN open; `ptxas` makes an addition of it, which
/// gives the one NaN of f32 results, and passes a NaN of f64 on with its sign, quieted.
fn neg(ty: FloatType, ftz: bool) -> Apply {
    match (ty, ftz) {
        (FloatType::F32, false) => lane_loop!(map1, |a: f32| finish::<false, false>(-a)),
        (FloatType::F32, true) => lane_loop!(map1, |a: f32| finish::<true, false>(-a)),
        (FloatType::F64, _) => lane_loop!(map1, |a: u64| quieted_or(a, a ^ (1 << 63))),
    }
}

/// `abs`: clears the sign; a NaN becomes as in [`neg`].
fn abs(ty: FloatType, ftz: bool) -> Apply {
    match (ty, ftz) {
        (FloatType::F32, false) => lane_loop!(map1, |a: f32| finish::<false, false>(a.abs())),
        (FloatType::F32, true) => lane_loop!(map1, |a: f32| finish::<true, false>(a.abs())),
        (FloatType::F64, _) => lane_loop!(map1, |a: u64| quieted_or(a, a & (u64::MAX >> 1))),
    }
}

/// A NaN of f64, quieted, or the result for a number.
#[inline(always)]
fn quieted_or(a: u64, of_number: u64) -> u64 {
    if is_nan64(a) {
        a | QUIET_F64
    } else {
        of_number
    }
}

/// `min` (or `max`) of bit patterns: the other operand if one is NaN, or if `nan` what `$nan` makes
/// of the NaN; -0 is below +0.
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

/// Handles `.ftz` and `.xorsign.abs` around [`min32`] or [`max32`]. `aux`: bit 0: `.NaN`; bit 2:
/// `.ftz`; bit 4: `.xorsign.abs`.
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
            (FloatType::F32, 0) => lane_loop!(map2, |a: f32, b: f32| $f32(false, a, b)),
            (FloatType::F32, _) => portable_loop!(map2_aux, |aux, a: f32, b: f32| -> u32 {
                extremum_modified(aux, a, b, $f32)
            }),
            (FloatType::F64, _) => {
                lane_loop!(map2_aux, |aux, a: f64, b: f64| $f64(aux & 1 != 0, a, b))
            }
        }
    };
}

fn min(ty: FloatType, aux: u32) -> Apply {
    choose_extremum!(ty, aux, min32, min64)
}

fn max(ty: FloatType, aux: u32) -> Apply {
    choose_extremum!(ty, aux, max32, max64)
}

/// `atom.add.f32` in global memory flushes subnormals, elsewhere it does not.
pub(super) fn atomic_add32(ftz: bool, a: f32, b: f32) -> u32 {
    if ftz {
        add32::<true, false>(a, b)
    } else {
        add32::<false, false>(a, b)
    }
}

/// `atom.add.f64`. In global memory, which adds by itself, the operand's NaN counts before the old
/// value's and passes through as it is. In shared memory the addition is an instruction's, in a
/// loop around a compare-and-swap.
pub(super) fn atomic_add64(in_global: bool, old: f64, b: f64) -> u64 {
    let bits = finish64([old, b], old + b);
    match [b, old]
        .map(f64::to_bits)
        .into_iter()
        .find(|&x| is_nan64(x))
    {
        Some(nan) if in_global => nan,
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// On every host: of a signalling NaN too.
    #[test]
    fn saturation_goes_by_bits() {
        for nan in [
            0x7f80_0001,
            0x7fc0_0000,
            0x7fff_ffff,
            0xff80_0001,
            0xffff_ffff,
        ] {
            assert_eq!(saturate(f32::from_bits(nan)).to_bits(), 0, "{nan:#x}");
        }
        for (x, expected) in [
            (-0.0, 0.0f32),
            (-1.0, 0.0),
            (f32::NEG_INFINITY, 0.0),
            (1e-45, 1e-45),
            (0.5, 0.5),
            (1.0, 1.0),
            (1.5, 1.0),
            (f32::INFINITY, 1.0),
        ] {
            assert_eq!(saturate(x).to_bits(), expected.to_bits(), "{x}");
        }
    }

    proptest! {
        #[test]
        fn a_sum_rounded_down_is_the_exact_one(
            a in any::<u32>(), b in any::<u32>(), c in any::<u32>(), kind in 0..4, away in 0u32..4,
        ) {
            let product = f32::from_bits(a) * f32::from_bits(b);
            let c = match kind {
                0 => c,
                // The product nearly cancels, or is far below.
                1 => (-product).to_bits().wrapping_add(away),
                2 => (product * 1e9).to_bits(),
                _ => (product / 1e9).to_bits(),
            };
            let result = multiply_add_down([a, b, c].map(f32::from_bits));
            let [wide_a, wide_b, wide_c] = [a, b, c].map(u64::from);
            let exact = exact::fma(wide_a, wide_b, wide_c, &F32, Rounding::Down) as u32;
            if let Some(result) = result {
                prop_assert_eq!(result.to_bits(), exact, "{:x} * {:x} + {:x}", a, b, c);
            }
        }
    }
}
