//! Video instructions, and integers packed beside others.

use crate::differential::{Class, Form, Operand};

use super::number;

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for (bits, parts) in [(16, 2), (8, 4)] {
        for signed in [false, true] {
            all.extend(parallel(bits, parts, signed));
        }
    }
    all.extend(single());
    all.extend(packed());
    all
}

const THREE: [Operand; 3] = [Operand::I32, Operand::I32, Operand::I32];

/// `f` of the parts of two registers, with the low bits of the results in their places.
fn by_parts(bits: u32, a: u64, b: u64, signed: bool, f: impl Fn(i128, i128) -> i128) -> u64 {
    let part = |x: u64, at: u32| number(x >> at & ((1 << bits) - 1), bits, signed);
    let places = (0..32).step_by(bits as usize);
    places.fold(0, |all, at| {
        all | (f(part(a, at), part(b, at)) as u64 & ((1 << bits) - 1)) << at
    })
}

/// The mean, with halves rounded away from zero.
fn average(a: i128, b: i128) -> i128 {
    (a + b + i128::from(a + b >= 0)) >> 1
}

fn parallel(bits: u32, parts: u32, signed: bool) -> Vec<Form> {
    let ty = if signed { "s32" } else { "u32" };
    let form = |op: &str, f: fn(i128, i128) -> i128| {
        let name = format!("v{op}{parts}.{ty}.{ty}.{ty}");
        Form::simple(name, THREE, move |[a, b, _]| {
            by_parts(bits, a, b, signed, f)
        })
    };
    let added = |op: &str, f: fn(i128, i128) -> i128| {
        let name = format!("v{op}{parts}.{ty}.{ty}.{ty}.add");
        Form::simple(name, THREE, move |[a, b, c]| {
            let sum = std::cell::Cell::new(c as i128);
            by_parts(bits, a, b, signed, |x, y| {
                sum.set(sum.get() + f(x, y));
                0
            });
            sum.get() as u64 & 0xffff_ffff
        })
    };
    vec![
        form("add", |a, b| a + b),
        form("sub", |a, b| a - b),
        form("min", |a, b| a.min(b)),
        form("max", |a, b| a.max(b)),
        form("absdiff", |a, b| (a - b).abs()),
        form("avrg", average),
        added("absdiff", |a, b| (a - b).abs()),
        added("max", |a, b| a.max(b)),
    ]
}

fn single() -> Vec<Form> {
    let low = |x: i128| x as u64 & 0xffff_ffff;
    vec![
        Form::simple("vabsdiff.u32.u32.u32.add", THREE, move |[a, b, c]| {
            low((a as i128 - b as i128).abs() + c as i128)
        }),
        Form::simple(
            "vadd.s32.s32.s32.sat",
            [Operand::I32, Operand::I32],
            move |[a, b]| {
                low((number(a, 32, true) + number(b, 32, true))
                    .clamp(i32::MIN.into(), i32::MAX.into()))
            },
        ),
        Form::simple(
            "vshr.u32.u32.u32.clamp.add",
            [Operand::I32, Operand::Amount, Operand::I32],
            move |[a, n, c]| low((a.checked_shr(n.min(32) as u32).unwrap_or(0) + c).into()),
        ),
        Form::simple(
            "vshl.u32.u32.u32.wrap",
            [Operand::I32, Operand::Amount],
            move |[a, n]| low((a << (n & 31)).into()),
        ),
        Form::simple("vmin.s32.s32.s32.max", THREE, move |[a, b, c]| {
            let [a, b, c] = [a, b, c].map(|x| number(x, 32, true));
            low(a.min(b).max(c))
        }),
        Form::simple("vmax.u32.u32.u32.min", THREE, move |[a, b, c]| {
            low(a.max(b).min(c).into())
        }),
        Form::simple("vset.s32.u32.lt", [Operand::I32, Operand::I32], |[a, b]| {
            u64::from(number(a, 32, true) < i128::from(b))
        }),
        of_parts("vsub.s32.s32.u32", "%a.b1, %b.h0", |[a, b, _]| {
            number(a >> 8, 8, true) - number(b, 16, false)
        }),
        of_parts("vmad.s32.s32.s32", "%a.h1, %b.b3, %c", |[a, b, c]| {
            number(a >> 16, 16, true) * number(b >> 24, 8, true) + number(c, 32, true)
        }),
        of_parts("vadd.s32.s32.s32.sat", "%a.h0, %b.b2", |[a, b, _]| {
            number(a, 16, true) + number(b >> 16, 8, true)
        }),
    ]
}

/// A form whose operands name parts of registers.
fn of_parts(op: &str, operands: &str, f: fn([u64; 3]) -> i128) -> Form {
    let name = format!("{op} {operands}");
    let body = format!("{op} %x, {operands}");
    Form::new(name, THREE, [Class::B32], body, move |row| {
        [f(row) as u64 & 0xffff_ffff]
    })
}

fn packed() -> Vec<Form> {
    let mut all = Vec::new();
    for (ty, bits, signed) in [
        ("u8", 8, false),
        ("s8", 8, true),
        ("u4", 4, false),
        ("s2", 2, true),
    ] {
        let (least, most) = super::limits(bits, signed);
        let name = format!("cvt.pack.sat.{ty}.s32.b32");
        all.push(Form::simple(name, THREE, move |[a, b, c]| {
            let cut = |x: u64| number(x, 32, true).clamp(least, most) as u64 & ((1 << bits) - 1);
            (c << (2 * bits) | cut(a) << bits | cut(b)) & 0xffff_ffff
        }));
    }
    for (ty, signed) in [("u16", false), ("s16", true)] {
        let (least, most) = super::limits(16, signed);
        let name = format!("cvt.pack.sat.{ty}.s32");
        let form = Form::simple(name, [Operand::I32, Operand::I32], move |[a, b]| {
            let cut = |x: u64| number(x, 32, true).clamp(least, most) as u64 & 0xffff;
            cut(a) << 16 | cut(b)
        });
        all.push(form.to(Class::B32));
    }
    all
}
