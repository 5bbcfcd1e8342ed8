//! Binary floating-point formats, and the directions to round in.

/// A rounding direction: `.rn`, `.rz`, `.rm`, `.rp` (PTX ISA, "Rounding modifiers").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

impl Rounding {
    /// Encodes the direction for the `aux` field of an operation.
    pub(crate) const fn to_aux(self) -> u32 {
        self as u32
    }

    /// Inverse of [`Rounding::to_aux`]; only the two low bits count.
    pub(crate) const fn from_aux(aux: u32) -> Self {
        match aux & 3 {
            0 => Self::Nearest,
            1 => Self::Zero,
            2 => Self::Down,
            _ => Self::Up,
        }
    }
}

/// The NaN of an invalid f64 operation.
pub(crate) const DEFAULT_NAN_F64: u64 = 0xfff8_0000_0000_0000;

/// A binary floating-point format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// Significand bits, with the implicit one.
    pub(super) precision: u32,
    /// Exponent bits.
    pub(super) exponent_bits: u32,
    /// The NaN of an invalid operation.
    pub(super) default_nan: u64,
    /// Whether a NaN operand's payload reaches the result.
    pub(super) keeps_payload: bool,
    /// Whether a value below the normal numbers becomes 0, when rounded as if exponents had no
    /// limit.
    pub(super) flushes: bool,
}

/// IEEE binary16.
pub(crate) const F16: Format = Format {
    precision: 11,
    exponent_bits: 5,
    default_nan: 0x7fff,
    keeps_payload: false,
    flushes: false,
};
/// bfloat16: the upper half of a binary32.
pub(crate) const BF16: Format = Format {
    precision: 8,
    exponent_bits: 8,
    default_nan: 0x7fff,
    keeps_payload: false,
    flushes: false,
};
/// IEEE binary32. PTX gives every NaN result as `0x7fffffff`.
pub(crate) const F32: Format = Format {
    precision: 24,
    exponent_bits: 8,
    default_nan: 0x7fff_ffff,
    keeps_payload: false,
    flushes: false,
};
/// IEEE binary64. A NaN operand passes through, quieted.
pub(crate) const F64: Format = Format {
    precision: 53,
    exponent_bits: 11,
    default_nan: DEFAULT_NAN_F64,
    keeps_payload: true,
    flushes: false,
};

impl Format {
    /// The format with results below the normal numbers flushed to 0.
    pub(crate) const fn flushing(self) -> Self {
        Self {
            flushes: true,
            ..self
        }
    }

    pub(super) const fn bias(&self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The exponent of the least significant bit of subnormal numbers.
    pub(super) const fn min_lsb_exponent(&self) -> i32 {
        1 - self.bias() - (self.precision as i32 - 1)
    }

    pub(super) const fn exponent_mask(&self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    pub(super) const fn fraction_mask(&self) -> u64 {
        (1 << (self.precision - 1)) - 1
    }

    pub(super) const fn sign_bit(&self) -> u64 {
        1 << (self.precision - 1 + self.exponent_bits)
    }

    pub(super) const fn infinity(&self, negative: bool) -> u64 {
        (self.exponent_mask() << (self.precision - 1)) | if negative { self.sign_bit() } else { 0 }
    }

    pub(super) const fn zero(&self, negative: bool) -> u64 {
        if negative { self.sign_bit() } else { 0 }
    }

    /// The bit pattern with a subnormal replaced by the zero of its sign.
    pub(crate) const fn flush(&self, bits: u64) -> u64 {
        if (bits >> (self.precision - 1)) & self.exponent_mask() == 0 {
            bits & self.sign_bit()
        } else {
            bits
        }
    }
}
