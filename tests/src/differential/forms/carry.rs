//! Chains that pass the carry flag on.

use crate::differential::{Class, Form, Operand};

/// A 128-bit value of two words of `bits`, or of as many as fit.
fn join(low: u64, high: u64, bits: u32) -> u128 {
    u128::from(high) << bits | u128::from(low)
}

fn split(x: u128, bits: u32) -> [u64; 2] {
    [x as u64, (x >> bits) as u64]
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for (bits, class) in [(32, Class::B32), (64, Class::B64)] {
        for ty in [format!("u{bits}"), format!("s{bits}")] {
            let int = || Operand::Int(bits);
            let four = || [int(), int(), int(), int()];
            // Two words, and the flag that is left.
            let body = |first: &str, next: &str| {
                format!(
                    "{first}.cc.{ty} %x, %a, %c; {next}.cc.{ty} %y, %b, %e; {next}.{ty} %z, 0, 0"
                )
            };
            let chain = |name, next| format!("{name}.cc.{ty} {next}.cc.{ty} {next}.{ty}");
            all.push(Form::new(
                "carry",
                chain("add", "addc"),
                four(),
                [class; 3],
                body("add", "addc"),
                {
                    move |[a, b, c, e]| {
                        let (sum, over) = join(a, b, bits).overflowing_add(join(c, e, bits));
                        let carry = if bits == 64 { over } else { sum >> 64 != 0 };
                        let [low, high] = split(sum, bits);
                        [low, high, carry.into()]
                    }
                },
            ));
            all.push(Form::new(
                "carry",
                chain("sub", "subc"),
                four(),
                [class; 3],
                body("sub", "subc"),
                {
                    move |[a, b, c, e]| {
                        let (a, b) = (join(a, b, bits), join(c, e, bits));
                        let [low, high] = split(a.wrapping_sub(b), bits);
                        [low, high, if a < b { u64::MAX } else { 0 }]
                    }
                },
            ));
            all.extend(products(&ty, bits, class));
        }
    }
    all.push(flag_kept());
    all.push(u128_product());
    all.push(u128_product_of_words());
    all
}

/// `mad.lo.cc` and `madc.hi`, as a double-width product plus an addend is made, then the flag.
fn products(ty: &str, bits: u32, class: Class) -> Vec<Form> {
    let int = || Operand::Int(bits);
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
    vec![
        Form::new(
            "carry",
            format!("mad.lo.cc.{ty} madc.hi.cc.{ty}"),
            [int(), int(), int(), int()],
            [class; 3],
            lo_first,
            move |[a, b, c, e]| {
                let (x, flag) = add(a.wrapping_mul(b), c, false);
                let (y, flag) = add(high(a, b), e, flag);
                [x, y, flag.into()]
            },
        ),
        Form::new(
            "carry",
            format!("mad.hi.cc.{ty} madc.lo.cc.{ty}"),
            [int(), int(), int(), int()],
            [class; 4],
            hi_first,
            move |[a, b, c, e]| {
                let (x, flag) = add(high(a, b), c, false);
                let (y, flag) = add(a.wrapping_mul(b), e, flag);
                let (z, _) = add(a.wrapping_mul(b), c, flag);
                let (sum, flag) = add(x, y, false);
                let (w, _) = add(high(a, b), sum, flag);
                [x, y, z, w]
            },
        ),
    ]
}

/// Instructions without `.cc` leave the flag as it is.
fn flag_kept() -> Form {
    let int = || Operand::I32;
    let body = "add.cc.u32 %x, %a, %b; add.u32 %y, %a, %c; mul.lo.u32 %y, %y, %b; \
                shl.b32 %y, %y, 1; addc.u32 %z, %c, 0";
    Form::new(
        "carry",
        "add.cc.u32, others, addc.u32",
        [int(), int(), int()],
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

/// A 128-bit product of 64-bit words, as rustc's u128 multiplication is lowered.
fn u128_product() -> Form {
    let int = || Operand::I64;
    let body = "mul.lo.u64 %x, %a, %c; mul.hi.u64 %y, %a, %c; mad.lo.u64 %y, %a, %e, %y; \
                mad.lo.u64 %y, %b, %c, %y";
    Form::new(
        "carry",
        "mul.hi.u64, a u128 product",
        [int(), int(), int(), int()],
        [Class::B64; 2],
        body,
        |[a, b, c, e]| split(join(a, b, 64).wrapping_mul(join(c, e, 64)), 64),
    )
}

/// The same product of 64 bits from 32-bit words, with a chain of carries.
fn u128_product_of_words() -> Form {
    let body = "mov.b64 {%r0, %r1}, %a; mov.b64 {%r2, %r3}, %b; \
                mul.lo.u32 %r4, %r0, %r2; mul.hi.u32 %r5, %r0, %r2; \
                mad.lo.cc.u32 %r5, %r0, %r3, %r5; madc.hi.u32 %r6, %r0, %r3, 0; \
                mad.lo.cc.u32 %r5, %r1, %r2, %r5; madc.hi.cc.u32 %r6, %r1, %r2, %r6; addc.u32 %r7, 0, 0; \
                mad.lo.cc.u32 %r6, %r1, %r3, %r6; madc.hi.u32 %r7, %r1, %r3, %r7; \
                mov.b64 %x, {%r4, %r5}; mov.b64 %y, {%r6, %r7}";
    let sources = [Operand::I64, Operand::I64];
    Form::new(
        "carry",
        "madc.hi.cc.u32, a product of words",
        sources,
        [Class::B64; 2],
        body,
        |[a, b]| split(u128::from(a) * u128::from(b), 64),
    )
}
