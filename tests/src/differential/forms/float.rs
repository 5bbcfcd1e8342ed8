//! Floating-point arithmetic that the ISA defines to the last bit.

use crate::differential::exact::{self, Float, Mode};
use crate::differential::{Class, Form, Operand};

/// `.ftz` on a single-precision value: subnormals become the zero of their sign.
pub(super) fn flush(bits: u64) -> u64 {
    match bits & 0x7f80_0000 {
        0 => bits & 0x8000_0000,
        _ => bits,
    }
}

/// `.sat` on a single-precision value.
pub(super) fn saturate(bits: u64) -> u64 {
    let x = f32::from_bits(bits as u32);
    match x {
        x if x.is_nan() || x <= 0.0 => 0,
        x if x >= 1.0 => 1f32.to_bits().into(),
        _ => bits,
    }
}

/// `f` on single-precision operands with `.ftz` and `.sat` applied around it.
fn modified<const N: usize>(
    ftz: bool,
    sat: bool,
    f: impl Fn([f32; N]) -> u64 + Send + Sync + 'static,
) -> impl Fn([u64; N]) -> u64 + Send + Sync + 'static {
    move |operands| {
        let flushed = |x| if ftz { flush(x) } else { x };
        let result = flushed(f(operands.map(|x| f32::from_raw(flushed(x)))));
        if sat { saturate(result) } else { result }
    }
}

/// `f` in direction `mode`. `.ftz` goes by the result rounded as if exponents had no limit, as an H100 does: one that
/// only reaches the smallest normal number for want of smaller exponents becomes 0. Where `scaled` operands are larger by
/// a power of two, so is the result, and rounded with all its bits.
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
        let larger = std::array::from_fn(|i| match scaled[i] {
            true => operands[i] * SCALE,
            false => operands[i],
        });
        match value(f(larger, mode)) < f32::MIN_POSITIVE * SCALE {
            true => result & 0x8000_0000,
            false => result,
        }
    }
}

/// The reciprocal, as a quotient of 1.
fn reciprocal(mode: Mode, ftz: bool) -> impl Fn([f32; 1]) -> u64 + Send + Sync + 'static {
    let quotient = rounded(mode, ftz, [true, false], |[a, b], mode| {
        exact::div(a, b, mode)
    });
    move |[a]| quotient([1.0, a])
}

const FTZ_SAT: [(bool, bool, &str); 4] = [
    (false, false, ""),
    (true, false, ".ftz"),
    (false, true, ".sat"),
    (true, true, ".ftz.sat"),
];

fn single<const N: usize>(
    name: String,
    ftz: bool,
    sat: bool,
    f: impl Fn([f32; N]) -> u64 + Send + Sync + 'static,
) -> Form {
    let sources = [(); N].map(|_| Operand::F32);
    Form::simple("float", name, sources, Class::B32, modified(ftz, sat, f))
}

fn double<const N: usize>(
    name: String,
    f: impl Fn([f64; N]) -> u64 + Send + Sync + 'static,
) -> Form {
    let sources = [(); N].map(|_| Operand::F64);
    Form::simple("float", name, sources, Class::B64, move |x| {
        f(x.map(f64::from_bits))
    })
}

fn subtract<F: Float>(a: F, b: F, mode: Mode) -> u64 {
    // A NaN is passed on as it is, not negated.
    match b.wide().is_nan() {
        true => exact::add(a, b, mode),
        false => exact::add(a, b.negate(), mode),
    }
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for mode in Mode::ALL {
        let m = mode.name();
        for (ftz, sat, modifiers) in FTZ_SAT {
            let name = |op: &str| format!("{op}.{m}{modifiers}.f32");
            all.push(single(
                name("add"),
                ftz,
                sat,
                rounded(mode, ftz, [true, true], |[a, b], mode| {
                    exact::add(a, b, mode)
                }),
            ));
            all.push(single(
                name("sub"),
                ftz,
                sat,
                rounded(mode, ftz, [true, true], |[a, b], mode| subtract(a, b, mode)),
            ));
            all.push(single(
                name("mul"),
                ftz,
                sat,
                rounded(mode, ftz, [true, false], |[a, b], mode| {
                    exact::mul(a, b, mode)
                }),
            ));
            all.push(single(
                name("fma"),
                ftz,
                sat,
                rounded(mode, ftz, [true, false, true], |[a, b, c], mode| {
                    exact::fma(a, b, c, mode)
                }),
            ));
            if mode == Mode::Nearest {
                let name = |op: &str| format!("{op}{modifiers}.f32");
                all.push(single(
                    name("add"),
                    ftz,
                    sat,
                    rounded(mode, ftz, [true, true], |[a, b], mode| {
                        exact::add(a, b, mode)
                    }),
                ));
                all.push(single(
                    name("sub"),
                    ftz,
                    sat,
                    rounded(mode, ftz, [true, true], |[a, b], mode| subtract(a, b, mode)),
                ));
                all.push(single(
                    name("mul"),
                    ftz,
                    sat,
                    rounded(mode, ftz, [true, false], |[a, b], mode| {
                        exact::mul(a, b, mode)
                    }),
                ));
            }
            if sat {
                continue;
            }
            all.push(single(
                name("div"),
                ftz,
                sat,
                rounded(mode, ftz, [true, false], |[a, b], mode| {
                    exact::div(a, b, mode)
                }),
            ));
            all.push(single(name("sqrt"), ftz, sat, move |[a]| {
                exact::sqrt(a, mode)
            }));
            all.push(single(name("rcp"), ftz, sat, reciprocal(mode, ftz)));
        }
        let name = |op: &str| format!("{op}.{m}.f64");
        all.push(double(name("add"), move |[a, b]| exact::add(a, b, mode)));
        all.push(double(name("sub"), move |[a, b]| subtract(a, b, mode)));
        all.push(double(name("mul"), move |[a, b]| exact::mul(a, b, mode)));
        all.push(double(name("fma"), move |[a, b, c]| {
            exact::fma(a, b, c, mode)
        }));
        all.push(double(name("div"), move |[a, b]| exact::div(a, b, mode)));
        all.push(double(name("sqrt"), move |[a]| exact::sqrt(a, mode)));
        all.push(double(name("rcp"), move |[a]| exact::div(1.0, a, mode)));
    }
    all.push(single("mad.rn.f32".into(), false, false, |[a, b, c]| {
        exact::fma(a, b, c, Mode::Nearest)
    }));
    all.push(double("mad.rz.f64".into(), |[a, b, c]| {
        exact::fma(a, b, c, Mode::Zero)
    }));
    all.push(double("add.f64".into(), |[a, b]| {
        exact::add(a, b, Mode::Nearest)
    }));
    all.push(double("sub.f64".into(), |[a, b]| {
        subtract(a, b, Mode::Nearest)
    }));
    all.push(double("mul.f64".into(), |[a, b]| {
        exact::mul(a, b, Mode::Nearest)
    }));
    all.extend(signs());
    all.extend(extrema());
    all.extend(properties());
    all
}

/// `neg`, `abs`, `copysign`: operations on the sign bit.
fn signs() -> Vec<Form> {
    let mut all = vec![
        // NVIDIA's assembler makes an addition of these, which passes a NaN on, quieted, with its sign.
        double("neg.f64".into(), |[a]| match a.is_nan() {
            true => f64::nan_of(&[a]),
            false => a.to_bits() ^ 1 << 63,
        }),
        double("abs.f64".into(), |[a]| match a.is_nan() {
            true => f64::nan_of(&[a]),
            false => a.to_bits() & !(1 << 63),
        }),
        Form::simple(
            "float",
            "copysign.f32",
            [Operand::F32, Operand::F32],
            Class::B32,
            |[a, b]| a & 0x8000_0000 | b & 0x7fff_ffff,
        ),
        Form::simple(
            "float",
            "copysign.f64",
            [Operand::F64, Operand::F64],
            Class::B64,
            |[a, b]| a & 1 << 63 | b & !(1 << 63),
        ),
    ];
    for (ftz, modifier) in [(false, ""), (true, ".ftz")] {
        // The ISA leaves a NaN's bits open; NVIDIA's assembler makes an addition of these, which gives the one NaN.
        let sign = move |x: f32, f: fn(u64) -> u64| match x.is_nan() {
            true => f32::NAN_BITS,
            false => f(if ftz { flush(x.raw()) } else { x.raw() }),
        };
        let name = |op: &str| format!("{op}{modifier}.f32");
        all.push(single(name("neg"), false, false, move |[a]| {
            sign(a, |a| a ^ 0x8000_0000)
        }));
        all.push(single(name("abs"), false, false, move |[a]| {
            sign(a, |a| a & 0x7fff_ffff)
        }));
    }
    all
}

/// The order of `min` and `max`: -0 below +0.
fn order(x: f64) -> i64 {
    let bits = x.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

fn extrema() -> Vec<Form> {
    let mut all = Vec::new();
    for (op, is_min) in [("min", true), ("max", false)] {
        let pick = move |a: f64, b: f64| (order(a) <= order(b)) == is_min;
        for (ftz, f) in [(false, ""), (true, ".ftz")] {
            for (nan, n) in [(false, ""), (true, ".NaN")] {
                for (xorsign, x) in [(false, ""), (true, ".xorsign.abs")] {
                    let name = format!("{op}{f}{n}{x}.f32");
                    let value = move |[a, b]: [f32; 2]| {
                        let sign = (a.raw() ^ b.raw()) & 0x8000_0000;
                        let (a, b) = if xorsign { (a.abs(), b.abs()) } else { (a, b) };
                        let result = match (a.is_nan(), b.is_nan()) {
                            (true, true) => return f32::NAN_BITS,
                            (true, false) | (false, true) if nan => return f32::NAN_BITS,
                            (true, false) => b,
                            (false, true) => a,
                            _ if pick(a.into(), b.into()) => a,
                            _ => b,
                        };
                        if xorsign {
                            result.raw() | sign
                        } else {
                            result.raw()
                        }
                    };
                    all.push(single(name, ftz, false, value));
                }
            }
        }
        all.push(double(format!("{op}.f64"), move |[a, b]| {
            match (a.is_nan(), b.is_nan()) {
                // The second counts, as an H100 does.
                (true, true) => f64::nan_of(&[b]),
                (true, false) => b.to_bits(),
                (false, true) => a.to_bits(),
                _ if pick(a, b) => a.to_bits(),
                _ => b.to_bits(),
            }
        }));
    }
    all
}

/// `testp`.
fn properties() -> Vec<Form> {
    /// Of a value, and whether it is subnormal in its own type.
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
    let mut all = Vec::new();
    for (property, f) in properties {
        let name = |ty: &str| format!("testp.{property}.{ty}");
        all.push(Form::simple(
            "float",
            name("f32"),
            [Operand::F32],
            Class::Pred,
            move |[a]| {
                let x = f32::from_bits(a as u32);
                f(x.into(), x.is_subnormal()).into()
            },
        ));
        all.push(Form::simple(
            "float",
            name("f64"),
            [Operand::F64],
            Class::Pred,
            move |[a]| {
                let x = f64::from_bits(a);
                f(x, x.is_subnormal()).into()
            },
        ));
    }
    all
}
