//! Conversions, and values of several registers.

use crate::{bits32, check32, check64, flush, saturate};

#[test]
fn conversions() {
    check32("cvt.rn.f32.s32 d, a;", |a, _, _| {
        (a as i32 as f32).to_bits()
    });
    check32("cvt.rn.f32.u32 d, a;", |a, _, _| (a as f32).to_bits());
    check32("cvt.rzi.s32.f32 d, a;", |a, _, _| {
        f32::from_bits(a) as i32 as u32
    });
    check32("cvt.rzi.u32.f32 d, a;", |a, _, _| f32::from_bits(a) as u32);
    check32("cvt.rni.s32.f32 d, a;", |a, _, _| {
        f32::from_bits(a).round_ties_even() as i32 as u32
    });
    check32("cvt.rmi.f32.f32 d, a;", |a, _, _| {
        bits32(f32::from_bits(a).floor())
    });
    check32("cvt.sat.f32.f32 d, a;", |a, _, _| {
        saturate(f32::from_bits(a)).to_bits()
    });
    check32("cvt.ftz.f32.f32 d, a;", |a, _, _| {
        bits32(flush(f32::from_bits(a)))
    });
    check32("cvt.s32.s8 d, a;", |a, _, _| a as i8 as i32 as u32);
    check32("cvt.u32.u16 d, a;", |a, _, _| a & 0xffff);
    check32("cvt.sat.u8.s32 d, a;", |a, _, _| {
        (a as i32).clamp(0, 255) as u32
    });
    check32("cvt.u16.u32 %h1, a; cvt.s32.s16 d, %h1;", |a, _, _| {
        a as i16 as i32 as u32
    });
    check32("cvt.rn.f16.f32 %h1, a; cvt.f32.f16 d, %h1;", |a, _, _| {
        half(f32::from_bits(a))
    });
    check64("cvt.s64.s32 d, a32;", |a, _, _| a as i32 as i64 as u64);
    check64("cvt.rn.f64.s64 d, a;", |a, _, _| {
        (a as i64 as f64).to_bits()
    });
    check64("cvt.f64.f32 d, a32;", |a, _, _| {
        let bits = a as u32;
        let x = f32::from_bits(bits);
        if x.is_nan() {
            u64::from(bits >> 31) << 63 | 0x7ff8 << 48 | u64::from(bits & 0x7f_ffff) << 29
        } else {
            f64::from(x).to_bits()
        }
    });
    check64("cvt.rn.f32.f64 d32, a; cvt.u64.u32 d, d32;", |a, _, _| {
        // A NaN keeps its sign and the first bits of its payload, quieted.
        match f64::from_bits(a) {
            x if x.is_nan() => a >> 63 << 31 | 0x7fc0_0000 | (a << 12 >> 41),
            x => u64::from((x as f32).to_bits()),
        }
    });
}

/// An f32 rounded to the eleven bits and the range of binary16, as an f32.
fn half(x: f32) -> u32 {
    if x.is_nan() {
        // Canonical in 16 bits, then widened and canonical in 32.
        return 0x7fff_ffff;
    }
    let exponent = x.abs().max(2f32.powi(-14)).log2().floor() as i32;
    let unit = 2f64.powi(exponent.min(20) - 10);
    let rounded = (f64::from(x) / unit).round_ties_even() * unit;
    let limited = if rounded.abs() > 65504.0 {
        f64::INFINITY.copysign(rounded)
    } else {
        rounded
    };
    (limited as f32).copysign(x).to_bits()
}

#[test]
fn packing() {
    check32(
        "cvt.u16.u32 %h1, a; cvt.u16.u32 %h2, b; mov.b32 d, {%h1, %h2};",
        |a, b, _| a & 0xffff | b << 16,
    );
    check32("mov.b32 {%h1, %h2}, a; cvt.u32.u16 d, %h2;", |a, _, _| {
        a >> 16
    });
    check64(
        "mov.b64 {%r4, %r5}, a; mov.b64 d, {%r5, %r4};",
        |a, _, _| a.rotate_left(32),
    );
}
