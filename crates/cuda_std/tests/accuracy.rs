//! The errors of the functions on floats, in units in the last place, against functions of twice
//! the precision: for `f64` those of `data/f64.txt`, for `f32` those of `f64`.
//!
//! The bits are the same on every device (`tests/cuda-std`), and so are the errors.
#![cfg(feature = "math")]

use cuda_std::{FloatExt, GpuFloat, intrinsics};

/// Functions that only `intrinsics` has.
trait Raw {
    fn erfinv(self) -> Self;
    fn exp10(self) -> Self;
    fn rsqrt(self) -> Self;
}

macro_rules! raw {
    ($($ty:ident: $($name:ident = $intrinsic:ident),*;)*) => {$(
        impl Raw for $ty {
            $(fn $name(self) -> $ty {
                // SAFETY: the function has no obligation.
                unsafe { intrinsics::$intrinsic(self) }
            })*
        }
    )*};
}

raw! {
    f32: erfinv = erfinvf, exp10 = exp10f, rsqrt = rsqrtf;
    f64: erfinv = erfinv, exp10 = exp10, rsqrt = rsqrt;
}

struct Function {
    name: &'static str,
    /// The greatest error in ULP that is allowed, for `f32` and `f64`.
    ulps: (f64, f64),
    /// The arguments for `f32`: all of this range, from low to high.
    range: (f32, f32),
    /// Whether it has roots other than 0. Errors near them count as parts of 1.
    has_roots: bool,
}

macro_rules! functions {
    ($($trait:ident::$name:ident($x:ident $(, $y:ident)?) $single:literal $double:literal [$low:literal, $high:literal] $roots:literal;)*) => {
        fn f32_of(name: &str, x: f32, y: f32) -> f32 {
            match name {
                $(stringify!($name) => {
                    let $x = x;
                    $(let $y = y;)?
                    <f32 as $trait>::$name($x $(, $y)?)
                })*
                _ => panic!("no function {name} of {y}"),
            }
        }

        fn f64_of(name: &str, x: f64, y: f64) -> f64 {
            match name {
                $(stringify!($name) => {
                    let $x = x;
                    $(let $y = y;)?
                    <f64 as $trait>::$name($x $(, $y)?)
                })*
                _ => panic!("no function {name} of {y}"),
            }
        }

        const FUNCTIONS: &[Function] = &[$(Function {
            name: stringify!($name),
            ulps: ($single, $double),
            range: ($low, $high),
            has_roots: $roots,
        }),*];
    };
}

functions! {
    GpuFloat::exp(x) 1.0 1.0 [-87.0, 88.0] false;
    GpuFloat::exp2(x) 1.0 1.0 [-125.0, 127.0] false;
    GpuFloat::exp_m1(x) 1.0 1.0 [-20.0, 88.0] false;
    GpuFloat::ln(x) 1.0 1.0 [1e-30, 1e30] false;
    GpuFloat::log2(x) 1.0 1.0 [1e-30, 1e30] false;
    GpuFloat::log10(x) 1.0 1.0 [1e-30, 1e30] false;
    GpuFloat::ln_1p(x) 1.0 1.0 [-0.99, 1e30] false;
    GpuFloat::sin(x) 1.0 1.0 [-1e6, 1e6] false;
    GpuFloat::cos(x) 1.0 1.0 [-1e6, 1e6] false;
    GpuFloat::tan(x) 1.0 1.0 [-1e6, 1e6] false;
    GpuFloat::asin(x) 1.0 1.0 [-1.0, 1.0] false;
    GpuFloat::acos(x) 1.0 1.0 [-1.0, 1.0] false;
    GpuFloat::atan(x) 1.0 1.0 [-1e6, 1e6] false;
    GpuFloat::sinh(x) 2.5 2.5 [-88.0, 88.0] false;
    GpuFloat::cosh(x) 2.5 2.5 [-88.0, 88.0] false;
    GpuFloat::tanh(x) 2.5 2.5 [-10.0, 10.0] false;
    GpuFloat::asinh(x) 2.5 2.5 [-1e6, 1e6] false;
    GpuFloat::acosh(x) 2.5 2.5 [1.0, 1e6] false;
    GpuFloat::atanh(x) 2.5 2.5 [-0.999, 0.999] false;
    GpuFloat::cbrt(x) 1.0 1.0 [-1e30, 1e30] false;
    GpuFloat::powf(x, y) 1.0 1.0 [1e-3, 1e3] false;
    GpuFloat::hypot(x, y) 1.0 1.0 [-1e15, 1e15] false;
    GpuFloat::atan2(x, y) 1.5 1.5 [-1e6, 1e6] false;
    FloatExt::rcbrt(x) 2.0 2.0 [1e-30, 1e30] false;
    FloatExt::sinpi(x) 2.0 2.0 [-1e3, 1e3] false;
    FloatExt::cospi(x) 2.0 2.0 [-1e3, 1e3] false;
    FloatExt::error_function(x) 2.0 2.0 [-6.0, 6.0] false;
    FloatExt::complementary_error_function(x) 4.0 4.0 [-6.0, 9.0] false;
    FloatExt::scaled_complementary_error_function(x) 4.0 4.0 [-8.0, 1e4] false;
    FloatExt::norm_cdf(x) 4.0 4.0 [-12.0, 8.0] false;
    FloatExt::inv_complementary_error_function(x) 4.0 4.0 [1e-30, 2.0] false;
    FloatExt::inv_norm_cdf(x) 4.0 4.0 [1e-30, 0.999] false;
    FloatExt::gamma(x) 4.0 4.0 [0.1, 34.0] false;
    FloatExt::log_gamma(x) 4.0 4.0 [0.1, 1e4] true;
    FloatExt::j0(x) 4.0 4.0 [0.0, 30.0] true;
    FloatExt::j1(x) 4.0 4.0 [0.0, 30.0] true;
    FloatExt::y0(x) 4.0 4.0 [0.1, 30.0] true;
    FloatExt::y1(x) 4.0 4.0 [0.1, 30.0] true;
    Raw::erfinv(x) 2.0 2.0 [-1.0, 1.0] false;
    Raw::exp10(x) 1.0 1.0 [-37.0, 38.0] false;
    Raw::rsqrt(x) 1.0 1.0 [1e-30, 1e30] false;
}

/// The difference in units in the last place of `value`, or of 1 if that is less and the function
/// has roots.
fn ulps(error: f64, value: f64, digits: i32, least_exponent: i32, has_roots: bool) -> f64 {
    let exponent = if value == 0.0 {
        least_exponent
    } else {
        value.unbiased_exp()
    };
    let exponent = exponent.max(if has_roots { 0 } else { least_exponent });
    error.abs().scale_by_n(digits - exponent)
}

/// The greatest error of each function, as a text; those above their bound are marked.
fn table(worst: impl Iterator<Item = (&'static str, f64, f64)>) -> (String, bool) {
    let (mut text, mut holds) = (String::new(), true);
    for (name, error, bound) in worst {
        // False for NaN.
        let is_right = error <= bound;
        holds &= is_right;
        let mark = if is_right { "" } else { "  too much" };
        text += &format!("{name:40} {error:8.3} of {bound}{mark}\n");
    }
    (text, holds)
}

/// The greater error, or NaN if one is.
fn greater(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}

/// Numbers from `low` to `high`: half of them equally far apart, half by their bits.
fn arguments((low, high): (f32, f32)) -> impl Iterator<Item = f32> {
    const COUNT: u32 = 20_000;
    let linear = (0..COUNT).map(move |i| low + (high - low) * (i as f32 / COUNT as f32));
    let positive = low.max(1e-30).to_bits();
    let step = (high.to_bits() - positive) / COUNT;
    let by_bits = (0..COUNT).map(move |i| f32::from_bits(positive + i * step));
    linear.chain(by_bits)
}

#[test]
fn f32_is_near_f64() {
    let worst = FUNCTIONS.iter().map(|function| {
        let mut worst = 0.0f64;
        for (i, x) in arguments(function.range).enumerate() {
            let y = [0.37, -2.5, 7.25, 1e-3][i % 4] * (1.0 + (i % 97) as f32 / 50.0);
            let value = f64_of(function.name, x.into(), y.into());
            let single = f32_of(function.name, x, y);
            if (value as f32).is_infinite() && single == value as f32 {
                continue;
            }
            let error = ulps(
                f64::from(single) - value,
                value,
                23,
                -126,
                function.has_roots,
            );
            worst = greater(worst, error);
        }
        (function.name, worst, function.ulps.0)
    });
    let (table, holds) = table(worst);
    println!("{table}");
    assert!(holds, "{table}");
}

#[test]
fn f64_is_near_the_exact_value() {
    let text = include_str!("data/f64.txt");
    let worst = FUNCTIONS.iter().map(|function| {
        let (mut worst, mut count) = (0.0, 0);
        for line in text.lines() {
            let mut words = line.split(' ');
            if words.next() != Some(function.name) {
                continue;
            }
            let number = |word| f64::from_bits(u64::from_str_radix(word, 16).unwrap());
            let numbers: Vec<f64> = words.map(number).collect();
            let (&[.., high, low], x) = (&numbers[..], numbers[0]) else {
                panic!("{line}");
            };
            let value = f64_of(function.name, x, numbers[1]);
            let error = ulps((value - high) - low, high, 52, -1022, function.has_roots);
            worst = greater(worst, error);
            count += 1;
        }
        assert!(count > 0, "{} has no values", function.name);
        (function.name, worst, function.ulps.1)
    });
    let (table, holds) = table(worst);
    println!("{table}");
    assert!(holds, "{table}");
}

#[test]
fn special_values_are_those_of_the_standard_library() {
    let infinity = f64::INFINITY;
    assert_eq!(GpuFloat::sin(-0.0f64).to_bits(), (-0.0f64).to_bits());
    assert!(GpuFloat::sin(infinity).is_nan());
    assert_eq!(GpuFloat::exp(-infinity), 0.0);
    assert_eq!(GpuFloat::ln(0.0f32), f32::NEG_INFINITY);
    assert_eq!(GpuFloat::powf(f64::NAN, 0.0), 1.0);
    assert_eq!(GpuFloat::powi(2.0f32, -3), 0.125);
    assert_eq!(GpuFloat::powi(3.0f64, 5), 243.0);
    assert_eq!(GpuFloat::rem_euclid(-1.0f32, 3.0), 2.0);
    assert_eq!(GpuFloat::div_euclid(-1.0f32, -3.0), 1.0);
    assert_eq!(GpuFloat::round(-2.5f32), -3.0);
    assert_eq!(GpuFloat::fract(2.25f64), 0.25);
    assert_eq!((0.5f64).sincospi(), (1.0, 0.0));
    assert_eq!((1.0f64).sincospi(), (0.0, -1.0));
    assert_eq!((-1.5f32).sincospi(), (1.0, 0.0));
    assert_eq!((1e300f64).sincospi(), (0.0, 1.0));
    assert_eq!(f32::NAN.saturate(), 0.0);
    assert_eq!((1.5f64).saturate(), 1.0);
    assert_eq!(FloatExt::frexp(6.0f32), (0.75, 3));
    assert_eq!((6.0f64).unbiased_exp(), 2);
    assert_eq!(FloatExt::ldexp(0.75f32, 3), 6.0);
    assert_eq!((0.0f64).inv_complementary_error_function(), infinity);
    assert_eq!((2.0f64).inv_complementary_error_function(), -infinity);
    assert!((2.5f64).inv_complementary_error_function().is_nan());
    assert_eq!((-infinity).norm_cdf(), 0.0);
    assert_eq!(infinity.norm_cdf(), 1.0);
    assert_eq!(infinity.scaled_complementary_error_function(), 0.0);
    assert_eq!((-30.0f64).scaled_complementary_error_function(), infinity);
}
