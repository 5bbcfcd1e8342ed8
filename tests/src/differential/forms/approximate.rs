//! `.approx` and `.full`: within the tolerance that the emulated device's documentation states
//! (`ptx_emu`'s `ops::float`, after the PTX ISA), against an evaluation in double precision.

use std::f64::consts::PI;

use crate::differential::{Bound, Class, Form, Operand, Target};

use super::flush;
use super::half::Format;

const INFINITY: u64 = 0x7f80_0000;
const SIGN: u64 = 0x8000_0000;
const HIGH_WORD: u64 = 0xffff_ffff_0000_0000;

fn wide(bits: u64) -> f64 {
    f32::from_bits(bits as u32).into()
}

/// `f` of one single-precision operand, with `.ftz` or without.
fn single(op: &str, f: impl Fn(u64, bool) -> Target + Clone + Send + Sync + 'static) -> [Form; 2] {
    let form = |ftz: bool| {
        let f = f.clone();
        let name = format!("{op}.approx{}.f32", if ftz { ".ftz" } else { "" });
        Form::approximate(name, [Operand::F32], move |[a]| {
            let a = if ftz { flush(a) } else { a };
            if wide(a).is_nan() {
                Target::Nan
            } else {
                f(a, ftz)
            }
        })
    };
    [form(false), form(true)]
}

fn near(value: f64, bound: Bound, flushed: bool) -> Target {
    Target::Near {
        value,
        bound,
        flushed,
    }
}

/// Within `2^-bits` of the value's magnitude.
fn relative(value: f64, bits: f64, flushed: bool) -> Target {
    near(value, Bound::Relative((-bits).exp2()), flushed)
}

/// Within `2^-bits`.
fn absolute(value: f64, bits: f64, flushed: bool) -> Target {
    near(value, Bound::Absolute((-bits).exp2()), flushed)
}

fn ulps(value: f64, ulps: f64, flushed: bool) -> Target {
    near(value, Bound::Ulps(ulps), flushed)
}

fn zero(sign: u64) -> Target {
    Target::Exactly(sign & SIGN)
}

fn infinity(sign: u64) -> Target {
    Target::Exactly(sign & SIGN | INFINITY)
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    all.extend(single("rcp", |a, ftz| match wide(a) {
        0.0 => infinity(a),
        x if x.is_infinite() => zero(a),
        x => ulps(1.0 / x, 1.0, ftz),
    }));
    all.extend(single("sqrt", |a, ftz| match wide(a) {
        0.0 => zero(a),
        x if x < 0.0 => Target::Nan,
        x if x.is_infinite() => infinity(0),
        x => relative(x.sqrt(), 23.0, ftz),
    }));
    all.extend(single("rsqrt", |a, ftz| match wide(a) {
        0.0 => infinity(a),
        x if x < 0.0 => Target::Nan,
        x if x.is_infinite() => zero(0),
        x => relative(1.0 / x.sqrt(), 22.9, ftz),
    }));
    all.extend(single("ex2", |a, ftz| match wide(a) {
        0.0 => Target::Exactly(1f32.to_bits().into()),
        x if x == f64::NEG_INFINITY => zero(0),
        x if x == f64::INFINITY => infinity(0),
        x => ulps(x.exp2(), 2.0, ftz),
    }));
    all.extend(single("lg2", |a, ftz| match wide(a) {
        0.0 => infinity(SIGN),
        x if x < 0.0 => Target::Nan,
        x if x.is_infinite() => infinity(0),
        // PTX ISA, section 9.7.3.20 (`lg2`): a maximum absolute error of 2^-22 for an operand in
        // (0.5, 2), and a maximum relative error of 2^-22 outside. A measured H100 came within
        // 2^-22.28.
        x if x > 0.5 && x < 2.0 => absolute(x.log2(), 22.0, ftz),
        x => relative(x.log2(), 22.0, ftz),
    }));
    all.extend(single("sin", |a, ftz| match wide(a) {
        0.0 => zero(a),
        x => trigonometric(x, f64::sin, ftz),
    }));
    all.extend(single("cos", |a, ftz| match wide(a) {
        0.0 => Target::Exactly(1f32.to_bits().into()),
        x => trigonometric(x, f64::cos, ftz),
    }));
    // `tanh` has no `.ftz`.
    let [tanh, _] = single("tanh", |a, _| match wide(a) {
        0.0 => zero(a),
        x => relative(x.tanh(), 11.0, false),
    });
    all.push(tanh);
    all.extend(halves());
    all.extend(divisions());
    all.extend(doubles());
    all
}

/// Functions of `f16` and `bf16`, whose results are widened. The bounds are those of the PTX ISA,
/// section 9.7.4.
fn halves() -> [Form; 4] {
    // Below the smallest normal number a result has an error of half of a unit at least.
    let power = |x: f64, bits: f64, [smallest, largest]: [f64; 2]| match x.exp2() {
        y if y >= largest => infinity(0),
        y if y < smallest => absolute(y, 24.0, true),
        y => relative(y, bits, true),
    };
    [
        of_half("ex2.approx", Format::F16, move |x| {
            power(x, 9.9, [2f64.powi(-14), 65520.0])
        }),
        of_half("ex2.approx.ftz", Format::Bf16, move |x| {
            power(x, 7.0, [f32::MIN_POSITIVE.into(), 2f64.powi(128)])
        }),
        of_half("tanh.approx", Format::F16, |x| {
            absolute(x.tanh(), 10.987, false)
        }),
        // The PTX ISA states 2^-8. A measured H100 is 1.00007 2^-8 away at 0x3f3f and 0xbf3f.
        of_half("tanh.approx", Format::Bf16, |x| {
            absolute(x.tanh(), 7.9998, false)
        }),
    ]
}

fn of_half(op: &str, format: Format, f: impl Fn(f64) -> Target + Send + Sync + 'static) -> Form {
    let ty = format.name();
    let name = format!("{op}.{ty}");
    let body = format!(".reg .b16 half; {name} half, %a; cvt.f32.{ty} %x, half;");
    let form = Form::approximate(name, [format.operand()], move |[a]| match format.value(a) {
        x if x.is_nan() => Target::Nan,
        x => f(x),
    });
    form.with_body(body).to(Operand::F32.class())
}

fn trigonometric(x: f64, f: fn(f64) -> f64, ftz: bool) -> Target {
    match x.abs() {
        f64::INFINITY => Target::Nan,
        magnitude if magnitude <= PI => absolute(f(x), 20.5, ftz),
        _ => Target::Unspecified,
    }
}

fn divisions() -> Vec<Form> {
    let mut all = Vec::new();
    for (ftz, modifier) in [(false, ""), (true, ".ftz")] {
        let sources = || [Operand::F32, Operand::F32];
        let flushed = move |x| if ftz { flush(x) } else { x };
        let name = format!("div.full{modifier}.f32");
        all.push(Form::approximate(name, sources(), move |ab| {
            quotient(ab.map(flushed), ftz)
        }));
        let approx = format!("div.approx{modifier}.f32");
        all.push(Form::approximate(approx, sources(), move |ab| {
            let [a, b] = ab.map(flushed);
            let (x, y) = (wide(a), wide(b).abs());
            match y {
                // Beyond 2^126 the reciprocal has become 0.
                _ if y > 2f64.powi(126) && y.is_finite() => {
                    if x.is_finite() {
                        absolute(0.0, 149.0, false)
                    } else {
                        Target::Nan
                    }
                }
                _ if y > 0.0 && y < f64::from(f32::MIN_POSITIVE) => Target::Unspecified,
                _ => quotient([a, b], ftz),
            }
        }));
    }
    all
}

/// A quotient to 2 ulp.
fn quotient([a, b]: [u64; 2], ftz: bool) -> Target {
    let (x, y) = (wide(a), wide(b));
    match x / y {
        q if q.is_nan() => Target::Nan,
        0.0 => zero(a ^ b),
        q if q.is_infinite() => infinity(a ^ b),
        q => ulps(q, 2.0, ftz),
    }
}

/// Double precision. Only the high words of operand and result of `.ftz` forms count; they have 20
/// bits of fraction.
fn doubles() -> Vec<Form> {
    let near = |name: &str, mask: u64, f: fn(f64) -> f64| {
        Form::approximate(name, [Operand::F64], move |[a]| {
            let a = f64::from_bits(a);
            let x = f64::from_bits(a.to_bits() & mask);
            // If only its low word makes a value a NaN, an instruction that reads the high word
            // takes it for an infinity.
            if a.is_nan() && !x.is_nan() {
                return Target::Unspecified;
            }
            let x = if x.is_subnormal() && mask == HIGH_WORD {
                0f64.copysign(x)
            } else {
                x
            };
            match f(x) {
                y if y.is_nan() => Target::Nan,
                y if y.is_infinite() || y == 0.0 => Target::Exactly(y.to_bits()),
                y => relative(y, 20.0, true),
            }
        })
    };
    let name = "rcp.approx.ftz.f64, low word";
    let body = "rcp.approx.ftz.f64 %d0, %a; cvt.u32.u64 %x, %d0";
    let low_word = Form::new(name, [Operand::F64], [Class::B32], body, |_| [0]);
    vec![
        near("rcp.approx.ftz.f64", HIGH_WORD, |x| 1.0 / x),
        near("rsqrt.approx.ftz.f64", HIGH_WORD, |x| 1.0 / x.sqrt()),
        near("rsqrt.approx.f64", u64::MAX, |x| 1.0 / x.sqrt()),
        low_word,
    ]
}
