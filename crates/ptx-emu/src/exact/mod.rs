//! IEEE 754 arithmetic computed exactly in integers and rounded once, in any rounding direction.
//!
//! The host rounds to nearest only, so the directed forms (`.rz`, `.rm`, `.rp`) of PTX are
//! evaluated here: operands are unpacked to `sign * significand * 2^exponent`, the operation is
//! carried out on 128-bit significands with a sticky flag for what lies below them, and
//! [`Exact::round`] packs the result. Speed does not matter: compilers emit the directed forms
//! rarely.
//!
//! Every function works on bit patterns held in the low bits of a `u64`.

mod format;

pub(crate) use format::{BF16, DEFAULT_NAN_F64, F16, F32, F64, Format, Rounding};

impl Format {
    fn unpack(&self, bits: u64) -> Number {
        let negative = bits & self.sign_bit() != 0;
        let biased = (bits >> (self.precision - 1)) & self.exponent_mask();
        let fraction = bits & self.fraction_mask();
        if biased == self.exponent_mask() {
            return if fraction == 0 {
                Number::Infinity(negative)
            } else {
                Number::Nan(bits)
            };
        }
        let (significand, steps) = match biased {
            0 => (fraction, 0),
            _ => (fraction | 1 << (self.precision - 1), biased as i32 - 1),
        };
        let exponent = self.min_lsb_exponent() + steps;
        Number::Finite(Exact {
            negative,
            exponent,
            significand: u128::from(significand),
            sticky: false,
        })
    }

    /// The result for NaN operands; `bits` are those of the one that counts.
    fn propagate(&self, bits: u64) -> u64 {
        if self.keeps_payload {
            bits | 1 << (self.precision - 2)
        } else {
            self.default_nan
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Nan(u64),
    Infinity(bool),
    Finite(Exact),
}

/// `(-1)^negative * (significand + tail) * 2^exponent`, where `0 < tail < 1` if `sticky`, else 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    negative: bool,
    exponent: i32,
    significand: u128,
    sticky: bool,
}

/// Where [`Exact::normalised`] puts the leading bit: one below the top, room for a carry.
const TOP: u32 = 126;

impl Exact {
    /// An integer, exactly.
    pub(crate) fn from_integer(negative: bool, magnitude: u64) -> Self {
        Self {
            negative,
            exponent: 0,
            significand: u128::from(magnitude),
            sticky: false,
        }
    }

    fn is_zero(&self) -> bool {
        self.significand == 0 && !self.sticky
    }

    /// Moves the leading bit to [`TOP`], and keeps the value, which must not be 0 or sticky.
    fn normalised(self) -> Self {
        let shift = self.significand.leading_zeros() - (127 - TOP);
        Self {
            significand: self.significand << shift,
            exponent: self.exponent - shift as i32,
            ..self
        }
    }

    /// Rounds once to `format`. A sticky value must carry two bits more than the format's
    /// precision.
    pub(crate) fn round(self, format: &Format, rounding: Rounding) -> u64 {
        if self.is_zero() {
            return format.zero(self.negative);
        }
        let precision = format.precision as i32;
        let leading = 127 - self.significand.leading_zeros() as i32;
        let mut lsb = self.exponent + leading - (precision - 1);
        if !format.flushes {
            lsb = lsb.max(format.min_lsb_exponent());
        }
        let shift = lsb - self.exponent;
        // `kept` in units of the result's last place; `order` compares what is cut with one half.
        let (mut kept, cut, order) = match shift {
            ..=0 => (self.significand << -shift, 0, std::cmp::Ordering::Less),
            1..=127 => {
                let cut = self.significand & ((1 << shift) - 1);
                (self.significand >> shift, cut, cut.cmp(&(1 << (shift - 1))))
            }
            _ => (0, self.significand, std::cmp::Ordering::Less),
        };
        let inexact = cut != 0 || self.sticky;
        let up = match rounding {
            Rounding::Nearest => match order {
                std::cmp::Ordering::Less => false,
                std::cmp::Ordering::Equal => self.sticky || kept & 1 == 1,
                std::cmp::Ordering::Greater => true,
            },
            Rounding::Zero => false,
            Rounding::Down => inexact && self.negative,
            Rounding::Up => inexact && !self.negative,
        };
        kept += u128::from(up);
        if kept == 1 << precision {
            kept >>= 1;
            lsb += 1;
        }
        let sign = format.zero(self.negative);
        if lsb < format.min_lsb_exponent() {
            return sign;
        }
        if kept < 1 << (precision - 1) {
            return sign | kept as u64;
        }
        let biased = lsb + precision - 1 + format.bias();
        if biased >= format.exponent_mask() as i32 {
            let to_infinity = match rounding {
                Rounding::Nearest => true,
                Rounding::Zero => false,
                Rounding::Down => self.negative,
                Rounding::Up => !self.negative,
            };
            let infinity = format.infinity(self.negative);
            return if to_infinity { infinity } else { infinity - 1 };
        }
        sign | (biased as u64) << (precision - 1) | (kept as u64 & format.fraction_mask())
    }
}

/// The sum of two finite values. An exact zero is negative only if both are, or if rounding down.
fn sum(a: Exact, b: Exact, rounding: Rounding) -> Exact {
    if a.is_zero() && b.is_zero() {
        let negative = if a.negative == b.negative {
            a.negative
        } else {
            rounding == Rounding::Down
        };
        return Exact { negative, ..a };
    }
    if a.is_zero() {
        return b;
    }
    if b.is_zero() {
        return a;
    }
    let (a, b) = (a.normalised(), b.normalised());
    let (large, small) = if (a.exponent, a.significand) >= (b.exponent, b.significand) {
        (a, b)
    } else {
        (b, a)
    };
    let distance = (large.exponent - small.exponent) as u32;
    let (shifted, lost) = match distance {
        0..=127 => (
            small.significand >> distance,
            small.significand & ((1 << distance) - 1) != 0,
        ),
        _ => (0, true),
    };
    if large.negative == small.negative {
        return Exact {
            significand: large.significand + shifted,
            sticky: lost,
            ..large
        };
    }
    // `large - (shifted + tail)` is `(large - shifted - 1) + (1 - tail)`.
    let significand = large.significand - shifted - u128::from(lost);
    let negative = if significand == 0 && !lost {
        rounding == Rounding::Down
    } else {
        large.negative
    };
    Exact {
        negative,
        significand,
        sticky: lost,
        ..large
    }
}

fn product(a: Exact, b: Exact) -> Exact {
    Exact {
        negative: a.negative != b.negative,
        exponent: a.exponent + b.exponent,
        significand: a.significand * b.significand,
        sticky: false,
    }
}

/// `a + b`. Of two NaNs `b` counts.
pub(crate) fn add(a: u64, b: u64, format: &Format, rounding: Rounding) -> u64 {
    match (format.unpack(a), format.unpack(b)) {
        (_, Number::Nan(bits)) | (Number::Nan(bits), _) => format.propagate(bits),
        (Number::Infinity(x), Number::Infinity(y)) if x != y => format.default_nan,
        (Number::Infinity(x), _) | (_, Number::Infinity(x)) => format.infinity(x),
        (Number::Finite(x), Number::Finite(y)) => sum(x, y, rounding).round(format, rounding),
    }
}

/// `a - b`. As in [`add`], a NaN operand passes through where the format keeps payloads.
pub(crate) fn sub(a: u64, b: u64, format: &Format, rounding: Rounding) -> u64 {
    match format.unpack(b) {
        Number::Nan(_) => add(a, b, format, rounding),
        _ => add(a, b ^ format.sign_bit(), format, rounding),
    }
}

/// `a * b`. Of two NaNs `b` counts.
pub(crate) fn mul(a: u64, b: u64, format: &Format, rounding: Rounding) -> u64 {
    match (format.unpack(a), format.unpack(b)) {
        (_, Number::Nan(bits)) | (Number::Nan(bits), _) => format.propagate(bits),
        (Number::Infinity(x), Number::Infinity(y)) => format.infinity(x != y),
        (Number::Infinity(x), Number::Finite(y)) | (Number::Finite(y), Number::Infinity(x)) => {
            if y.is_zero() {
                format.default_nan
            } else {
                format.infinity(x != y.negative)
            }
        }
        (Number::Finite(x), Number::Finite(y)) => product(x, y).round(format, rounding),
    }
}

/// `a * b + c`, rounded once. Of NaNs `b` counts before `c`, and `c` before `a`.
pub(crate) fn fma(a: u64, b: u64, c: u64, format: &Format, rounding: Rounding) -> u64 {
    let (x, y, z) = (format.unpack(a), format.unpack(b), format.unpack(c));
    for operand in [y, z, x] {
        if let Number::Nan(bits) = operand {
            return format.propagate(bits);
        }
    }
    if let (Number::Finite(x), Number::Finite(y), Number::Finite(z)) = (x, y, z) {
        return sum(product(x, y), z, rounding).round(format, rounding);
    }
    // An operand is infinite: the product is infinite, invalid, or finite beside an infinite
    // addend.
    let finite_product = matches!((x, y), (Number::Finite(_), Number::Finite(_)));
    if finite_product {
        c
    } else {
        add(mul(a, b, format, rounding), c, format, rounding)
    }
}

/// `a / b`. Of two NaNs `a` counts.
pub(crate) fn div(a: u64, b: u64, format: &Format, rounding: Rounding) -> u64 {
    match (format.unpack(a), format.unpack(b)) {
        (Number::Nan(bits), _) | (_, Number::Nan(bits)) => format.propagate(bits),
        (Number::Infinity(_), Number::Infinity(_)) => format.default_nan,
        (Number::Infinity(x), Number::Finite(y)) => format.infinity(x != y.negative),
        (Number::Finite(x), Number::Infinity(y)) => format.zero(x.negative != y),
        (Number::Finite(x), Number::Finite(y)) => {
            let negative = x.negative != y.negative;
            match (x.is_zero(), y.is_zero()) {
                (true, true) => return format.default_nan,
                (true, false) => return format.zero(negative),
                (false, true) => return format.infinity(negative),
                (false, false) => {}
            }
            // 127 bits over at most 53: a quotient of at least 73 bits.
            let x = x.normalised();
            let significand = x.significand / y.significand;
            let sticky = !x.significand.is_multiple_of(y.significand);
            let exponent = x.exponent - y.exponent;
            Exact {
                negative,
                exponent,
                significand,
                sticky,
            }
            .round(format, rounding)
        }
    }
}

/// The square root of `a`.
pub(crate) fn sqrt(a: u64, format: &Format, rounding: Rounding) -> u64 {
    match format.unpack(a) {
        Number::Nan(bits) => format.propagate(bits),
        Number::Infinity(false) => format.infinity(false),
        Number::Infinity(true) => format.default_nan,
        Number::Finite(x) if x.is_zero() => a,
        Number::Finite(x) if x.negative => format.default_nan,
        Number::Finite(x) => {
            let mut x = x.normalised();
            if x.exponent % 2 != 0 {
                x.significand >>= 1; // exact: the low bits of a normalised operand are 0
                x.exponent += 1;
            }
            let root = x.significand.isqrt();
            let sticky = root * root != x.significand;
            Exact {
                negative: false,
                exponent: x.exponent / 2,
                significand: root,
                sticky,
            }
            .round(format, rounding)
        }
    }
}

/// Converts between formats. A NaN becomes the target's default NaN.
///
/// [`narrow_nan`] is for NaNs that keep their payload.
pub(crate) fn convert(a: u64, from: &Format, to: &Format, rounding: Rounding) -> u64 {
    match from.unpack(a) {
        Number::Nan(_) => to.default_nan,
        Number::Infinity(negative) => to.infinity(negative),
        Number::Finite(x) => x.round(to, rounding),
    }
}

/// A NaN of binary64 cut to a narrower format, quieted.
pub(crate) const fn narrow_nan(a: u64, to: &Format) -> u64 {
    let payload = (a & F64.fraction_mask()) >> (F64.precision - to.precision);
    let quiet = 1 << (to.precision - 2);
    to.infinity(a & F64.sign_bit() != 0) | quiet | payload
}

/// The value of a binary16.
#[inline(always)]
pub(crate) fn half_to_single(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let is_finite = bits & 0x7c00 != 0x7c00;
    // The exponents differ by 112, for subnormal numbers too.
    let scaled = if is_finite {
        (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits()
    } else {
        magnitude | 0x7f80_0000
    };
    f32::from_bits(sign | scaled)
}

#[cfg(test)]
mod tests;
