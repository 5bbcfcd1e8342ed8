//! Floating-point functions that `core` lacks.
//!
//! Rust never contracts `a * b + c`; [`GpuFloat::mul_add`] asks for one rounding.
//!
//! # The same bits everywhere
//!
//! All functions of [`GpuFloat`] and [`FloatExt`](crate::FloatExt) give the same bits on the host,
//! on the emulated device and on a GPU, except the bits of NaN. `mul_add`, `sqrt`, `floor`,
//! `ceil`, `trunc` and `round` are one instruction or a few, and correctly rounded (IEEE 754).
//! The others are pure Rust (the crate `libm`), without contraction. NVIDIA's libdevice has other
//! bits than any CPU's library, and this crate does not use it.
//!
//! On the host `std` has methods of the same names, which Rust prefers to those of a trait:
//! `x.sin()` is then the system's. Code that kernel and reference share names the trait:
//! `GpuFloat::sin(x)`.
//!
//! # Accuracy
//!
//! The greatest errors that `tests/accuracy.rs` allows, in units in the last place (ULP), against
//! functions of twice the precision:
//!
//! | functions | ULP |
//! |---|---:|
//! | `exp`, `exp2`, `exp_m1`, `ln`, `log2`, `log10`, `ln_1p`, `powf` | 1 |
//! | `sin`, `cos`, `tan`, `asin`, `acos`, `atan`, `cbrt`, `hypot` | 1 |
//! | `atan2` | 1.5 |
//! | `sinh`, `cosh`, `tanh`, `asinh`, `acosh`, `atanh` | 2.5 |
//!
//! # Speed
//!
//! Several functions of `f32` compute in `f64`, at which consumer GPUs are slow. The functions
//! named `_approx` are one instruction of the hardware. They are less exact, and run only on a GPU.

use crate::llvm;

/// Functions on `f32` and `f64`, with the meaning of `std`'s methods of these names.
pub trait GpuFloat: Copy + PartialOrd {
    /// self * a + b, rounded once (`fma.rn`).
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The square root (`sqrt.rn`).
    fn sqrt(self) -> Self;
    /// The greatest integer that is not greater.
    fn floor(self) -> Self;
    /// The least integer that is not less.
    fn ceil(self) -> Self;
    /// The integer part.
    fn trunc(self) -> Self;
    /// The nearest integer; of two, the one farther from 0.
    fn round(self) -> Self;
    /// `self - self.trunc()`.
    fn fract(self) -> Self;
    /// The absolute value.
    fn abs(self) -> Self;
    /// 1 with the sign of `self`; NaN for NaN.
    fn signum(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// The integer `n` for which `self` is `n * rhs + self.rem_euclid(rhs)`.
    fn div_euclid(self, rhs: Self) -> Self;
    /// The remainder of the division by `rhs` that is not negative.
    fn rem_euclid(self, rhs: Self) -> Self;
    /// `self` to an integer power, by squaring: at most one rounding per bit of `n` and one per bit
    /// that is set.
    fn powi(self, n: i32) -> Self;
    /// `self` to the power `n`.
    #[cfg(feature = "math")]
    fn powf(self, n: Self) -> Self;
    /// e to the power `self`.
    #[cfg(feature = "math")]
    fn exp(self) -> Self;
    /// 2 to the power `self`.
    #[cfg(feature = "math")]
    fn exp2(self) -> Self;
    /// `self.exp() - 1`, exact near 0.
    #[cfg(feature = "math")]
    fn exp_m1(self) -> Self;
    /// The natural logarithm.
    #[cfg(feature = "math")]
    fn ln(self) -> Self;
    /// The logarithm to a base: `self.ln() / base.ln()`.
    #[cfg(feature = "math")]
    fn log(self, base: Self) -> Self;
    /// The logarithm to base 2.
    #[cfg(feature = "math")]
    fn log2(self) -> Self;
    /// The logarithm to base 10.
    #[cfg(feature = "math")]
    fn log10(self) -> Self;
    /// `(1 + self).ln()`, exact near 0.
    #[cfg(feature = "math")]
    fn ln_1p(self) -> Self;
    /// The cube root.
    #[cfg(feature = "math")]
    fn cbrt(self) -> Self;
    /// The square root of `self * self + other * other`, without overflow on the way.
    #[cfg(feature = "math")]
    fn hypot(self, other: Self) -> Self;
    /// The sine of an angle in radians.
    #[cfg(feature = "math")]
    fn sin(self) -> Self;
    /// The cosine of an angle in radians.
    #[cfg(feature = "math")]
    fn cos(self) -> Self;
    /// Sine and cosine.
    #[cfg(feature = "math")]
    fn sin_cos(self) -> (Self, Self);
    /// The tangent of an angle in radians.
    #[cfg(feature = "math")]
    fn tan(self) -> Self;
    /// The angle in [-pi/2, pi/2] with this sine.
    #[cfg(feature = "math")]
    fn asin(self) -> Self;
    /// The angle in [0, pi] with this cosine.
    #[cfg(feature = "math")]
    fn acos(self) -> Self;
    /// The angle in [-pi/2, pi/2] with this tangent.
    #[cfg(feature = "math")]
    fn atan(self) -> Self;
    /// The angle in [-pi, pi] of the point (`other`, `self`).
    #[cfg(feature = "math")]
    fn atan2(self, other: Self) -> Self;
    /// The hyperbolic sine.
    #[cfg(feature = "math")]
    fn sinh(self) -> Self;
    /// The hyperbolic cosine.
    #[cfg(feature = "math")]
    fn cosh(self) -> Self;
    /// The hyperbolic tangent.
    #[cfg(feature = "math")]
    fn tanh(self) -> Self;
    /// The inverse of the hyperbolic sine.
    #[cfg(feature = "math")]
    fn asinh(self) -> Self;
    /// The inverse of the hyperbolic cosine.
    #[cfg(feature = "math")]
    fn acosh(self) -> Self;
    /// The inverse of the hyperbolic tangent.
    #[cfg(feature = "math")]
    fn atanh(self) -> Self;
}

/// Functions that are instructions: of the GPU on the device, of `std` on the host.
macro_rules! exact {
    ($ty:ident: $($name:ident($($argument:ident),*) = $llvm:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($argument: $ty),*) -> $ty {
            #[cfg(target_arch = "nvptx64")]
            {
                // SAFETY: arithmetic has no preconditions.
                unsafe { llvm::$llvm(self, $($argument),*) }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                $ty::$name(self, $($argument),*)
            }
        }
    )*};
}

/// Functions of `libm`.
#[cfg(feature = "math")]
macro_rules! of_libm {
    ($ty:ident: $($name:ident($($argument:ident),*) = $libm:ident;)*) => {$(
        #[inline]
        fn $name(self, $($argument: $ty),*) -> $ty {
            libm::$libm(self, $($argument),*)
        }
    )*};
}

/// Functions that are written here.
macro_rules! of_parts {
    ($ty:ident) => {
        #[inline(always)]
        fn fract(self) -> $ty {
            self - GpuFloat::trunc(self)
        }

        #[inline(always)]
        fn abs(self) -> $ty {
            $ty::abs(self)
        }

        #[inline(always)]
        fn signum(self) -> $ty {
            $ty::signum(self)
        }

        #[inline(always)]
        fn copysign(self, sign: $ty) -> $ty {
            $ty::copysign(self, sign)
        }

        #[inline]
        fn div_euclid(self, rhs: $ty) -> $ty {
            let quotient = GpuFloat::trunc(self / rhs);
            let is_below = self % rhs < 0.0;
            match (is_below, rhs > 0.0) {
                (false, _) => quotient,
                (true, true) => quotient - 1.0,
                (true, false) => quotient + 1.0,
            }
        }

        #[inline]
        fn rem_euclid(self, rhs: $ty) -> $ty {
            let rest = self % rhs;
            if rest < 0.0 {
                rest + $ty::abs(rhs)
            } else {
                rest
            }
        }

        #[inline]
        fn powi(self, n: i32) -> $ty {
            let (mut power, mut square, mut bits) = (1.0, self, n.unsigned_abs());
            loop {
                if bits & 1 == 1 {
                    power *= square;
                }
                bits >>= 1;
                if bits == 0 {
                    break;
                }
                square *= square;
            }
            if n < 0 { 1.0 / power } else { power }
        }
    };
}

impl GpuFloat for f32 {
    exact! { f32:
        mul_add(a, b) = fma_f32;
        sqrt() = sqrt_f32;
        floor() = floor_f32;
        ceil() = ceil_f32;
        trunc() = trunc_f32;
        round() = round_f32;
    }

    of_parts!(f32);

    #[cfg(feature = "math")]
    of_libm! { f32:
        powf(n) = powf;
        exp() = expf;
        exp2() = exp2f;
        exp_m1() = expm1f;
        ln() = logf;
        log2() = log2f;
        log10() = log10f;
        ln_1p() = log1pf;
        cbrt() = cbrtf;
        hypot(other) = hypotf;
        sin() = sinf;
        cos() = cosf;
        tan() = tanf;
        asin() = asinf;
        acos() = acosf;
        atan() = atanf;
        atan2(other) = atan2f;
        sinh() = sinhf;
        cosh() = coshf;
        tanh() = tanhf;
        asinh() = asinhf;
        acosh() = acoshf;
        atanh() = atanhf;
    }

    #[cfg(feature = "math")]
    #[inline]
    fn log(self, base: f32) -> f32 {
        libm::logf(self) / libm::logf(base)
    }

    #[cfg(feature = "math")]
    #[inline]
    fn sin_cos(self) -> (f32, f32) {
        libm::sincosf(self)
    }
}

impl GpuFloat for f64 {
    exact! { f64:
        mul_add(a, b) = fma_f64;
        sqrt() = sqrt_f64;
        floor() = floor_f64;
        ceil() = ceil_f64;
        trunc() = trunc_f64;
        round() = round_f64;
    }

    of_parts!(f64);

    #[cfg(feature = "math")]
    of_libm! { f64:
        powf(n) = pow;
        exp() = exp;
        exp2() = exp2;
        exp_m1() = expm1;
        ln() = log;
        log2() = log2;
        log10() = log10;
        ln_1p() = log1p;
        cbrt() = cbrt;
        hypot(other) = hypot;
        sin() = sin;
        cos() = cos;
        tan() = tan;
        asin() = asin;
        acos() = acos;
        atan() = atan;
        atan2(other) = atan2;
        sinh() = sinh;
        cosh() = cosh;
        tanh() = tanh;
        asinh() = asinh;
        acosh() = acosh;
        atanh() = atanh;
    }

    #[cfg(feature = "math")]
    #[inline]
    fn log(self, base: f64) -> f64 {
        libm::log(self) / libm::log(base)
    }

    #[cfg(feature = "math")]
    #[inline]
    fn sin_cos(self) -> (f64, f64) {
        libm::sincos(self)
    }
}

macro_rules! approximations {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: f32) -> f32 {
            // SAFETY: arithmetic has no preconditions.
            unsafe { llvm::$name(x) }
        }
    )*};
}

// Error bounds: PTX ISA, "Floating Point Instructions".
approximations! {
    /// sin(x), absolute error at most 2^-20.5 for x in [-pi, pi] (`sin.approx`).
    sin_approx;
    /// cos(x), absolute error at most 2^-20.5 for x in [-pi, pi] (`cos.approx`).
    cos_approx;
    /// 2^x, at most 2 units in the last place off (`ex2.approx`).
    exp2_approx;
    /// log2(x), absolute error at most 2^-22 for x in [0.5, 2] (`lg2.approx`).
    log2_approx;
    /// 1 / sqrt(x), relative error at most 2^-22.9 (`rsqrt.approx`).
    rsqrt_approx;
    /// 1 / x, at most 1 unit in the last place off, subnormals flushed to zero (`rcp.approx.ftz`).
    recip_approx;
}
