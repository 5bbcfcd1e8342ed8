//! Asynchronous copies, and what changes no value.

use crate::differential::{Class, Form, Operand};

use super::place::{SHARED, TILE};

/// `cp.async`: whole, in part, not at all.
pub(super) fn copies() -> Vec<Form> {
    let mut all = Vec::new();
    let sources = || [Operand::I64, Operand::I64];
    let wait = "cp.async.commit_group; cp.async.wait_group 0;";
    let read = "ld.shared.v2.b64 {%x, %y}, [%r15]";
    // The copy's destination begins as ones; the operands are its source, 16 bytes a thread.
    let begin = format!(
        "{} mov.b64 %d0, -1; st.shared.v2.b64 [%r15], {{%d0, %d0}};",
        SHARED.setup
    );
    for (op, bytes) in [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)] {
        let name = format!("cp.async.{op}.shared.global of {bytes}");
        let body =
            format!("{begin} cp.async.{op}.shared.global [%r15], [%from], {bytes}; {wait} {read}");
        all.push(
            Form::new(
                "memory",
                name,
                sources(),
                [Class::B64; 2],
                body,
                move |[a, b]| match bytes {
                    4 => [a & 0xffff_ffff | 0xffff_ffff << 32, u64::MAX],
                    8 => [a, u64::MAX],
                    _ => [a, b],
                },
            )
            .with_module(TILE),
        );
    }
    // Four sources, so that each thread's 16 bytes are aligned.
    let four = |count: Operand, flag: Operand| [Operand::I64, Operand::I64, count, flag];
    let sizes = four(Operand::Of(Class::B32, (0..=16).collect()), Operand::Pred);
    let copy = "cp.async.cg.shared.global [%r15], [%from], 16, %c; cp.async.wait_all;";
    all.push(
        Form::new(
            "memory",
            "cp.async.cg.shared.global, src-size",
            sizes,
            [Class::B64; 2],
            format!("{begin} {copy} {read}"),
            |[a, b, n, _]| {
                let all = u128::from(b) << 64 | u128::from(a);
                let kept = if n == 16 {
                    all
                } else {
                    all & ((1 << (8 * n)) - 1)
                };
                [kept as u64, (kept >> 64) as u64]
            },
        )
        .with_module(TILE),
    );
    let flags = four(Operand::Of(Class::B32, vec![0]), Operand::Pred);
    let copy = "cp.async.ca.shared.global [%r15], [%from], 16, %e; cp.async.wait_all;";
    all.push(
        Form::new(
            "memory",
            "cp.async.ca.shared.global, ignore-src",
            flags,
            [Class::B64; 2],
            format!("{begin} {copy} {read}"),
            |[a, b, _, ignored]| if ignored == 1 { [0, 0] } else { [a, b] },
        )
        .with_module(TILE),
    );
    all
}

/// What changes no value.
pub(super) fn hints() -> Vec<Form> {
    let lines = [
        "prefetch.global.L1 [%from]",
        "prefetch.global.L2 [%from]",
        "prefetchu.L1 [%d0]",
        "fence.sc.sys",
        "fence.sc.gpu",
        "fence.acq_rel.cta",
        "fence.acq_rel.cluster",
        "membar.cta",
        "membar.gl",
        "membar.sys",
        "nanosleep.u32 20",
        "cp.async.wait_all",
    ];
    let form = |line: &str| {
        let body = format!("cvta.global.u64 %d0, %from; {line}; add.u32 %x, %a, 1");
        Form::new("memory", line, [Operand::I32], [Class::B32], body, |[a]| {
            [a + 1]
        })
    };
    lines.map(form).into()
}
