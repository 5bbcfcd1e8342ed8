//! Operations of the lanes of a warp together, at one place or at several: PTX ISA, "shfl.sync",
//! "vote.sync", "match.sync", "redux.sync", "elect.sync".

use crate::common::{Launch, launch};
use insta::assert_snapshot;
use ptx_emu::{Sanitize, Schedule};

/// The words of a launch of one warp, which are the same in every order, with and without checks.
fn in_every_order(kernel: impl Fn() -> Launch) -> Vec<u32> {
    let first = kernel().out();
    let seeds = (0..8).map(|seed| Schedule::Random { seed });
    for schedule in [Schedule::InOrder].into_iter().chain(seeds) {
        for sanitize in [Sanitize::ALL, Sanitize::NONE] {
            let kernel = kernel().schedule(schedule).sanitize(sanitize);
            assert_eq!(kernel.out(), first, "{schedule:?}, {sanitize:?}");
        }
    }
    first
}

/// A kernel whose lanes below 16 execute one text, and the others another; then all store `%r10`.
fn halves(lower: &str, upper: &str) -> String {
    format!(
        "mov.u32 %r10, 77;\nsetp.ge.u32 %p1, %r2, 16;\n@%p1 bra $upper;\n.loc 1 20 1\n{lower}\nbra $end;\n\
         $upper:\n.loc 1 30 1\n{upper}\n$end:\n.loc 1 40 1\nst.global.u32 [%rd3], %r10;"
    )
}

/// Operations that make `%r10` of `%r5` or `%rd5`, values of each lane's own, of `%p5`, a condition
/// of each lane's own, and of `%r7`, which has two values in each half.
const OPERATIONS: [&str; 24] = [
    "shfl.sync.bfly.b32 %r10, %r5, 16, 31, -1;",
    "shfl.sync.bfly.b32 %r10, %r5, 5, 31, -1;",
    "shfl.sync.down.b32 %r10|%p3, %r5, 9, 31, -1;\n@!%p3 add.u32 %r10, %r10, 1000;",
    "shfl.sync.up.b32 %r10|%p3, %r5, 17, 0, -1;\n@!%p3 add.u32 %r10, %r10, 1000;",
    "shfl.sync.idx.b32 %r10, %r5, %r7, 31, -1;",
    "shfl.sync.idx.b32 %r10, %r5, 7, 6175, -1;",
    "vote.sync.ballot.b32 %r10, %p5, -1;",
    "vote.sync.any.pred %p3, %p5, -1;\nselp.u32 %r10, 5, 6, %p3;",
    "vote.sync.all.pred %p3, %p5, -1;\nselp.u32 %r10, 5, 6, %p3;",
    "vote.sync.uni.pred %p3, %p5, -1;\nselp.u32 %r10, 5, 6, %p3;",
    "vote.sync.uni.pred %p3, !%p5, -1;\nselp.u32 %r10, 5, 6, %p3;",
    "match.any.sync.b32 %r10, %r7, -1;",
    "match.any.sync.b64 %r10, %rd5, -1;",
    "match.all.sync.b32 %r10|%p3, %r7, -1;\n@%p3 add.u32 %r10, %r10, 1000;",
    "match.all.sync.b64 %r10, %rd5, -1;",
    "redux.sync.add.u32 %r10, %r5, -1;",
    "redux.sync.add.s32 %r10, %r5, -1;",
    "redux.sync.min.u32 %r10, %r5, -1;",
    "redux.sync.max.s32 %r10, %r5, -1;",
    "redux.sync.and.b32 %r10, %r5, -1;",
    "redux.sync.or.b32 %r10, %r5, -1;",
    "redux.sync.xor.b32 %r10, %r5, -1;",
    "elect.sync %r10|%p3, -1;\n@%p3 add.u32 %r10, %r10, 1000;",
    "bar.warp.sync -1;\nmov.u32 %r10, %r5;",
];

/// Puts the values in place that an operation uses, which differ from half to half.
const LOWER: &str = "mad.lo.u32 %r5, %r2, 10, 3;\nand.b32 %r7, %r2, 1;\nmul.wide.u32 %rd5, %r7, 4000000;\n\
                     mul.lo.u64 %rd5, %rd5, 4000000;\nand.b32 %r9, %r2, 3;\nsetp.eq.u32 %p5, %r9, 1;\n";
const UPPER: &str = "mad.lo.u32 %r5, %r2, -20, 7;\nand.b32 %r7, %r2, 3;\nshr.u32 %r7, %r7, 1;\nmul.wide.u32 %rd5, %r7, 8000000;\n\
                     mul.lo.u64 %rd5, %rd5, 2000000;\nsetp.ne.u32 %p5, %r2, 30;\n";

#[test]
fn an_operation_at_two_places_is_one() {
    for operation in OPERATIONS {
        // Other registers above: nothing but the operation itself is in common.
        let renamed = |text: &str| {
            [
                ("%r10", "%r20"),
                ("%r5", "%r25"),
                ("%rd5", "%rd25"),
                ("%r7", "%r27"),
                ("%p3", "%p8"),
                ("%p5", "%p9"),
            ]
            .iter()
            .fold(text.to_owned(), |body, (from, to)| {
                let ends = [",", ";", "|", " "];
                ends.iter().fold(body, |part, end| {
                    part.replace(&format!("{from}{end}"), &format!("{to}{end}"))
                })
            })
        };
        let upper = renamed(&format!("{UPPER}{operation}"));
        let parted = halves(
            &format!("{LOWER}{operation}"),
            &format!("{upper}\nmov.u32 %r10, %r20;"),
        );
        let joined = halves(LOWER, UPPER).replace("$end:", &format!("$end:\n{operation}"));
        let expected = in_every_order(|| launch(&joined));
        assert_eq!(in_every_order(|| launch(&parted)), expected, "{operation}");
    }
}

#[test]
fn each_lane_s_own_operands_count() {
    // Qualifiers and mask are the same; distance, clamp and source differ.
    let body = halves(
        "add.u32 %r5, %r2, 100;\nshfl.sync.bfly.b32 %r10, %r5, 16, 31, -1;",
        "add.u32 %r6, %r2, 200;\nshfl.sync.bfly.b32 %r10, %r6, 24, 31, -1;",
    );
    let out = in_every_order(|| launch(&body));
    let expected = (0..32).map(|lane| {
        if lane < 16 {
            (lane ^ 16) + 200
        } else {
            (lane ^ 24) + 100
        }
    });
    assert_eq!(out[..32], Vec::from_iter(expected));
    // Segments of eight below, the whole warp above.
    let segments = halves(
        "shfl.sync.idx.b32 %r10, %r2, 3, 6175, -1;",
        "shfl.sync.idx.b32 %r10, %r2, 3, 31, -1;",
    );
    let of_segments = in_every_order(|| launch(&segments));
    assert_eq!(
        (of_segments[2], of_segments[12], of_segments[31]),
        (3, 11, 3)
    );
}

#[test]
fn a_loop_and_straight_code_are_together() {
    let shuffle = "shfl.sync.bfly.b32 %r6, %r5, 16, 31, -1;\nadd.u32 %r5, %r5, %r6;\n";
    let lower = format!(
        "mov.u32 %r5, %r2;\nmov.u32 %r8, 0;\n$again:\n{shuffle}add.u32 %r8, %r8, 1;\nsetp.lt.u32 %p2, %r8, 3;\n@%p2 bra $again;\nmov.u32 %r10, %r5;"
    );
    let upper = format!("mov.u32 %r5, %r2;\n{}mov.u32 %r10, %r5;", shuffle.repeat(3));
    let out = in_every_order(|| launch(&halves(&lower, &upper)));
    let expected = (0..32).map(|lane| 4 * (lane + (lane ^ 16)));
    assert_eq!(out[..32], Vec::from_iter(expected));
}

#[test]
fn tiles_with_masks_of_their_own() {
    // Lanes 0..8 with 16..24, and 8..16 with 24..32, at two places each.
    let half = "setp.ge.u32 %p2, %r9, 8;\n@%p2 bra $T;\nredux.sync.add.u32 %r10, %r2, 0x00ff00ff;\nbra $Tend;\n$T:\n\
                redux.sync.add.u32 %r10, %r2, 0xff00ff00;\n$Tend:\n";
    let body = halves(&half.replace("$T", "$l"), &half.replace("$T", "$u"));
    let body = format!("and.b32 %r9, %r2, 15;\n{body}");
    let out = in_every_order(|| launch(&body));
    let sums = [0, 8].map(|start| (start..start + 8).map(|lane| 2 * lane + 16).sum::<u32>());
    let expected = (0..32).map(|lane| sums[lane % 16 / 8]);
    assert_eq!(out[..32], Vec::from_iter(expected));
    // The mask is a register, and differs from lane to lane at one place.
    let by_register = halves(
        "redux.sync.add.u32 %r10, %r2, %r12;",
        "redux.sync.add.u32 %r10, %r2, %r12;",
    );
    let by_register = format!(
        "and.b32 %r9, %r2, 15;\nsetp.ge.u32 %p2, %r9, 8;\nselp.b32 %r12, 0xff00ff00, 0x00ff00ff, %p2;\n{by_register}"
    );
    let same = out;
    assert_eq!(in_every_order(|| launch(&by_register)), same);
}

#[test]
fn a_function_that_is_called_at_two_places() {
    let function = ".func (.reg .b32 %ret) other(.reg .b32 %value)\n{\nshfl.sync.bfly.b32 %ret, %value, 16, 31, -1;\nret;\n}\n";
    let body = halves(
        "add.u32 %r5, %r2, 100;\ncall (%r10), other, (%r5);",
        "add.u32 %r5, %r2, 200;\ncall (%r10), other, (%r5);",
    );
    let out = in_every_order(|| launch(&body).module_scope(function));
    assert_eq!((out[0], out[15], out[16], out[31]), (216, 231, 100, 115));
}

#[test]
fn lanes_that_have_returned_take_no_part() {
    let body = halves(
        "redux.sync.add.u32 %r10, %r2, -1;",
        "setp.ge.u32 %p2, %r2, 24;\n@%p2 ret;\nredux.sync.add.u32 %r10, %r2, -1;",
    );
    let out = in_every_order(|| launch(&body));
    assert_eq!((out[0], out[23], out[24]), (276, 276, 0));
}

#[test]
fn lanes_that_part_join_again_behind_it() {
    // One store of the whole warp, not one of each half.
    let body = halves(
        "vote.sync.ballot.b32 %r10, %p1, -1;",
        "vote.sync.ballot.b32 %r10, %p1, -1;",
    );
    let report = launch(&body).report();
    let stores = report
        .instructions
        .iter()
        .find(|i| i.place.ptx_line == body_line(&body, "st.global"));
    assert_eq!(stores.expect("a store").counts.instructions.warp, 1);
}

/// The line of the launch's text at which a part of the body stands.
fn body_line(body: &str, part: &str) -> u32 {
    let text = launch(body).text();
    let before = text.lines().position(|line| line.contains(part));
    before.expect("it is there") as u32 + 1
}

#[test]
fn other_qualifiers_are_another_operation() {
    let shuffle = "shfl.sync.bfly.b32 %r10, %r2, 1, 31, -1;";
    let of = |upper: &str| launch(&halves(shuffle, upper)).fault();
    assert_snapshot!(of("shfl.sync.idx.b32 %r10, %r2, 1, 31, -1;"), @r"
    lanes missing: shfl.sync.bfly.b32 with mask 0xffffffff waits for lanes 0xffff0000, which do not reach it
      in kernel `k` at src/lab.rs:20 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
      16 threads wait for shfl.sync.idx.b32 at src/lab.rs:30 (PTX line 33) (first: thread (16, 0, 0))
    ");
    assert_snapshot!(of("vote.sync.ballot.b32 %r10, %p1, -1;"), @r"
    lanes missing: shfl.sync.bfly.b32 with mask 0xffffffff waits for lanes 0xffff0000, which do not reach it
      in kernel `k` at src/lab.rs:20 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
      16 threads wait for vote.sync.ballot.b32 at src/lab.rs:30 (PTX line 33) (first: thread (16, 0, 0))
    ");
    // Another mask.
    assert_snapshot!(of("shfl.sync.bfly.b32 %r10, %r2, 1, 31, 0xffff0000;\nbar.sync 0;"), @r"
    lanes missing: shfl.sync.bfly.b32 with mask 0xffffffff waits for lanes 0xffff0000, which do not reach it
      in kernel `k` at src/lab.rs:20 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
      16 threads wait for barrier 0 at src/lab.rs:30 (PTX line 34) (first: thread (16, 0, 0))
    ");
    let sums = launch(&halves(
        "redux.sync.min.u32 %r10, %r2, -1;",
        "redux.sync.min.s32 %r10, %r2, -1;",
    ));
    assert_snapshot!(sums.fault(), @r"
    lanes missing: redux.sync.min.u32 with mask 0xffffffff waits for lanes 0xffff0000, which do not reach it
      in kernel `k` at src/lab.rs:20 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
      16 threads wait for redux.sync.min.s32 at src/lab.rs:30 (PTX line 33) (first: thread (16, 0, 0))
    ");
}

#[test]
fn lanes_that_come_to_no_place_are_missing() {
    // Eight lanes wait at each of two places, and sixteen never come.
    let body = "and.b32 %r5, %r2, 3;\nsetp.eq.u32 %p1, %r5, 0;\nsetp.eq.u32 %p2, %r5, 1;\n@%p1 bra $a;\n@%p2 bra $b;\n\
                .loc 1 50 1\nbar.sync 0;\nbra $end;\n$a:\n.loc 1 60 1\nshfl.sync.bfly.b32 %r6, %r2, 1, 31, -1;\nbra $end;\n\
                $b:\n.loc 1 70 1\nshfl.sync.bfly.b32 %r6, %r2, 1, 31, -1;\n$end:";
    assert_snapshot!(launch(body).fault(), @r"
    lanes missing: shfl.sync.bfly.b32 with mask 0xffffffff waits for lanes 0xcccccccc, which do not reach it
      in kernel `k` at src/lab.rs:60 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
      16 threads wait for barrier 0 at src/lab.rs:50 (PTX line 31) (first: thread (2, 0, 0))
    ");
    let reads = halves(
        "shfl.sync.bfly.b32 %r10, %r2, 16, 31, 0xffff;",
        "shfl.sync.bfly.b32 %r10, %r2, 1, 31, 0xffff0000;",
    );
    assert_snapshot!(launch(&reads).fault(), @r"
    shuffle from an inactive lane: reads lane 16, which does not take part (lanes 0x0000ffff do)
      in kernel `k` at src/lab.rs:20 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_value_that_nothing_has_set_comes_from_another_place() {
    let body = ".local .align 4 .b8 lo[4];\n".to_owned()
        + &halves(
            "shfl.sync.bfly.b32 %r10, %r2, 16, 31, -1;",
            "ld.local.u32 %r5, [lo];\nshfl.sync.bfly.b32 %r10, %r5, 16, 31, -1;",
        );
    assert_snapshot!(launch(&body).fault(), @r"
    uninitialized value: a store to global memory of a value that nothing has set: a variable or an array element, read before it is written
      in kernel `k` at src/lab.rs:40 (PTX line 38), block (0, 0, 0), thread (0, 0, 0)
      last read of unwritten local memory at src/lab.rs:30 (PTX line 34)
    ");
}
