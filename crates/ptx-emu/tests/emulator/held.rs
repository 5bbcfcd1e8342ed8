//! Mistakes that show only if a thread stops between a load and the compare-and-swap behind it,
//! while others change the word and change it back.

use crate::common::{Launch, launch};
use ptx_emu::Schedule;

/// Nodes of the free list.
const NODES: u32 = 4;

/// The PTX of blocks that pop two nodes of a free list, and push them back in the order in which
/// they came, a few times. The list is in `in`: word 0 is the head, word `n` what follows node `n`,
/// word `16 + n` counts who has the node. Word 0 of `out` counts nodes that two had at once. Tags
/// are in the head's upper half, if a pop and a push add `tag` to it.
fn free_list(tag: u32) -> String {
    let node = |from: &str| {
        format!(
            "and.b32 %r9, {from}, 0xffff;\nmul.wide.u32 %rd5, %r9, 4;\nadd.u64 %rd5, %rd2, %rd5;\n"
        )
    };
    let pop = |label: u32, popped: &str| {
        let node = node(popped);
        format!(
            "$pop{label}:\nld.acquire.gpu.global.u32 {popped}, [%rd2];\n{node}setp.eq.u32 %p2, %r9, 0;\n@%p2 bra $pop{label};\n\
             ld.relaxed.gpu.global.u32 %r7, [%rd5];\nand.b32 %r6, {popped}, 0xffff0000;\nadd.u32 %r6, %r6, {tag};\n\
             or.b32 %r7, %r7, %r6;\natom.acq_rel.gpu.global.cas.b32 %r8, [%rd2], {popped}, %r7;\n\
             setp.ne.u32 %p2, %r8, {popped};\n@%p2 bra $pop{label};\nand.b32 {popped}, {popped}, 0xffff;\n\
             atom.acq_rel.gpu.global.add.u32 %r8, [%rd5+64], 1;\nsetp.ne.u32 %p2, %r8, 0;\n\
             @%p2 red.relaxed.gpu.global.add.u32 [%rd1], 1;\n"
        )
    };
    let push = |label: u32, pushed: &str| {
        let node = node(pushed);
        format!(
            "{node}atom.acq_rel.gpu.global.add.u32 %r8, [%rd5+64], -1;\n$push{label}:\n\
             ld.relaxed.gpu.global.u32 %r7, [%rd2];\nand.b32 %r6, %r7, 0xffff;\nst.relaxed.gpu.global.u32 [%rd5], %r6;\n\
             and.b32 %r6, %r7, 0xffff0000;\nadd.u32 %r6, %r6, {tag};\nor.b32 %r6, %r6, {pushed};\n\
             atom.acq_rel.gpu.global.cas.b32 %r8, [%rd2], %r7, %r6;\nsetp.ne.u32 %p2, %r8, %r7;\n@%p2 bra $push{label};\n"
        )
    };
    let [first, second] = ["%r11", "%r12"];
    let both = pop(1, first) + &pop(2, second) + &push(3, first) + &push(4, second);
    format!(
        "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u32 %r10, 0;\n$again:\n{both}add.u32 %r10, %r10, 1;\n\
         setp.lt.u32 %p1, %r10, 3;\n@%p1 bra $again;"
    )
}

fn kernel(body: &str) -> Launch {
    let mut list: Vec<u32> = (1..=NODES).chain([0]).collect();
    list.resize(64, 0);
    launch(body).grid(3).input(list)
}

/// In how many of 40 random seeds some order of the nine finds a node that two have at once. A loop
/// that does not end is found too.
fn found(tag: u32) -> usize {
    let body = free_list(tag);
    let is_found = |&base: &u64| {
        (0..8).any(|kind| {
            let seed = 8 * base + kind;
            let mut kernel = kernel(&body).schedule(Schedule::Random { seed });
            kernel.options.fuel = 1 << 20;
            let outcome = kernel.run();
            outcome.result.is_err() || outcome.out[0] > 0
        })
    };
    (1000..1040).filter(is_found).count()
}

#[test]
fn a_free_list_needs_tags() {
    assert_eq!(found(0x10000), 0);
    let found = found(0);
    assert!(found >= 36, "{found} of 40");
}
