//! Integer arithmetic.

use crate::differential::{Class, Form, Operand};

const WIDTHS: [u32; 3] = [16, 32, 64];

fn class(bits: u32) -> Class {
    match bits {
        16 => Class::B16,
        32 => Class::B32,
        _ => Class::B64,
    }
}

/// The low `bits` of `x` as a number.
fn number(x: u64, bits: u32, signed: bool) -> i128 {
    let x = x & (u64::MAX >> (64 - bits));
    match signed && x >> (bits - 1) == 1 {
        true => i128::from(x) - (1 << bits),
        false => i128::from(x),
    }
}

fn limits(bits: u32, signed: bool) -> (i128, i128) {
    match signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

fn letter(signed: bool) -> char {
    if signed { 's' } else { 'u' }
}

/// Two operands of a type, evaluated as numbers and cut to the type.
fn two(
    name: String,
    bits: u32,
    signed: bool,
    f: impl Fn(i128, i128) -> i128 + Send + Sync + 'static,
) -> Form {
    let int = Operand::Int(bits);
    Form::simple(
        "integer",
        name,
        [int.clone(), int],
        class(bits),
        move |[a, b]| f(number(a, bits, signed), number(b, bits, signed)) as u64,
    )
}

/// Three operands of a type.
fn three(
    name: String,
    bits: u32,
    signed: bool,
    f: impl Fn(i128, i128, i128) -> i128 + Send + Sync + 'static,
) -> Form {
    let sources = [(); 3].map(|_| Operand::Int(bits));
    Form::simple("integer", name, sources, class(bits), move |abc| {
        let [a, b, c] = abc.map(|x| number(x, bits, signed));
        f(a, b, c) as u64
    })
}

/// A divisor of 0, for which the ISA defines no result, gives all ones: what the sequence of a GPU gives.
fn quotient(a: i128, b: i128) -> i128 {
    if b == 0 { -1 } else { a / b }
}

fn remainder(a: i128, b: i128) -> i128 {
    if b == 0 { -1 } else { a % b }
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for bits in WIDTHS {
        for signed in [false, true] {
            let ty = format!("{}{bits}", letter(signed));
            all.push(two(format!("add.{ty}"), bits, signed, |a, b| a + b));
            all.push(two(format!("sub.{ty}"), bits, signed, |a, b| a - b));
            all.push(two(format!("mul.lo.{ty}"), bits, signed, |a, b| {
                a.wrapping_mul(b)
            }));
            all.push(two(format!("mul.hi.{ty}"), bits, signed, move |a, b| {
                high(a, b, bits, signed)
            }));
            all.push(two(format!("div.{ty}"), bits, signed, quotient));
            all.push(two(format!("rem.{ty}"), bits, signed, remainder));
            all.push(two(format!("min.{ty}"), bits, signed, i128::min));
            all.push(two(format!("max.{ty}"), bits, signed, i128::max));
            all.push(three(format!("sad.{ty}"), bits, signed, |a, b, c| {
                c + (a - b).abs()
            }));
            all.push(three(format!("mad.lo.{ty}"), bits, signed, |a, b, c| {
                a.wrapping_mul(b).wrapping_add(c)
            }));
            all.push(three(
                format!("mad.hi.{ty}"),
                bits,
                signed,
                move |a, b, c| high(a, b, bits, signed) + c,
            ));
            if bits < 64 {
                all.extend(wide(bits, signed));
            }
        }
        let ty = format!("s{bits}");
        let int = || [Operand::Int(bits)];
        let one = |name: String, f: fn(i128) -> i128| {
            Form::simple("integer", name, int(), class(bits), move |[a]| {
                f(number(a, bits, true)) as u64
            })
        };
        all.push(one(format!("abs.{ty}"), i128::abs));
        all.push(one(format!("neg.{ty}"), |a| -a));
    }
    let clamp = |x: i128| {
        let (low, high) = limits(32, true);
        x.clamp(low, high)
    };
    all.push(two("add.sat.s32".into(), 32, true, move |a, b| {
        clamp(a + b)
    }));
    all.push(two("sub.sat.s32".into(), 32, true, move |a, b| {
        clamp(a - b)
    }));
    all.push(three("mad.hi.sat.s32".into(), 32, true, move |a, b, c| {
        clamp(((a * b) >> 32) + c)
    }));
    all.push(two("min.relu.s32".into(), 32, true, |a, b| a.min(b).max(0)));
    all.push(two("max.relu.s32".into(), 32, true, |a, b| a.max(b).max(0)));
    all.extend(twenty_four());
    all.extend(dot_products());
    all.extend(packed());
    all
}

/// The high half of a product.
fn high(a: i128, b: i128, bits: u32, signed: bool) -> i128 {
    match signed {
        true => (a * b) >> bits,
        // 64 bits by 64 do not fit a signed product.
        false => ((a as u128 * b as u128) >> bits) as i128,
    }
}

fn wide(bits: u32, signed: bool) -> [Form; 2] {
    let ty = format!("{}{bits}", letter(signed));
    let (int, double) = (Operand::Int(bits), class(2 * bits));
    let sources = [int.clone(), int.clone(), Operand::Int(2 * bits)];
    let product = move |a, b| number(a, bits, signed) * number(b, bits, signed);
    [
        Form::simple(
            "integer",
            format!("mul.wide.{ty}"),
            [int.clone(), int],
            double,
            move |[a, b]| product(a, b) as u64,
        ),
        Form::simple(
            "integer",
            format!("mad.wide.{ty}"),
            sources,
            double,
            move |[a, b, c]| (product(a, b) as u64).wrapping_add(c),
        ),
    ]
}

/// `mul24` and `mad24`: of 48 bits of a product, the low 32, or 16 to 47.
fn twenty_four() -> Vec<Form> {
    let mut all = Vec::new();
    for signed in [false, true] {
        for (half, shift) in [("lo", 0), ("hi", 16)] {
            let ty = format!("{half}.{}32", letter(signed));
            let product = move |a: i128, b: i128| {
                let low = |x: i128| number(x as u64, 24, signed);
                (low(a) * low(b)) >> shift
            };
            all.push(two(format!("mul24.{ty}"), 32, signed, product));
            all.push(three(format!("mad24.{ty}"), 32, signed, move |a, b, c| {
                product(a, b) + c
            }));
        }
    }
    all.push(three("mad24.hi.sat.s32".into(), 32, true, |a, b, c| {
        let product = (number(a as u64, 24, true) * number(b as u64, 24, true)) >> 16;
        let product = number(product as u64, 32, true);
        (product + c).clamp(i32::MIN.into(), i32::MAX.into())
    }));
    all
}

fn dot_products() -> Vec<Form> {
    let mut all = Vec::new();
    for (a_signed, b_signed) in [(false, false), (false, true), (true, false), (true, true)] {
        let ty = format!("{}32.{}32", letter(a_signed), letter(b_signed));
        let part =
            move |x: i128, bits: u32, i: u32, signed| number(x as u64 >> (bits * i), bits, signed);
        all.push(three(format!("dp4a.{ty}"), 32, false, move |a, b, c| {
            (0..4)
                .map(|i| part(a, 8, i, a_signed) * part(b, 8, i, b_signed))
                .sum::<i128>()
                + c
        }));
        for (half, first) in [("lo", 0), ("hi", 2)] {
            all.push(three(
                format!("dp2a.{half}.{ty}"),
                32,
                false,
                move |a, b, c| {
                    let term = |i| part(a, 16, i, a_signed) * part(b, 8, first + i, b_signed);
                    term(0) + term(1) + c
                },
            ));
        }
    }
    all
}

fn packed() -> Vec<Form> {
    let halves = |name: &str, signed, f: fn(i128, i128) -> i128| {
        two(name.into(), 32, false, move |a, b| {
            let half = |i: u32| {
                let part = |x: i128| number(x as u64 >> (16 * i), 16, signed);
                f(part(a), part(b)) & 0xffff
            };
            half(1) << 16 | half(0)
        })
    };
    vec![
        halves("add.u16x2", false, |a, b| a + b),
        halves("add.s16x2", true, |a, b| a + b),
        halves("min.u16x2", false, i128::min),
        halves("min.s16x2", true, i128::min),
        halves("max.u16x2", false, i128::max),
        halves("max.s16x2", true, i128::max),
    ]
}
