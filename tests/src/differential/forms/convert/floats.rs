//! Between floating-point types.

use std::cmp::Ordering;

use crate::differential::exact::Mode;
use crate::differential::{Class, Form, Operand};

use super::super::float::flush;
use super::types::Type::{self, *};
use super::types::{INTEGRAL, MODIFIERS, form, integral, nan, saturated};

/// The directions that a conversion may be written with; `None`: without one.
pub(super) fn directions(dst: Type, src: Type) -> Vec<Option<Mode>> {
    let written = Mode::ALL.map(Some);
    match (dst.bits().cmp(&src.bits()), dst == src, src) {
        (Ordering::Less, ..) => written.to_vec(),
        // Between `f16` and `bf16`, and from `bf16` to what holds it exactly, either way of writing is accepted.
        (Ordering::Equal, false, _) | (Ordering::Greater, _, Bf16) => {
            [[None].as_slice(), &written].concat()
        }
        _ => vec![None],
    }
}

pub(super) fn between_floats(dst: Type, src: Type) -> Vec<Form> {
    let (d, s) = (dst.name(), src.name());
    let mut all = Vec::new();
    for direction in directions(dst, src) {
        for (ftz, sat, modifiers) in MODIFIERS {
            let has = |ty| dst == ty || src == ty;
            if ftz && !has(F32) || sat && has(Bf16) {
                continue;
            }
            let m = direction.map_or(String::new(), |mode| format!(".{}", mode.name()));
            let mode = direction.unwrap_or(Mode::Nearest);
            // Without a modifier, a float of 32 or 64 bits is moved, NaN or not.
            let moves = dst == src && dst.bits() > 16 && modifiers.is_empty();
            all.push(form(
                format!("cvt{m}{modifiers}.{d}.{s}"),
                dst,
                src,
                move |a| {
                    // An f16 is never so small; it is made of the subnormal number, as on an H100.
                    let a = match ftz && src == F32 && dst != F16 {
                        true => flush(a),
                        false => a,
                    };
                    let result = match (dst, src) {
                        _ if moves => a,
                        (F32, Bf16) if !ftz => a << 16,
                        (F64, F32) if ftz && F32.widen(a).is_nan() => widened(F32, nan(F32)),
                        (F16 | Bf16 | F32, F64) if F64.widen(a).is_nan() => narrowed(dst, a),
                        (F64, F64) => a,
                        (F64, F16 | Bf16 | F32) => widened(src, a),
                        _ if src.widen(a).is_nan() => nan(dst),
                        (F32, F64) if ftz => flushing(f64::from_bits(a), mode),
                        _ => dst.round(src.widen(a), mode),
                    };
                    let result = if ftz && dst == F32 {
                        flush(result)
                    } else {
                        result
                    };
                    if sat { saturated(dst, result) } else { result }
                },
            ));
        }
    }
    if dst == src {
        all.extend(to_integral_values(dst));
    }
    if src == F32 && matches!(dst, F16 | Bf16) {
        for mode in [Mode::Nearest, Mode::Zero] {
            let name = format!("cvt.{}.relu.{d}.f32", mode.name());
            all.push(form(name, dst, src, move |a| relu(dst, a, mode)));
        }
    }
    all
}

/// A float as an f64: a NaN keeps sign and payload and becomes quiet.
pub(super) fn widened(src: Type, a: u64) -> u64 {
    let x = src.widen(a);
    if !x.is_nan() {
        return x.to_bits();
    }
    let fraction_bits = match src {
        F16 => 10,
        Bf16 => 7,
        _ => 23,
    };
    let payload = a & ((1 << fraction_bits) - 1);
    let sign = a >> (src.bits() - 1) << 63;
    sign | 0x7ff8 << 48 | payload << (52 - fraction_bits)
}

/// A double as single precision with `.ftz`: subnormal is what is so when rounded with smaller exponents than f32 has.
fn flushing(x: f64, mode: Mode) -> u64 {
    let larger = F32.widen(F32.round(x * 2f64.powi(32), mode)).abs();
    match larger < 2f64.powi(32 - 126) {
        true => x.to_bits() >> 63 << 31,
        false => F32.round(x, mode),
    }
}

/// A NaN of an f64 as one of a narrower type, as an H100 makes it: the sign, and the first bits of the payload, quiet.
fn narrowed(dst: Type, a: u64) -> u64 {
    // Sign, exponent and fraction of the narrow type are the first bits of each field of the wide one.
    let (exponent, fraction) = match dst {
        F16 => (5, 10),
        Bf16 => (8, 7),
        _ => (8, 23),
    };
    let head = (a >> 63 << exponent | ((1 << exponent) - 1)) << fraction;
    head | 1 << (fraction - 1) | a << 12 >> (64 - fraction)
}

pub(super) fn relu(dst: Type, a: u64, mode: Mode) -> u64 {
    let x = F32.widen(a);
    match x {
        x if x.is_nan() => nan(dst),
        x if x.is_sign_negative() => 0,
        x => dst.round(x, mode),
    }
}

/// `cvt.rni.f32.f32` and so on.
pub(super) fn to_integral_values(ty: Type) -> Vec<Form> {
    let mut all = Vec::new();
    let name = ty.name();
    for (mode, m) in INTEGRAL {
        for (ftz, sat, modifiers) in MODIFIERS {
            if ftz && ty != F32 || sat && ty == Bf16 {
                continue;
            }
            all.push(form(
                format!("cvt.{m}{modifiers}.{name}.{name}"),
                ty,
                ty,
                move |a| {
                    let a = if ftz { flush(a) } else { a };
                    let x = ty.widen(a);
                    let result = match (ty, x.is_nan()) {
                        (F64, true) => a | 1 << 51,
                        (_, true) => nan(ty),
                        _ => ty.round(integral(x, mode), Mode::Nearest),
                    };
                    if sat { saturated(ty, result) } else { result }
                },
            ));
        }
    }
    all
}

/// Two floats to a pair of 16 bits, the first one above.
pub(super) fn pairs() -> Vec<Form> {
    let mut all = Vec::new();
    for ty in [F16, Bf16] {
        for mode in [Mode::Nearest, Mode::Zero] {
            for has_relu in [false, true] {
                let r = if has_relu { ".relu" } else { "" };
                let name = format!("cvt.{}{r}.{}x2.f32", mode.name(), ty.name());
                let one = move |a| match has_relu {
                    true => relu(ty, a, mode),
                    false => ty.round(F32.widen(a), mode),
                };
                let sources = [Operand::F32, Operand::F32];
                all.push(Form::simple(
                    "convert",
                    name,
                    sources,
                    Class::B32,
                    move |[a, b]| one(a) << 16 | one(b),
                ));
            }
        }
    }
    all
}
