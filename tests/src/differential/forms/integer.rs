//! Integer arithmetic.

use crate::differential::{Form, Operand};

use super::{class, letter, limits, number};

/// Operands of a type, evaluated as numbers and cut to the type.
fn numbers<const N: usize>(
    name: impl Into<String>,
    bits: u32,
    signed: bool,
    f: impl Fn([i128; N]) -> i128 + Send + Sync + 'static,
) -> Form {
    let sources = [(); N].map(|()| Operand::Int(bits));
    Form::simple(name, sources, move |operands| {
        f(operands.map(|x| number(x, bits, signed))) as u64
    })
}

/// For a divisor of 0 the ISA defines no result. It gives all ones, like the instruction sequence
/// of a GPU.
fn quotient(a: i128, b: i128) -> i128 {
    if b == 0 { -1 } else { a / b }
}

fn remainder(a: i128, b: i128) -> i128 {
    if b == 0 { -1 } else { a % b }
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for bits in [16, 32, 64] {
        for signed in [false, true] {
            all.extend(of_a_type(bits, signed));
            if bits < 64 {
                all.extend(wide(bits, signed));
            }
        }
        all.push(numbers(format!("abs.s{bits}"), bits, true, |[a]| a.abs()));
        all.push(numbers(format!("neg.s{bits}"), bits, true, |[a]| -a));
    }
    let (low, high) = limits(32, true);
    let clamp = move |x: i128| x.clamp(low, high);
    all.extend([
        numbers("add.sat.s32", 32, true, move |[a, b]| clamp(a + b)),
        numbers("sub.sat.s32", 32, true, move |[a, b]| clamp(a - b)),
        numbers("mad.hi.sat.s32", 32, true, move |[a, b, c]| {
            clamp(((a * b) >> 32) + c)
        }),
        numbers("min.relu.s32", 32, true, |[a, b]| a.min(b).max(0)),
        numbers("max.relu.s32", 32, true, |[a, b]| a.max(b).max(0)),
    ]);
    all.extend(twenty_four());
    all.extend(dot_products());
    all.extend(packed());
    all
}

fn of_a_type(bits: u32, signed: bool) -> Vec<Form> {
    let ty = format!("{}{bits}", letter(signed));
    let two = |op: &str, f: fn(i128, i128) -> i128| {
        numbers(format!("{op}.{ty}"), bits, signed, move |[a, b]| f(a, b))
    };
    let three = |op: &str, f: fn(i128, i128, i128) -> i128| {
        numbers(format!("{op}.{ty}"), bits, signed, move |[a, b, c]| {
            f(a, b, c)
        })
    };
    let high = move |a, b| high(a, b, bits, signed);
    vec![
        two("add", |a, b| a + b),
        two("sub", |a, b| a - b),
        two("mul.lo", i128::wrapping_mul),
        numbers(format!("mul.hi.{ty}"), bits, signed, move |[a, b]| {
            high(a, b)
        }),
        two("div", quotient),
        two("rem", remainder),
        two("min", i128::min),
        two("max", i128::max),
        three("sad", |a, b, c| c + (a - b).abs()),
        three("mad.lo", |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        numbers(format!("mad.hi.{ty}"), bits, signed, move |[a, b, c]| {
            high(a, b) + c
        }),
    ]
}

/// The high half of a product.
fn high(a: i128, b: i128, bits: u32, signed: bool) -> i128 {
    if signed {
        (a * b) >> bits
    } else {
        // 64 bits by 64 do not fit a signed product.
        ((a as u128 * b as u128) >> bits) as i128
    }
}

fn wide(bits: u32, signed: bool) -> [Form; 2] {
    let ty = format!("{}{bits}", letter(signed));
    let (int, double) = (|| Operand::Int(bits), class(2 * bits));
    let product = move |a, b| (number(a, bits, signed) * number(b, bits, signed)) as u64;
    let sources = [int(), int(), Operand::Int(2 * bits)];
    [
        Form::simple(format!("mul.wide.{ty}"), [int(), int()], move |[a, b]| {
            product(a, b)
        })
        .to(double),
        Form::simple(format!("mad.wide.{ty}"), sources, move |[a, b, c]| {
            product(a, b).wrapping_add(c)
        })
        .to(double),
    ]
}

/// `mul24` and `mad24`: the low 32 of a product's 48 bits, or bits 16 to 47.
fn twenty_four() -> Vec<Form> {
    let product =
        |a: i128, b: i128, signed| number(a as u64, 24, signed) * number(b as u64, 24, signed);
    let mut all = Vec::new();
    for signed in [false, true] {
        for (half, shift) in [("lo", 0), ("hi", 16)] {
            let ty = format!("{half}.{}32", letter(signed));
            let part = move |a, b| product(a, b, signed) >> shift;
            all.push(numbers(format!("mul24.{ty}"), 32, signed, move |[a, b]| {
                part(a, b)
            }));
            all.push(numbers(
                format!("mad24.{ty}"),
                32,
                signed,
                move |[a, b, c]| part(a, b) + c,
            ));
        }
    }
    all.push(numbers("mad24.hi.sat.s32", 32, true, move |[a, b, c]| {
        let product = number((product(a, b, true) >> 16) as u64, 32, true);
        (product + c).clamp(i32::MIN.into(), i32::MAX.into())
    }));
    all
}

fn dot_products() -> Vec<Form> {
    let mut all = Vec::new();
    for (a_signed, b_signed) in [(false, false), (false, true), (true, false), (true, true)] {
        let ty = format!("{}32.{}32", letter(a_signed), letter(b_signed));
        let part = |x: i128, bits, i: u32, signed| number(x as u64 >> (bits * i), bits, signed);
        all.push(numbers(
            format!("dp4a.{ty}"),
            32,
            false,
            move |[a, b, c]| {
                let term = |i| part(a, 8, i, a_signed) * part(b, 8, i, b_signed);
                (0..4).map(term).sum::<i128>() + c
            },
        ));
        for (half, first) in [("lo", 0), ("hi", 2)] {
            let name = format!("dp2a.{half}.{ty}");
            all.push(numbers(name, 32, false, move |[a, b, c]| {
                let term = |i| part(a, 16, i, a_signed) * part(b, 8, first + i, b_signed);
                term(0) + term(1) + c
            }));
        }
    }
    all
}

fn packed() -> Vec<Form> {
    let halves = |name: &str, signed, f: fn(i128, i128) -> i128| {
        numbers(name, 32, false, move |[a, b]| {
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
