//! Random programs: no panic whatever they do, and one result whatever the schedule if nothing is
//! wrong with them.

use crate::common::{Launch, launch};
use proptest::prelude::*;
use ptx_emu::{AccessKind, Fault, FaultKind, Sanitize, Schedule};

/// An instruction with holes for registers, by what the holes are: `R` 32 bits, `D` 64 bits, `P`
/// predicate, `F` f32, `G` f64, `H` 16 bits, `N` a small number, `L` a label, `B` an element of
/// `out` that belongs to the thread, `S` a word of shared memory that belongs to it, `A` any word
/// of shared memory.
const TEMPLATES: &[&str] = &[
    "add.u32 R, R, R;",
    "sub.s32 R, R, N;",
    "mul.lo.u32 R, R, R;",
    "mad.lo.s32 R, R, R, R;",
    "mul.wide.u32 D, R, R;",
    "mad.wide.s32 D, R, R, D;",
    "div.s32 R, R, R;",
    "rem.u32 R, R, R;",
    "div.u64 D, D, D;",
    "min.s32 R, R, R;",
    "and.b32 R, R, R;",
    "xor.b64 D, D, D;",
    "shl.b32 R, R, R;",
    "shr.s64 D, D, R;",
    "bfe.s32 R, R, R, R;",
    "bfi.b64 D, D, D, R, R;",
    "prmt.b32 R, R, R, R;",
    "lop3.b32 R, R, R, R, 0x6a;",
    "popc.b32 R, R;",
    "clz.b64 R, D;",
    "add.cc.u32 R, R, R;",
    "addc.u32 R, R, R;",
    "cvt.u64.u32 D, R;",
    "cvt.s32.s64 R, D;",
    "cvt.u16.u32 H, R;",
    "cvt.s32.s16 R, H;",
    "cvt.rn.f32.s32 F, R;",
    "cvt.rzi.u32.f32 R, F;",
    "cvt.f64.f32 G, F;",
    "cvt.rm.f32.f64 F, G;",
    "add.f32 F, F, F;",
    "mul.rz.f32 F, F, F;",
    "fma.rn.f32 F, F, F, F;",
    "fma.rp.f64 G, G, G, G;",
    "div.rn.f32 F, F, F;",
    "sqrt.rm.f64 G, G;",
    "ex2.approx.ftz.f32 F, F;",
    "min.f32 F, F, F;",
    "max.f64 G, G, G;",
    "setp.lt.s32 P, R, R;",
    "setp.geu.f32 P, F, F;",
    "setp.ne.and.u64 P, D, D, P;",
    "selp.b32 R, R, R, P;",
    "selp.f64 G, G, G, P;",
    "mov.b64 {R, R}, D;",
    "mov.b64 D, {R, R};",
    "mov.b32 F, R;",
    "mov.b32 R, F;",
    "mov.u32 R, %laneid;",
    "ld.global.u32 R, [%rd4];",
    "ld.global.s8 R, [%rd4+3];",
    "ld.global.f32 F, [B];",
    "st.global.u32 [B], R;",
    "st.global.u8 [B+1], R;",
    "st.shared.u32 [S], R;",
    "ld.shared.u32 R, [S];",
    "ld.shared.f32 F, [A];",
    "st.shared.f32 [A], F;",
    "atom.shared.add.u32 R, [A], R;",
    "st.local.u32 [array+4], R;",
    "ld.local.u64 D, [array];",
    "shfl.sync.bfly.b32 R, R, N, 31, -1;",
    "vote.sync.ballot.b32 R, P, -1;",
    "bar.warp.sync -1;",
    "bar.sync 0;",
    "@P add.u32 R, R, 1;",
    "@!P mov.u32 R, N;",
    "@P bra L;",
    "@!P bra L;",
    "@P bra L;",
    "bra L;",
    "@P ret;",
    "@P trap;",
    "ld.global.u32 R, [D];",
    "st.u32 [D], R;",
];

/// Fills the holes of a template with what the choices say.
fn fill(template: &str, choices: &[u8], labels: usize) -> String {
    let mut choices = choices.iter().cycle();
    let mut pick = |count: usize| *choices.next().expect("an endless cycle") as usize % count;
    let mut text = String::new();
    let mut previous = ' ';
    for c in template.chars() {
        // Holes are capitals that stand alone.
        let hole = c.is_ascii_uppercase() && !previous.is_alphanumeric();
        match c {
            'R' if hole => text += &format!("%r{}", 5 + pick(6)),
            'D' if hole => text += &format!("%rd{}", 10 + pick(4)),
            'P' if hole => text += &format!("%p{}", 1 + pick(3)),
            'F' if hole => text += &format!("%f{}", 1 + pick(4)),
            'G' if hole => text += &format!("%d{}", 1 + pick(3)),
            'H' if hole => text += &format!("%h{}", 1 + pick(2)),
            'N' if hole => text += &pick(33).to_string(),
            'L' if hole => text += &format!("$l{}", pick(labels)),
            'B' if hole => text += "%rd3",
            'S' if hole => text += "%r20",
            'A' if hole => text += &format!("tile+{}", 4 * pick(64)),
            _ => text.push(c),
        }
        previous = c;
    }
    text
}

/// A body of instructions, each behind a label of its own, with shared memory written before.
fn body(instructions: &[(usize, Vec<u8>)]) -> String {
    let mut text = String::from(
        ".shared .align 8 .b8 tile[512];\n.local .align 8 .b8 array[16];\nmov.u32 %r20, tile;\n\
         mad.lo.u32 %r20, %r2, 4, %r20;\nst.shared.u32 [%r20], %r2;\nst.shared.u32 [%r20+256], %r2;\n\
         mov.u32 %r5, %r3;\nmov.u32 %r6, 77;\nmov.u64 %rd10, %rd2;\nmov.u64 %rd11, %rd3;\nmov.f32 %f1, 0f3FC00000;\n\
         cvt.rn.f32.u32 %f2, %r3;\ncvt.f64.f32 %d1, %f2;\nsetp.gt.u32 %p1, %r2, 9;\nbar.sync 0;\n",
    );
    for (i, (template, choices)) in instructions.iter().enumerate() {
        let template = TEMPLATES[template % TEMPLATES.len()];
        text += &format!(
            "$l{i}:\n{}\n",
            fill(template, choices, instructions.len() + 1)
        );
    }
    text + &format!("$l{}:\nst.global.u32 [%rd3], %r5;", instructions.len())
}

fn program() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        (any::<usize>(), proptest::collection::vec(any::<u8>(), 5)),
        1..40,
    )
    .prop_map(|instructions| body(&instructions))
}

/// Random programs without what depends on the schedule (atomics) or may not end (jumps back).
fn orderly_program() -> impl Strategy<Value = String> {
    let calm: Vec<usize> = (0..TEMPLATES.len())
        .filter(|&i| !TEMPLATES[i].contains("atom") && !TEMPLATES[i].contains('L'))
        .collect();
    proptest::collection::vec(
        (any::<usize>(), proptest::collection::vec(any::<u8>(), 5)),
        1..60,
    )
    .prop_map(move |instructions| {
        let calm: Vec<_> = instructions
            .into_iter()
            .map(|(i, c)| (calm[i % calm.len()], c))
            .collect();
        body(&calm)
    })
}

fn is_race_of_stores(fault: &Fault) -> bool {
    let Fault::Program(fault) = fault else {
        return false;
    };
    matches!(&fault.kind, FaultKind::Race { kind: AccessKind::Store, earlier, .. } if earlier.kind == AccessKind::Store)
}

/// Whether two results are the same except for bytes that the checks have marked as unset.
fn agree_where_set(unchecked: &[u32], checked: &[u32]) -> bool {
    const UNSET: u8 = 0xa5;
    let bytes = |words: &[u32]| {
        words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<_>>()
    };
    bytes(unchecked)
        .iter()
        .zip(bytes(checked))
        .all(|(&unchecked, checked)| unchecked == checked || checked == UNSET)
}

fn two_blocks(body: &str) -> Launch {
    let mut kernel = launch(body).block(48).grid(2).input(0..128).out_words(128);
    kernel.options.fuel = 5_000;
    kernel
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_program_panics(body in program(), seed in any::<u64>(), mode in 0..4) {
        let mut kernel = two_blocks(&body);
        if mode & 1 == 1 {
            kernel.options.sanitize = Sanitize::NONE;
        }
        if mode & 2 == 2 {
            kernel.options.schedule = Schedule::Random { seed };
        }
        // A fault is an answer; its message can be made.
        if let Err(fault) = kernel.run().result {
            prop_assert!(!fault.to_string().is_empty());
            prop_assert!(!matches!(fault, Fault::Unsupported(_) | Fault::Launch(_)), "{}", fault);
        }
    }

    #[test]
    fn a_program_without_fault_has_one_result(body in orderly_program(), seed in any::<u64>()) {
        let checked = two_blocks(&body).run();
        let variants = [
            (Sanitize::NONE, Schedule::InOrder, 1),
            (Sanitize::NONE, Schedule::Random { seed }, 1),
            (Sanitize::ALL, Schedule::Random { seed }, 2),
        ];
        for (sanitize, schedule, threads) in variants {
            let mut kernel = two_blocks(&body);
            kernel.options.sanitize = sanitize;
            kernel.options.schedule = schedule;
            // Buffers lie where they did: what is computed may follow from an address.
            if let Schedule::Random { seed: order } = schedule {
                kernel.options.seed = order;
            }
            kernel.options.threads = threads;
            let outcome = kernel.run();
            match &checked.result {
                Ok(report) => match &outcome.result {
                    Ok(variant) => {
                        let all = sanitize == Sanitize::ALL;
                        prop_assert!(all && outcome.out == checked.out || !all && agree_where_set(&outcome.out, &checked.out),
                            "{:x?}\ndiffers from\n{:x?}", outcome.out, checked.out);
                        prop_assert_eq!(&variant.counts, &report.counts);
                    }
                    // Whether stores store equal values may depend on their order.
                    Err(fault) => prop_assert!(is_race_of_stores(fault), "{}", fault),
                },
                // A program that is wrong without checks is wrong with them.
                Err(Fault::Program(fault)) if sanitize == Sanitize::ALL => {
                    let race = matches!(fault.kind, FaultKind::Race { .. });
                    prop_assert!(race || outcome.result.is_err(), "{}", fault);
                }
                Err(_) => {}
            }
        }
    }
}
