//! Variables with initial values, and conversion of addresses.

use crate::differential::{Class, Form, Operand};

use super::access::part;
use super::place::{GENERIC_GLOBAL, GENERIC_LOCAL, GENERIC_SHARED, Place};

pub(super) const WORDS: [u64; 4] = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 1, u64::MAX];

/// Variables with initial values, and the addresses of variables.
pub(super) fn variables() -> Vec<Form> {
    let values = WORDS.map(|word| format!("{word:#x}")).join(", ");
    let module = format!(
        ".const .align 8 .u64 lookup[4] = {{{values}}};\n.global .align 8 .u64 table[4] = {{{values}}};\n\
         .global .align 4 .b8 bytes[8] = {{1, 2, 0xff, 0x80}};"
    );
    let index = || [Operand::Of(Class::B32, vec![0, 1, 2, 3])];
    let form = |name: &str, body: &str, f: fn([u64; 1]) -> [u64; 2]| {
        Form::new("memory", name, index(), [Class::B64; 2], body, f).with_module(module.clone())
    };
    vec![
        form(
            "ld.const.u64",
            "mov.u64 %d0, lookup; mad.wide.u32 %d0, %a, 8, %d0; ld.const.u64 %x, [%d0]; ld.const.u64 %y, [lookup+8]",
            |[a]| [WORDS[a as usize], WORDS[1]],
        ),
        form(
            "ld.u64, generic to const",
            "mov.u64 %d0, lookup; cvta.const.u64 %d0, %d0; mad.wide.u32 %d0, %a, 8, %d0; ld.u64 %x, [%d0]; \
             ld.s8 %y, [%d0+7]",
            |[a]| [WORDS[a as usize], part(WORDS[a as usize], 56, "s8")],
        ),
        form(
            "ld.global.u64 of a variable",
            "mov.u64 %d0, table; mad.wide.u32 %d0, %a, 8, %d0; ld.global.u64 %x, [%d0]; ld.global.s32 %y, [table+12]",
            |[a]| [WORDS[a as usize], part(WORDS[1], 32, "s32")],
        ),
        form(
            "ld.global.u8 of a variable",
            "mov.u64 %d0, bytes; cvt.u64.u32 %d1, %a; add.u64 %d0, %d0, %d1; ld.global.u8 %x, [%d0]; \
             ld.global.u32 %y, [bytes+4]",
            |[a]| [[1, 2, 0xff, 0x80][a as usize], 0],
        ),
        Form::new(
            "memory",
            "st.shared.u32 of dynamic shared memory",
            [Operand::I32],
            [Class::B32],
            "mov.u32 %r0, dynamic; mad.lo.u32 %r0, %thread, 16, %r0; st.shared.u32 [%r0+12], %a; ld.shared.u32 %x, [%r0+12]",
            |[a]| [a],
        )
        .with_module(".extern .shared .align 16 .b8 dynamic[];"),
    ]
}

/// `cvta` there and back, `isspacep`.
pub(super) fn addresses() -> Vec<Form> {
    let mut all = Vec::new();
    for place in [GENERIC_GLOBAL, GENERIC_SHARED, GENERIC_LOCAL] {
        let space = place.name.rsplit(' ').next().expect("a space");
        let Place { setup, address, .. } = place;
        let body = format!(
            "{setup} st.b64 [{address}+8], %a; cvta.to.{space}.u64 %d0, {address}; ld.{space}.b64 %x, [%d0+8]"
        );
        let name = format!("cvta.to.{space}.u64");
        all.push(
            Form::new("memory", name, [Operand::I64], [Class::B64], body, |[a]| {
                [a]
            })
            .with_module(place.module),
        );
        let body = format!(
            "{setup} isspacep.global %x, {address}; isspacep.shared %y, {address}; isspacep.local %z, {address}; \
             isspacep.const %w, {address}"
        );
        let expected =
            ["global", "shared", "local", "const"].map(|other| u64::from(other == space));
        let name = format!("isspacep, an address in {space}");
        all.push(
            Form::new(
                "memory",
                name,
                [Operand::Pred],
                [Class::Pred; 4],
                body,
                move |_| expected,
            )
            .with_module(place.module),
        );
    }
    all
}
