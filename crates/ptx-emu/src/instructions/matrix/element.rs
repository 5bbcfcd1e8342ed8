//! The types of elements of matrices.

use ptx::ScalarType;

use super::super::half::Half;
use super::super::narrow::Eight;
use crate::exact::DEFAULT_NAN_F64;

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S32,
    S8,
    U8,
    S4,
    U4,
    B1,
}

impl Element {
    /// Modifiers that name types.
    pub(super) const NAMES: [(&str, Element); 13] = [
        ("f16", Element::F16),
        ("bf16", Element::Bf16),
        ("tf32", Element::Tf32),
        ("f32", Element::F32),
        ("f64", Element::F64),
        ("e4m3", Element::E4m3),
        ("e5m2", Element::E5m2),
        ("s32", Element::S32),
        ("s8", Element::S8),
        ("u8", Element::U8),
        ("s4", Element::S4),
        ("u4", Element::U4),
        ("b1", Element::B1),
    ];

    pub(super) const fn bits(self) -> u32 {
        match self {
            Element::F64 => 64,
            Element::F32 | Element::S32 | Element::Tf32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::S4 | Element::U4 => 4,
            Element::B1 => 1,
        }
    }

    /// The type of a register that holds such elements.
    pub(super) const fn register(self) -> ScalarType {
        match self {
            Element::F64 => ScalarType::F64,
            _ => ScalarType::B32,
        }
    }

    /// Elements of a register.
    pub(super) const fn in_register(self) -> usize {
        match self {
            Element::F64 => 1,
            _ => 32 / self.bits() as usize,
        }
    }

    /// Whether it is an integer.
    pub(super) const fn is_integer(self) -> bool {
        use Element::*;
        matches!(self, S32 | S8 | U8 | S4 | U4 | B1)
    }

    /// The value of an element of a floating type.
    pub(super) fn real(self, bits: u64) -> f64 {
        match self {
            Element::F16 => Half::F16.widen(bits as u16).into(),
            Element::Bf16 => Half::Bf16.widen(bits as u16).into(),
            // The bits that tf32 does not have are not looked at.
            Element::Tf32 => f32::from_bits(bits as u32 & !0x1fff).into(),
            Element::F32 => f32::from_bits(bits as u32).into(),
            Element::E4m3 => Half::F16.widen(Eight::E4m3.widen(bits as u8)).into(),
            Element::E5m2 => Half::F16.widen(Eight::E5m2.widen(bits as u8)).into(),
            _ => f64::from_bits(bits),
        }
    }

    /// The value of an element of an integer type.
    pub(super) fn integer(self, bits: u64) -> i64 {
        let shift = 64 - self.bits();
        match self {
            Element::S32 | Element::S8 | Element::S4 => (bits << shift) as i64 >> shift,
            _ => (bits << shift >> shift) as i64,
        }
    }

    /// The bits of a value in a floating type that results have.
    pub(super) fn bits_of(self, x: f64) -> u64 {
        match self {
            Element::F16 => Half::F16.narrow(x).into(),
            Element::F32 if x.is_nan() => 0x7fff_ffff,
            Element::F32 => (x as f32).to_bits().into(),
            // Which NaN an operation of the host gives depends on the host.
            _ if x.is_nan() => DEFAULT_NAN_F64,
            _ => x.to_bits(),
        }
    }
}
