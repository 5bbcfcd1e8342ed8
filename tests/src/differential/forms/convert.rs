//! Conversions between every pair of types, with every modifier that NVIDIA's assembler accepts for
//! `sm_90`.

use std::cmp::Ordering;

use crate::differential::exact::{self, Mode};
use crate::differential::half;
use crate::differential::{Class, Form, Operand};

use super::{MODIFIERS, flush, limits, number};

/// A type that `cvt` takes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Type {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F16,
    Bf16,
    F32,
    F64,
}

use Type::*;

const TYPES: [Type; 12] = [U8, S8, U16, S16, U32, S32, U64, S64, F16, Bf16, F32, F64];

impl Type {
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    fn bits(self) -> u32 {
        match self {
            U8 | S8 => 8,
            U16 | S16 | F16 | Bf16 => 16,
            U32 | S32 | F32 => 32,
            U64 | S64 | F64 => 64,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, F16 | Bf16 | F32 | F64)
    }

    fn is_signed(self) -> bool {
        matches!(self, S8 | S16 | S32 | S64)
    }

    /// Values of a register that holds it: bytes lie in 32 bits, whose upper ones do not count.
    fn operand(self) -> Operand {
        match self {
            F16 => Operand::F16,
            Bf16 => Operand::Bf16,
            F32 => Operand::F32,
            F64 => Operand::F64,
            U8 | S8 => Operand::I32,
            _ => Operand::Int(self.bits()),
        }
    }

    /// An integer's value.
    fn integer(self, raw: u64) -> i128 {
        number(raw, self.bits(), self.is_signed())
    }

    fn limits(self) -> (i128, i128) {
        limits(self.bits(), self.is_signed())
    }

    /// A number cut off at the limits; NaN gives 0.
    fn clamped(self, x: f64) -> u64 {
        let (low, high) = self.limits();
        (x as i128).clamp(low, high) as u64
    }

    /// A float's value.
    fn widen(self, raw: u64) -> f64 {
        match self {
            F16 => half::F16.widen(raw),
            Bf16 => half::BF16.widen(raw),
            F32 => f32::from_bits(raw as u32).into(),
            _ => f64::from_bits(raw),
        }
    }

    /// A double rounded to this float type.
    fn round(self, x: f64, mode: Mode) -> u64 {
        match self {
            F16 => half::F16.round(x, mode),
            Bf16 => half::BF16.round(x, mode),
            F32 => exact::narrow(x, mode),
            _ => x.to_bits(),
        }
    }

    /// Widths of exponent and fraction of a float type.
    fn fields(self) -> (u32, u32) {
        match self {
            F16 => (5, 10),
            Bf16 => (8, 7),
            _ => (8, 23),
        }
    }

    /// The NaN that arithmetic gives.
    fn nan(self) -> u64 {
        match self {
            F16 | Bf16 => half::NAN,
            F32 => 0x7fff_ffff,
            _ => 0x7fff_ffff_ffff_ffff,
        }
    }

    /// `.sat` on a float: to [0, 1], NaN and -0 to +0.
    fn saturated(self, bits: u64) -> u64 {
        match self.widen(bits) {
            x if x.is_nan() || x <= 0.0 => 0,
            x if x >= 1.0 => self.round(1.0, Mode::Nearest),
            _ => bits,
        }
    }

    /// Whether `.ftz` and `.sat` may be written in a conversion of this float type: only single
    /// precision has `.ftz`, and `bf16` has no `.sat`.
    fn takes(self, ftz: bool, sat: bool) -> bool {
        (!ftz || self == F32) && (!sat || self != Bf16)
    }
}

/// The directions of rounding to an integral value.
const INTEGRAL: [(Mode, &str); 4] = [
    (Mode::Nearest, "rni"),
    (Mode::Zero, "rzi"),
    (Mode::Down, "rmi"),
    (Mode::Up, "rpi"),
];

fn integral(x: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => x.round_ties_even(),
        Mode::Zero => x.trunc(),
        Mode::Down => x.floor(),
        Mode::Up => x.ceil(),
    }
}

/// `cvt` with these modifiers.
fn form(
    modifiers: &str,
    dst: Type,
    src: Type,
    f: impl Fn(u64) -> u64 + Send + Sync + 'static,
) -> Form {
    let name = format!("cvt{modifiers}.{}.{}", dst.name(), src.name());
    Form::simple(name, [src.operand()], move |[a]| f(a)).to(dst.operand().class())
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for dst in TYPES {
        for src in TYPES {
            match (dst.is_float(), src.is_float()) {
                (false, false) => all.extend(between_integers(dst, src)),
                (true, false) => all.extend(to_float(dst, src)),
                (false, true) => all.extend(to_integer(dst, src)),
                (true, true) => all.extend(between_floats(dst, src)),
            }
        }
    }
    for ty in [F16, Bf16, F32, F64] {
        all.extend(to_integral_values(ty));
    }
    for dst in [F16, Bf16] {
        for mode in [Mode::Nearest, Mode::Zero] {
            let modifiers = format!(".{}.relu", mode.name());
            all.push(form(&modifiers, dst, F32, move |a| relu(dst, a, mode)));
            all.extend(pairs(dst, mode));
        }
    }
    all.extend(wide_registers());
    all.extend(packing());
    all
}

fn between_integers(dst: Type, src: Type) -> Vec<Form> {
    let mut all = vec![form("", dst, src, move |a| {
        dst.integer(src.integer(a) as u64) as u64
    })];
    let ((low, high), (smallest, largest)) = (dst.limits(), src.limits());
    // `.sat` is only for conversions that can exceed the destination's range.
    if smallest < low || largest > high {
        all.push(form(".sat", dst, src, move |a| {
            src.integer(a).clamp(low, high) as u64
        }));
    }
    all
}

/// `bf16` is converted to and from anything but bytes.
fn has_no_conversion(one: Type, other: Type) -> bool {
    one == Bf16 && other.bits() == 8
}

fn to_float(dst: Type, src: Type) -> Vec<Form> {
    let mut all = Vec::new();
    for mode in Mode::ALL {
        for (ftz, sat, modifiers) in MODIFIERS {
            // An integer never becomes a subnormal, but `.ftz` may be written.
            if has_no_conversion(dst, src) || !dst.takes(ftz, sat) {
                continue;
            }
            let modifiers = format!(".{}{modifiers}", mode.name());
            all.push(form(&modifiers, dst, src, move |a| {
                let x = src.integer(a);
                let result = match dst {
                    F64 => exact::from_integer(x, mode),
                    _ => dst.round(exact::sticky(x), mode),
                };
                if sat { dst.saturated(result) } else { result }
            }));
        }
    }
    all
}

fn to_integer(dst: Type, src: Type) -> Vec<Form> {
    let mut all = Vec::new();
    for (mode, m) in INTEGRAL {
        for (ftz, sat, modifiers) in MODIFIERS {
            // The result is clamped in any case, but `.sat` may be written.
            if has_no_conversion(src, dst) || !src.takes(ftz, sat) {
                continue;
            }
            all.push(form(&format!(".{m}{modifiers}"), dst, src, move |a| {
                let x = src.widen(if ftz { flush(a) } else { a });
                if x.is_nan() && (src == F64 || dst.bits() == 64) {
                    // If either type has 64 bits, only the top bit is tested.
                    dst.integer(1 << (dst.bits() - 1)) as u64
                } else {
                    dst.clamped(integral(x, mode))
                }
            }));
        }
    }
    all
}

/// The directions that a conversion between floats may have in its text; `None` is a conversion
/// without one.
fn directions(dst: Type, src: Type) -> Vec<Option<Mode>> {
    let written = Mode::ALL.map(Some);
    match (dst.bits().cmp(&src.bits()), dst == src, src) {
        (Ordering::Less, ..) => written.to_vec(),
        // Between `f16` and `bf16`, and from `bf16` to a type that holds it exactly, the direction
        // is optional.
        (Ordering::Equal, false, _) | (Ordering::Greater, _, Bf16) => {
            [[None].as_slice(), &written].concat()
        }
        _ => vec![None],
    }
}

fn between_floats(dst: Type, src: Type) -> Vec<Form> {
    let mut all = Vec::new();
    for direction in directions(dst, src) {
        for (ftz, sat, modifiers) in MODIFIERS {
            let has = |ty| dst == ty || src == ty;
            if ftz && !has(F32) || sat && has(Bf16) {
                continue;
            }
            let m = direction.map_or(String::new(), |mode| format!(".{}", mode.name()));
            let mode = direction.unwrap_or(Mode::Nearest);
            // Without a modifier, a float of 32 or 64 bits is moved, NaN or not.
            let moves = dst == src && dst.bits() > 16 && modifiers.is_empty();
            all.push(form(&format!("{m}{modifiers}"), dst, src, move |a| {
                // An f16 is never that small: it is made from the subnormal number, as on an H100.
                let a = if ftz && src == F32 && dst != F16 {
                    flush(a)
                } else {
                    a
                };
                let result = match (dst, src) {
                    _ if moves => a,
                    (F32, Bf16) if !ftz => a << 16,
                    (F64, F32) if ftz && F32.widen(a).is_nan() => widened(F32, F32.nan()),
                    (F16 | Bf16 | F32, F64) if F64.widen(a).is_nan() => narrowed(dst, a),
                    (F64, F64) => a,
                    (F64, F16 | Bf16 | F32) => widened(src, a),
                    _ if src.widen(a).is_nan() => dst.nan(),
                    (F32, F64) if ftz => flushing(f64::from_bits(a), mode),
                    _ => dst.round(src.widen(a), mode),
                };
                let result = if ftz && dst == F32 {
                    flush(result)
                } else {
                    result
                };
                if sat { dst.saturated(result) } else { result }
            }));
        }
    }
    all
}

/// A float as an f64: a NaN keeps sign and payload and becomes quiet.
fn widened(src: Type, a: u64) -> u64 {
    let x = src.widen(a);
    if !x.is_nan() {
        return x.to_bits();
    }
    let (_, fraction) = src.fields();
    let payload = a & ((1 << fraction) - 1);
    let sign = a >> (src.bits() - 1) << 63;
    sign | 0x7ff8 << 48 | payload << (52 - fraction)
}

/// A NaN of an f64 as a NaN of a narrower type, as on an H100: the sign, and the first bits of the
/// payload, quiet.
fn narrowed(dst: Type, a: u64) -> u64 {
    // Sign, exponent and fraction of the narrow type are the first bits of each field of the wide
    // one.
    let (exponent, fraction) = dst.fields();
    let head = (a >> 63 << exponent | ((1 << exponent) - 1)) << fraction;
    head | 1 << (fraction - 1) | a << 12 >> (64 - fraction)
}

/// A double as single precision with `.ftz`. A result is subnormal if it is so when rounded with
/// smaller exponents than f32 has.
fn flushing(x: f64, mode: Mode) -> u64 {
    let larger = F32.widen(F32.round(x * 2f64.powi(32), mode)).abs();
    if larger < 2f64.powi(32 - 126) {
        x.to_bits() >> 63 << 31
    } else {
        F32.round(x, mode)
    }
}

fn relu(dst: Type, a: u64, mode: Mode) -> u64 {
    match F32.widen(a) {
        x if x.is_nan() => dst.nan(),
        x if x.is_sign_negative() => 0,
        x => dst.round(x, mode),
    }
}

/// `cvt.rni.f32.f32` and so on.
fn to_integral_values(ty: Type) -> Vec<Form> {
    let mut all = Vec::new();
    for (mode, m) in INTEGRAL {
        for (ftz, sat, modifiers) in MODIFIERS {
            if !ty.takes(ftz, sat) {
                continue;
            }
            all.push(form(&format!(".{m}{modifiers}"), ty, ty, move |a| {
                let a = if ftz { flush(a) } else { a };
                let x = ty.widen(a);
                let result = match (ty, x.is_nan()) {
                    (F64, true) => a | 1 << 51,
                    (_, true) => ty.nan(),
                    _ => ty.round(integral(x, mode), Mode::Nearest),
                };
                if sat { ty.saturated(result) } else { result }
            }));
        }
    }
    all
}

/// Two floats to a pair of 16 bits, the first one above.
fn pairs(ty: Type, mode: Mode) -> [Form; 2] {
    [false, true].map(|has_relu| {
        let r = if has_relu { ".relu" } else { "" };
        let name = format!("cvt.{}{r}.{}x2.f32", mode.name(), ty.name());
        let one = move |a| {
            if has_relu {
                relu(ty, a, mode)
            } else {
                ty.round(F32.widen(a), mode)
            }
        };
        Form::simple(name, [Operand::F32, Operand::F32], move |[a, b]| {
            one(a) << 16 | one(b)
        })
    })
}

/// Registers wider than the types: the source's upper bits do not count, the result is extended by
/// its sign.
fn wide_registers() -> Vec<Form> {
    let mut all = Vec::new();
    for ty in [U8, S8, U16, S16, U32, S32] {
        let name = ty.name();
        for bits in [32, 64] {
            let text = format!("cvt.{name}.{name}, in {bits} bits");
            let (int, body) = (Operand::Int(bits), format!("cvt.{name}.{name} %x, %a"));
            let class = int.class();
            all.push(Form::new(text, [int], [class], body, move |[a]| {
                [ty.integer(a) as u64]
            }));
        }
        let text = format!("cvt.rzi.{name}.f32, to 64 bits");
        let body = format!("cvt.rzi.{name}.f32 %x, %a");
        all.push(Form::new(
            text,
            [Operand::F32],
            [Class::B64],
            body,
            move |[a]| [ty.clamped(F32.widen(a).trunc())],
        ));
    }
    all
}

/// `mov` between a register and its parts, the lowest first.
fn packing() -> Vec<Form> {
    fn join<const N: usize>(parts: [u64; N], bits: u32) -> [u64; 1] {
        [parts.iter().rev().fold(0, |all, part| all << bits | part)]
    }
    let (word, half, long) = (|| Operand::I32, || Operand::I16, || Operand::I64);
    let (words, halves) = ([word(), word()], [half(), half()]);
    let four = [half(), half(), half(), half()];
    let (b16, b32, b64) = (Class::B16, Class::B32, Class::B64);
    let from_4 = "mov.b64 %x, {%a, %b, %c, %e}";
    let to_4 = "mov.b64 {%x, %y, %z, %w}, %a";
    vec![
        Form::new(
            "mov.b64 from 2",
            words,
            [b64],
            "mov.b64 %x, {%a, %b}",
            |ab| join(ab, 32),
        ),
        Form::new(
            "mov.b32 from 2",
            halves,
            [b32],
            "mov.b32 %x, {%a, %b}",
            |ab| join(ab, 16),
        ),
        Form::new("mov.b64 from 4", four, [b64], from_4, |parts| {
            join(parts, 16)
        }),
        Form::new(
            "mov.b64 to 2",
            [long()],
            [b32; 2],
            "mov.b64 {%x, %y}, %a",
            |[a]| [a, a >> 32],
        ),
        Form::new("mov.b64 to 4", [long()], [b16; 4], to_4, |[a]| {
            [0, 16, 32, 48].map(|n| a >> n)
        }),
        Form::new(
            "mov.b32 to 2",
            [word()],
            [b16; 2],
            "mov.b32 {%x, %y}, %a",
            |[a]| [a, a >> 16],
        ),
        Form::new(
            "mov.b64 to a half",
            [long()],
            [b32],
            "mov.b64 {_, %x}, %a",
            |[a]| [a >> 32],
        ),
        Form::simple("mov.b16", [half()], |[a]| a),
        Form::simple("mov.f32", [Operand::F32], |[a]| a),
        Form::simple("mov.f64", [Operand::F64], |[a]| a),
    ]
}
