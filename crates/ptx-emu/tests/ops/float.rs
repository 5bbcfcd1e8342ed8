//! Floating-point arithmetic, exact and approximate.

use crate::{bits32, check32, check64, flush, run, saturate};

/// A float function as one on bits.
fn float2(f: impl Fn(f32, f32) -> f32) -> impl Fn(u32, u32, u32) -> u32 {
    move |a, b, _| bits32(f(f32::from_bits(a), f32::from_bits(b)))
}

#[test]
fn f32_arithmetic() {
    check32("add.f32 d, a, b;", float2(|a, b| a + b));
    check32("sub.rn.f32 d, a, b;", float2(|a, b| a - b));
    check32("mul.rn.f32 d, a, b;", float2(|a, b| a * b));
    check32("div.rn.f32 d, a, b;", float2(|a, b| a / b));
    check32("sqrt.rn.f32 d, a;", float2(|a, _| a.sqrt()));
    check32("rcp.rn.f32 d, a;", float2(|a, _| 1.0 / a));
    check32("fma.rn.f32 d, a, b, c;", |a, b, c| {
        let [a, b, c] = [a, b, c].map(f32::from_bits);
        bits32(a.mul_add(b, c))
    });
    check32(
        "add.ftz.f32 d, a, b;",
        float2(|a, b| flush(flush(a) + flush(b))),
    );
    check32(
        "mul.ftz.f32 d, a, b;",
        float2(|a, b| flush(flush(a) * flush(b))),
    );
    check32("add.sat.f32 d, a, b;", float2(|a, b| saturate(a + b)));
    check32(
        "mul.ftz.sat.f32 d, a, b;",
        float2(|a, b| saturate(flush(flush(a) * flush(b)))),
    );
    check32(
        "div.rn.ftz.f32 d, a, b;",
        float2(|a, b| flush(flush(a) / flush(b))),
    );
    check32("neg.f32 d, a;", |a, _, _| bits32(-f32::from_bits(a)));
    check32("abs.f32 d, a;", |a, _, _| bits32(f32::from_bits(a).abs()));
    check32("copysign.f32 d, a, b;", |a, b, _| {
        (a & 0x8000_0000) | (b & 0x7fff_ffff)
    });
}

/// The results of an H100 that reach the smallest normal number only by rounding.
#[test]
fn ftz_goes_by_the_result_rounded_with_exponents_that_have_no_limit() {
    let one = |instruction: &str, [a, b, c]: [u64; 3]| run(32, instruction, &[[a, b, c]; 32])[0];
    let below_one = [0x0080_0000, 0x3f7f_ffff, 0];
    assert_eq!(one("mul.ftz.f32 d, a, b;", below_one), 0);
    assert_eq!(one("mul.rn.f32 d, a, b;", below_one), 0x0080_0000);
    assert_eq!(one("mul.rp.ftz.f32 d, a, b;", below_one), 0);
    assert_eq!(
        one("mul.rm.ftz.f32 d, a, b;", [0x8080_0000, 0x3f7f_ffff, 0]),
        0x8000_0000
    );
    assert_eq!(
        one("div.rp.ftz.f32 d, a, b;", [0x0080_0000, 0x3f80_0001, 0]),
        0
    );
    assert_eq!(
        one("div.rn.ftz.f32 d, a, b;", [0x3f7f_ffff, 0x7e80_0000, 0]),
        0
    );
    // These are nearer to it than to any other number of 24 bits.
    let less_little = [0x0b22_b207, 0x8480_0008, 0x0080_0000];
    assert_eq!(one("fma.rn.ftz.f32 d, a, b, c;", less_little), 0x0080_0000);
    assert_eq!(one("fma.rz.ftz.f32 d, a, b, c;", less_little), 0);
    assert_eq!(
        one(
            "fma.rp.ftz.f32 d, a, b, c;",
            [0x0080_0001, 0x9a34_0691, 0x0080_0000]
        ),
        0x0080_0000
    );
}

/// The next number towards an infinity.
fn nudge(x: f32, up: bool) -> f32 {
    if up { x.next_up() } else { x.next_down() }
}

/// Rounds a sum, product or quotient of f32 in a direction, by comparing with an f64 that is close
/// enough to decide.
fn rounded(wide: f64, error: f64, nearest: f32, up: bool) -> f32 {
    if nearest.is_nan() {
        return nearest;
    }
    // `wide + error` is the exact value; is the nearest f32 on the wrong side of it?
    let side = (f64::from(nearest) - wide, error);
    let above = side.0 > 0.0 || (side.0 == 0.0 && side.1 < 0.0);
    let below = side.0 < 0.0 || (side.0 == 0.0 && side.1 > 0.0);
    if up && below || !up && above {
        nudge(nearest, up)
    } else {
        nearest
    }
}

#[test]
fn f32_directed_rounding() {
    let direction = |up| {
        move |a: u32, b: u32, f: &dyn Fn(f64, f64) -> (f64, f64)| {
            let [a, b] = [a, b].map(|bits| f64::from(f32::from_bits(bits)));
            let (wide, error) = f(a, b);
            if wide.is_infinite() && a.is_finite() && b.is_finite() {
                return wide as f32;
            }
            let nearest = wide as f32;
            if nearest.is_infinite() && wide.is_finite() {
                // Overflow: inwards gives the largest number.
                let inward = up == (wide < 0.0);
                return if inward {
                    f32::MAX.copysign(nearest)
                } else {
                    nearest
                };
            }
            rounded(wide, error, nearest, up)
        }
    };
    // Products of f32 are exact in f64 (or underflow far below f32); sums come with their error
    // (two-sum).
    let product = |a: f64, b: f64| (a * b, 0.0);
    let sum = |a: f64, b: f64| {
        let s = a + b;
        let t = s - a;
        (s, (a - (s - t)) + (b - t))
    };
    for (name, up) in [("rp", true), ("rm", false)] {
        let round = direction(up);
        check32(&format!("mul.{name}.f32 d, a, b;"), |a, b, _| {
            bits32(round(a, b, &product))
        });
        check32(&format!("add.{name}.f32 d, a, b;"), |a, b, _| {
            let got = round(a, b, &sum);
            let [x, y] = [a, b].map(f32::from_bits);
            // An exact zero sum of numbers of unlike signs is -0 when rounding down.
            if x == -y && x.is_finite() && (x != 0.0 || x.to_bits() != y.to_bits()) {
                return if up { 0 } else { 0x8000_0000 };
            }
            bits32(got)
        });
    }
    check32("add.rz.f32 d, a, b;", |a, b, _| {
        let [x, y] = [a, b].map(f32::from_bits);
        let [up, down] = [true, false].map(|up| direction(up)(a, b, &sum));
        if x == -y && x.is_finite() && (x != 0.0 || x.to_bits() != y.to_bits()) {
            return 0;
        }
        bits32(if up > 0.0 || (up == 0.0 && x.is_sign_positive()) {
            down
        } else {
            up
        })
    });
}

#[test]
fn f32_extrema() {
    let extremum = |less: fn(f32, f32) -> bool, nan: bool| {
        float2(move |a, b| match (a.is_nan(), b.is_nan()) {
            (true, true) => f32::NAN,
            (true, false) if !nan => b,
            (false, true) if !nan => a,
            (false, false) if less(a, b) => a,
            (false, false) if less(b, a) => b,
            // Zeros: the negative one is the smaller.
            (false, false) => {
                let negative_wins = less(-1.0, 1.0);
                if a.is_sign_negative() == negative_wins {
                    a
                } else {
                    b
                }
            }
            _ => f32::NAN,
        })
    };
    check32("min.f32 d, a, b;", extremum(|a, b| a < b, false));
    check32("max.f32 d, a, b;", extremum(|a, b| a > b, false));
    check32("min.NaN.f32 d, a, b;", extremum(|a, b| a < b, true));
    check32("max.NaN.f32 d, a, b;", extremum(|a, b| a > b, true));
}

#[test]
fn f64_arithmetic() {
    // A NaN operand passes through, quieted, by the order given; an invalid operation gives the
    // negative default.
    let finish = |operands: &[f64], result: f64| match operands.iter().find(|x| x.is_nan()) {
        Some(nan) => nan.to_bits() | 1 << 51,
        None if result.is_nan() => 0xfff8_0000_0000_0000,
        None => result.to_bits(),
    };
    let double2 = |f: fn(f64, f64) -> f64| {
        move |a: u64, b: u64, _: u64| {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            finish(&[b, a], f(a, b))
        }
    };
    check64("add.f64 d, a, b;", double2(|a, b| a + b));
    check64("sub.rn.f64 d, a, b;", double2(|a, b| a - b));
    check64("mul.rn.f64 d, a, b;", double2(|a, b| a * b));
    check64("div.rn.f64 d, a, b;", |a, b, _| {
        let (a, b) = (f64::from_bits(a), f64::from_bits(b));
        finish(&[a, b], a / b)
    });
    check64("sqrt.rn.f64 d, a;", |a, _, _| {
        finish(&[f64::from_bits(a)], f64::from_bits(a).sqrt())
    });
    check64("fma.rn.f64 d, a, b, c;", |a, b, c| {
        let [a, b, c] = [a, b, c].map(f64::from_bits);
        finish(&[b, c, a], a.mul_add(b, c))
    });
    // Made of an addition, these pass a NaN on with its sign.
    for (instruction, f) in [
        ("neg.f64 d, a;", (|x: f64| -x) as fn(f64) -> f64),
        ("abs.f64 d, a;", f64::abs),
    ] {
        check64(instruction, move |a, _, _| {
            let a = f64::from_bits(a);
            finish(&[a], f(a))
        });
    }
}

#[test]
fn approximations_are_within_their_bounds() {
    /// Relative error, 0 if both are the same special value.
    fn error(got: u32, want: f64) -> f64 {
        let got = f64::from(f32::from_bits(got));
        if got == want || (got.is_nan() && want.is_nan()) || (got == 0.0 && want.abs() < 1e-37) {
            return 0.0;
        }
        ((got - want) / want).abs()
    }
    type Function = fn(f64) -> f64;
    let functions: [(&str, Function, f64); 6] = [
        ("ex2.approx.ftz.f32", f64::exp2, 2.4e-7),
        ("lg2.approx.ftz.f32", f64::log2, 1.6e-7),
        ("rsqrt.approx.ftz.f32", |x| 1.0 / x.sqrt(), 1.3e-7),
        ("rcp.approx.ftz.f32", |x| 1.0 / x, 1.2e-7),
        ("sqrt.approx.ftz.f32", f64::sqrt, 1.2e-7),
        ("tanh.approx.f32", f64::tanh, 4.9e-4),
    ];
    let values: Vec<u64> = (0..256)
        .map(|i| u64::from((0.01f32 * (i as f32 + 0.5)).to_bits()))
        .collect();
    let triples: Vec<_> = values.iter().map(|&a| [a, 0, 0]).collect();
    for (name, function, bound) in functions {
        for (a, got) in values
            .iter()
            .zip(run(32, &format!("{name} d, a;"), &triples))
        {
            let x = f64::from(f32::from_bits(*a as u32));
            let error = error(got as u32, function(x));
            assert!(error <= bound, "{name} of {x}: error {error}");
        }
    }
    for (name, function) in [("sin", f64::sin as Function), ("cos", f64::cos)] {
        for (a, got) in values
            .iter()
            .zip(run(32, &format!("{name}.approx.f32 d, a;"), &triples))
        {
            let x = f64::from(f32::from_bits(*a as u32));
            let got = f64::from(f32::from_bits(got as u32));
            assert!(
                (got - function(x)).abs() < 2f64.powf(-20.5),
                "{name} of {x}: {got}"
            );
        }
    }
}
