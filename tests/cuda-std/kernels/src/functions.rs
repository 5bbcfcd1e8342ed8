//! Functions on floats, by number: the same code for device and host.

use cuda_std::{FloatExt, GpuFloat, kernel, thread};

use crate::libdevice::Libdevice;

macro_rules! functions {
    (|$x:ident, $y:ident| $($name:ident: $value:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Number {
            $($name),*
        }

        /// The functions' names, by number.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];

        functions!(@of f32_of f32 $x $y $($name: $value;)*);
        functions!(@of f64_of f64 $x $y $($name: $value;)*);
    };
    (@of $function:ident $ty:ident $x:ident $y:ident $($name:ident: $value:expr;)*) => {
        /// The function of this number at `x` and `y`.
        pub fn $function(number: u32, $x: $ty, $y: $ty) -> $ty {
            $(
                if number == Number::$name as u32 {
                    return $value;
                }
            )*
            $x
        }
    };
}

functions! { |x, y|
    mul_add: GpuFloat::mul_add(x, y, x);
    sqrt: GpuFloat::sqrt(x);
    floor: GpuFloat::floor(x);
    ceil: GpuFloat::ceil(x);
    trunc: GpuFloat::trunc(x);
    round: GpuFloat::round(x);
    fract: GpuFloat::fract(x);
    abs: GpuFloat::abs(x);
    signum: GpuFloat::signum(x);
    copysign: GpuFloat::copysign(x, y);
    remainder: x % y;
    div_euclid: GpuFloat::div_euclid(x, y);
    rem_euclid: GpuFloat::rem_euclid(x, y);
    powi: GpuFloat::powi(x, y as i32);
    powf: GpuFloat::powf(x, y);
    exp: GpuFloat::exp(x);
    exp2: GpuFloat::exp2(x);
    exp_m1: GpuFloat::exp_m1(x);
    ln: GpuFloat::ln(x);
    log: GpuFloat::log(x, y);
    log2: GpuFloat::log2(x);
    log10: GpuFloat::log10(x);
    ln_1p: GpuFloat::ln_1p(x);
    cbrt: GpuFloat::cbrt(x);
    hypot: GpuFloat::hypot(x, y);
    sin: GpuFloat::sin(x);
    cos: GpuFloat::cos(x);
    sin_cos: GpuFloat::sin_cos(x).0 - GpuFloat::sin_cos(x).1;
    tan: GpuFloat::tan(x);
    asin: GpuFloat::asin(x);
    acos: GpuFloat::acos(x);
    atan: GpuFloat::atan(x);
    atan2: GpuFloat::atan2(x, y);
    sinh: GpuFloat::sinh(x);
    cosh: GpuFloat::cosh(x);
    tanh: GpuFloat::tanh(x);
    asinh: GpuFloat::asinh(x);
    acosh: GpuFloat::acosh(x);
    atanh: GpuFloat::atanh(x);
    sinpi: FloatExt::sinpi(x);
    cospi: FloatExt::cospi(x);
    error_function: FloatExt::error_function(x);
    complementary_error_function: FloatExt::complementary_error_function(x);
    inv_complementary_error_function: FloatExt::inv_complementary_error_function(x);
    scaled_complementary_error_function: FloatExt::scaled_complementary_error_function(x);
    norm_cdf: FloatExt::norm_cdf(x);
    inv_norm_cdf: FloatExt::inv_norm_cdf(x);
    frexp: FloatExt::frexp(x).0;
    unbiased_exp: FloatExt::scale_by_n(GpuFloat::signum(x), FloatExt::unbiased_exp(x));
    ldexp: FloatExt::ldexp(x, y as i32);
    gamma: FloatExt::gamma(x);
    log_gamma: FloatExt::log_gamma(x);
    log1p: FloatExt::log1p(x);
    rcbrt: FloatExt::rcbrt(x);
    saturate: FloatExt::saturate(x);
    j0: FloatExt::j0(x);
    j1: FloatExt::j1(x);
    jn: FloatExt::jn(x, y as i32 & 7);
    y0: FloatExt::y0(x);
    y1: FloatExt::y1(x);
    yn: FloatExt::yn(x, y as i32 & 7);
    erfinv: Libdevice::erfinv(x);
    exp10: Libdevice::exp10(x);
    fdim: Libdevice::fdim(x, y);
    ilogb: Libdevice::ilogb(x) as _;
    llrint: Libdevice::llrint(x) as _;
    llround: Libdevice::llround(x) as _;
    logb: Libdevice::logb(x);
    modf: Libdevice::modf(x).0;
    modf_integer: Libdevice::modf(x).1;
    nearbyint: Libdevice::nearbyint(x);
    nextafter: Libdevice::nextafter(x, y);
    remainder_of_nearest: Libdevice::remainder(x, y);
    remquo: Libdevice::remquo(x, y).0;
    // More bits than C promises, and few enough for an `f32`.
    remquo_quotient: (Libdevice::remquo(x, y).1 % 4096) as _;
    rint: Libdevice::rint(x);
    rsqrt: Libdevice::rsqrt(x);
}

#[kernel]
pub unsafe fn function_f32(number: u32, x: &[f32], y: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *out.add(i) = f32_of(number, x[i], y[i]);
    }
}

#[kernel]
pub unsafe fn function_f64(number: u32, x: &[f64], y: &[f64], out: *mut f64) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *out.add(i) = f64_of(number, x[i], y[i]);
    }
}
