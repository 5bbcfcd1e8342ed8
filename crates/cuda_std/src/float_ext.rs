//! Functions of mathematics and statistics that `std` does not have.

use core::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

use crate::GpuFloat;

/// Functions on `f32` and `f64` beyond [`GpuFloat`]. As there, host, emulated device and GPU give
/// the same bits.
///
/// The greatest errors that `tests/accuracy.rs` allows are 2 ULP (units in the last place) for the
/// functions of pi and the cube roots, and 4 for the others. Near roots of `log_gamma` and of the
/// Bessel functions, a ULP is that of 1.
pub trait FloatExt: Sized {
    /// The sine of `self * pi`.
    fn sinpi(self) -> Self;
    /// The cosine of `self * pi`.
    fn cospi(self) -> Self;
    /// Sine and cosine of `self * pi`.
    fn sincospi(self) -> (Self, Self);
    /// The error function.
    fn error_function(self) -> Self;
    /// 1 - the error function, exact where that is small.
    fn complementary_error_function(self) -> Self;
    /// The number whose complementary error function is `self`, in [0, 2].
    fn inv_complementary_error_function(self) -> Self;
    /// `exp(self * self)` times the complementary error function.
    fn scaled_complementary_error_function(self) -> Self;
    /// The probability that a number of the standard normal distribution is less than `self`.
    fn norm_cdf(self) -> Self;
    /// The number that one of the standard normal distribution is below with probability `self`.
    fn inv_norm_cdf(self) -> Self;
    /// A fraction in [0.5, 1) or 0, and the exponent: `self` is `fraction * 2^exponent`.
    fn frexp(self) -> (Self, i32);
    /// The exponent: the integer part of the logarithm of |self| to base 2.
    fn unbiased_exp(self) -> i32;
    /// `self * 2^exp`.
    fn ldexp(self, exp: i32) -> Self;
    /// `self * 2^exp`.
    fn scale_by_n(self, exp: i32) -> Self;
    /// The gamma function.
    fn gamma(self) -> Self;
    /// The logarithm of the absolute value of the gamma function.
    fn log_gamma(self) -> Self;
    /// `(1 + self).ln()`, exact near 0.
    fn log1p(self) -> Self;
    /// 1 / the cube root.
    fn rcbrt(self) -> Self;
    /// The nearest number in [0, 1]; 0 for NaN.
    fn saturate(self) -> Self;
    /// The Bessel function of the first kind of order 0.
    fn j0(self) -> Self;
    /// The Bessel function of the first kind of order 1.
    fn j1(self) -> Self;
    /// The Bessel function of the first kind of order `order`.
    fn jn(self, order: i32) -> Self;
    /// The Bessel function of the second kind of order 0.
    fn y0(self) -> Self;
    /// The Bessel function of the second kind of order 1.
    fn y1(self) -> Self;
    /// The Bessel function of the second kind of order `order`.
    fn yn(self, order: i32) -> Self;
}

macro_rules! of_libm {
    ($ty:ident: $($name:ident($($argument:ident)?) -> $result:ty = $libm:ident($($order:ident)?);)*) => {$(
        #[inline]
        fn $name(self $(, $argument: i32)?) -> $result {
            of_libm!(@call $libm self $($argument)?; $($order)?)
        }
    )*};
    (@call $libm:ident $self:ident; ) => { libm::$libm($self) };
    (@call $libm:ident $self:ident $argument:ident; after) => { libm::$libm($self, $argument) };
    (@call $libm:ident $self:ident $argument:ident; before) => { libm::$libm($argument, $self) };
}

macro_rules! saturate {
    ($ty:ident) => {
        #[inline(always)]
        fn saturate(self) -> $ty {
            // NaN is neither.
            if self >= 1.0 {
                1.0
            } else if self > 0.0 {
                self
            } else {
                0.0
            }
        }
    };
}

impl FloatExt for f32 {
    of_libm! { f32:
        error_function() -> f32 = erff();
        complementary_error_function() -> f32 = erfcf();
        frexp() -> (f32, i32) = frexpf();
        unbiased_exp() -> i32 = ilogbf();
        ldexp(exp) -> f32 = ldexpf(after);
        scale_by_n(exp) -> f32 = scalbnf(after);
        log1p() -> f32 = log1pf();
        j0() -> f32 = j0f();
        j1() -> f32 = j1f();
        jn(order) -> f32 = jnf(before);
        y0() -> f32 = y0f();
        y1() -> f32 = y1f();
        yn(order) -> f32 = ynf(before);
    }
    saturate!(f32);

    // Computed in `f64`, these have the error of the last rounding.

    #[inline]
    fn sinpi(self) -> f32 {
        f64::from(self).sinpi() as f32
    }

    #[inline]
    fn cospi(self) -> f32 {
        f64::from(self).cospi() as f32
    }

    #[inline]
    fn sincospi(self) -> (f32, f32) {
        let (sine, cosine) = f64::from(self).sincospi();
        (sine as f32, cosine as f32)
    }

    #[inline]
    fn inv_complementary_error_function(self) -> f32 {
        f64::from(self).inv_complementary_error_function() as f32
    }

    #[inline]
    fn scaled_complementary_error_function(self) -> f32 {
        f64::from(self).scaled_complementary_error_function() as f32
    }

    #[inline]
    fn norm_cdf(self) -> f32 {
        f64::from(self).norm_cdf() as f32
    }

    #[inline]
    fn inv_norm_cdf(self) -> f32 {
        f64::from(self).inv_norm_cdf() as f32
    }

    #[inline]
    fn gamma(self) -> f32 {
        libm::tgamma(f64::from(self)) as f32
    }

    #[inline]
    fn log_gamma(self) -> f32 {
        libm::lgamma(f64::from(self)) as f32
    }

    #[inline]
    fn rcbrt(self) -> f32 {
        f64::from(self).rcbrt() as f32
    }
}

impl FloatExt for f64 {
    of_libm! { f64:
        error_function() -> f64 = erf();
        complementary_error_function() -> f64 = erfc();
        frexp() -> (f64, i32) = frexp();
        unbiased_exp() -> i32 = ilogb();
        ldexp(exp) -> f64 = ldexp(after);
        scale_by_n(exp) -> f64 = scalbn(after);
        gamma() -> f64 = tgamma();
        log_gamma() -> f64 = lgamma();
        log1p() -> f64 = log1p();
        j0() -> f64 = j0();
        j1() -> f64 = j1();
        jn(order) -> f64 = jn(before);
        y0() -> f64 = y0();
        y1() -> f64 = y1();
        yn(order) -> f64 = yn(before);
    }
    saturate!(f64);

    #[inline]
    fn sinpi(self) -> f64 {
        self.sincospi().0
    }

    #[inline]
    fn cospi(self) -> f64 {
        self.sincospi().1
    }

    fn sincospi(self) -> (f64, f64) {
        if !self.is_finite() {
            return (f64::NAN, f64::NAN);
        }
        // The nearest multiple of 1/2, and what remains: both exact.
        let halves = GpuFloat::round(2.0 * self);
        let rest = self - 0.5 * halves;
        let quarter = (halves - 4.0 * GpuFloat::floor(0.25 * halves)) as u32;
        let (sine, cosine) = libm::sincos(PI * rest);
        // No sum of an odd number of halves is -0 here.
        match quarter {
            0 if halves == 0.0 => (sine, cosine),
            0 => (sine + 0.0, cosine),
            1 => (cosine, 0.0 - sine),
            2 => (0.0 - sine, -cosine),
            _ => (-cosine, sine + 0.0),
        }
    }

    fn inv_complementary_error_function(self) -> f64 {
        inv_erfc(self)
    }

    fn scaled_complementary_error_function(self) -> f64 {
        erfcx(self)
    }

    fn norm_cdf(self) -> f64 {
        // -self / sqrt(2), and what its rounding lost: the function amplifies a relative error by
        // the square of its argument.
        const REST: f64 = -4.833646656726457e-17;
        let high = -self * FRAC_1_SQRT_2;
        let low = GpuFloat::mul_add(-self, FRAC_1_SQRT_2, -high) - self * REST;
        let slope = if high.is_finite() {
            TWO_BY_SQRT_PI * libm::exp(-high * high)
        } else {
            return 0.5 * libm::erfc(high);
        };
        0.5 * (libm::erfc(high) - slope * low)
    }

    #[inline]
    fn inv_norm_cdf(self) -> f64 {
        -SQRT_2 * inv_erfc(2.0 * self)
    }

    #[inline]
    fn rcbrt(self) -> f64 {
        1.0 / libm::cbrt(self)
    }
}

/// 2 / sqrt(pi).
const TWO_BY_SQRT_PI: f64 = core::f64::consts::FRAC_2_SQRT_PI;

/// `exp(x * x) * erfc(x)`.
fn erfcx(x: f64) -> f64 {
    if x < 26.0 {
        // The square in two parts: the exponential amplifies its rounding.
        let square = x * x;
        let rest = GpuFloat::mul_add(x, x, -square);
        let power = libm::exp(square);
        // For x below -26.7 it is infinite, and the rest no number's.
        let power = if power.is_finite() {
            GpuFloat::mul_add(power, rest, power)
        } else {
            power
        };
        return power * libm::erfc(x);
    }
    // The asymptotic series, to its 8th term: the next is less than 2^-55 of the first.
    let t = 0.5 / (x * x);
    let mut sum = 1.0;
    let mut k = 13.0;
    while k > 0.0 {
        sum = 1.0 - k * t * sum;
        k -= 2.0;
    }
    0.5 * TWO_BY_SQRT_PI / x * sum
}

/// The inverse of the error function.
pub(crate) fn inv_erf(x: f64) -> f64 {
    // Beyond, 1 - x is exact.
    if x.abs() <= 0.5 {
        near_inv_erf(x)
    } else if x < 0.0 {
        -inv_erfc(1.0 + x)
    } else {
        inv_erfc(1.0 - x)
    }
}

/// The inverse of the error function, for |x| up to 0.5.
fn near_inv_erf(target: f64) -> f64 {
    let mut x = inv_erf_start(target);
    let mut step = 0;
    while step < 2 {
        // Halley's method: three times the digits in each step.
        let error = libm::erf(x) - target;
        let newton = error / (TWO_BY_SQRT_PI * libm::exp(-x * x));
        x -= newton / (1.0 + x * newton);
        step += 1;
    }
    x
}

/// The inverse of the complementary error function.
fn inv_erfc(y: f64) -> f64 {
    if !(0.0..=2.0).contains(&y) {
        return f64::NAN;
    }
    if y > 1.5 {
        return -inv_erfc(2.0 - y);
    }
    if y == 0.0 {
        return f64::INFINITY;
    }
    if y >= 0.5 {
        // 1 - y is exact.
        return near_inv_erf(1.0 - y);
    }
    // Newton's method on the logarithm: the smallest y has a moderate one.
    let log = libm::log(y);
    let mut x = GpuFloat::sqrt(-log);
    // The first steps of a fixed point, exp(-x^2) / (x sqrt(pi)) = y, lead near it.
    x = GpuFloat::sqrt((-log - libm::log(1.8 * x + 0.6)).max(0.15));
    let mut step = 0;
    while step < 4 {
        let scaled = erfcx(x);
        let error = libm::log(scaled) - x * x - log;
        x += error * scaled / TWO_BY_SQRT_PI;
        step += 1;
    }
    if y > 1e-290 {
        // One more step on the function itself, whose rounding moves x less than the logarithm's.
        x += (libm::erfc(x) - y) / (TWO_BY_SQRT_PI * libm::exp(-x * x));
    }
    x
}

/// Near the inverse of the error function, for |x| up to 0.5: the first terms of its series.
fn inv_erf_start(x: f64) -> f64 {
    let square = x * x;
    x * (0.886_226_925_5
        + square
            * (0.232_013_666_5
                + square
                    * (0.127_556_175_3
                        + square * (0.086_552_129_2 + square * (0.064_959_617_7 + square * 0.07)))))
}
