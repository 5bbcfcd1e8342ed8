//! The functions of NVIDIA's libdevice under its names, without the prefix `__nv_`.
//!
//! None of them is libdevice's: they are instructions of PTX, functions of `core`, or those of
//! [`GpuFloat`] and [`FloatExt`]. Ends of names: `_rn` rounds to
//! nearest, `_rz` to zero, `_ru` up, `_rd` down. As in Rust-CUDA all are `unsafe`; those without
//! pointers have no obligation. Instructions run only on a GPU.
//!
//! # Accuracy
//!
//! Functions that `GpuFloat` and `FloatExt` have too are as exact as there. Of the others, in units
//! in the last place: `erfinv` at most 2, `exp10` and `rsqrt` at most 1 (`tests/accuracy.rs`).
//! `remquo`, `remainder`, `fmod`, `rint`, `modf` and functions of integers are exact. `remquo`
//! gives the last 31 bits of the quotient, with its sign. The functions named `fast_` are as exact
//! as their instructions.

#![allow(clippy::missing_safety_doc)]

#[cfg(feature = "half")]
use crate::HalfExt;
#[cfg(feature = "math")]
use crate::{FloatExt, float_ext};
use crate::{GpuFloat, float};

/// Functions that are one instruction of PTX.
macro_rules! instructions {
    ($($name:ident($($argument:ident: $ty:ty as $class:ident),*) -> $result:ty as $into:ident = $text:literal;)*) => {$(
        #[doc = concat!("`", $text, "`")]
        #[inline(always)]
        pub unsafe fn $name($($argument: $ty),*) -> $result {
            #[cfg(target_arch = "nvptx64")]
            {
                let result: $result;
                // SAFETY: arithmetic has no preconditions.
                unsafe {
                    core::arch::asm!(
                        concat!($text, " {result}" $(, ", {", stringify!($argument), "}")*, ";"),
                        $($argument = in($class) $argument,)*
                        result = out($into) result,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                result
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                $(let _ = $argument;)*
                crate::gpu_only($text)
            }
        }
    )*};
}

/// Functions that are written in Rust.
macro_rules! functions {
    ($($name:ident($($argument:ident: $ty:ty),*) -> $result:ty = $body:expr;)*) => {$(
        #[doc = concat!("`", stringify!($body), "`")]
        #[inline(always)]
        pub unsafe fn $name($($argument: $ty),*) -> $result {
            $body
        }
    )*};
}

instructions! {
    dadd_rd(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "add.rm.f64";
    dadd_rn(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "add.rn.f64";
    dadd_ru(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "add.rp.f64";
    dadd_rz(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "add.rz.f64";
    dmul_rd(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "mul.rm.f64";
    dmul_rn(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "mul.rn.f64";
    dmul_ru(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "mul.rp.f64";
    dmul_rz(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "mul.rz.f64";
    ddiv_rd(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "div.rm.f64";
    ddiv_rn(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "div.rn.f64";
    ddiv_ru(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "div.rp.f64";
    ddiv_rz(x: f64 as reg64, y: f64 as reg64) -> f64 as reg64 = "div.rz.f64";
    drcp_rd(x: f64 as reg64) -> f64 as reg64 = "rcp.rm.f64";
    drcp_rn(x: f64 as reg64) -> f64 as reg64 = "rcp.rn.f64";
    drcp_ru(x: f64 as reg64) -> f64 as reg64 = "rcp.rp.f64";
    drcp_rz(x: f64 as reg64) -> f64 as reg64 = "rcp.rz.f64";
    dsqrt_rd(x: f64 as reg64) -> f64 as reg64 = "sqrt.rm.f64";
    dsqrt_rn(x: f64 as reg64) -> f64 as reg64 = "sqrt.rn.f64";
    dsqrt_ru(x: f64 as reg64) -> f64 as reg64 = "sqrt.rp.f64";
    dsqrt_rz(x: f64 as reg64) -> f64 as reg64 = "sqrt.rz.f64";
    fma_rd(x: f64 as reg64, y: f64 as reg64, z: f64 as reg64) -> f64 as reg64 = "fma.rm.f64";
    fma_rn(x: f64 as reg64, y: f64 as reg64, z: f64 as reg64) -> f64 as reg64 = "fma.rn.f64";
    fma_ru(x: f64 as reg64, y: f64 as reg64, z: f64 as reg64) -> f64 as reg64 = "fma.rp.f64";
    fma_rz(x: f64 as reg64, y: f64 as reg64, z: f64 as reg64) -> f64 as reg64 = "fma.rz.f64";

    fadd_rd(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "add.rm.f32";
    fadd_rn(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "add.rn.f32";
    fadd_ru(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "add.rp.f32";
    fadd_rz(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "add.rz.f32";
    fsub_rd(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "sub.rm.f32";
    fsub_rn(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "sub.rn.f32";
    fsub_ru(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "sub.rp.f32";
    fsub_rz(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "sub.rz.f32";
    fmul_rd(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "mul.rm.f32";
    fmul_rn(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "mul.rn.f32";
    fmul_ru(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "mul.rp.f32";
    fmul_rz(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "mul.rz.f32";
    fdiv_rd(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "div.rm.f32";
    fdiv_rn(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "div.rn.f32";
    fdiv_ru(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "div.rp.f32";
    fdiv_rz(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "div.rz.f32";
    frcp_rd(x: f32 as reg32) -> f32 as reg32 = "rcp.rm.f32";
    frcp_rn(x: f32 as reg32) -> f32 as reg32 = "rcp.rn.f32";
    frcp_ru(x: f32 as reg32) -> f32 as reg32 = "rcp.rp.f32";
    frcp_rz(x: f32 as reg32) -> f32 as reg32 = "rcp.rz.f32";
    fsqrt_rd(x: f32 as reg32) -> f32 as reg32 = "sqrt.rm.f32";
    fsqrt_rn(x: f32 as reg32) -> f32 as reg32 = "sqrt.rn.f32";
    fsqrt_ru(x: f32 as reg32) -> f32 as reg32 = "sqrt.rp.f32";
    fsqrt_rz(x: f32 as reg32) -> f32 as reg32 = "sqrt.rz.f32";
    fmaf_rd(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rm.f32";
    fmaf_rn(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rn.f32";
    fmaf_ru(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rp.f32";
    fmaf_rz(x: f32 as reg32, y: f32 as reg32, z: f32 as reg32) -> f32 as reg32 = "fma.rz.f32";
    fast_fdividef(x: f32 as reg32, y: f32 as reg32) -> f32 as reg32 = "div.approx.f32";

    double2float_rd(x: f64 as reg64) -> f32 as reg32 = "cvt.rm.f32.f64";
    double2float_rn(x: f64 as reg64) -> f32 as reg32 = "cvt.rn.f32.f64";
    double2float_ru(x: f64 as reg64) -> f32 as reg32 = "cvt.rp.f32.f64";
    double2float_rz(x: f64 as reg64) -> f32 as reg32 = "cvt.rz.f32.f64";
    double2int_rd(x: f64 as reg64) -> i32 as reg32 = "cvt.rmi.s32.f64";
    double2int_rn(x: f64 as reg64) -> i32 as reg32 = "cvt.rni.s32.f64";
    double2int_ru(x: f64 as reg64) -> i32 as reg32 = "cvt.rpi.s32.f64";
    double2int_rz(x: f64 as reg64) -> i32 as reg32 = "cvt.rzi.s32.f64";
    double2uint_rd(x: f64 as reg64) -> i32 as reg32 = "cvt.rmi.u32.f64";
    double2uint_rn(x: f64 as reg64) -> i32 as reg32 = "cvt.rni.u32.f64";
    double2uint_ru(x: f64 as reg64) -> i32 as reg32 = "cvt.rpi.u32.f64";
    double2uint_rz(x: f64 as reg64) -> i32 as reg32 = "cvt.rzi.u32.f64";
    double2ll_rd(x: f64 as reg64) -> i64 as reg64 = "cvt.rmi.s64.f64";
    double2ll_rn(x: f64 as reg64) -> i64 as reg64 = "cvt.rni.s64.f64";
    double2ll_ru(x: f64 as reg64) -> i64 as reg64 = "cvt.rpi.s64.f64";
    double2ll_rz(x: f64 as reg64) -> i64 as reg64 = "cvt.rzi.s64.f64";
    double2ull_rd(x: f64 as reg64) -> i64 as reg64 = "cvt.rmi.u64.f64";
    double2ull_rn(x: f64 as reg64) -> i64 as reg64 = "cvt.rni.u64.f64";
    double2ull_ru(x: f64 as reg64) -> i64 as reg64 = "cvt.rpi.u64.f64";
    double2ull_rz(x: f64 as reg64) -> i64 as reg64 = "cvt.rzi.u64.f64";
    float2int_rd(x: f32 as reg32) -> i32 as reg32 = "cvt.rmi.s32.f32";
    float2int_rn(x: f32 as reg32) -> i32 as reg32 = "cvt.rni.s32.f32";
    float2int_ru(x: f32 as reg32) -> i32 as reg32 = "cvt.rpi.s32.f32";
    float2int_rz(x: f32 as reg32) -> i32 as reg32 = "cvt.rzi.s32.f32";
    float2uint_rd(x: f32 as reg32) -> i32 as reg32 = "cvt.rmi.u32.f32";
    float2uint_rn(x: f32 as reg32) -> i32 as reg32 = "cvt.rni.u32.f32";
    float2uint_ru(x: f32 as reg32) -> i32 as reg32 = "cvt.rpi.u32.f32";
    float2uint_rz(x: f32 as reg32) -> i32 as reg32 = "cvt.rzi.u32.f32";
    float2ll_rd(x: f32 as reg32) -> i64 as reg64 = "cvt.rmi.s64.f32";
    float2ll_rn(x: f32 as reg32) -> i64 as reg64 = "cvt.rni.s64.f32";
    float2ll_ru(x: f32 as reg32) -> i64 as reg64 = "cvt.rpi.s64.f32";
    float2ll_rz(x: f32 as reg32) -> i64 as reg64 = "cvt.rzi.s64.f32";
    float2ull_rd(x: f32 as reg32) -> i64 as reg64 = "cvt.rmi.u64.f32";
    float2ull_rn(x: f32 as reg32) -> i64 as reg64 = "cvt.rni.u64.f32";
    float2ull_ru(x: f32 as reg32) -> i64 as reg64 = "cvt.rpi.u64.f32";
    float2ull_rz(x: f32 as reg32) -> i64 as reg64 = "cvt.rzi.u64.f32";
    int2float_rd(x: i32 as reg32) -> f32 as reg32 = "cvt.rm.f32.s32";
    int2float_rn(x: i32 as reg32) -> f32 as reg32 = "cvt.rn.f32.s32";
    int2float_ru(x: i32 as reg32) -> f32 as reg32 = "cvt.rp.f32.s32";
    int2float_rz(x: i32 as reg32) -> f32 as reg32 = "cvt.rz.f32.s32";
    uint2float_rd(x: i32 as reg32) -> f32 as reg32 = "cvt.rm.f32.u32";
    uint2float_rn(x: i32 as reg32) -> f32 as reg32 = "cvt.rn.f32.u32";
    uint2float_ru(x: i32 as reg32) -> f32 as reg32 = "cvt.rp.f32.u32";
    uint2float_rz(x: i32 as reg32) -> f32 as reg32 = "cvt.rz.f32.u32";
    int2double_rn(x: i32 as reg32) -> f64 as reg64 = "cvt.rn.f64.s32";
    uint2double_rn(x: i32 as reg32) -> f64 as reg64 = "cvt.rn.f64.u32";
    ll2float_rd(x: i64 as reg64) -> f32 as reg32 = "cvt.rm.f32.s64";
    ll2float_rn(x: i64 as reg64) -> f32 as reg32 = "cvt.rn.f32.s64";
    ll2float_ru(x: i64 as reg64) -> f32 as reg32 = "cvt.rp.f32.s64";
    ll2float_rz(x: i64 as reg64) -> f32 as reg32 = "cvt.rz.f32.s64";
    ull2float_rd(x: i64 as reg64) -> f32 as reg32 = "cvt.rm.f32.u64";
    ull2float_rn(x: i64 as reg64) -> f32 as reg32 = "cvt.rn.f32.u64";
    ull2float_ru(x: i64 as reg64) -> f32 as reg32 = "cvt.rp.f32.u64";
    ull2float_rz(x: i64 as reg64) -> f32 as reg32 = "cvt.rz.f32.u64";
    ll2double_rd(x: i64 as reg64) -> f64 as reg64 = "cvt.rm.f64.s64";
    ll2double_rn(x: i64 as reg64) -> f64 as reg64 = "cvt.rn.f64.s64";
    ll2double_ru(x: i64 as reg64) -> f64 as reg64 = "cvt.rp.f64.s64";
    ll2double_rz(x: i64 as reg64) -> f64 as reg64 = "cvt.rz.f64.s64";
    ull2double_rd(x: i64 as reg64) -> f64 as reg64 = "cvt.rm.f64.u64";
    ull2double_rn(x: i64 as reg64) -> f64 as reg64 = "cvt.rn.f64.u64";
    ull2double_ru(x: i64 as reg64) -> f64 as reg64 = "cvt.rp.f64.u64";
    ull2double_rz(x: i64 as reg64) -> f64 as reg64 = "cvt.rz.f64.u64";

    byte_perm(x: i32 as reg32, y: i32 as reg32, z: i32 as reg32) -> i32 as reg32 = "prmt.b32";
}

functions! {
    abs(x: i32) -> i32 = x.wrapping_abs();
    llabs(x: i64) -> i64 = x.wrapping_abs();
    max(x: i32, y: i32) -> i32 = x.max(y);
    min(x: i32, y: i32) -> i32 = x.min(y);
    llmax(x: i64, y: i64) -> i64 = x.max(y);
    llmin(x: i64, y: i64) -> i64 = x.min(y);
    umax(x: i32, y: i32) -> i32 = (x as u32).max(y as u32) as i32;
    umin(x: i32, y: i32) -> i32 = (x as u32).min(y as u32) as i32;
    ullmax(x: i64, y: i64) -> i64 = (x as u64).max(y as u64) as i64;
    ullmin(x: i64, y: i64) -> i64 = (x as u64).min(y as u64) as i64;
    brev(x: i32) -> i32 = x.reverse_bits();
    brevll(x: i64) -> i64 = x.reverse_bits();
    clz(x: i32) -> i32 = x.leading_zeros() as i32;
    clzll(x: i64) -> i32 = x.leading_zeros() as i32;
    popc(x: i32) -> i32 = x.count_ones() as i32;
    popcll(x: i64) -> i32 = x.count_ones() as i32;
    ffs(x: i32) -> i32 = (x.trailing_zeros() as i32 + 1) % 33;
    ffsll(x: i64) -> i32 = (x.trailing_zeros() as i32 + 1) % 65;
    mulhi(x: i32, y: i32) -> i32 = ((i64::from(x) * i64::from(y)) >> 32) as i32;
    umulhi(x: i32, y: i32) -> i32 = ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as i32;
    mul64hi(x: i64, y: i64) -> i64 = ((i128::from(x) * i128::from(y)) >> 64) as i64;
    umul64hi(x: i64, y: i64) -> i64 = ((u128::from(x as u64) * u128::from(y as u64)) >> 64) as i64;
    mul24(x: i32, y: i32) -> i32 = ((x << 8) >> 8).wrapping_mul((y << 8) >> 8);
    umul24(x: i32, y: i32) -> i32 = (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff);
    hadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y)) >> 1) as i32;
    rhadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y) + 1) >> 1) as i32;
    uhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32)) >> 1) as i32;
    urhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32) + 1) >> 1) as i32;
    sad(x: i32, y: i32, z: i32) -> i32 = (x.abs_diff(y) as i32).wrapping_add(z);
    usad(x: i32, y: i32, z: i32) -> i32 = ((x as u32).abs_diff(y as u32) as i32).wrapping_add(z);

    double_as_longlong(x: f64) -> i64 = x.to_bits() as i64;
    longlong_as_double(x: i64) -> f64 = f64::from_bits(x as u64);
    float_as_int(x: f32) -> i32 = x.to_bits() as i32;
    int_as_float(x: i32) -> f32 = f32::from_bits(x as u32);
    double2hiint(x: f64) -> i32 = (x.to_bits() >> 32) as i32;
    double2loint(x: f64) -> i32 = x.to_bits() as i32;
    hiloint2double(x: i32, y: i32) -> f64 = f64::from_bits(u64::from(x as u32) << 32 | u64::from(y as u32));
    finitef(x: f32) -> i32 = i32::from(x.is_finite());
    isfinited(x: f64) -> i32 = i32::from(x.is_finite());
    isinff(x: f32) -> i32 = i32::from(x.is_infinite());
    isinfd(x: f64) -> i32 = i32::from(x.is_infinite());
    isnanf(x: f32) -> i32 = i32::from(x.is_nan());
    isnand(x: f64) -> i32 = i32::from(x.is_nan());
    signbitf(x: f32) -> i32 = i32::from(x.is_sign_negative());
    signbitd(x: f64) -> i32 = i32::from(x.is_sign_negative());
    nan(_text: *mut i8) -> f64 = f64::NAN;
    nanf(_text: *mut i8) -> f32 = f32::NAN;

    ceil(x: f64) -> f64 = GpuFloat::ceil(x);
    ceilf(x: f32) -> f32 = GpuFloat::ceil(x);
    floor(x: f64) -> f64 = GpuFloat::floor(x);
    floorf(x: f32) -> f32 = GpuFloat::floor(x);
    trunc(x: f64) -> f64 = GpuFloat::trunc(x);
    truncf(x: f32) -> f32 = GpuFloat::trunc(x);
    round(x: f64) -> f64 = GpuFloat::round(x);
    roundf(x: f32) -> f32 = GpuFloat::round(x);
    fabs(x: f64) -> f64 = x.abs();
    fabsf(x: f32) -> f32 = x.abs();
    copysign(x: f64, y: f64) -> f64 = x.copysign(y);
    copysignf(x: f32, y: f32) -> f32 = x.copysign(y);
    fma(x: f64, y: f64, z: f64) -> f64 = GpuFloat::mul_add(x, y, z);
    fmaf(x: f32, y: f32, z: f32) -> f32 = GpuFloat::mul_add(x, y, z);
    fmax(x: f64, y: f64) -> f64 = x.max(y);
    fmaxf(x: f32, y: f32) -> f32 = x.max(y);
    fmin(x: f64, y: f64) -> f64 = x.min(y);
    fminf(x: f32, y: f32) -> f32 = x.min(y);
    fmod(x: f64, y: f64) -> f64 = x % y;
    fmodf(x: f32, y: f32) -> f32 = x % y;
    powi(x: f64, y: i32) -> f64 = GpuFloat::powi(x, y);
    powif(x: f32, y: i32) -> f32 = GpuFloat::powi(x, y);
    sqrt(x: f64) -> f64 = GpuFloat::sqrt(x);
    sqrtf(x: f32) -> f32 = GpuFloat::sqrt(x);
    rsqrt(x: f64) -> f64 = 1.0 / GpuFloat::sqrt(x);
    rsqrtf(x: f32) -> f32 = (1.0 / GpuFloat::sqrt(f64::from(x))) as f32;
    frsqrt_rn(x: f32) -> f32 = (1.0 / GpuFloat::sqrt(f64::from(x))) as f32;

    fast_sinf(x: f32) -> f32 = float::sin_approx(x);
    fast_cosf(x: f32) -> f32 = float::cos_approx(x);
    fast_tanf(x: f32) -> f32 = float::sin_approx(x) / float::cos_approx(x);
    fast_expf(x: f32) -> f32 = float::exp2_approx(x * core::f32::consts::LOG2_E);
    fast_exp10f(x: f32) -> f32 = float::exp2_approx(x * core::f32::consts::LOG2_10);
    fast_log2f(x: f32) -> f32 = float::log2_approx(x);
    fast_logf(x: f32) -> f32 = float::log2_approx(x) * core::f32::consts::LN_2;
    fast_log10f(x: f32) -> f32 = float::log2_approx(x) * core::f32::consts::LOG10_2;
    fast_powf(x: f32, y: f32) -> f32 = float::exp2_approx(y * float::log2_approx(x));
}

/// Functions of one or two numbers, in both precisions, of `libm`.
#[cfg(feature = "math")]
macro_rules! of_libm {
    ($($double:ident $single:ident($($argument:ident),*);)*) => {$(
        of_libm!(@one $double f64 $($argument)*);
        of_libm!(@one $single f32 $($argument)*);
    )*};
    (@one $name:ident $ty:ident $($argument:ident)*) => {
        #[doc = concat!("`", stringify!($name), "` of C.")]
        #[inline]
        pub unsafe fn $name($($argument: $ty),*) -> $ty {
            libm::$name($($argument),*)
        }
    };
}

#[cfg(feature = "math")]
of_libm! {
    acos acosf(x);
    acosh acoshf(x);
    asin asinf(x);
    asinh asinhf(x);
    atan atanf(x);
    atan2 atan2f(x, y);
    atanh atanhf(x);
    cbrt cbrtf(x);
    cos cosf(x);
    cosh coshf(x);
    erf erff(x);
    erfc erfcf(x);
    exp expf(x);
    exp2 exp2f(x);
    expm1 expm1f(x);
    fdim fdimf(x, y);
    hypot hypotf(x, y);
    j0 j0f(x);
    j1 j1f(x);
    log logf(x);
    log10 log10f(x);
    log1p log1pf(x);
    log2 log2f(x);
    nextafter nextafterf(x, y);
    pow powf(x, y);
    remainder remainderf(x, y);
    rint rintf(x);
    sin sinf(x);
    sinh sinhf(x);
    tan tanf(x);
    tanh tanhf(x);
    y0 y0f(x);
    y1 y1f(x);
}

#[cfg(feature = "math")]
functions! {
    cospi(x: f64) -> f64 = x.cospi();
    cospif(x: f32) -> f32 = x.cospi();
    sinpi(x: f64) -> f64 = x.sinpi();
    sinpif(x: f32) -> f32 = x.sinpi();
    erfcinv(x: f64) -> f64 = x.inv_complementary_error_function();
    erfcinvf(x: f32) -> f32 = x.inv_complementary_error_function();
    erfcx(x: f64) -> f64 = x.scaled_complementary_error_function();
    erfcxf(x: f32) -> f32 = x.scaled_complementary_error_function();
    normcdf(x: f64) -> f64 = x.norm_cdf();
    normcdff(x: f32) -> f32 = x.norm_cdf();
    normcdfinv(x: f64) -> f64 = x.inv_norm_cdf();
    normcdfinvf(x: f32) -> f32 = x.inv_norm_cdf();
    rcbrt(x: f64) -> f64 = x.rcbrt();
    rcbrtf(x: f32) -> f32 = x.rcbrt();
    tgamma(x: f64) -> f64 = FloatExt::gamma(x);
    tgammaf(x: f32) -> f32 = FloatExt::gamma(x);
    lgamma(x: f64) -> f64 = x.log_gamma();
    lgammaf(x: f32) -> f32 = x.log_gamma();
    saturatef(x: f32) -> f32 = x.saturate();
    erfinv(x: f64) -> f64 = float_ext::inv_erf(x);
    erfinvf(x: f32) -> f32 = float_ext::inv_erf(f64::from(x)) as f32;
    ilogb(x: f64) -> i32 = x.unbiased_exp();
    ilogbf(x: f32) -> i32 = x.unbiased_exp();
    // 0, infinity and NaN have the logarithm of C's `logb`.
    logb(x: f64) -> f64 = match x.unbiased_exp() {
        i32::MIN | i32::MAX => libm::log(x.abs()),
        exponent => f64::from(exponent),
    };
    logbf(x: f32) -> f32 = match x.unbiased_exp() {
        i32::MIN | i32::MAX => libm::logf(x.abs()),
        exponent => exponent as f32,
    };
    exp10(x: f64) -> f64 = libm::exp10(x);
    exp10f(x: f32) -> f32 = libm::exp10(f64::from(x)) as f32;
    ldexp(x: f64, y: i32) -> f64 = x.ldexp(y);
    ldexpf(x: f32, y: i32) -> f32 = x.ldexp(y);
    scalbn(x: f64, y: i32) -> f64 = x.scale_by_n(y);
    scalbnf(x: f32, y: i32) -> f32 = x.scale_by_n(y);
    jn(n: i32, x: f64) -> f64 = x.jn(n);
    jnf(n: i32, x: f32) -> f32 = x.jn(n);
    yn(n: i32, x: f64) -> f64 = x.yn(n);
    ynf(n: i32, x: f32) -> f32 = x.yn(n);
    nearbyint(x: f64) -> f64 = libm::rint(x);
    nearbyintf(x: f32) -> f32 = libm::rintf(x);
    llrint(x: f64) -> i64 = libm::rint(x) as i64;
    llrintf(x: f32) -> i64 = libm::rintf(x) as i64;
    llround(x: f64) -> i64 = GpuFloat::round(x) as i64;
    llroundf(x: f32) -> i64 = GpuFloat::round(x) as i64;
}

/// Functions of two results, the second through a pointer.
#[cfg(feature = "math")]
macro_rules! of_two_results {
    ($($name:ident($($x:ident: $ty:ty),+; $pointer:ident: $target:ty) -> $result:ty = $values:expr;)*) => {$(
        #[doc = concat!("`", stringify!($values), "`: the second through the pointer.")]
        ///
        /// # Safety
        /// The pointer is aligned and valid for a write.
        #[inline]
        pub unsafe fn $name($($x: $ty),+, $pointer: *mut $target) -> $result {
            let (first, second) = $values;
            // SAFETY: the caller's.
            unsafe { $pointer.write(second) };
            first
        }
    )*};
}

#[cfg(feature = "math")]
of_two_results! {
    frexp(x: f64; b: i32) -> f64 = x.frexp();
    frexpf(x: f32; b: i32) -> f32 = x.frexp();
    modf(x: f64; b: f64) -> f64 = libm::modf(x);
    modff(x: f32; b: f32) -> f32 = libm::modff(x);
    remquo(x: f64, y: f64; c: i32) -> f64 = libm::remquo(x, y);
    remquof(x: f32, y: f32; quo: i32) -> f32 = libm::remquof(x, y);
}

#[cfg(feature = "half")]
functions! {
    float2half_rn(x: f32) -> i16 = half::f16::narrow(x).to_bits() as i16;
    half2float(x: i16) -> f32 = half::f16::from_bits(x as u16).widen();
}

#[cfg(feature = "math")]
macro_rules! sines_and_cosines {
    ($($name:ident($ty:ty) = |$x:ident| $values:expr;)*) => {$(
        /// Sine and cosine, through the pointers.
        ///
        /// # Safety
        /// The pointers are aligned and valid for a write.
        #[inline]
        pub unsafe fn $name($x: $ty, sptr: *mut $ty, cptr: *mut $ty) {
            let (sine, cosine): ($ty, $ty) = $values;
            // SAFETY: the caller's.
            unsafe {
                sptr.write(sine);
                cptr.write(cosine);
            }
        }
    )*};
}

#[cfg(feature = "math")]
sines_and_cosines! {
    sincos(f64) = |x| libm::sincos(x);
    sincosf(f32) = |x| libm::sincosf(x);
    sincospi(f64) = |x| x.sincospi();
    sincospif(f32) = |x| x.sincospi();
    fast_sincosf(f32) = |x| (float::sin_approx(x), float::cos_approx(x));
}
