//! One element of a buffer, whatever its type.

use std::fmt;

use crate::buffer::{Element, HostBuffer};

/// One element of a buffer, read by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    element: Element,
    bits: u64,
}

impl Value {
    /// Element `index` of the buffer.
    ///
    /// # Panics
    ///
    /// If the buffer has no such element.
    pub fn at(buffer: &HostBuffer, index: usize) -> Value {
        let element = buffer.element();
        let size = element.size();
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&buffer.bytes()[index * size..][..size]);
        Value {
            element,
            bits: u64::from_le_bytes(bytes),
        }
    }

    /// The element's bits, in the lower part.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The value, rounded if it has more than 53 significant bits.
    pub fn to_f64(self) -> f64 {
        match self.element {
            Element::F32 => f32::from_bits(self.bits as u32).into(),
            Element::F64 => f64::from_bits(self.bits),
            Element::I32 => (self.bits as i32).into(),
            Element::I64 => self.bits as i64 as f64,
            Element::U32 | Element::U64 | Element::U8 => self.bits as f64,
        }
    }

    /// Whether it is neither NaN nor infinite.
    pub fn is_finite(self) -> bool {
        self.to_f64().is_finite()
    }

    /// The shortest decimal that reads back as the same number.
    pub fn decimal(self) -> String {
        match self.element {
            Element::F32 => format!("{:?}", f32::from_bits(self.bits as u32)),
            Element::F64 => format!("{:?}", f64::from_bits(self.bits)),
            Element::I32 => (self.bits as i32).to_string(),
            Element::I64 => (self.bits as i64).to_string(),
            Element::U32 | Element::U64 | Element::U8 => self.bits.to_string(),
        }
    }

    /// How many numbers away `other` is, counting +0 and -0 as two. `None` for integers, NaN and
    /// infinity.
    pub fn ulp_distance(self, other: Value) -> Option<u64> {
        let sign_bit = match self.element {
            Element::F32 => 31,
            Element::F64 => 63,
            _ => return None,
        };
        if !(self.is_finite() && other.is_finite()) {
            return None;
        }
        // Bit patterns of floats are ordered as the values are, except for the sign: negative
        // values count down.
        let rank = |value: Value| {
            let magnitude = i128::from(value.bits & !(1 << sign_bit));
            if value.bits >> sign_bit == 1 {
                -1 - magnitude
            } else {
                magnitude
            }
        };
        u64::try_from(rank(self).abs_diff(rank(other))).ok()
    }
}

/// Decimal and bits: `0.1 (0x3dcccccd)`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#x})", self.decimal(), self.bits)
    }
}
