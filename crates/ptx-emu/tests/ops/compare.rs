//! Comparisons.

use crate::{check32, flush};

#[test]
fn comparisons() {
    let set = |condition: bool| if condition { u32::MAX } else { 0 };
    let float = |f: fn(f32, f32) -> bool| {
        move |a: u32, b: u32, _: u32| set(f(f32::from_bits(a), f32::from_bits(b)))
    };
    check32("set.eq.u32.f32 d, a, b;", float(|a, b| a == b));
    check32(
        "set.ne.u32.f32 d, a, b;",
        float(|a, b| a != b && !a.is_nan() && !b.is_nan()),
    );
    check32("set.lt.u32.f32 d, a, b;", float(|a, b| a < b));
    check32("set.le.u32.f32 d, a, b;", float(|a, b| a <= b));
    check32("set.neu.u32.f32 d, a, b;", float(|a, b| a != b));
    check32(
        "set.equ.u32.f32 d, a, b;",
        float(|a, b| a == b || a.is_nan() || b.is_nan()),
    );
    check32(
        "set.gtu.u32.f32 d, a, b;",
        float(|a, b| a > b || a.is_nan() || b.is_nan()),
    );
    check32(
        "set.num.u32.f32 d, a, b;",
        float(|a, b| !a.is_nan() && !b.is_nan()),
    );
    check32(
        "set.nan.u32.f32 d, a, b;",
        float(|a, b| a.is_nan() || b.is_nan()),
    );
    check32(
        "set.lt.ftz.u32.f32 d, a, b;",
        float(|a, b| flush(a) < flush(b)),
    );
    check32("set.ge.f32.s32 d, a, b;", |a, b, _| {
        if a as i32 >= b as i32 {
            1f32.to_bits()
        } else {
            0
        }
    });
    check32("set.hi.u32.u32 d, a, b;", |a, b, _| set(a > b));
    check32(
        "setp.lt.u32 %p1, a, b; setp.gt.and.s32 %p2|%p3, a, c, %p1;\n\
         selp.b32 d, 1, 0, %p2; selp.b32 %r4, 2, 0, %p3; or.b32 d, d, %r4;",
        |a, b, c| {
            let (first, second) = (a < b, a as i32 > c as i32);
            u32::from(second && first) | u32::from(!second && first) << 1
        },
    );
    check32("slct.b32.s32 d, a, b, c;", |a, b, c| {
        if c as i32 >= 0 { a } else { b }
    });
    check32("slct.b32.f32 d, a, b, c;", |a, b, c| {
        if f32::from_bits(c) >= 0.0 { a } else { b }
    });
    check32(
        "testp.subnormal.f32 %p1, a; selp.b32 d, 1, 0, %p1;",
        |a, _, _| u32::from(f32::from_bits(a).is_subnormal()),
    );
    check32(
        "testp.normal.f32 %p1, a; selp.b32 d, 1, 0, %p1;",
        |a, _, _| {
            let x = f32::from_bits(a);
            u32::from(x.is_normal() || x == 0.0)
        },
    );
}
