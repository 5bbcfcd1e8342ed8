//! All forms, by family.

mod approximate;
mod asynchronous;
mod atomic;
mod bits;
mod block;
mod carry;
mod compare;
mod control;
mod convert;
mod float;
mod half;
mod integer;
mod matrix;
mod memory;
mod video;
mod warp;

use super::{Class, Form};

/// A name, and the forms.
type Family = (&'static str, fn() -> Vec<Form>);

/// Every form.
pub fn all() -> Vec<Form> {
    let families: [Family; 17] = [
        ("integer", integer::forms),
        ("carry", carry::forms),
        ("bits", bits::forms),
        ("float", float::forms),
        ("half", half::forms),
        ("video", video::forms),
        ("approximate", approximate::forms),
        ("compare", compare::forms),
        ("convert", convert::forms),
        ("memory", memory::forms),
        ("atomic", atomic::forms),
        ("warp", warp::forms),
        ("matrix", matrix::forms),
        ("barrier", block::barriers),
        ("asynchronous", asynchronous::forms),
        ("control", control::forms),
        ("special", block::special_registers),
    ];
    let forms =
        |(group, forms): Family| forms().into_iter().map(move |form| Form { group, ..form });
    families.into_iter().flat_map(forms).collect()
}

/// The register of an integer of 16, 32 or 64 bits.
fn class(bits: u32) -> Class {
    match bits {
        16 => Class::B16,
        32 => Class::B32,
        _ => Class::B64,
    }
}

/// The first letter of an integer type.
fn letter(signed: bool) -> char {
    if signed { 's' } else { 'u' }
}

/// The low `bits` of `x` as a number.
fn number(x: u64, bits: u32, signed: bool) -> i128 {
    let shift = 64 - bits;
    if signed {
        ((x << shift) as i64 >> shift).into()
    } else {
        (x << shift >> shift).into()
    }
}

/// The least and the greatest number of a type.
fn limits(bits: u32, signed: bool) -> (i128, i128) {
    if signed {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

/// `.ftz` on a single-precision value: subnormals become the zero of their sign.
fn flush(bits: u64) -> u64 {
    match bits & 0x7f80_0000 {
        0 => bits & 0x8000_0000,
        _ => bits,
    }
}

/// The written forms of `.ftz` and `.sat`.
const MODIFIERS: [(bool, bool, &str); 4] = [
    (false, false, ""),
    (true, false, ".ftz"),
    (false, true, ".sat"),
    (true, true, ".ftz.sat"),
];
