//! Functions of `intrinsics` that no trait has, against exact arithmetic and C's special values.
//!
//! `accuracy.rs` has those with an error. `tests/cuda-std` has the same bits on every device.
#![cfg(feature = "math")]

use cuda_std::intrinsics as raw;

/// Numbers of a fixed seed: mantissas of all bits, exponents from -`spread` to `spread`.
fn numbers(spread: u64) -> impl Iterator<Item = f64> {
    let mut state = 7u64;
    let mut next = move || {
        // (Knuth, "The Art of Computer Programming", 3.3.4, table 1.)
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 11
    };
    std::iter::repeat_with(move || {
        let mantissa = (next() & ((1 << 52) - 1)) | 0x3ff0 << 48;
        let exponent = (next() % (2 * spread + 1)) as i32 - spread as i32;
        let sign = if next() % 2 == 0 { 1.0 } else { -1.0 };
        sign * f64::from_bits(mantissa) * 2f64.powi(exponent)
    })
}

/// `x` as an integer times 2 to the power `unit`, where that is exact.
fn integer(x: f64, unit: i32) -> i128 {
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1075;
    let mantissa = (x.to_bits() & ((1 << 52) - 1)) | 1 << 52;
    let magnitude = i128::from(mantissa) << (exponent - unit);
    if x < 0.0 { -magnitude } else { magnitude }
}

/// The quotient nearest to `x / y`, of two the even one, and `x` minus that times `y`: exactly.
fn nearest_quotient(x: f64, y: f64) -> (i128, f64) {
    let exponent = |value: f64| ((value.to_bits() >> 52) & 0x7ff) as i32 - 1075;
    let unit = exponent(x).min(exponent(y));
    let (x, y) = (integer(x, unit), integer(y, unit));
    let (below, rest) = (x.div_euclid(y), x.rem_euclid(y));
    // `rest` is positive: one more quotient away from it is `rest - |y|`.
    let twice = (2 * rest).cmp(&y.abs());
    let is_above = twice.is_gt() || twice.is_eq() && below % 2 != 0;
    let quotient = if is_above { below + y.signum() } else { below };
    let remainder = x - quotient * y;
    (quotient, remainder as f64 * 2f64.powi(unit))
}

#[test]
fn remainders_are_exact_and_quotients_have_their_sign_and_last_bits() {
    let (xs, ys) = (numbers(30), numbers(20).skip(5));
    let halves = (-40..40)
        .map(|i| (f64::from(i) / 2.0, 1.0))
        .chain([(7.0, -2.0), (-5.0, 2.0)]);
    let pairs = xs
        .zip(ys)
        .take(20_000)
        .chain(halves.filter(|(x, _)| *x != 0.0));
    let mut largest = 0;
    for (x, y) in pairs {
        let (quotient, rest) = nearest_quotient(x, y);
        let mut bits = 99;
        // SAFETY: the pointer is a variable's; `remainder` has no obligation.
        let found = unsafe { (raw::remquo(x, y, &mut bits), raw::remainder(x, y)) };
        assert_eq!(found, (rest, rest), "{x:e}, {y:e}");
        assert_eq!(
            i128::from(bits),
            quotient % (1 << 31),
            "quotient of {x:e}, {y:e}"
        );
        largest = largest.max(quotient.abs());

        let (x, y) = (x as f32, y as f32);
        let (narrow_quotient, narrow_rest) = nearest_quotient(x.into(), y.into());
        // SAFETY: the pointer is a variable's; `remainderf` has no obligation.
        let narrow = unsafe { (raw::remquof(x, y, &mut bits), raw::remainderf(x, y)) };
        assert_eq!(
            (f64::from(narrow.0), f64::from(narrow.1)),
            (narrow_rest, narrow_rest),
            "{x:e}, {y:e}"
        );
        assert_eq!(
            i128::from(bits),
            narrow_quotient % (1 << 31),
            "quotient of {x:e}, {y:e}"
        );
    }
    assert!(largest > 1 << 40, "{largest}");
}

#[test]
fn special_values_are_those_of_c() {
    let infinity = f64::INFINITY;
    let mut quotient = 1;
    let mut whole = 0.0;
    // SAFETY: the pointers are variables'; the others have no obligation.
    unsafe {
        assert!(raw::remquo(1.0, 0.0, &mut quotient).is_nan());
        assert!(raw::remquo(infinity, 1.0, &mut quotient).is_nan());
        assert_eq!(raw::remquo(3.0, infinity, &mut quotient), 3.0);
        assert_eq!(quotient, 0);
        assert_eq!(
            raw::remquo(-0.0, 2.0, &mut quotient).to_bits(),
            (-0.0f64).to_bits()
        );
        assert_eq!(
            raw::remquo(-4.0, 2.0, &mut quotient).to_bits(),
            (-0.0f64).to_bits()
        );
        assert_eq!(quotient, -2);

        assert_eq!(raw::erfinv(0.0).to_bits(), 0);
        assert_eq!(raw::erfinv(-0.0).to_bits(), (-0.0f64).to_bits());
        assert_eq!((raw::erfinv(1.0), raw::erfinv(-1.0)), (infinity, -infinity));
        assert_eq!(raw::erfinvf(-1.0), f32::NEG_INFINITY);
        assert!(raw::erfinv(1.0 + f64::EPSILON).is_nan());
        assert!(raw::erfinv(f64::NAN).is_nan() && raw::erfinvf(-2.0).is_nan());

        assert_eq!((raw::logb(6.0), raw::logb(-0.25)), (2.0, -2.0));
        assert_eq!(
            (raw::logb(0.0), raw::logb(-infinity)),
            (-infinity, infinity)
        );
        assert_eq!(
            (raw::logbf(-0.0), raw::logbf(f32::INFINITY)),
            (f32::NEG_INFINITY, f32::INFINITY)
        );
        assert!(raw::logb(f64::NAN).is_nan() && raw::logbf(f32::NAN).is_nan());
        assert_eq!(raw::logb(f64::from_bits(1)), -1074.0);

        assert_eq!(
            (raw::rint(2.5), raw::rint(3.5), raw::nearbyint(-0.5)),
            (2.0, 4.0, -0.0)
        );
        assert_eq!(
            (raw::llrint(2.5), raw::llround(2.5), raw::llroundf(-2.5)),
            (2, 3, -3)
        );
        assert_eq!(raw::nextafter(1.0, 2.0), 1.0 + f64::EPSILON);
        assert_eq!(raw::nextafterf(0.0, -1.0), -f32::from_bits(1));
        assert_eq!((raw::fdim(3.0, 1.0), raw::fdim(1.0, 3.0)), (2.0, 0.0));
        assert_eq!(raw::modf(-2.75, &mut whole), -0.75);
        assert_eq!(whole, -2.0);
        assert_eq!(
            (raw::ilogb(8.0), raw::exp10(3.0), raw::exp10f(-2.0)),
            (3, 1000.0, 0.01)
        );
    }
}
