//! Arithmetic over `f32` and `f64` alike.
//!
//! The kernels and their CPU references compute in `f32`; the oracle evaluates the same formulas in
//! `f64`. They use only operations with one IEEE-754 result, and Rust fuses them only where
//! [`Fused`] asks for it: host and GPU agree bit for bit.

use core::ops::{Add, Div, Mul, Neg, Sub};

use cuda_std::float::GpuFloat;

/// A floating-point type for which the schemes are written.
pub trait Real:
    Copy
    + PartialEq
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
    /// Zero.
    const ZERO: Self;

    /// The value, exactly.
    fn from_f32(value: f32) -> Self;
}

/// A [`Real`] with fused products and sums, for schemes that their definition fuses.
pub trait Fused: Real + Div<Output = Self> {
    /// self * a + b, rounded once.
    fn fused(self, a: Self, b: Self) -> Self;
}

impl Fused for f32 {
    #[inline(always)]
    fn fused(self, a: f32, b: f32) -> f32 {
        GpuFloat::mul_add(self, a, b)
    }
}

impl Fused for f64 {
    #[inline(always)]
    fn fused(self, a: f64, b: f64) -> f64 {
        GpuFloat::mul_add(self, a, b)
    }
}

impl Real for f32 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        value
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        f64::from(value)
    }
}

/// sin(2 pi phase / 2^32): the phase wraps around with the integer, without loss for any time.
///
/// It is computed in `f32` with the same operations everywhere; the error is below 1e-6.
///
/// The Taylor series of sin(2 pi x) to the eleventh degree on [-1/4, 1/4], where its remainder is
/// under (pi/2)^13 / 13! = 6e-8.
#[inline(always)]
pub fn sine(phase: u32) -> f32 {
    // Fold the second and third quarter turns onto the outer two: sin(pi - a) = sin(a).
    let turns = phase as i32;
    let quarter = 1 << 30;
    let folded = if turns >= quarter || turns < -quarter {
        (1_u32 << 31).wrapping_sub(phase) as i32
    } else {
        turns
    };
    let x = folded as f32 * (1.0 / 4_294_967_296.0);
    let x2 = x * x;
    // Horner's scheme; the coefficients are (-1)^n (2 pi)^(2n+1) / (2n+1)!.
    let sum = -15.094_643 * x2 + 42.058_693;
    let sum = sum * x2 - 76.705_86;
    let sum = sum * x2 + 81.605_25;
    let sum = sum * x2 - 41.341_7;
    let sum = sum * x2 + 6.283_185_5;
    sum * x
}

#[cfg(test)]
mod tests {
    use super::sine;

    #[test]
    fn the_sine_is_one() {
        for i in 0..100_000_u64 {
            let phase = (i * 4_294_967_296 / 100_000) as u32;
            let exact = (f64::from(phase) / 4_294_967_296.0 * core::f64::consts::TAU).sin();
            let got = f64::from(sine(phase));
            assert!(
                (got - exact).abs() < 1e-6,
                "phase {phase}: {got}, expected {exact}"
            );
        }
    }

    #[test]
    fn its_zeros_and_extremes_are_exact_in_sign() {
        assert_eq!(sine(0), 0.0);
        assert_eq!(sine(1 << 31), 0.0);
        assert!((sine(1 << 30) - 1.0).abs() < 1e-6);
        assert!((sine(3 << 30) + 1.0).abs() < 1e-6);
    }
}
