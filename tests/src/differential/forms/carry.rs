//! Chains that pass the carry flag on.

use crate::differential::{Class, Form, Operand};

use super::class;

/// A 128-bit value of two words of `bits`.
fn join(low: u64, high: u64, bits: u32) -> u128 {
    u128::from(high) << bits | u128::from(low)
}

fn split(x: u128, bits: u32) -> [u64; 2] {
    [x as u64, (x >> bits) as u64]
}

fn four(bits: u32) -> [Operand; 4] {
    [(); 4].map(|()| Operand::Int(bits))
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = vec![
        flag_kept(),
        flag_between(),
        u128_product(),
        u128_product_of_words(),
    ];
    for bits in [32, 64] {
        for ty in [format!("u{bits}"), format!("s{bits}")] {
            all.extend(sums(&ty, bits));
            all.extend(products(&ty, bits));
        }
    }
    all
}

/// Two words, and the flag that is left.
fn sums(ty: &str, bits: u32) -> [Form; 2] {
    let form = |first: &str, next: &str, f: fn(u128, u128, u32) -> [u64; 3]| {
        let name = format!("{first}.cc.{ty} {next}.cc.{ty} {next}.{ty}");
        let body =
            format!("{first}.cc.{ty} %x, %a, %c; {next}.cc.{ty} %y, %b, %e; {next}.{ty} %z, 0, 0");
        Form::new(
            name,
            four(bits),
            [class(bits); 3],
            body,
            move |[a, b, c, e]| f(join(a, b, bits), join(c, e, bits), bits),
        )
    };
    [
        form("add", "addc", |a, b, width| {
            let (sum, over) = a.overflowing_add(b);
            let carry = if width == 64 { over } else { sum >> 64 != 0 };
            let [low, high] = split(sum, width);
            [low, high, carry.into()]
        }),
        form("sub", "subc", |a, b, width| {
            let [low, high] = split(a.wrapping_sub(b), width);
            [low, high, if a < b { u64::MAX } else { 0 }]
        }),
    ]
}

/// `mad.lo.cc` and `madc.hi`, which compilers use for a double-width product plus an addend, then
/// the flag.
fn products(ty: &str, bits: u32) -> [Form; 2] {
    let signed = ty.starts_with('s');
    let high = move |a: u64, b: u64| match (signed, bits) {
        (false, _) => ((u128::from(a) * u128::from(b)) >> bits) as u64,
        (true, 32) => ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u64,
        (true, _) => ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64,
    };
    let mask = u64::MAX >> (64 - bits);
    let add = move |a: u64, b: u64, carry: bool| {
        let sum = u128::from(a & mask) + u128::from(b & mask) + u128::from(carry);
        (sum as u64 & mask, sum >> bits != 0)
    };
    let lo_first = format!(
        "mad.lo.cc.{ty} %x, %a, %b, %c; madc.hi.cc.{ty} %y, %a, %b, %e; addc.{ty} %z, 0, 0"
    );
    let hi_first = format!(
        "mad.hi.cc.{ty} %x, %a, %b, %c; madc.lo.cc.{ty} %y, %a, %b, %e; madc.lo.{ty} %z, %a, %b, %c; \
         add.cc.{ty} %w, %x, %y; madc.hi.{ty} %w, %a, %b, %w"
    );
    let name = format!("mad.lo.cc.{ty} madc.hi.cc.{ty}");
    let lo_first = Form::new(
        name,
        four(bits),
        [class(bits); 3],
        lo_first,
        move |[a, b, c, e]| {
            let (x, flag) = add(a.wrapping_mul(b), c, false);
            let (y, flag) = add(high(a, b), e, flag);
            [x, y, flag.into()]
        },
    );
    let reversed = format!("mad.hi.cc.{ty} madc.lo.cc.{ty}");
    let hi_first = Form::new(
        reversed,
        four(bits),
        [class(bits); 4],
        hi_first,
        move |[a, b, c, e]| {
            let (x, flag) = add(high(a, b), c, false);
            let (y, flag) = add(a.wrapping_mul(b), e, flag);
            let (z, _) = add(a.wrapping_mul(b), c, flag);
            let (sum, carried) = add(x, y, false);
            let (w, _) = add(high(a, b), sum, carried);
            [x, y, z, w]
        },
    );
    [lo_first, hi_first]
}

/// Instructions without `.cc` leave the flag as it is.
fn flag_kept() -> Form {
    let body = "add.cc.u32 %x, %a, %b; add.u32 %y, %a, %c; mul.lo.u32 %y, %y, %b; \
                shl.b32 %y, %y, 1; addc.u32 %z, %c, 0";
    let sources = [Operand::I32, Operand::I32, Operand::I32];
    Form::new(
        "add.cc.u32, others, addc.u32",
        sources,
        [Class::B32; 3],
        body,
        |abc| {
            let [a, b, c] = abc.map(|x| x as u32);
            let (sum, carry) = a.overflowing_add(b);
            let y = a.wrapping_add(c).wrapping_mul(b) << 1;
            [sum, y, c.wrapping_add(carry.into())].map(u64::from)
        },
    )
}

/// The flag of a difference in a sum, and of a sum in a difference: a difference is `a + !b + 1`.
fn flag_between() -> Form {
    let body = "sub.cc.u32 %x, %a, %b; addc.u32 %y, 0, 0; add.cc.u32 %z, %a, %b; subc.u32 %w, 0, 0";
    let sources = [Operand::I32, Operand::I32];
    let name = "sub.cc.u32 addc.u32, add.cc.u32 subc.u32";
    Form::new(name, sources, [Class::B32; 4], body, |ab| {
        let [a, b] = ab.map(|x| x as u32);
        let (sum, carry) = a.overflowing_add(b);
        let difference = a.wrapping_sub(b);
        let of_sum = if carry { 0 } else { u32::MAX };
        [difference, u32::from(a >= b), sum, of_sum].map(u64::from)
    })
}

/// A 128-bit product of 64-bit words, as rustc's u128 multiplication is lowered.
fn u128_product() -> Form {
    let body = "mul.lo.u64 %x, %a, %c; mul.hi.u64 %y, %a, %c; mad.lo.u64 %y, %a, %e, %y; \
                mad.lo.u64 %y, %b, %c, %y";
    let name = "mul.hi.u64, a u128 product";
    Form::new(name, four(64), [Class::B64; 2], body, |[a, b, c, e]| {
        split(join(a, b, 64).wrapping_mul(join(c, e, 64)), 64)
    })
}

/// A 128-bit product of 64-bit numbers from 32-bit words, with a chain of carries.
fn u128_product_of_words() -> Form {
    let body = "mov.b64 {%r0, %r1}, %a; mov.b64 {%r2, %r3}, %b; \
                mul.lo.u32 %r4, %r0, %r2; mul.hi.u32 %r5, %r0, %r2; \
                mad.lo.cc.u32 %r5, %r0, %r3, %r5; madc.hi.u32 %r6, %r0, %r3, 0; \
                mad.lo.cc.u32 %r5, %r1, %r2, %r5; madc.hi.cc.u32 %r6, %r1, %r2, %r6; addc.u32 %r7, 0, 0; \
                mad.lo.cc.u32 %r6, %r1, %r3, %r6; madc.hi.u32 %r7, %r1, %r3, %r7; \
                mov.b64 %x, {%r4, %r5}; mov.b64 %y, {%r6, %r7}";
    let (name, sources) = (
        "madc.hi.cc.u32, a product of words",
        [Operand::I64, Operand::I64],
    );
    Form::new(name, sources, [Class::B64; 2], body, |[a, b]| {
        split(u128::from(a) * u128::from(b), 64)
    })
}
