//! Division, roots and the functions that PTX has as approximations only: `div`, `sqrt`, `rcp`,
//! `rsqrt`, `ex2`, `lg2`, `sin`, `cos`, `tanh`.
//!
//! `.approx` and `.full` forms are evaluated in f64 and rounded once, so they are at least as close
//! to the true value as the PTX ISA asks of the hardware: `div.approx.f32` 2 ulp for `|b|` in
//! [2^-126, 2^126] (0 beyond, for finite `a`), `div.full.f32` 2 ulp, `rcp.approx.f32` 1 ulp,
//! `sqrt.approx.f32` 2^-23 relative, `rsqrt.approx.f32` 2^-22.9 relative, `ex2.approx.f32` 2 ulp,
//! `lg2.approx.f32` 2^-22 relative (absolute in (0.5, 2)), `sin`/`cos.approx.f32` 2^-20.5 absolute
//! in [-pi, pi], `tanh.approx.f32` 2^-11 relative, `rcp`/`rsqrt.approx.ftz.f64` 20 bits. Results
//! therefore differ from a GPU's by up to these bounds; [`inexact`](super::inexact) adds errors
//! within them.

use ptx::ScalarType;

use super::float::{
    Modifiers, SMALLEST_NORMAL, by_modifiers, directed, directed32, exact2, finish, finish64,
    flush, flush_if, zero_if,
};
use super::inexact::{Error, Inexact};
use crate::exact::{self, F64, Rounding};
use crate::read::{FloatType, Read, Reader};
use crate::registers::{
    Apply, Operands, Registers, lane_loop, map1, map1_aux, map2, map2_aux, portable_loop,
};
use crate::runner::Op;

/// How `div`, `sqrt`, `rcp` are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    /// Correctly rounded.
    Ieee(Rounding),
    /// `.full` (only `div.f32`): at most 2 ulp.
    Full,
    Approx,
}

impl Precision {
    /// Takes it.
    fn read(r: &mut Reader) -> Read<Precision> {
        if let Some(rounding) = r.rounding() {
            return Ok(Precision::Ieee(rounding));
        }
        let choices = [("approx", Precision::Approx), ("full", Precision::Full)];
        r.need("rounding, `.approx` or `.full`", &choices)
    }

    /// The modifiers of the arithmetic. Approximations round to nearest.
    fn modifiers(self, ftz: bool) -> Modifiers {
        let rounding = match self {
            Precision::Ieee(rounding) => rounding,
            Precision::Full | Precision::Approx => Rounding::Nearest,
        };
        let sat = false;
        Modifiers { rounding, ftz, sat }
    }
}

/// `div` of floats.
pub(super) fn div(r: &mut Reader, ty: FloatType) -> Read<Op> {
    let precision = Precision::read(r)?;
    let m = precision.modifiers(r.ftz(ty));
    if ty == FloatType::F64 && !matches!(precision, Precision::Ieee(_)) {
        return Err(r.unsupported("approximate `.f64`"));
    }
    let apply = quotient(ty, precision, &m);
    let op = r.lanes((apply, m.aux()), ty.scalar(), [ty.scalar(); 2])?;
    match precision {
        Precision::Ieee(_) => Ok(op),
        // A huge divisor gives 0, which stays.
        Precision::Full | Precision::Approx => Inexact::op(op, ty, |a, b| a / b, Error::Ulps(2)),
    }
}

/// `sqrt`, `rcp`.
pub(super) fn root_or_reciprocal(r: &mut Reader) -> Read<Op> {
    let ty = r.float_type()?;
    let precision = Precision::read(r)?;
    // The only approximate form of double precision is `rcp.approx.ftz.f64`.
    let ftz = match (ty, precision) {
        (FloatType::F64, Precision::Approx) if r.opcode == "rcp" && r.has("ftz") => true,
        (FloatType::F64, Precision::Approx) => return Err(r.unsupported("approximate `.f64`")),
        _ => r.ftz(ty),
    };
    if precision == Precision::Full {
        return Err(r.unsupported("modifier `.full`"));
    }
    let m = precision.modifiers(ftz);
    let opcode = r.opcode;
    let apply = match opcode {
        "sqrt" => sqrt(ty, &m),
        _ => rcp(ty, precision, &m),
    };
    let op = r.lanes((apply, m.aux()), ty.scalar(), [ty.scalar()])?;
    match (precision, ty, opcode) {
        (Precision::Ieee(_), ..) => Ok(op),
        (_, FloatType::F64, _) => Inexact::op(op, ty, |a, _| 1.0 / a, HIGH_WORD),
        (_, _, "sqrt") => Inexact::op(op, ty, |a, _| a.sqrt(), Error::Ulps(1)),
        _ => Inexact::op(op, ty, |a, _| 1.0 / a, Error::Ulps(1)),
    }
}

/// `rsqrt`, `ex2`, `lg2`, `sin`, `cos`, `tanh`, all `.approx`.
pub(super) fn elementary(r: &mut Reader) -> Read<Op> {
    if !r.has("approx") {
        return Err(r.missing("`.approx`"));
    }
    let ty = r.float_type()?;
    if ty == FloatType::F64 && r.opcode != "rsqrt" {
        return Err(r.unsupported_type(ScalarType::F64));
    }
    let ftz = r.opcode != "tanh" && r.has("ftz");
    macro_rules! approximation {
        ($f:expr) => {
            portable_loop!(map1_aux, |aux, a: f32| -> u32 { approximate(aux, a, $f) })
        };
    }
    let apply = match (r.opcode, ty) {
        ("rsqrt", FloatType::F64) => portable_loop!(map1_aux, |aux, a: f64| -> u64 {
            let a = if aux & 4 != 0 {
                f64::from_bits(F64.flush(a.to_bits()))
            } else {
                a
            };
            finish64([a], 1.0 / a.sqrt())
        }),
        ("rsqrt", _) => approximation!(|x: f64| 1.0 / x.sqrt()),
        ("ex2", _) => approximation!(libm::exp2),
        ("lg2", _) => approximation!(libm::log2),
        ("sin", _) => approximation!(libm::sin),
        ("cos", _) => approximation!(libm::cos),
        _ => approximation!(libm::tanh),
    };
    let m = Precision::Approx.modifiers(ftz);
    let opcode = r.opcode;
    let op = r.lanes((apply, m.aux()), ty.scalar(), [ty.scalar()])?;
    let (value, error): (fn(f64, f64) -> f64, Error) = match (opcode, ty) {
        ("rsqrt", FloatType::F64) => (|a, _| 1.0 / a.sqrt(), HIGH_WORD),
        ("rsqrt", _) => (|a, _| 1.0 / a.sqrt(), Error::Ulps(1)),
        ("ex2", _) => (|a, _| libm::exp2(a), Error::Ulps(2)),
        ("lg2", _) => (
            |a, _| libm::log2(a),
            Error::Either(1.0 / f64::from(1 << 22)),
        ),
        ("sin", _) => (|a, _| libm::sin(a), TRIGONOMETRIC),
        ("cos", _) => (|a, _| libm::cos(a), TRIGONOMETRIC),
        _ => (|a, _| libm::tanh(a), Error::Relative(1.0 / 2048.0)),
    };
    Inexact::op(op, ty, value, error)
}

/// The error of approximations whose results have 20 bits.
const HIGH_WORD: Error = Error::Relative(1.0 / (1 << 20) as f64);
/// The error of sine and cosine in [-pi, pi]: 2^-20.5, rounded down.
const TRIGONOMETRIC: Error = Error::Absolute(0.7 / (1 << 20) as f64);

#[inline(always)]
fn div32<const FTZ: bool, const SAT: bool>(a: f32, b: f32) -> u32 {
    let (a, b) = (flush_if::<FTZ>(a), flush_if::<FTZ>(b));
    // A quotient below the smallest normal number is so by at least 2^-24 of it, and stays so when
    // rounded. A divisor times a power of two is exact in f64.
    let tiny = FTZ && f64::from(a).abs() < f64::from(b).abs() * SMALLEST_NORMAL;
    finish::<FTZ, SAT>(zero_if(tiny, a / b))
}

#[inline(always)]
fn sqrt32<const FTZ: bool, const SAT: bool>(a: f32) -> u32 {
    finish::<FTZ, SAT>(flush_if::<FTZ>(a).sqrt())
}

#[inline(always)]
fn rcp32<const FTZ: bool, const SAT: bool>(a: f32) -> u32 {
    finish::<FTZ, SAT>(1.0 / flush_if::<FTZ>(a))
}

/// `div.approx.f32`: a divisor above 2^126 gives 0, or NaN for an infinite dividend.
#[inline(always)]
fn div_approx32<const FTZ: bool, const SAT: bool>(a: f32, b: f32) -> u32 {
    let (a, b) = (flush_if::<FTZ>(a), flush_if::<FTZ>(b));
    let huge = b.abs() > f32::from_bits(0x7e80_0000) && b.is_finite();
    let quotient = if huge { a * 0f32.copysign(b) } else { a / b };
    finish::<FTZ, SAT>(quotient)
}

fn quotient(ty: FloatType, precision: Precision, m: &Modifiers) -> Apply {
    match (precision, ty) {
        (Precision::Approx, FloatType::F32) => by_modifiers!(map2, div_approx32, m),
        (Precision::Full | Precision::Ieee(Rounding::Nearest), FloatType::F32) => {
            by_modifiers!(map2, div32, m)
        }
        (
            Precision::Approx | Precision::Full | Precision::Ieee(Rounding::Nearest),
            FloatType::F64,
        ) => {
            lane_loop!(map2, |a: f64, b: f64| finish64([a, b], a / b))
        }
        (Precision::Ieee(_), _) => exact2!(ty, exact::div),
    }
}

fn sqrt(ty: FloatType, m: &Modifiers) -> Apply {
    match (m.rounding, ty) {
        (Rounding::Nearest, FloatType::F32) => by_modifiers!(map1, sqrt32, m),
        (Rounding::Nearest, FloatType::F64) => lane_loop!(map1, |a: f64| finish64([a], a.sqrt())),
        (_, FloatType::F32) => portable_loop!(map1_aux, |aux, a: u32| -> u32 {
            directed32(aux, [a], |[bits], format, mode| {
                exact::sqrt(bits, format, mode)
            })
        }),
        (_, FloatType::F64) => portable_loop!(map1_aux, |aux, a: u64| -> u64 {
            directed(aux, &F64, [a], |[bits], format, mode| {
                exact::sqrt(bits, format, mode)
            })
        }),
    }
}

/// An operand or result of `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: the high word alone,
/// subnormals flushed.
fn high_word(x: f64) -> f64 {
    f64::from_bits(F64.flush(x.to_bits()) & 0xffff_ffff_0000_0000)
}

fn rcp(ty: FloatType, precision: Precision, m: &Modifiers) -> Apply {
    match (precision, ty) {
        (
            Precision::Approx | Precision::Full | Precision::Ieee(Rounding::Nearest),
            FloatType::F32,
        ) => {
            by_modifiers!(map1, rcp32, m)
        }
        (Precision::Ieee(Rounding::Nearest), FloatType::F64) => {
            lane_loop!(map1, |a: f64| finish64([a], 1.0 / a))
        }
        (Precision::Approx | Precision::Full, FloatType::F64) => {
            portable_loop!(map1, |a: f64| -> u64 {
                let a = high_word(a);
                finish64([a], high_word(1.0 / a))
            })
        }
        (Precision::Ieee(_), FloatType::F32) => portable_loop!(map1_aux, |aux, a: u32| -> u32 {
            let one = u64::from(1f32.to_bits());
            directed32(aux, [a], |[bits], format, mode| {
                exact::div(one, bits, format, mode)
            })
        }),
        (Precision::Ieee(_), FloatType::F64) => portable_loop!(map1_aux, |aux, a: u64| -> u64 {
            let one = 1f64.to_bits();
            directed(aux, &F64, [a], |[bits], format, mode| {
                exact::div(one, bits, format, mode)
            })
        }),
    }
}

/// Evaluates an approximation in f64; `aux` bit 2 is `.ftz`.
fn approximate(aux: u32, a: f32, f: impl Fn(f64) -> f64) -> u32 {
    let ftz = aux & 4 != 0;
    let a = if ftz { flush(a) } else { a };
    let result = f(f64::from(a)) as f32;
    if ftz {
        finish::<true, false>(result)
    } else {
        finish::<false, false>(result)
    }
}
