//! Floating-point arithmetic that the ISA defines to the last bit.

use crate::differential::exact::{self, Float, Mode};
use crate::differential::{Class, Form, Operand};

use super::{MODIFIERS, flush};

const SIGN: u64 = 0x8000_0000;

/// `.sat` on a single-precision value.
fn saturate(bits: u64) -> u64 {
    let x = f32::from_bits(bits as u32);
    match x {
        _ if x.is_nan() || x <= 0.0 => 0,
        _ if x >= 1.0 => 1f32.to_bits().into(),
        _ => bits,
    }
}

/// `f` on single-precision operands with `.ftz` and `.sat` applied around it.
fn modified<const N: usize>(
    name: impl Into<String>,
    (ftz, sat): (bool, bool),
    f: impl Fn([f32; N]) -> u64 + Send + Sync + 'static,
) -> Form {
    Form::simple(name, [(); N].map(|()| Operand::F32), move |operands| {
        let flushed = |x| if ftz { flush(x) } else { x };
        let result = flushed(f(operands.map(|x| f32::from_raw(flushed(x)))));
        if sat { saturate(result) } else { result }
    })
}

fn single<const N: usize>(
    name: impl Into<String>,
    f: impl Fn([f32; N]) -> u64 + Send + Sync + 'static,
) -> Form {
    modified(name, (false, false), f)
}

fn double<const N: usize>(
    name: impl Into<String>,
    f: impl Fn([f64; N]) -> u64 + Send + Sync + 'static,
) -> Form {
    let sources = [(); N].map(|()| Operand::F64);
    Form::simple(name, sources, move |x| f(x.map(f64::from_bits)))
}

/// `f` in direction `mode`. `.ftz` depends on the result rounded as if exponents had no limit, as
/// on an H100. A result that reaches the smallest normal number only for lack of smaller exponents
/// becomes 0. `scaled` operands are larger by a power of two: so is the result, which is rounded
/// with all its bits.
fn rounded<const N: usize>(
    mode: Mode,
    ftz: bool,
    scaled: [bool; N],
    f: impl Fn([f32; N], Mode) -> u64 + Send + Sync + 'static,
) -> impl Fn([f32; N]) -> u64 + Send + Sync + 'static {
    const SCALE: f32 = (1u64 << 32) as f32;
    move |operands| {
        let result = f(operands, mode);
        let value = |bits: u64| f32::from_bits(bits as u32).abs();
        if !ftz || value(result) != f32::MIN_POSITIVE {
            return result;
        }
        let larger = std::array::from_fn(|i| {
            if scaled[i] {
                operands[i] * SCALE
            } else {
                operands[i]
            }
        });
        if value(f(larger, mode)) < f32::MIN_POSITIVE * SCALE {
            result & SIGN
        } else {
            result
        }
    }
}

fn subtract<F: Float>(a: F, b: F, mode: Mode) -> u64 {
    // A NaN is passed on unchanged, not negated.
    if b.wide().is_nan() {
        exact::add(a, b, mode)
    } else {
        exact::add(a, b.negate(), mode)
    }
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for mode in Mode::ALL {
        for (ftz, sat, modifiers) in MODIFIERS {
            let suffix = format!(".{}{modifiers}.f32", mode.name());
            all.extend(sums_and_products(mode, ftz, sat, &suffix));
            all.extend(fused_and_quotients(mode, ftz, sat, &suffix));
            if mode == Mode::Nearest {
                all.extend(sums_and_products(
                    mode,
                    ftz,
                    sat,
                    &format!("{modifiers}.f32"),
                ));
            }
        }
        all.extend(doubles(mode));
    }
    let two = |name: &str, f: fn(f64, f64, Mode) -> u64| {
        double(name, move |[a, b]| f(a, b, Mode::Nearest))
    };
    all.extend([
        single("mad.rn.f32", |[a, b, c]| exact::fma(a, b, c, Mode::Nearest)),
        double("mad.rz.f64", |[a, b, c]| exact::fma(a, b, c, Mode::Zero)),
        two("add.f64", exact::add),
        two("sub.f64", subtract),
        two("mul.f64", exact::mul),
    ]);
    all.extend(signs());
    all.extend(extrema());
    all.extend(properties());
    all
}

fn sums_and_products(mode: Mode, ftz: bool, sat: bool, suffix: &str) -> [Form; 3] {
    let two = |op: &str, scaled, f: fn(f32, f32, Mode) -> u64| {
        let f = rounded(mode, ftz, scaled, move |[a, b], way| f(a, b, way));
        modified(format!("{op}{suffix}"), (ftz, sat), f)
    };
    [
        two("add", [true, true], exact::add),
        two("sub", [true, true], subtract),
        two("mul", [true, false], exact::mul),
    ]
}

/// `fma`; and `div`, `sqrt` and `rcp`, which have no `.sat`.
fn fused_and_quotients(mode: Mode, ftz: bool, sat: bool, suffix: &str) -> Vec<Form> {
    let quotient = || {
        rounded(mode, ftz, [true, false], |[a, b], way| {
            exact::div(a, b, way)
        })
    };
    let reciprocal = quotient();
    let fused = rounded(mode, ftz, [true, false, true], |[a, b, c], way| {
        exact::fma(a, b, c, way)
    });
    let mut all = vec![modified(format!("fma{suffix}"), (ftz, sat), fused)];
    if !sat {
        all.extend([
            modified(format!("div{suffix}"), (ftz, sat), quotient()),
            modified(format!("sqrt{suffix}"), (ftz, sat), move |[a]| {
                exact::sqrt(a, mode)
            }),
            modified(format!("rcp{suffix}"), (ftz, sat), move |[a]| {
                reciprocal([1.0, a])
            }),
        ]);
    }
    all
}

fn doubles(mode: Mode) -> [Form; 7] {
    let name = |op: &str| format!("{op}.{}.f64", mode.name());
    let two = |op, f: fn(f64, f64, Mode) -> u64| double(name(op), move |[a, b]| f(a, b, mode));
    [
        two("add", exact::add),
        two("sub", subtract),
        two("mul", exact::mul),
        two("div", exact::div),
        double(name("fma"), move |[a, b, c]| exact::fma(a, b, c, mode)),
        double(name("sqrt"), move |[a]| exact::sqrt(a, mode)),
        double(name("rcp"), move |[a]| exact::div(1.0, a, mode)),
    ]
}

/// `neg`, `abs`, `copysign`: operations on the sign bit.
fn signs() -> Vec<Form> {
    const TOP: u64 = 1 << 63;
    // NVIDIA's assembler turns these into an addition, which passes a NaN on, quieted, with its
    // sign; the ISA leaves its bits open. In single precision the addition gives the one NaN.
    let of_double = |name: &str, f: fn(u64) -> u64| {
        double(name, move |[a]| {
            if a.is_nan() {
                f64::nan_of(&[a])
            } else {
                f(a.to_bits())
            }
        })
    };
    let of_single = |name: &str, ftz: bool, f: fn(u64) -> u64| {
        single(name, move |[a]| {
            if a.is_nan() {
                f32::NAN_BITS
            } else {
                f(if ftz { flush(a.raw()) } else { a.raw() })
            }
        })
    };
    let [f32s, f64s] = [Operand::F32, Operand::F64].map(|operand| [operand.clone(), operand]);
    vec![
        of_double("neg.f64", |a| a ^ TOP),
        of_double("abs.f64", |a| a & !TOP),
        of_single("neg.f32", false, |a| a ^ SIGN),
        of_single("abs.f32", false, |a| a & !SIGN),
        of_single("neg.ftz.f32", true, |a| a ^ SIGN),
        of_single("abs.ftz.f32", true, |a| a & !SIGN),
        Form::simple("copysign.f32", f32s, |[a, b]| a & SIGN | b & !SIGN),
        Form::simple("copysign.f64", f64s, |[a, b]| a & TOP | b & !TOP),
    ]
}

/// The order of `min` and `max`: -0 below +0.
fn order(x: f64) -> i64 {
    let bits = x.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The operand that `min` or `max` gives: beside a NaN the number, and of two NaNs the second, as
/// on an H100.
fn extremum<F: Float>(a: F, b: F, is_min: bool) -> F {
    match (a.wide().is_nan(), b.wide().is_nan()) {
        (true, _) => b,
        (false, true) => a,
        _ if (order(a.wide()) <= order(b.wide())) == is_min => a,
        _ => b,
    }
}

fn extrema() -> Vec<Form> {
    let mut all = Vec::new();
    for (op, is_min) in [("min", true), ("max", false)] {
        for (ftz, f) in [(false, ""), (true, ".ftz")] {
            for (passes_nan, n) in [(false, ""), (true, ".NaN")] {
                for (xorsign, x) in [(false, ""), (true, ".xorsign.abs")] {
                    let name = format!("{op}{f}{n}{x}.f32");
                    all.push(modified(name, (ftz, false), move |[a, b]: [f32; 2]| {
                        let sign = if xorsign {
                            (a.raw() ^ b.raw()) & SIGN
                        } else {
                            0
                        };
                        let (a, b) = if xorsign { (a.abs(), b.abs()) } else { (a, b) };
                        let result = extremum(a, b, is_min);
                        if result.is_nan() || passes_nan && (a.is_nan() || b.is_nan()) {
                            f32::NAN_BITS
                        } else {
                            result.raw() | sign
                        }
                    }));
                }
            }
        }
        all.push(double(format!("{op}.f64"), move |[a, b]| {
            match extremum(a, b, is_min) {
                nan if nan.is_nan() => f64::nan_of(&[nan]),
                number => number.to_bits(),
            }
        }));
    }
    all
}

/// `testp`.
fn properties() -> Vec<Form> {
    /// A property of a value; the flag says whether it is subnormal in its own type.
    type Property = fn(f64, bool) -> bool;
    let properties: [(&str, Property); 6] = [
        ("finite", |x, _| x.is_finite()),
        ("infinite", |x, _| x.is_infinite()),
        ("number", |x, _| !x.is_nan()),
        ("notanumber", |x, _| x.is_nan()),
        // The ISA counts zeros as normal.
        ("normal", |x, subnormal| x.is_finite() && !subnormal),
        ("subnormal", |_, subnormal| subnormal),
    ];
    let forms = |(property, f): (&str, Property)| {
        let name = |ty: &str| format!("testp.{property}.{ty}");
        [
            single(name("f32"), move |[a]| f(a.into(), a.is_subnormal()).into()),
            double(name("f64"), move |[a]| f(a, a.is_subnormal()).into()),
        ]
        .map(|form| form.to(Class::Pred))
    };
    properties.into_iter().flat_map(forms).collect()
}
