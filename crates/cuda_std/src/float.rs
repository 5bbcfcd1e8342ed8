//! Floating-point functions that `core` lacks.
//!
//! Rust never contracts `a * b + c`; [`GpuFloat::mul_add`] asks for one rounding. All but the
//! `_approx` functions are correctly rounded (IEEE 754) and give the same bits on host and GPU.

use crate::intrinsics;

/// Functions on `f32` and `f64`.
///
/// On the host the exact ones call `std`; those named `_approx` run only on a GPU.
pub trait GpuFloat: Copy {
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
}

macro_rules! gpu_float {
    ($ty:ident, $fma:ident, $sqrt:ident, $floor:ident, $ceil:ident, $trunc:ident) => {
        // On the device the inherent methods of `std` do not exist, so each name has one meaning.
        #[cfg(target_arch = "nvptx64")]
        impl GpuFloat for $ty {
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: arithmetic has no preconditions; so below.
                unsafe { intrinsics::$fma(self, a, b) }
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: as above.
                unsafe { intrinsics::$sqrt(self) }
            }
            #[inline(always)]
            fn floor(self) -> Self {
                // SAFETY: as above.
                unsafe { intrinsics::$floor(self) }
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                // SAFETY: as above.
                unsafe { intrinsics::$ceil(self) }
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                // SAFETY: as above.
                unsafe { intrinsics::$trunc(self) }
            }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        impl GpuFloat for $ty {
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $ty::mul_add(self, a, b)
            }
            fn sqrt(self) -> Self {
                $ty::sqrt(self)
            }
            fn floor(self) -> Self {
                $ty::floor(self)
            }
            fn ceil(self) -> Self {
                $ty::ceil(self)
            }
            fn trunc(self) -> Self {
                $ty::trunc(self)
            }
        }
    };
}

gpu_float!(f32, fma_f32, sqrt_f32, floor_f32, ceil_f32, trunc_f32);
gpu_float!(f64, fma_f64, sqrt_f64, floor_f64, ceil_f64, trunc_f64);

macro_rules! approximations {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: f32) -> f32 {
            // SAFETY: arithmetic has no preconditions.
            unsafe { intrinsics::$name(x) }
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
