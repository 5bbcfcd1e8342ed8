//! Arithmetic of 16 bits and less, and video instructions.

use crate::check32;

/// An f16 or a bf16 as an f64, by the definition of the format.
fn value(bits: u32, exponent_bits: u32) -> f64 {
    let fraction_bits = 15 - exponent_bits;
    let fraction = f64::from(bits & ((1 << fraction_bits) - 1));
    let exponent = (bits >> fraction_bits & ((1 << exponent_bits) - 1)) as i32;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let one = 2f64.powi(fraction_bits as i32);
    let magnitude = match exponent {
        0 => fraction / one * 2f64.powi(1 - bias),
        e if e == (1 << exponent_bits) - 1 && fraction != 0.0 => f64::NAN,
        e if e == (1 << exponent_bits) - 1 => f64::INFINITY,
        e => (1.0 + fraction / one) * 2f64.powi(e - bias),
    };
    if bits >> 15 & 1 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

/// The nearest of all numbers of 16 bits to a sum, product or quotient that f64 has exactly.
fn nearest(x: f64, exponent_bits: u32) -> u32 {
    if x.is_nan() {
        return 0x7fff;
    }
    let infinity = ((1u32 << exponent_bits) - 1) << (15 - exponent_bits);
    // Bit patterns of numbers above 0 are in order.
    let (mut low, mut high) = (0, infinity);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if value(middle, exponent_bits) <= x.abs() {
            low = middle;
        } else {
            high = middle;
        }
    }
    let below = x.abs() - value(low, exponent_bits);
    // Infinity stands where the next number would.
    let step = if high == infinity {
        value(low, exponent_bits) - value(low - 1, exponent_bits)
    } else {
        value(high, exponent_bits) - value(low, exponent_bits)
    };
    let up = below > step / 2.0 || below == step / 2.0 && low & 1 == 1;
    (low + u32::from(up)) | if x.is_sign_negative() { 0x8000 } else { 0 }
}

/// A function of the halves of two registers.
fn pairs(f: impl Fn(u32, u32) -> u32) -> impl Fn(u32, u32, u32) -> u32 {
    move |a, b, _| f(a & 0xffff, b & 0xffff) | f(a >> 16, b >> 16) << 16
}

#[test]
fn sums_and_products() {
    for (ty, exponent_bits) in [("f16x2", 5), ("bf16x2", 8)] {
        let of = |bits: u32| value(bits, exponent_bits);
        let round = |x: f64| nearest(x, exponent_bits);
        check32(
            &format!("mul.rn.{ty} d, a, b;"),
            pairs(|a, b| round(of(a) * of(b))),
        );
        if exponent_bits == 5 {
            // In f64 these are exact.
            check32(
                &format!("add.{ty} d, a, b;"),
                pairs(|a, b| round(of(a) + of(b))),
            );
            check32(
                &format!("sub.rn.{ty} d, a, b;"),
                pairs(|a, b| round(of(a) - of(b))),
            );
        }
        check32(&format!("neg.{ty} d, a;"), pairs(|a, _| round(-of(a))));
        check32(&format!("abs.{ty} d, a;"), pairs(|a, _| round(of(a).abs())));
    }
    check32(
        "cvt.u16.u32 %h1, a; cvt.u16.u32 %h2, b; add.sat.f16 %h3, %h1, %h2; cvt.u32.u16 d, %h3;",
        |a, b, _| {
            let sum = value(a & 0xffff, 5) + value(b & 0xffff, 5);
            nearest(
                if sum.is_nan() {
                    0.0
                } else {
                    sum.clamp(0.0, 1.0) + 0.0
                },
                5,
            )
        },
    );
    check32(
        "cvt.u16.u32 %h1, a; fma.rn.relu.f16 %h3, %h1, %h1, %h1; cvt.u32.u16 d, %h3;",
        |a, _, _| {
            let x = value(a & 0xffff, 5);
            let fused = x.mul_add(x, x);
            if fused <= 0.0 { 0 } else { nearest(fused, 5) }
        },
    );
}

#[test]
fn exponentials_and_tangents() {
    for (ty, exponent_bits) in [("f16x2", 5), ("bf16x2", 8)] {
        let of = |bits: u32| value(bits, exponent_bits);
        check32(
            &format!("tanh.approx.{ty} d, a;"),
            pairs(|a, _| nearest(of(a).tanh(), exponent_bits)),
        );
    }
    let power = |a: u32, exponent_bits| nearest(value(a, exponent_bits).exp2(), exponent_bits);
    check32("ex2.approx.f16x2 d, a;", pairs(|a, _| power(a, 5)));
    // A power of bf16 is flushed if it is subnormal; that of a subnormal number is 1.
    check32(
        "ex2.approx.ftz.bf16x2 d, a;",
        pairs(|a, _| match power(a, 8) {
            ..0x80 => 0,
            normal => normal,
        }),
    );
    check32(
        "cvt.u16.u32 %h1, a; ex2.approx.f16 %h2, %h1; tanh.approx.f16 %h2, %h2; cvt.u32.u16 d, %h2;",
        |a, _, _| nearest(value(power(a & 0xffff, 5), 5).tanh(), 5),
    );
}

#[test]
fn extrema_and_comparisons() {
    let less = |a: u32, b: u32| {
        let (x, y) = (value(a, 5), value(b, 5));
        match (x.is_nan(), y.is_nan()) {
            (true, true) => 0x7fff,
            (true, false) => b,
            (false, true) => a,
            _ if x == y => a | b & 0x8000,
            _ if x < y => a,
            _ => b,
        }
    };
    check32("min.f16x2 d, a, b;", pairs(less));
    check32(
        "min.NaN.f16x2 d, a, b;",
        pairs(|a, b| {
            let is_nan = value(a, 5).is_nan() || value(b, 5).is_nan();
            if is_nan { 0x7fff } else { less(a, b) }
        }),
    );
    check32(
        "max.xorsign.abs.f16x2 d, a, b;",
        pairs(|a, b| {
            let (x, y) = (value(a, 5).abs(), value(b, 5).abs());
            let larger = match (x.is_nan(), y.is_nan()) {
                (true, true) => return 0x7fff,
                (true, false) => b,
                (false, true) => a,
                _ if x >= y => a,
                _ => b,
            };
            larger & 0x7fff | (a ^ b) & 0x8000
        }),
    );
    check32(
        "set.lt.f16x2.f16x2 d, a, b;",
        pairs(|a, b| if value(a, 5) < value(b, 5) { 0x3c00 } else { 0 }),
    );
    check32(
        "set.geu.u32.bf16x2 d, a, b;",
        pairs(|a, b| {
            let (x, y) = (value(a, 8), value(b, 8));
            if x >= y || x.is_nan() || y.is_nan() {
                0xffff
            } else {
                0
            }
        }),
    );
    check32(
        "setp.ne.bf16x2 %p1|%p2, a, b; selp.u32 d, 1, 0, %p1; @%p2 add.u32 d, d, 2;",
        |a, b, _| {
            let differ = |left: u32, right: u32| {
                let (x, y) = (value(left, 8), value(right, 8));
                u32::from(x != y && !x.is_nan() && !y.is_nan())
            };
            differ(a & 0xffff, b & 0xffff) | differ(a >> 16, b >> 16) << 1
        },
    );
}

#[test]
fn integers_packed_and_video() {
    check32("cvt.pack.sat.s8.s32.b32 d, a, b, c;", |a, b, c| {
        let cut = |x: u32| (x as i32).clamp(-128, 127) as u32 & 0xff;
        c << 16 | cut(a) << 8 | cut(b)
    });
    check32("cvt.pack.sat.u16.s32 d, a, b;", |a, b, _| {
        let cut = |x: u32| (x as i32).clamp(0, 0xffff) as u32;
        cut(a) << 16 | cut(b)
    });
    check32("vabsdiff4.u32.u32.u32.add d, a, b, c;", |a, b, c| {
        let differences = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        differences.fold(c, |sum, (x, y)| sum.wrapping_add(x.abs_diff(y).into()))
    });
    check32(
        "vadd2.s32.s32.s32.sat d, a, b, c;",
        pairs(|a, b| (a as u16 as i16).saturating_add(b as u16 as i16) as u16 as u32),
    );
    check32("vset4.u32.u32.gt d, a, b, c;", |a, b, _| {
        let parts = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
        parts
            .rev()
            .fold(0, |all, (x, y)| all << 8 | u32::from(x > y))
    });
    check32(
        "vavrg2.u32.u32.u32 d, a, b, c;",
        pairs(|a, b| (a + b + 1) >> 1),
    );
    check32("vadd2.u32.u32.u32 d.h0, a.h01, b.h32, c;", |a, b, c| {
        c & 0xffff_0000 | (a >> 16).wrapping_add(b) & 0xffff
    });
    check32("vadd.s32.s32.u32.sat d, a.h1, b.b2;", |a, b, _| {
        ((a as i32 >> 16) + (b >> 16 & 0xff) as i32) as u32
    });
    check32("vsub.u32.u32.u32.sat d, a, b;", |a, b, _| {
        a.saturating_sub(b)
    });
    check32("vshr.u32.u32.u32.clamp.add d, a, b, c;", |a, b, c| {
        a.checked_shr(b).unwrap_or(0).wrapping_add(c)
    });
    check32("vshl.u32.u32.u32.wrap d, a, b;", |a, b, _| a << (b & 31));
    check32("vmax.s32.s32.s32 d.b1, a.b3, b.b0, c;", |a, b, c| {
        let larger = ((a >> 24) as u8 as i8).max(b as u8 as i8) as u8;
        c & !0xff00 | u32::from(larger) << 8
    });
    check32("vmad.s32.s32.s32.shr7 d, a.h0, b.h0, c;", |a, b, c| {
        let product = i64::from(a as u16 as i16) * i64::from(b as u16 as i16);
        ((product + i64::from(c as i32)) >> 7) as u32
    });
}

#[test]
fn floats_of_8_bits_and_tf32() {
    check32(
        "cvt.rn.f16x2.e5m2x2 d, %h1;"
            .replace("cvt", "cvt.u16.u32 %h1, a; cvt")
            .as_str(),
        |a, _, _| {
            let wide = |bits: u32| {
                if bits & 0x7f > 0x7c {
                    0x7fff
                } else {
                    bits << 8
                }
            };
            wide(a & 0xff) | wide(a >> 8 & 0xff) << 16
        },
    );
    // A number of e4m3 comes back.
    check32(
        "cvt.u16.u32 %h1, a; cvt.rn.f16x2.e4m3x2 d, %h1; cvt.rn.satfinite.e4m3x2.f16x2 %h2, d; cvt.u32.u16 d, %h2;",
        |a, _, _| {
            let back = |bits: u32| if bits & 0x7f == 0x7f { 0x7f } else { bits };
            back(a & 0xff) | back(a >> 8 & 0xff) << 8
        },
    );
    check32("cvt.rna.tf32.f32 d, a;", |a, _, _| match a & 0x7fff_ffff {
        0x7f80_0000.. => a & !0x1fff,
        _ => (a + 0x1000) & !0x1fff,
    });
}
