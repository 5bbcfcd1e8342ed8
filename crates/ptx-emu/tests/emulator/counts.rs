//! Counts against numbers worked out by hand.

use crate::common::launch;
use ptx_emu::{GlobalTraffic, InstructionClass, LaunchReport, SharedTraffic};

fn loads(body: &str) -> GlobalTraffic {
    launch(body)
        .input(0..4096)
        .out_words(4096)
        .report()
        .counts
        .global_loads
}

fn traffic(requests: u64, sectors: u64, ideal_sectors: u64, bytes: u64) -> GlobalTraffic {
    GlobalTraffic {
        requests,
        sectors,
        ideal_sectors,
        l2_sectors: 0,
        bytes,
    }
}

#[test]
fn coalesced_loads_touch_as_few_sectors_as_can_be() {
    assert_eq!(loads("ld.global.u32 %r5, [%rd4];"), traffic(1, 4, 4, 128));
    assert_eq!(loads("ld.global.u8 %r5, [%rd4];"), traffic(1, 4, 1, 32));
    let wide = "mul.wide.u32 %rd5, %r3, 16;\nadd.u64 %rd5, %rd2, %rd5;\n\
                ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd5];";
    assert_eq!(loads(wide), traffic(1, 16, 16, 512));
    let double =
        "mul.wide.u32 %rd5, %r3, 8;\nadd.u64 %rd5, %rd2, %rd5;\nld.global.f64 %d1, [%rd5];";
    assert_eq!(loads(double), traffic(1, 8, 8, 256));
}

#[test]
fn a_shifted_load_touches_one_sector_more() {
    let report = loads("ld.global.u32 %r5, [%rd4+4];");
    assert_eq!(report, traffic(1, 5, 4, 128));
    assert_eq!(report.efficiency(), 0.8);
}

#[test]
fn strided_loads_touch_a_sector_a_lane() {
    let strided = |bytes: u32| {
        loads(&format!(
            "mul.wide.u32 %rd5, %r3, {bytes};\nadd.u64 %rd5, %rd2, %rd5;\nld.global.u32 %r5, [%rd5];"
        ))
    };
    assert_eq!(strided(8), traffic(1, 8, 4, 128));
    assert_eq!(strided(32), traffic(1, 32, 4, 128));
    assert_eq!(strided(256), traffic(1, 32, 4, 128));
    assert_eq!(strided(256).efficiency(), 0.125);
    // All lanes share a word: one sector, and nothing is better.
    assert_eq!(strided(0), traffic(1, 1, 1, 128));
}

#[test]
fn only_active_lanes_count() {
    let half = "setp.lt.u32 %p1, %r2, 16;\n@%p1 ld.global.u32 %r5, [%rd4];";
    assert_eq!(loads(half), traffic(1, 2, 2, 64));
    let none = "setp.lt.u32 %p1, %r2, 0;\n@%p1 ld.global.u32 %r5, [%rd4];";
    assert_eq!(loads(none), traffic(0, 0, 0, 0));
}

#[test]
fn stores_and_atomics_are_counted_apart() {
    let body = "st.global.u32 [%rd3], %r2;\nred.global.add.u32 [%rd1+512], 1;\n\
                atom.global.add.u32 %r5, [%rd3+1024], 1;";
    let counts = launch(body).grid(2).out_words(4096).report().counts;
    assert_eq!(counts.global_loads, traffic(0, 0, 0, 0));
    assert_eq!(counts.global_stores, traffic(2, 8, 8, 256));
    assert_eq!(counts.global_atomics, traffic(4, 10, 10, 512));
}

/// Two blocks of two warps, and sectors that go beyond L1: of loads, of stores, of atomics.
fn l2_sectors(body: &str) -> [u64; 3] {
    let mut launch = launch(body)
        .block(64)
        .grid(2)
        .input(0..4096)
        .out_words(4096);
    launch.options.count_l2 = true;
    let counts = launch.report().counts;
    let all = [
        counts.global_loads,
        counts.global_stores,
        counts.global_atomics,
    ];
    all.map(|traffic| traffic.l2_sectors)
}

#[test]
fn a_block_loads_a_sector_from_l2_once() {
    let load = "ld.global.u32 %r5, [%rd4];\n";
    // Each of four warps loads four sectors of its own.
    assert_eq!(l2_sectors(load), [16, 0, 0]);
    assert_eq!(l2_sectors(&load.repeat(3)), [16, 0, 0]);
    // Shifted by a word: a warp's fifth sector is the other's first, or one more for the block.
    let shifted = format!("{load}ld.global.nc.u32 %r6, [%rd4+4];");
    assert_eq!(l2_sectors(&shifted), [18, 0, 0]);
    // All threads load one word: one sector of each block.
    assert_eq!(l2_sectors("ld.global.u32 %r5, [%rd2];"), [2, 0, 0]);
    let copy = ".shared .align 16 .b8 tile[256];\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 4, %r5;\n\
                cp.async.ca.shared.global [%r5], [%rd4], 4;\ncp.async.wait_all;\n";
    assert_eq!(l2_sectors(copy), [16, 0, 0]);
}

#[test]
fn stores_and_atomics_go_to_l2_each_time() {
    let body = "st.global.u32 [%rd3], %r2;\nst.global.u32 [%rd3], %r3;\nred.global.add.u32 [%rd3+4096], 1;\n\
                ld.global.u32 %r5, [%rd3];";
    assert_eq!(l2_sectors(body), [16, 32, 16]);
}

#[test]
fn sectors_beyond_l1_do_not_depend_on_the_schedule() {
    use ptx_emu::{Sanitize, Schedule};
    let sectors = |sanitize, schedule, threads, cluster| {
        let body = "ld.global.u32 %r5, [%rd4];\nld.global.u32 %r6, [%rd4+64];\nbar.sync 0;\nld.global.u32 %r5, [%rd4+4];";
        let mut kernel = launch(body)
            .block(128)
            .grid(8)
            .cluster(cluster)
            .input(0..2048)
            .out_words(1024);
        kernel.options.sanitize = sanitize;
        kernel.options.schedule = schedule;
        kernel.options.threads = threads;
        kernel.options.count_l2 = true;
        kernel.report().counts.global_loads.l2_sectors
    };
    // A block's 512 bytes and 64 more.
    assert_eq!(sectors(Sanitize::ALL, Schedule::InOrder, 1, 1), 8 * 18);
    assert_eq!(sectors(Sanitize::NONE, Schedule::InOrder, 4, 1), 8 * 18);
    let random = Schedule::Random { seed: 3 };
    assert_eq!(sectors(Sanitize::ALL, random, 1, 1), 8 * 18);
    assert_eq!(sectors(Sanitize::ALL, random, 1, 4), 8 * 18);
}

/// A store to shared memory with this many bytes from lane to lane.
fn shared_stores(stride: u32, instruction: &str) -> SharedTraffic {
    let body = format!(
        ".shared .align 16 .b8 tile[8192];\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, {stride}, %r5;\n\
         mov.b64 %rd5, 0;\n{instruction}"
    );
    launch(&body).report().counts.shared_stores
}

#[test]
fn bank_conflicts_of_strides() {
    let word = |stride| {
        let traffic = shared_stores(stride, "st.shared.u32 [%r5], %r2;");
        assert_eq!(
            (traffic.requests, traffic.ideal_wavefronts, traffic.bytes),
            (1, 1, 128)
        );
        traffic.bank_conflicts()
    };
    assert_eq!(word(4), 0);
    assert_eq!(word(8), 1);
    assert_eq!(word(12), 0);
    assert_eq!(word(16), 3);
    assert_eq!(word(64), 15);
    assert_eq!(word(128), 31);
    // A row of 33 words: the remedy for the column of a tile.
    assert_eq!(word(132), 0);
}

#[test]
fn bank_conflicts_of_wide_stores() {
    let double = |stride| {
        let traffic = shared_stores(stride, "st.shared.u64 [%r5], %rd5;");
        (traffic.wavefronts, traffic.ideal_wavefronts)
    };
    assert_eq!(double(8), (2, 2));
    assert_eq!(double(16), (4, 2));
    assert_eq!(double(128), (32, 2));
    let quad = |stride| {
        let traffic = shared_stores(stride, "st.shared.v4.u32 [%r5], {%r2, %r2, %r2, %r2};");
        (traffic.wavefronts, traffic.ideal_wavefronts)
    };
    assert_eq!(quad(16), (4, 4));
    assert_eq!(quad(32), (8, 4));
    let bytes = shared_stores(1, "st.shared.u8 [%r5], %r2;");
    assert_eq!((bytes.wavefronts, bytes.bytes), (1, 32));
}

#[test]
fn a_broadcast_has_no_conflict() {
    let body = ".shared .align 4 .b8 tile[4];\nst.shared.u32 [tile], 7;\nbar.sync 0;\n\
                ld.shared.u32 %r6, [tile];";
    let loads = launch(body).report().counts.shared_loads;
    assert_eq!(
        (loads.requests, loads.wavefronts, loads.bank_conflicts()),
        (1, 1, 0)
    );
}

#[test]
fn atomics_on_one_word_take_a_pass_each() {
    let body = ".shared .align 4 .b8 sum[4];\nst.shared.u32 [sum], 0;\nbar.sync 0;\n\
                atom.shared.add.u32 %r5, [sum], 1;";
    let atomics = launch(body).report().counts.shared_atomics;
    assert_eq!(
        (
            atomics.requests,
            atomics.wavefronts,
            atomics.bank_conflicts()
        ),
        (1, 32, 31)
    );
}

/// The counts of the instructions of a PTX line.
fn line(report: &LaunchReport, text: &str, needle: &str) -> (u64, u64) {
    let number = 1 + text
        .lines()
        .position(|l| l.contains(needle))
        .expect("it is there") as u32;
    let found = report
        .instructions
        .iter()
        .find(|i| i.place.ptx_line == number);
    found.map_or((0, 0), |i| {
        (i.counts.instructions.warp, i.counts.instructions.thread)
    })
}

#[test]
fn divergent_paths_run_one_after_the_other_and_join() {
    let kernel = launch(
        "and.b32 %r5, %r2, 3;\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra $quarter;\n\
         mov.u32 %r6, 11;\nbra $join;\n$quarter:\nmov.u32 %r6, 22;\n$join:\nmov.u32 %r7, 33;",
    );
    let report = kernel.report();
    let text = kernel.text();
    assert_eq!(line(&report, &text, "%r6, 11"), (1, 24));
    assert_eq!(line(&report, &text, "%r6, 22"), (1, 8));
    assert_eq!(line(&report, &text, "%r7, 33"), (1, 32));
    assert_eq!(
        (report.counts.branches, report.counts.divergent_branches),
        (2, 1)
    );
}

#[test]
fn a_loop_of_unequal_lengths() {
    // Lane i goes round i % 4 + 1 times.
    let kernel = launch(
        "and.b32 %r5, %r2, 3;\n$again:\nmov.u32 %r6, 11;\nsetp.ne.u32 %p1, %r5, 0;\n\
         sub.u32 %r5, %r5, 1;\n@%p1 bra $again;\nmov.u32 %r7, 33;",
    );
    let report = kernel.report();
    let text = kernel.text();
    assert_eq!(line(&report, &text, "%r6, 11"), (4, 32 + 24 + 16 + 8));
    assert_eq!(line(&report, &text, "%r7, 33"), (1, 32));
    assert_eq!(
        (report.counts.branches, report.counts.divergent_branches),
        (4, 3)
    );
}

#[test]
fn functions_join_too() {
    let scope = ".func f(.param .b32 x)\n{\n.reg .pred %q1;\n.reg .b32 %x<3>;\nld.param.u32 %x1, [x];\n\
                 setp.lt.u32 %q1, %x1, 16;\n@%q1 bra $low;\nmov.u32 %x2, 11;\nret;\n$low:\n\
                 mov.u32 %x2, 22;\nret;\n}";
    let kernel =
        launch("{\n.param .b32 x;\nst.param.b32 [x], %r2;\ncall.uni f, (x);\n}\nmov.u32 %r7, 33;")
            .module_scope(scope);
    let report = kernel.report();
    let text = kernel.text();
    assert_eq!(line(&report, &text, "%x2, 11"), (1, 16));
    assert_eq!(line(&report, &text, "%x2, 22"), (1, 16));
    assert_eq!(line(&report, &text, "%r7, 33"), (1, 32));
}

#[test]
fn instructions_by_class() {
    let body = "add.f32 %f1, 0f00000000, 0f00000000;\nadd.f64 %d1, 0d0000000000000000, 0d0000000000000000;\n\
                cvt.rn.f32.u32 %f2, %r2;\nbar.sync 0;\nst.global.u32 [%rd3], %r2;\n\
                ld.global.u32 %r6, [%rd4];\nshfl.sync.bfly.b32 %r5, %r2, 1, 31, -1;\n\
                red.global.add.u32 [%rd1+8192], 1;\nmembar.gl;";
    let report = launch(body)
        .block(48)
        .grid(3)
        .input(0..144)
        .out_words(4096)
        .report();
    let class = |class: InstructionClass| {
        let executed = report.counts.class(class);
        (executed.warp, executed.thread)
    };
    // The prologue: 3 loads of parameters, 3 moves, 4 integer instructions; then `ret`.
    let once = (6, 144);
    assert_eq!(class(InstructionClass::Float32), once);
    assert_eq!(class(InstructionClass::Float64), once);
    assert_eq!(class(InstructionClass::Conversion), once);
    assert_eq!(class(InstructionClass::Barrier), once);
    assert_eq!(class(InstructionClass::Store), once);
    assert_eq!(class(InstructionClass::Warp), once);
    assert_eq!(class(InstructionClass::Atomic), once);
    assert_eq!(class(InstructionClass::Other), once);
    assert_eq!(class(InstructionClass::Control), once);
    assert_eq!(class(InstructionClass::Load), (24, 576));
    assert_eq!(class(InstructionClass::Move), (18, 432));
    assert_eq!(class(InstructionClass::Integer), (24, 576));
    assert_eq!(report.counts.instructions.warp, 9 * 6 + 24 + 18 + 24);
    assert_eq!(report.counts.barriers, 6);
    assert_eq!(report.counts.param_bytes, 144 * (8 + 8 + 4));
    assert_eq!((report.blocks, report.threads), (3, 144));
}

#[test]
fn counts_by_source_line() {
    let body = ".loc 1 5 1\nld.global.u32 %r5, [%rd4];\nadd.u32 %r5, %r5, 1;\n\
                .loc 1 6 1\nst.global.u32 [%rd3], %r5;\n.loc 1 5 9\nadd.u32 %r6, %r5, 1;\n.loc 1 7 1";
    let lines = launch(body).report().lines();
    let summary: Vec<_> = lines
        .iter()
        .map(|line| {
            let source = line.source.as_ref().map(ToString::to_string);
            let counts = &line.counts;
            (
                source,
                counts.instructions.warp,
                counts.global_loads.sectors,
                counts.global_stores.sectors,
            )
        })
        .collect();
    let source = |line: u32| Some(format!("src/lab.rs:{line}"));
    assert_eq!(
        summary,
        [
            // With the ten instructions before it, which have no `.loc`.
            (source(5), 13, 4, 0),
            (source(6), 1, 0, 4),
            (source(7), 1, 0, 0)
        ]
    );
    assert!(lines[0].ptx_lines.ends_with(&[26, 27, 31]));
}

/// Optimised code of several lines has line 0. A line that runs with it answers for it.
#[test]
fn code_without_a_line_belongs_to_one_that_runs_with_it() {
    let of = |body: &str| {
        let lines = launch(body).report().lines();
        let summary = lines.into_iter().map(|line| {
            let line_number = line.source.as_ref().map(|source| source.line);
            (line_number, line.counts.instructions.warp)
        });
        summary.collect::<Vec<_>>()
    };
    let add = "add.u32 %r5, %r2, 1;\n";
    // Ten instructions of the test's frame stand before the body, and one after it.
    let before = of(&format!(".loc 1 5 1\n{add}.loc 1 0 0\n{add}{add}"));
    assert_eq!(before, [(Some(5), 14)]);
    // A label to which no branch leads is passed like any instruction; so is a branch.
    let label = of(&format!(
        ".loc 1 5 1\n{add}$unused:\nsetp.gt.u32 %p1, %r2, 99;\n@%p1 bra $last;\n\
         .loc 1 0 0\n{add}$last:\n.loc 1 6 1\n{add}"
    ));
    assert_eq!(label, [(Some(5), 14), (Some(6), 2)]);
    let after = of(&format!(
        ".loc 1 5 1\nbra.uni $next;\n$next:\n.loc 1 0 0\n{add}.loc 1 6 1\n{add}"
    ));
    assert_eq!(after, [(Some(5), 11), (Some(6), 3)]);
    // Control may come from elsewhere, and go elsewhere.
    let alone = of(&format!(
        ".loc 1 5 1\nbra.uni $next;\n$next:\n.loc 1 0 0\n{add}{add}bra.uni $last;\n$last:\n.loc 1 6 1\n{add}"
    ));
    assert_eq!(alone, [(None, 3), (Some(5), 11), (Some(6), 2)]);
    // A function's last instructions do not run with the next function's first line.
    let scope = ".func other()\n{\n.reg .b32 %q;\nmov.u32 %q, 0;\nret;\n}";
    let body = ".loc 1 5 1\ncall.uni other, ();";
    let lines = launch(body).module_scope(scope).report().lines();
    let warps = lines.iter().map(|line| line.counts.instructions.warp);
    assert_eq!(warps.collect::<Vec<_>>(), [2, 12]);
    assert_eq!(lines[0].source, None);
}

#[test]
fn reports_of_launches_add_up() {
    let one = launch("st.global.u32 [%rd3], %r2;").report();
    let mut two = launch("st.global.u32 [%rd3], %r2;").grid(2).report();
    two.add(&one);
    let three = launch("st.global.u32 [%rd3], %r2;")
        .grid(3)
        .out_words(96)
        .report();
    assert_eq!(two, three);
}

#[test]
fn local_memory_is_counted_in_bytes() {
    let body =
        ".local .align 8 .b8 array[16];\nst.local.u64 [array], %rd1;\nld.local.u32 %r5, [array+4];";
    assert_eq!(launch(body).report().counts.local_bytes, 32 * (8 + 4));
}

#[test]
fn counts_do_not_depend_on_checks_or_schedule() {
    let kernel = |sanitize, schedule, threads| {
        let mut kernel = launch(
            ".shared .align 4 .b8 tile[512];\nmov.u32 %r5, tile;\nmad.lo.u32 %r5, %r2, 4, %r5;\n\
             st.shared.u32 [%r5], %r2;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\n\
             setp.lt.u32 %p1, %r2, 20;\n@%p1 bra $skip;\nld.global.u32 %r7, [%rd4];\n$skip:\n\
             st.global.u32 [%rd3], %r6;",
        )
        .block(128)
        .grid(8)
        .input(0..1024)
        .out_words(1024);
        kernel.options.sanitize = sanitize;
        kernel.options.schedule = schedule;
        kernel.options.threads = threads;
        kernel.report()
    };
    use ptx_emu::{Sanitize, Schedule};
    let reference = kernel(Sanitize::ALL, Schedule::InOrder, 1);
    assert_eq!(reference, kernel(Sanitize::NONE, Schedule::InOrder, 1));
    assert_eq!(
        reference,
        kernel(Sanitize::ALL, Schedule::Random { seed: 7 }, 1)
    );
    assert_eq!(reference, kernel(Sanitize::ALL, Schedule::InOrder, 4));
}
