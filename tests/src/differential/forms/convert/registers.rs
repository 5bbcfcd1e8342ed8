//! Registers wider than the types, and `mov` between a register and its parts.

use crate::differential::{Class, Form, Operand};

use super::types::Type::*;

/// Registers wider than the types: the source's upper bits do not count, the result is extended by its sign.
pub(super) fn wide_registers() -> Vec<Form> {
    let mut all = Vec::new();
    let (narrow, words) = ([U8, S8, U16, S16, U32, S32], [Class::B32, Class::B64]);
    for ty in narrow {
        for class in words {
            let name = ty.name();
            let int = Operand::Int(class.bits());
            if ty.bits() > class.bits() {
                continue;
            }
            let text = format!("cvt.{name}.{name}, in {} bits", class.bits());
            let body = format!("cvt.{name}.{name} %x, %a");
            all.push(Form::new(
                "convert",
                text,
                [int],
                [class],
                body,
                move |[a]| [ty.integer(a) as u64],
            ));
        }
        let text = format!("cvt.rzi.{}.f32, to 64 bits", ty.name());
        let body = format!("cvt.rzi.{}.f32 %x, %a", ty.name());
        all.push(Form::new(
            "convert",
            text,
            [Operand::F32],
            [Class::B64],
            body,
            move |[a]| {
                let (low, high) = ty.limits();
                let x = F32.widen(a).trunc();
                [if x.is_nan() {
                    0
                } else {
                    (x as i128).clamp(low, high) as u64
                }]
            },
        ));
    }
    all
}

/// `mov` between a register and its parts.
pub(super) fn packing() -> Vec<Form> {
    let join =
        |parts: &[u64], bits: u32| parts.iter().rev().fold(0, |all, part| all << bits | part);
    let word = || Operand::I32;
    let half = || Operand::I16;
    vec![
        Form::new(
            "convert",
            "mov.b64 from 2",
            [word(), word()],
            [Class::B64],
            "mov.b64 %x, {%a, %b}",
            move |[a, b]| [join(&[a, b], 32)],
        ),
        Form::new(
            "convert",
            "mov.b32 from 2",
            [half(), half()],
            [Class::B32],
            "mov.b32 %x, {%a, %b}",
            move |[a, b]| [join(&[a, b], 16)],
        ),
        Form::new(
            "convert",
            "mov.b64 from 4",
            [half(), half(), half(), half()],
            [Class::B64],
            "mov.b64 %x, {%a, %b, %c, %e}",
            move |parts| [join(&parts, 16)],
        ),
        Form::new(
            "convert",
            "mov.b64 to 2",
            [Operand::I64],
            [Class::B32; 2],
            "mov.b64 {%x, %y}, %a",
            |[a]| [a, a >> 32],
        ),
        Form::new(
            "convert",
            "mov.b64 to 4",
            [Operand::I64],
            [Class::B16; 4],
            "mov.b64 {%x, %y, %z, %w}, %a",
            |[a]| [a, a >> 16, a >> 32, a >> 48],
        ),
        Form::new(
            "convert",
            "mov.b32 to 2",
            [word()],
            [Class::B16; 2],
            "mov.b32 {%x, %y}, %a",
            |[a]| [a, a >> 16],
        ),
        Form::new(
            "convert",
            "mov.b64 to a half",
            [Operand::I64],
            [Class::B32],
            "mov.b64 {_, %x}, %a",
            |[a]| [a >> 32],
        ),
        Form::new(
            "convert",
            "mov.b16",
            [half()],
            [Class::B16],
            "mov.b16 %x, %a",
            |[a]| [a],
        ),
        Form::new(
            "convert",
            "mov.f32",
            [Operand::F32],
            [Class::B32],
            "mov.f32 %x, %a",
            |[a]| [a],
        ),
        Form::new(
            "convert",
            "mov.f64",
            [Operand::F64],
            [Class::B64],
            "mov.f64 %x, %a",
            |[a]| [a],
        ),
    ]
}
