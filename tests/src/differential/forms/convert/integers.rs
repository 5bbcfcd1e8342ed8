//! To and from integers.

use crate::differential::Form;
use crate::differential::exact::{self, Mode};

use super::super::float::flush;
use super::types::Type::{self, *};
use super::types::{INTEGRAL, MODIFIERS, form, integral, saturated};

pub(super) fn between_integers(dst: Type, src: Type) -> Vec<Form> {
    let (d, s) = (dst.name(), src.name());
    let mut all = vec![form(format!("cvt.{d}.{s}"), dst, src, move |a| {
        dst.integer(src.integer(a) as u64) as u64
    })];
    let ((low, high), (smallest, largest)) = (dst.limits(), src.limits());
    // `.sat` is only for conversions that can exceed the destination's range.
    if smallest < low || largest > high {
        all.push(form(format!("cvt.sat.{d}.{s}"), dst, src, move |a| {
            src.integer(a).clamp(low, high) as u64
        }));
    }
    all
}

/// `bf16` is converted to and from anything but bytes.
pub(super) fn has_no_conversion(one: Type, other: Type) -> bool {
    one == Bf16 && other.bits() == 8
}

pub(super) fn to_float(dst: Type, src: Type) -> Vec<Form> {
    let mut all = Vec::new();
    if has_no_conversion(dst, src) {
        return all;
    }
    for mode in Mode::ALL {
        for (ftz, sat, modifiers) in MODIFIERS {
            // No integer becomes a subnormal, but `.ftz` may be written.
            if ftz && dst != F32 || sat && dst == Bf16 {
                continue;
            }
            let name = format!(
                "cvt.{}{modifiers}.{}.{}",
                mode.name(),
                dst.name(),
                src.name()
            );
            all.push(form(name, dst, src, move |a| {
                let x = src.integer(a);
                let result = match dst {
                    F64 => exact::from_integer(x, mode),
                    _ => dst.round(exact::sticky(x), mode),
                };
                if sat { saturated(dst, result) } else { result }
            }));
        }
    }
    all
}

pub(super) fn to_integer(dst: Type, src: Type) -> Vec<Form> {
    let mut all = Vec::new();
    if has_no_conversion(src, dst) {
        return all;
    }
    for (mode, m) in INTEGRAL {
        for (ftz, sat, modifiers) in MODIFIERS {
            // The result is clamped in any case, but `.sat` may be written.
            if ftz && src != F32 || sat && src == Bf16 {
                continue;
            }
            let name = format!("cvt.{m}{modifiers}.{}.{}", dst.name(), src.name());
            all.push(form(name, dst, src, move |a| {
                let a = if ftz { flush(a) } else { a };
                let (low, high) = dst.limits();
                match integral(src.widen(a), mode) {
                    // NaN: 0, or the top bit alone where either has 64 bits.
                    x if x.is_nan() => match src == F64 || dst.bits() == 64 {
                        true => dst.integer(1 << (dst.bits() - 1)) as u64,
                        false => 0,
                    },
                    x => (x as i128).clamp(low, high) as u64,
                }
            }));
        }
    }
    all
}
