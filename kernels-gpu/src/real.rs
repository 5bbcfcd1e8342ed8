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

/// a / d for each pair, rounded as by `/`.
///
/// On a GPU, `/` is a short sequence and a branch for extreme values: a thread waits for one
/// quotient before it starts the next. Here one branch serves all, and the sequences overlap.
#[inline(always)]
pub fn quotients<const N: usize>(a: [f32; N], d: [f32; N]) -> [f32; N] {
    let mut quotients = [0.0; N];
    #[cfg(target_arch = "nvptx64")]
    if are_moderate(a, d) {
        for k in 0..N {
            quotients[k] = moderate(a[k], d[k], cuda_std::float::recip_approx(d[k]));
        }
        return quotients;
    }
    for k in 0..N {
        quotients[k] = a[k] / d[k];
    }
    quotients
}

/// Whether each of `a` is 0 or of a magnitude from 2^-64 to 2^64, and each of `d` from 1 to 2^20.
#[cfg(any(target_arch = "nvptx64", test))]
#[inline(always)]
fn are_moderate<const N: usize>(a: [f32; N], d: [f32; N]) -> bool {
    const fn bits(exponent: u32) -> u32 {
        (127 + exponent) << 23
    }
    let (mut least, mut largest, mut divisor) = (u32::MAX, 0, 0);
    for k in 0..N {
        // Without the sign.
        let magnitude = a[k].to_bits() << 1;
        // 0 becomes the largest.
        least = least.min(magnitude.wrapping_sub(1));
        largest = largest.max(magnitude);
        divisor = divisor.max(d[k].to_bits().wrapping_sub(bits(0)));
    }
    least >= ((127 - 64) << 24) - 1 && largest <= bits(64) << 1 && divisor <= bits(20) - bits(0)
}

/// a / d of moderate values, rounded as by `/`. `approximate` is 1 / d, a unit in the last place
/// off at most; for a mantissa of ones only, it is rounded correctly.
///
/// One iteration by Newton rounds 1 / d correctly; then the quotient's remainder is exact, and
/// corrects it (Markstein, "Computation of elementary functions on the IBM RISC System/6000
/// processor", IBM Journal of Research and Development 34, 1990). ptxas makes the same sequence of
/// `/`, from the same approximation.
#[cfg(any(target_arch = "nvptx64", test))]
#[inline(always)]
fn moderate(a: f32, d: f32, approximate: f32) -> f32 {
    let reciprocal = approximate.fused((-d).fused(approximate, 1.0), approximate);
    let quotient = a * reciprocal;
    let remainder = (-d).fused(quotient, a);
    // The sum of 0 and -0 is 0.
    GpuFloat::copysign(remainder.fused(reciprocal, quotient), a)
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
    use super::{are_moderate, moderate, sine};

    /// Moderate values, among them those whose mantissas are extreme.
    fn moderate_pairs() -> impl Iterator<Item = [f32; 2]> {
        let mantissas = [0, 1, 2, 0x3f_ffff, 0x40_0000, 0x7f_fffe, 0x7f_ffff];
        let of = |exponent: u32, mantissa: u32| f32::from_bits((exponent << 23) | mantissa);
        let extremes = mantissas.into_iter().flat_map(move |a| {
            let pair = move |d| [of(63, a), of(146, d)];
            mantissas.into_iter().map(pair)
        });
        let random = (0..50_000_u32).map(move |i| {
            let [a, d] = [i, i + 1_000_000].map(|i| i.wrapping_mul(0x9e37_79b9) ^ (i << 7));
            [
                of(63 + a % 128, (a >> 9) & 0x7f_ffff),
                of(127 + d % 20, (d >> 9) & 0x7f_ffff),
            ]
        });
        extremes.chain(random)
    }

    #[test]
    fn moderate_quotients_are_rounded_as_by_division() {
        for [a, d] in moderate_pairs() {
            let exact = 1.0 / d;
            // See `moderate` for this mantissa.
            let errors = match d.to_bits() & 0x7f_ffff {
                0x7f_ffff => &[0][..],
                _ => &[0, 1, u32::MAX],
            };
            for &error in errors {
                let approximate = f32::from_bits(exact.to_bits().wrapping_add(error));
                for a in [a, -a, 0.0, -0.0] {
                    assert!(are_moderate([a], [d]), "{a:e} / {d:e}");
                    let got = moderate(a, d, approximate);
                    let expected = a / d;
                    assert_eq!(
                        got.to_bits(),
                        expected.to_bits(),
                        "{a:e} / {d:e} is {expected:e}, not {got:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn extreme_values_are_not_moderate() {
        for a in [1e-20_f32, 1e20, f32::from_bits(1), f32::INFINITY, f32::NAN] {
            assert!(!are_moderate([1.0, a], [1.0, 1.0]), "{a:e} / 1");
            assert!(!are_moderate([-a, 0.0], [1.0, 1.0]), "{:e} / 1", -a);
        }
        for d in [0.0_f32, 0.9, -1.0, 1.1e6, f32::INFINITY, f32::NAN] {
            assert!(!are_moderate([1.0, 1.0], [d, 1.0]), "1 / {d:e}");
        }
    }

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
