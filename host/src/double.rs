//! Pairs of `f64` that hold about 106 bits: what `f64` results are judged by.
//!
//! The algorithms are Dekker's ("A floating-point technique for extending the available precision",
//! 1971), in the form that Hida, Li and Bailey give ("Library for double-double and quad-double
//! arithmetic", 2007). None needs a fused multiply-add.

use std::ops::{Add, Div, Mul, Sub};

/// The unevaluated sum of two numbers, the second at most half a unit in the last place of the
/// first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Double {
    high: f64,
    low: f64,
}

impl Double {
    /// The nearest `f64`.
    pub fn rounded(self) -> f64 {
        self.high
    }
}

impl From<f64> for Double {
    fn from(value: f64) -> Double {
        Double {
            high: value,
            low: 0.0,
        }
    }
}

/// The sum and its rounding error, where |a| >= |b|.
fn quick_sum(a: f64, b: f64) -> Double {
    let high = a + b;
    Double {
        high,
        low: b - (high - a),
    }
}

/// The sum and its rounding error.
fn sum(a: f64, b: f64) -> Double {
    let high = a + b;
    let b_part = high - a;
    Double {
        high,
        low: (a - (high - b_part)) + (b - b_part),
    }
}

/// The upper 26 bits and the rest.
fn split(a: f64) -> (f64, f64) {
    let scaled = 134_217_729.0 * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

/// The product and its rounding error.
fn product(a: f64, b: f64) -> Double {
    let high = a * b;
    let (a_high, a_low) = split(a);
    let (b_high, b_low) = split(b);
    Double {
        high,
        low: ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low,
    }
}

impl Add for Double {
    type Output = Double;

    fn add(self, other: Double) -> Double {
        let high = sum(self.high, other.high);
        let low = sum(self.low, other.low);
        let first = quick_sum(high.high, high.low + low.high);
        quick_sum(first.high, first.low + low.low)
    }
}

impl Sub for Double {
    type Output = Double;

    fn sub(self, other: Double) -> Double {
        self + Double {
            high: -other.high,
            low: -other.low,
        }
    }
}

impl Mul for Double {
    type Output = Double;

    fn mul(self, other: Double) -> Double {
        let high = product(self.high, other.high);
        quick_sum(
            high.high,
            high.low + (self.high * other.low + self.low * other.high),
        )
    }
}

impl Div for Double {
    type Output = Double;

    fn div(self, other: Double) -> Double {
        // Long division, three digits of 53 bits.
        let first = self.high / other.high;
        let rest = self - other * first.into();
        let second = rest.high / other.high;
        let rest = rest - other * second.into();
        let third = rest.high / other.high;
        quick_sum(first, second) + third.into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn double(value: f64) -> Double {
        value.into()
    }

    /// Whether two are equal except some of the last bits.
    fn is_near(a: Double, b: Double) -> bool {
        let difference = a - b;
        difference.high.abs() <= 1e-30 * a.high.abs().max(1e-300)
    }

    #[test]
    fn what_f64_loses_is_kept() {
        let tiny = double(1e-20);
        assert_eq!((double(1.0) + tiny - double(1.0)).rounded(), 1e-20);
        let third = double(1.0) / double(3.0);
        assert!(is_near(third * double(3.0), double(1.0)));
        // (2^30 + 1)^2 has 61 bits.
        let n = double(1_073_741_825.0);
        let square = n * n - double(1_152_921_504_606_846_976.0);
        assert_eq!(square.rounded(), 2_147_483_649.0);
    }

    proptest! {
        #[test]
        fn operations_undo_each_other(a in -1e10f64..1e10, b in 1e-3f64..1e3, c in -1e3f64..1e3) {
            let (x, y) = (double(a) + double(c) / double(b), double(b) / double(7.0));
            prop_assert!(is_near(x / y * y, x));
            let back = x + y - y;
            prop_assert!((back - x).rounded().abs() <= 1e-30 * (a.abs() + b + (c / b).abs()));
        }

        #[test]
        fn results_round_as_f64_does(a in -1e100f64..1e100, b in -1e100f64..1e100) {
            prop_assert_eq!((double(a) + double(b)).rounded(), a + b);
            prop_assert_eq!((double(a) * double(b)).rounded(), a * b);
            prop_assert_eq!((double(a) / double(b)).rounded(), a / b);
        }
    }
}
