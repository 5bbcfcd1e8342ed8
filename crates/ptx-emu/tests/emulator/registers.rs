//! The registers that kernels need at least, beside the number that `ptxas` 13.5 gives them for
//! sm_90.

use std::fmt::Write as _;

use ptx_emu::{Executable, LaunchConfig, Machine};

/// A kernel of a body between a load of `N` values `v` and a store of `N` values `w`, each of `ty`,
/// from and to different places for each thread.
fn kernel(ty: &str, load: &str, body: &str) -> String {
    let (bytes, file) = match ty {
        "f64" | "u64" => (8, "b64"),
        "u16" => (2, "b16"),
        _ => (4, "b32"),
    };
    let mut text = format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n
        .visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n) {{
        .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .{file} %v<{N}>; .reg .{file} %w<{N}>; .reg .{file} %t<9>;
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [n];
        mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, {bytes};
        add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3; mov.u32 %r3, 0;\n"
    );
    for i in 0..N {
        writeln!(text, "ld.global{load}.{ty} %v{i}, [%rd1+{}];", i * 65536).unwrap();
    }
    for line in body.lines() {
        let each = if line.contains('#') { N } else { 1 };
        for i in 0..each {
            let line = line.replace("#2", &(i + 2).to_string());
            writeln!(text, "{}", line.replace('#', &i.to_string())).unwrap();
        }
    }
    for i in 0..N {
        writeln!(text, "st.global.{ty} [%rd2+{}], %w{i};", i * 65536).unwrap();
    }
    text + "ret;\n}\n"
}

const N: usize = 40;
const BARRIER: &str = "bar.sync 0;\nmov.TY %w#, %v#;";
const SUMS: &str = "ROUND:\nld.global.TY %t1, [%rd1];\nadd.TY %w#, %v#, %t1; mov.TY %v#, %w#;\n\
    add.s64 %rd1, %rd1, 8;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra ROUND;";

fn needed(text: &str) -> u32 {
    let executable = Executable::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let lazily = Executable::parse_lazily(text).expect("as above");
    assert_eq!(lazily.needed_registers("none"), 0);
    let needed = executable.needed_registers("k");
    assert_eq!(lazily.needed_registers("k"), needed);
    needed
}

#[test]
fn kernels_need_what_they_carry_across_barriers_and_rounds() {
    for (what, ty, load, body, bound, ptxas) in CASES {
        let text = kernel(ty, load, &body.replace("TY", ty));
        assert_eq!(needed(&text), bound, "{what}, {ty}");
        assert!(bound <= ptxas, "{what}, {ty}");
    }
}

#[test]
fn blocks_that_need_more_registers_than_a_block_has_are_refused() {
    let sums = kernel("f64", "", &SUMS.replace("TY", "f64"));
    let said = |bounds: &str, threads: u32| {
        let text = sums.replace("u32 n) {", &format!("u32 n) {bounds} {{"));
        let mut machine = Machine::default();
        let module = machine
            .load(Executable::parse(&text).expect("valid"))
            .expect("it fits");
        let config = LaunchConfig::new([1], [threads]);
        let ended = machine.launch(&module, "k", &config, [0; 20]);
        ended.expect_err("nothing lies at 0").to_string()
    };
    insta::assert_snapshot!(said("", 1024), @"launch of `k`: a thread of the kernel needs at least 80 registers, so that a block of [1024, 1, 1] takes 81920; a block has 65536; launch smaller blocks, or say how large they are with `__launch_bounds__` (`.maxntid` in PTX), so that the compiler takes fewer");
    for (bounds, threads) in [
        // 24 warps have registers, and come in fours.
        ("", 768),
        // The compiler puts some values into local memory.
        (".maxntid 1024, 1, 1", 1024),
        (".reqntid 1024, 1, 1", 1024),
        (".maxnreg 64", 1024),
    ] {
        let message = said(bounds, threads);
        assert!(message.contains("null"), "{bounds} {threads}: {message}");
    }
    for (bounds, threads) in [("", 800), (".maxnreg 72", 1024)] {
        let message = said(bounds, threads);
        assert!(
            message.contains("registers"),
            "{bounds} {threads}: {message}"
        );
    }
}

/// A name, the type, the kind of load, the body; the bound, and the number of `ptxas`.
const CASES: [(&str, &str, &str, &str, u32, u32); 15] = [
    ("loads before a barrier", "f64", "", BARRIER, 80, 90),
    ("loads before a barrier", "f32", "", BARRIER, 40, 48),
    ("loads before a barrier", "u16", "", BARRIER, 20, 48),
    (
        "constant memory before a barrier",
        "f64",
        ".nc",
        BARRIER,
        0,
        32,
    ),
    ("no barrier", "f64", "", "mov.f64 %w#, %v#;", 0, 90),
    ("sums of a loop", "f64", ".nc", SUMS, 80, 168),
    ("sums of a loop", "u32", ".nc", SUMS, 40, 96),
    (
        "all of one value",
        "f32",
        "",
        "add.f32 %t1, %v0, 0f3F800000;\nbar.sync 0;\nmul.f32 %w#, %t1, 0f40400000;",
        1,
        10,
    ),
    (
        "lower halves",
        "u64",
        "",
        "bar.sync 0;\ncvt.u32.u64 %r4, %v#; cvt.u64.u32 %w#, %r4;",
        40,
        88,
    ),
    (
        "flags",
        "u32",
        "",
        "bar.sync 0;\nsetp.gt.u32 %p2, %v#, 7; selp.u32 %w#, 1, 2, %p2;",
        0,
        48,
    ),
    (
        "comparisons with what is loaded later",
        "u32",
        "",
        "bar.sync 0;\nld.global.u32 %t1, [%rd1];\nsetp.gt.u32 %p2, %v#, %t1; selp.u32 %w#, 1, 2, %p2;",
        40,
        48,
    ),
    (
        "numbers of the thread",
        "u32",
        "",
        "mad.lo.u32 %v#, %r2, #2, %r1;\nbar.sync 0;\nmov.u32 %w#, %v#;",
        0,
        32,
    ),
    (
        "counters",
        "u32",
        "",
        "mov.u32 %v#, %r1;\nROUND:\nadd.u32 %v#, %v#, 3; st.global.u32 [%rd1], %v#;\nadd.u32 %r3, %r3, 1;\n\
         setp.lt.u32 %p1, %r3, %r1;\n@%p1 bra ROUND;\nmov.u32 %w#, %v#;",
        0,
        32,
    ),
    (
        "a barrier that most pass by",
        "f32",
        "",
        "setp.gt.u32 %p1, %r2, 7;\n@%p1 bra ON;\nbar.sync 0;\nON:\nmov.f32 %w#, %v#;",
        40,
        48,
    ),
    (
        "sums that are the same in all threads",
        "f32",
        "",
        "cvt.rn.f32.u32 %v#, %r1;\nROUND:\nfma.rn.f32 %v#, %v#, %v#, 0f3F800000;\nadd.u32 %r3, %r3, 1;\n\
         setp.lt.u32 %p1, %r3, %r1;\n@%p1 bra ROUND;\nmov.f32 %w#, %v#;",
        0,
        48,
    ),
];
