//! The types that `cvt` takes, and what its modifiers do to their values.

use crate::differential::exact::{self, Mode};
use crate::differential::half;
use crate::differential::{Class, Form, Operand};

/// A type that `cvt` takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Type {
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

pub(super) const TYPES: [Type; 12] = [U8, S8, U16, S16, U32, S32, U64, S64, F16, Bf16, F32, F64];

impl Type {
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    pub fn bits(self) -> u32 {
        match self {
            U8 | S8 => 8,
            U16 | S16 | F16 | Bf16 => 16,
            U32 | S32 | F32 => 32,
            U64 | S64 | F64 => 64,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, F16 | Bf16 | F32 | F64)
    }

    pub fn is_signed(self) -> bool {
        matches!(self, S8 | S16 | S32 | S64)
    }

    /// Values of a register that holds it: bytes lie in 32 bits, whose upper ones do not count.
    pub fn operand(self) -> Operand {
        match self {
            F16 => Operand::F16,
            Bf16 => Operand::Bf16,
            F32 => Operand::F32,
            F64 => Operand::F64,
            U8 | S8 => Operand::I32,
            _ => Operand::Int(self.bits()),
        }
    }

    pub fn class(self) -> Class {
        self.operand().class()
    }

    /// An integer's value.
    pub fn integer(self, raw: u64) -> i128 {
        let shift = 64 - self.bits();
        match self.is_signed() {
            true => ((raw << shift) as i64 >> shift).into(),
            false => (raw << shift >> shift).into(),
        }
    }

    pub fn limits(self) -> (i128, i128) {
        let bits = self.bits();
        match self.is_signed() {
            true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            false => (0, (1 << bits) - 1),
        }
    }

    /// A float's value.
    pub fn widen(self, raw: u64) -> f64 {
        match self {
            F16 => half::F16.widen(raw),
            Bf16 => half::BF16.widen(raw),
            F32 => f32::from_bits(raw as u32).into(),
            _ => f64::from_bits(raw),
        }
    }

    /// A double rounded to this float type.
    pub fn round(self, x: f64, mode: Mode) -> u64 {
        match self {
            F16 => half::F16.round(x, mode),
            Bf16 => half::BF16.round(x, mode),
            F32 => exact::narrow(x, mode),
            _ => x.to_bits(),
        }
    }
}

pub(super) const INTEGRAL: [(Mode, &str); 4] = [
    (Mode::Nearest, "rni"),
    (Mode::Zero, "rzi"),
    (Mode::Down, "rmi"),
    (Mode::Up, "rpi"),
];

/// The written forms of `.ftz` and `.sat`.
pub(super) const MODIFIERS: [(bool, bool, &str); 4] = [
    (false, false, ""),
    (true, false, ".ftz"),
    (false, true, ".sat"),
    (true, true, ".ftz.sat"),
];

/// `.sat` on a float result of any type: to [0, 1], NaN and -0 to +0.
pub(super) fn saturated(ty: Type, bits: u64) -> u64 {
    match ty.widen(bits) {
        x if x.is_nan() || x <= 0.0 => 0,
        x if x >= 1.0 => ty.round(1.0, Mode::Nearest),
        _ => bits,
    }
}

pub(super) fn nan(ty: Type) -> u64 {
    match ty {
        F16 | Bf16 => half::NAN,
        F32 => 0x7fff_ffff,
        _ => 0x7fff_ffff_ffff_ffff,
    }
}

pub(super) fn integral(x: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => x.round_ties_even(),
        Mode::Zero => x.trunc(),
        Mode::Down => x.floor(),
        Mode::Up => x.ceil(),
    }
}

pub(super) fn form(
    name: String,
    dst: Type,
    src: Type,
    f: impl Fn(u64) -> u64 + Send + Sync + 'static,
) -> Form {
    Form::simple("convert", name, [src.operand()], dst.class(), move |[a]| {
        f(a)
    })
}
