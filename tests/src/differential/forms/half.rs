//! Arithmetic of 16-bit floats, and conversions to narrower types.

use std::cmp::Ordering;

use crate::differential::exact::Mode;
use crate::differential::half::{BF16, F16, Half, NAN};
use crate::differential::{Class, Form, Operand};

const SIGN: u64 = 0x8000;

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for format in [Format::F16, Format::Bf16] {
        all.extend(format.arithmetic());
        all.extend(format.choices());
    }
    all.extend(modified());
    all.extend(eight_bits());
    all.extend(tf32());
    all
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Format {
    F16,
    Bf16,
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Format::F16 => "f16",
            Format::Bf16 => "bf16",
        }
    }

    fn table(self) -> &'static Half {
        match self {
            Format::F16 => &F16,
            Format::Bf16 => &BF16,
        }
    }

    pub(super) fn operand(self) -> Operand {
        match self {
            Format::F16 => Operand::F16,
            Format::Bf16 => Operand::Bf16,
        }
    }

    pub(super) fn value(self, bits: u64) -> f64 {
        self.table().widen(bits & 0xffff)
    }

    fn is_nan(self, bits: u64) -> bool {
        self.value(bits).is_nan()
    }

    /// The nearest value to the sum of two.
    pub(super) fn sum(self, a: u64, b: u64) -> u64 {
        self.nearest_sum(self.value(a), self.value(b))
    }

    /// The nearest value to a sum, `a + b` rounded to a double and the rest that it lacks.
    fn nearest_sum(self, a: f64, b: f64) -> u64 {
        let sum = a + b;
        let (b_part, a_part) = (sum - a, sum - (sum - a));
        let rest = (a - a_part) + (b - b_part);
        // No value of 16 bits, and no middle of two, is an odd double. So the odd one of the two
        // doubles around the sum rounds as the sum does.
        let nudged = match rest.partial_cmp(&0.0) {
            _ if sum.to_bits() & 1 == 1 => sum,
            Some(Ordering::Greater) => sum.next_up(),
            Some(Ordering::Less) => sum.next_down(),
            _ => sum,
        };
        self.table().round(nudged, Mode::Nearest)
    }

    fn arithmetic(self) -> Vec<Form> {
        let (ty, operand) = (self.name(), self.operand());
        let two = |op: &str, f: fn(Format, f64, f64) -> u64| {
            let sources = [operand.clone(), operand.clone()];
            let scalar = Form::simple(format!("{op}.{ty}"), sources.clone(), move |[a, b]| {
                f(self, self.value(a), self.value(b))
            });
            // Low halves a and b, high ones b and a.
            let body = format!(
                "mov.b32 %r0, {{%a, %b}}; mov.b32 %r1, {{%b, %a}}; {op}.{ty}x2 %x, %r0, %r1"
            );
            let name = format!("{op}.{ty}x2");
            let pair = Form::new(name, sources, [Class::B32], body, move |[a, b]| {
                let (a, b) = (self.value(a), self.value(b));
                [f(self, a, b) | f(self, b, a) << 16]
            });
            [scalar, pair]
        };
        let mut all = Vec::new();
        all.extend(two("add.rn", |format, a, b| format.nearest_sum(a, b)));
        all.extend(two("sub.rn", |format, a, b| format.nearest_sum(a, -b)));
        all.extend(two("mul.rn", |format, a, b| {
            format.table().round(a * b, Mode::Nearest)
        }));
        for relu in ["", ".relu"] {
            let sources = [(); 3].map(|()| operand.clone());
            let name = format!("fma.rn{relu}.{ty}");
            all.push(Form::simple(name, sources, move |[a, b, c]| {
                let product = self.value(a) * self.value(b);
                let sum = self.nearest_sum(product, self.value(c));
                let is_cut = !relu.is_empty() && !self.is_nan(sum) && sum & SIGN != 0;
                if is_cut { 0 } else { sum }
            }));
        }
        let one = |op: &str, f: fn(u64) -> u64| {
            Form::simple(format!("{op}.{ty}"), [operand.clone()], move |[a]| {
                if self.is_nan(a) { NAN } else { f(a) }
            })
        };
        all.extend([one("neg", |a| a ^ SIGN), one("abs", |a| a & !SIGN)]);
        all
    }

    fn choices(self) -> Vec<Form> {
        let (ty, operand) = (self.name(), self.operand());
        let sources = || [operand.clone(), operand.clone()];
        let mut all = Vec::new();
        for (op, wanted) in [("min", Ordering::Less), ("max", Ordering::Greater)] {
            for modifier in ["", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"] {
                let name = format!("{op}{modifier}.{ty}");
                all.push(Form::simple(name, sources(), move |[a, b]| {
                    let xorsign = modifier.contains("xorsign");
                    let sign = if xorsign { (a ^ b) & SIGN } else { 0 };
                    let [a, b] = [a, b].map(|x| if xorsign { x & !SIGN } else { x });
                    let chosen = match (self.is_nan(a), self.is_nan(b)) {
                        (false, false) => {
                            // By sign and magnitude, so that -0 is below +0.
                            let order = |x: u64| (self.value(x), x & SIGN == 0);
                            let less = order(a).partial_cmp(&order(b));
                            if less == Some(wanted) { a } else { b }
                        }
                        (true, true) => return NAN,
                        _ if modifier.contains("NaN") => return NAN,
                        (true, false) => b,
                        (false, true) => a,
                    };
                    chosen | sign
                }));
            }
        }
        type Compare = (&'static str, fn(Option<Ordering>) -> bool);
        let comparisons: [Compare; 5] = [
            ("eq", |o| o == Some(Ordering::Equal)),
            ("ne", |o| o.is_some_and(Ordering::is_ne)),
            ("lt", |o| o == Some(Ordering::Less)),
            ("geu", |o| o != Some(Ordering::Less)),
            ("nan", |o| o.is_none()),
        ];
        for (compare, holds) in comparisons {
            let test = move |a: u64, b: u64| holds(self.value(a).partial_cmp(&self.value(b)));
            let one = self.table().round(1.0, Mode::Nearest);
            let name = format!("set.{compare}.{ty}.{ty}");
            all.push(Form::simple(name, sources(), move |[a, b]| {
                if test(a, b) { one } else { 0 }
            }));
            let body = format!(
                "mov.b32 %r0, {{%a, %b}}; mov.b32 %r1, {{%b, %a}}; setp.{compare}.{ty}x2 %x|%y, %r0, %r1"
            );
            let of_two = format!("setp.{compare}.{ty}x2");
            all.push(Form::new(
                of_two,
                sources(),
                [Class::Pred; 2],
                body,
                move |[a, b]| [test(a, b), test(b, a)].map(u64::from),
            ));
        }
        all
    }
}

/// `.ftz` and `.sat`, which only f16 has.
fn modified() -> Vec<Form> {
    let flush = |x: u64| if x & 0x7c00 == 0 { x & SIGN } else { x };
    let sources = || [Operand::F16, Operand::F16];
    let form = |op: &'static str, ftz: bool, sat: bool, f: fn(f64, f64) -> u64| {
        let modifiers = [if ftz { ".ftz" } else { "" }, if sat { ".sat" } else { "" }].concat();
        Form::simple(
            format!("{op}.rn{modifiers}.f16"),
            sources(),
            move |[a, b]| {
                let cut = |x: u64| if ftz { flush(x) } else { x };
                let result = cut(f(F16.widen(cut(a)), F16.widen(cut(b))));
                match F16.widen(result) {
                    _ if !sat => result,
                    x if x.is_nan() || x <= 0.0 => 0,
                    x if x >= 1.0 => F16.round(1.0, Mode::Nearest),
                    _ => result,
                }
            },
        )
    };
    let add = |a: f64, b: f64| Format::F16.nearest_sum(a, b);
    let mul = |a: f64, b: f64| F16.round(a * b, Mode::Nearest);
    // A GPU flushes what is subnormal before it is rounded.
    let mul_ftz = |a: f64, b: f64| match a * b {
        product if product.abs() < 2f64.powi(-14) => {
            F16.round(0f64.copysign(product), Mode::Nearest)
        }
        product => F16.round(product, Mode::Nearest),
    };
    vec![
        form("add", true, false, add),
        form("add", false, true, add),
        form("add", true, true, add),
        form("mul", true, false, mul_ftz),
        form("mul", false, true, mul),
    ]
}

/// A format of 8 bits: every value that is not negative, in order.
fn values_of_8_bits(exponent_bits: u32, last: u64) -> Vec<f64> {
    let fraction_bits = 7 - exponent_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let value = |bits: u64| {
        let fraction = bits & ((1 << fraction_bits) - 1);
        let (significand, exponent) = match bits >> fraction_bits {
            0 => (fraction, 1),
            exponent => (fraction | 1 << fraction_bits, exponent as i32),
        };
        significand as f64 * 2f64.powi(exponent - bias - fraction_bits as i32)
    };
    (0..=last).map(value).collect()
}

/// Rounds to the nearest of these, or the last.
fn nearest_of(values: &[f64], x: f64) -> u64 {
    if x.is_nan() {
        return 0x7f;
    }
    let magnitude = x.abs();
    let sign = u64::from(x.is_sign_negative()) << 7;
    let below = values.partition_point(|&v| v <= magnitude) - 1;
    let Some(&next) = values.get(below + 1) else {
        return sign | below as u64;
    };
    let middle = (values[below] + next) / 2.0;
    let up = magnitude > middle || magnitude == middle && below % 2 == 1;
    sign | (below + usize::from(up)) as u64
}

fn eight_bits() -> Vec<Form> {
    let mut all = Vec::new();
    for (ty, exponent_bits, last) in [("e4m3x2", 4, 0x7e), ("e5m2x2", 5, 0x7b)] {
        let values = values_of_8_bits(exponent_bits, last);
        for relu in [false, true] {
            let suffix = if relu { ".relu" } else { "" };
            let table = values.clone();
            let cut = move |x: f64| {
                if relu && x.is_sign_negative() && !x.is_nan() {
                    0.0
                } else {
                    x
                }
            };
            let name = format!("cvt.rn.satfinite{suffix}.{ty}.f32");
            let form = Form::simple(name, [Operand::F32, Operand::F32], move |[a, b]| {
                let [a, b] = [a, b].map(|x| f64::from(f32::from_bits(x as u32)));
                nearest_of(&table, cut(a)) << 8 | nearest_of(&table, cut(b))
            });
            all.push(form.to(Class::B16));
            let numbers = values.clone();
            let from_half = format!("cvt.rn.satfinite{suffix}.{ty}.f16x2");
            let body = format!("mov.b32 %r0, {{%a, %b}}; {from_half} %x, %r0");
            let sources = [Operand::F16, Operand::F16];
            all.push(Form::new(
                from_half,
                sources,
                [Class::B16],
                body,
                move |[a, b]| {
                    [nearest_of(&numbers, cut(F16.widen(b))) << 8
                        | nearest_of(&numbers, cut(F16.widen(a)))]
                },
            ));
        }
        let name = format!("cvt.rn.f16x2.{ty}");
        let wide = move |bits: u64| {
            let magnitude = bits & 0x7f;
            let sign = (bits & 0x80) << 8;
            match values.get(magnitude as usize) {
                Some(&value) => sign | F16.round(value, Mode::Nearest),
                None if magnitude == 0x7c => sign | 0x7c00,
                None => NAN,
            }
        };
        let form = Form::simple(name, [Operand::I16], move |[a]| {
            wide(a & 0xff) | wide(a >> 8) << 16
        });
        all.push(form.to(Class::B32));
    }
    all
}

fn tf32() -> Vec<Form> {
    const CUT: u64 = 0x1fff;
    let form = Form::simple("cvt.rna.tf32.f32", [Operand::F32], |[a]| {
        match a & 0x7fff_ffff {
            0x7f80_0000.. => a & !CUT,
            _ => (a + 0x1000) & !CUT,
        }
    });
    vec![form]
}
