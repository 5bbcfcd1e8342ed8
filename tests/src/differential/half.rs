//! `f16` and `bf16` by their tables of values.

use std::sync::LazyLock;

use super::exact::Mode;

/// A 16-bit format: every non-negative value in order, with the last one at the place of infinity.
pub struct Half {
    values: Vec<f64>,
}

/// IEEE binary16.
pub static F16: LazyLock<Half> = LazyLock::new(|| Half::new(5, 10));
/// The upper half of a binary32.
pub static BF16: LazyLock<Half> = LazyLock::new(|| Half::new(8, 7));

/// The NaN of every result.
pub const NAN: u64 = 0x7fff;

impl Half {
    fn new(exponent_bits: u32, fraction_bits: u32) -> Half {
        let bias = (1 << (exponent_bits - 1)) - 1;
        let infinity = ((1u32 << exponent_bits) - 1) << fraction_bits;
        let value = |bits: u32| {
            let fraction = bits & ((1 << fraction_bits) - 1);
            let (significand, exponent) = match bits >> fraction_bits {
                0 => (fraction, 1),
                exponent => (fraction | 1 << fraction_bits, exponent as i32),
            };
            f64::from(significand) * 2f64.powi(exponent - bias - fraction_bits as i32)
        };
        Half {
            values: (0..=infinity).map(value).collect(),
        }
    }

    fn infinity(&self) -> usize {
        self.values.len() - 1
    }

    /// The value of these bits.
    pub fn widen(&self, bits: u64) -> f64 {
        let magnitude = (bits & 0x7fff) as usize;
        let value = match magnitude.cmp(&self.infinity()) {
            std::cmp::Ordering::Less => self.values[magnitude],
            std::cmp::Ordering::Equal => f64::INFINITY,
            std::cmp::Ordering::Greater => f64::NAN,
        };
        if bits & 0x8000 == 0 { value } else { -value }
    }

    /// A double rounded to this format.
    pub fn round(&self, x: f64, mode: Mode) -> u64 {
        if x.is_nan() {
            return NAN;
        }
        let sign = u64::from(x.is_sign_negative()) << 15;
        let magnitude = x.abs();
        if magnitude.is_infinite() {
            return sign | self.infinity() as u64;
        }
        let below = self.values.partition_point(|&v| v <= magnitude) - 1;
        if below >= self.infinity() {
            let stays = match mode {
                Mode::Nearest => false,
                Mode::Zero => true,
                Mode::Down => sign == 0,
                Mode::Up => sign != 0,
            };
            return sign | (self.infinity() - usize::from(stays)) as u64;
        }
        let (low, high) = (self.values[below], self.values[below + 1]);
        let away = magnitude > low
            && match mode {
                Mode::Zero => false,
                Mode::Down => sign != 0,
                Mode::Up => sign == 0,
                Mode::Nearest => {
                    let middle = (low + high) / 2.0;
                    magnitude > middle || magnitude == middle && below % 2 == 1
                }
            };
        sign | (below + usize::from(away)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_rounds_to_itself() {
        for half in [&F16, &BF16] {
            for bits in 0..=0xffffu64 {
                let value = half.widen(bits);
                if !value.is_nan() {
                    for mode in Mode::ALL {
                        assert_eq!(half.round(value, mode), bits, "{bits:#x}");
                    }
                }
            }
        }
    }

    #[test]
    fn values_are_those_of_the_formats() {
        assert_eq!((F16.widen(0x3c00), BF16.widen(0x3f80)), (1.0, 1.0));
        assert_eq!((F16.widen(1), F16.widen(0x7bff)), (2f64.powi(-24), 65504.0));
        assert_eq!(BF16.widen(0xff7f), -f64::from(f32::from_bits(0x7f7f_0000)));
    }

    #[test]
    fn ties_go_to_even_and_overflow_to_infinity() {
        assert_eq!(F16.round(65519.999, Mode::Nearest), 0x7bff);
        assert_eq!(F16.round(65520.0, Mode::Nearest), 0x7c00);
        assert_eq!(F16.round(65520.0, Mode::Zero), 0x7bff);
        assert_eq!(
            F16.round(2049.0, Mode::Nearest),
            F16.round(2048.0, Mode::Zero)
        );
        assert_eq!(
            F16.round(2051.0, Mode::Nearest),
            F16.round(2052.0, Mode::Zero)
        );
        assert_eq!(BF16.round(-1e-60, Mode::Down), 0x8001);
    }
}
