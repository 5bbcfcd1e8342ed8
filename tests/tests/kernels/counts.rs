//! The emulated device's counts for kernels written in Rust, against numbers computed by hand.
//!
//! A warp is 32 threads, and a sector is 32 bytes: a warp that reads 4 contiguous bytes per lane
//! touches 4 sectors. Shared memory has 32 banks of 4 bytes, and serves one word of each at once: a
//! wavefront. Buffers start at a multiple of 256.

use device::{Counts, InstructionClass as Class, KernelReport};
use device::{Element, Module};
use plan::{LaunchConfig, args};
use ptx_emu::{Executed, GlobalTraffic, SharedTraffic};

use crate::scene::{KERNELS, Scene, ramp};

/// Requests, sectors, ideal sectors, bytes.
fn global(requests: u64, sectors: u64, ideal_sectors: u64, bytes: u64) -> GlobalTraffic {
    GlobalTraffic {
        requests,
        sectors,
        ideal_sectors,
        l2_sectors: 0,
        bytes,
    }
}

/// Requests, wavefronts, ideal wavefronts, bytes.
fn shared(requests: u64, wavefronts: u64, ideal_wavefronts: u64, bytes: u64) -> SharedTraffic {
    SharedTraffic {
        requests,
        wavefronts,
        ideal_wavefronts,
        bytes,
    }
}

/// Instructions by warp, and by thread.
fn executed(warp: u64, thread: u64) -> Executed {
    Executed { warp, thread }
}

/// The line of `counted.rs` that has the mark, or the one above a mark that starts with `^`.
fn marked(mark: &str) -> u32 {
    let text = include_str!("../../bad-kernels/src/counted.rs");
    let line_of = |ending: &str| {
        let index = text.lines().position(|line| line.ends_with(ending))?;
        Some(index as u32 + 1)
    };
    line_of(&format!("//~ {mark}"))
        .or_else(|| Some(line_of(&format!("//~^ {mark}"))? - 1))
        .expect("a marked line")
}

/// The counts of the marked line.
fn at(report: &KernelReport, mark: &str) -> Counts {
    let line = marked(mark);
    let lines = report.total.lines();
    let found = lines.into_iter().find(|counts| {
        let source = counts.source.as_ref();
        source.is_some_and(|at| at.file.ends_with("/counted.rs") && at.line == line)
    });
    found.expect("an executed line").counts
}

// Global memory: coalescing.

/// 8 warps copy 32 floats each.
#[test]
fn a_coalesced_copy() {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(256));
    let y = scene.scratch("y", Element::F32, 256);
    scene.launch("copy", LaunchConfig::new(2, 128), args![x, y]);
    let report = scene.report();
    assert_eq!((report.total.blocks, report.total.threads), (2, 256));
    let counts = &report.total.counts;
    // 8 requests of 128 bytes: 4 sectors each.
    assert_eq!(counts.global_loads, global(8, 32, 32, 1024));
    assert_eq!(counts.global_stores, global(8, 32, 32, 1024));
    assert_eq!(counts.global_loads.efficiency(), 1.0);
    assert_eq!(counts.divergent_branches, 0);
    assert_eq!(scene.run::<f32>(y).unwrap(), ramp(256));
}

/// 2 warps read every `stride`th float: lane i reads byte 4 * stride * i.
#[test]
fn strided_loads() {
    // The span of a warp is 128 * stride bytes. If the stride is at most 32 bytes, every sector of
    // it is touched; beyond that, each lane touches its own sector.
    for (stride, sectors) in [(1u32, 4), (2, 8), (4, 16), (8, 32), (32, 32)] {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(64 * stride as usize));
        let y = scene.scratch("y", Element::F32, 64);
        scene.launch("gather", LaunchConfig::new(1, 64), args![x, y, stride]);
        let counts = scene.report().total.counts;
        let expected = global(2, 2 * sectors, 2 * 4, 256);
        assert_eq!(counts.global_loads, expected, "stride {stride}");
        assert_eq!(counts.global_loads.efficiency(), 4.0 / sectors as f64);
        assert_eq!(counts.global_stores, global(2, 8, 8, 256));
    }
}

/// All lanes read the same float: one sector, which is also the ideal number.
#[test]
fn a_broadcast_load() {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(1));
    let y = scene.scratch("y", Element::F32, 64);
    scene.launch("gather", LaunchConfig::new(1, 64), args![x, y, 0u32]);
    let counts = scene.report().total.counts;
    assert_eq!(counts.global_loads, global(2, 2, 2, 256));
}

/// Off by one element, a warp's 128 bytes start 4 bytes into a sector and end 4 bytes into a fifth.
#[test]
fn a_copy_off_by_one_element() {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(65));
    let y = scene.scratch("y", Element::F32, 64);
    scene.launch("copy", LaunchConfig::new(1, 64), args![x.at(1), y]);
    let counts = scene.report().total.counts;
    assert_eq!(counts.global_loads, global(2, 2 * 5, 2 * 4, 256));
    assert_eq!(counts.global_stores, global(2, 8, 8, 256));
}

/// 16 bytes per lane: 512 contiguous bytes, 16 sectors, one request.
#[test]
fn a_copy_of_four_floats_a_thread() {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(256));
    let y = scene.scratch("y", Element::F32, 256);
    scene.launch("copy_by_four", LaunchConfig::new(1, 64), args![x, y]);
    let counts = scene.report().total.counts;
    assert_eq!(counts.global_loads, global(2, 32, 32, 1024));
    assert_eq!(counts.global_stores, global(2, 32, 32, 1024));
    assert_eq!(scene.run::<f32>(y).unwrap(), ramp(256));
}

/// Transposes a 64 by 64 matrix: 4096 floats, 128 warps' worth, 16384 bytes.
fn transpose(kernel: &str, grid: (u32, u32)) -> Counts {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(4096));
    let y = scene.scratch("y", Element::F32, 4096);
    scene.launch(kernel, LaunchConfig::new(grid, (32, 8)), args![x, y, 64u32]);
    let transposed: Vec<f32> = (0..4096).map(|i| (i % 64 * 64 + i / 64) as f32).collect();
    assert_eq!(scene.run::<f32>(y).unwrap(), transposed);
    scene.report().total.counts
}

#[test]
fn an_uncoalesced_transpose() {
    let counts = transpose("transpose_naive", (2, 8));
    // A warp reads 32 elements of a row: 4 sectors.
    assert_eq!(counts.global_loads, global(128, 128 * 4, 128 * 4, 16384));
    // It writes 32 elements of a column, 256 bytes apart: 32 sectors.
    assert_eq!(counts.global_stores, global(128, 128 * 32, 128 * 4, 16384));
    assert_eq!(counts.global_stores.efficiency(), 0.125);
    assert_eq!(counts.bank_conflicts(), 0);
    assert_eq!(counts.barriers, 0);
}

#[test]
fn a_transpose_by_tiles() {
    let counts = transpose("transpose_tiled", (2, 2));
    // Rows along a warp on both sides.
    assert_eq!(counts.global_loads, global(128, 512, 512, 16384));
    assert_eq!(counts.global_stores, global(128, 512, 512, 16384));
    // A row of the tile lies in 32 banks.
    assert_eq!(counts.shared_stores, shared(128, 128, 128, 16384));
    // A column lies in one: word 32 i + row is in bank `row` for every i. 32-way conflicts.
    assert_eq!(counts.shared_loads, shared(128, 128 * 32, 128, 16384));
    assert_eq!(counts.bank_conflicts(), 128 * 31);
    // 4 blocks of 8 warps, one barrier.
    assert_eq!(counts.barriers, 32);
}

#[test]
fn a_transpose_by_padded_tiles() {
    let counts = transpose("transpose_padded", (2, 2));
    assert_eq!(counts.global_loads, global(128, 512, 512, 16384));
    assert_eq!(counts.global_stores, global(128, 512, 512, 16384));
    assert_eq!(counts.shared_stores, shared(128, 128, 128, 16384));
    // Word 33 i + row is in bank (i + row) mod 32: a different bank for every i.
    assert_eq!(counts.shared_loads, shared(128, 128, 128, 16384));
    assert_eq!(counts.bank_conflicts(), 0);
}

// Shared memory: bank conflicts.

/// One warp stores and loads word stride * i in lane i: bank stride * i mod 32.
#[test]
fn bank_conflicts_of_4_byte_accesses() {
    // 32 lanes fall into 32 / gcd(stride, 32) banks: gcd(stride, 32) words in each.
    for (stride, ways) in [
        (1, 1),
        (2, 2),
        (3, 1),
        (4, 4),
        (8, 8),
        (16, 16),
        (32, 32),
        (33, 1),
    ] {
        let mut scene = Scene::new();
        let x = scene.input("x", &(0..32).collect::<Vec<u32>>());
        let y = scene.scratch("y", Element::U32, 32);
        let args = args![x, y, stride as u32];
        scene.launch("shared_stride", LaunchConfig::new(1, 32), args);
        let counts = scene.report().total.counts;
        let expected = shared(1, ways, 1, 128);
        assert_eq!(counts.shared_stores, expected, "stride {stride}");
        assert_eq!(counts.shared_loads, expected, "stride {stride}");
        assert_eq!(counts.bank_conflicts(), 2 * (ways - 1));
    }
}

#[test]
fn broadcasts_from_shared_memory() {
    let mut scene = Scene::new();
    let x = scene.input("x", &(0..64).collect::<Vec<u32>>());
    let y = scene.scratch("y", Element::U32, 32);
    scene.launch("shared_broadcast", LaunchConfig::new(1, 32), args![x, y]);
    let report = scene.report();
    // Two words of one bank, each to 16 lanes.
    assert_eq!(at(&report, "half").shared_loads, shared(1, 2, 1, 128));
    // One word to all lanes.
    assert_eq!(at(&report, "one").shared_loads, shared(1, 1, 1, 128));
    assert_eq!(report.total.counts.bank_conflicts(), 1);
}

/// 8 bytes per lane: half a warp, 128 bytes, at once. Lane i is at word 2 * stride * i.
#[test]
fn bank_conflicts_of_8_byte_accesses() {
    // These of 16 lanes start in the same bank: with stride 1 none; with stride 2, lanes i and i +
    // 8, at words 4 i and 4 i + 32; with stride 16 all, 32 words apart.
    for (stride, ways) in [(1, 1), (2, 2), (16, 16)] {
        let mut scene = Scene::new();
        let x = scene.input("x", &[1f64; 32]);
        let y = scene.scratch("y", Element::F64, 32);
        let args = args![x, y, stride as u32];
        scene.launch("shared_wide_8", LaunchConfig::new(1, 32), args);
        let counts = scene.report().total.counts;
        let expected = shared(1, 2 * ways, 2, 256);
        assert_eq!(counts.shared_stores, expected, "stride {stride}");
        assert_eq!(counts.shared_loads, expected, "stride {stride}");
        assert_eq!(counts.global_loads, global(1, 8, 8, 256));
    }
}

/// 16 bytes per lane: a quarter of a warp, 128 bytes, at once. Lane i is at word 4 * stride * i.
#[test]
fn bank_conflicts_of_16_byte_accesses() {
    // These of 8 lanes start in the same bank: with stride 1 none; with stride 2, lanes i and i +
    // 4, at words 8 i and 8 i + 32; with stride 8 all, 32 words apart.
    for (stride, ways) in [(1, 1), (2, 2), (8, 8)] {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(128));
        let y = scene.scratch("y", Element::F32, 128);
        let args = args![x, y, stride as u32];
        scene.launch("shared_wide_16", LaunchConfig::new(1, 32), args);
        let counts = scene.report().total.counts;
        let expected = shared(1, 4 * ways, 4, 512);
        assert_eq!(counts.shared_stores, expected, "stride {stride}");
        assert_eq!(counts.shared_loads, expected, "stride {stride}");
        assert_eq!(counts.global_loads, global(1, 16, 16, 512));
    }
}

// Divergence, barriers, atomics, classes of instructions, source lines.

/// 4 warps, half of the threads in each arm: one stores, the other adds atomically.
fn branch(kernel: &str) -> KernelReport {
    let mut scene = Scene::new();
    let y = scene.input("y", &[0u32; 128]);
    scene.launch(kernel, LaunchConfig::new(1, 128), args![y]);
    let expected: Vec<u32> = (0..128).collect();
    assert_eq!(scene.run::<u32>(y).unwrap(), expected);
    scene.report()
}

#[test]
fn lanes_that_branch_apart() {
    let report = branch("branch_by_lane");
    let counts = &report.total.counts;
    assert_eq!(counts.divergent_branches, 4);
    assert_eq!(at(&report, "branch").divergent_branches, 4);
    // Every warp executes both arms, with 16 lanes: every second word of 128 bytes, in 4 sectors,
    // where 2 would be ideal.
    assert_eq!(counts.global_stores, global(4, 16, 8, 256));
    assert_eq!(counts.global_atomics, global(4, 16, 8, 256));
    let executed = executed(4, 64);
    assert_eq!(counts.class(Class::Store), executed);
    assert_eq!(counts.class(Class::Atomic), executed);
}

#[test]
fn warps_that_branch_apart() {
    let report = branch("branch_by_warp");
    let counts = &report.total.counts;
    assert_eq!(counts.divergent_branches, 0);
    // Every warp executes one arm, with all lanes.
    assert_eq!(counts.global_stores, global(2, 8, 8, 256));
    assert_eq!(counts.global_atomics, global(2, 8, 8, 256));
    let executed = executed(2, 64);
    assert_eq!(counts.class(Class::Store), executed);
    assert_eq!(counts.class(Class::Atomic), executed);
}

/// 2 blocks of 3 warps, 5 barriers.
#[test]
fn barriers() {
    let mut scene = Scene::new();
    scene.launch("barriers", LaunchConfig::new(2, 96), args![5u32]);
    let counts = scene.report().total.counts;
    assert_eq!(counts.barriers, 30);
    assert_eq!(counts.class(Class::Barrier), executed(30, 960));
}

/// 2 blocks of 2 warps.
#[test]
fn atomics() {
    let mut scene = Scene::new();
    let total = scene.input("total", &[0u32]);
    let each = scene.input("each", &[0u32; 128]);
    let blocks = scene.scratch("blocks", Element::U32, 2);
    let args = args![total, each, blocks];
    scene.launch("count", LaunchConfig::new(2, 64), args);
    let report = scene.report();
    // One word for all lanes: one sector per warp.
    let one_word = at(&report, "total");
    assert_eq!(one_word.global_atomics, global(4, 4, 4, 512));
    // One word per lane: 4 sectors per warp.
    let a_word_each = at(&report, "each");
    assert_eq!(a_word_each.global_atomics, global(4, 16, 16, 512));
    // One word of shared memory, which changes 32 times for each warp.
    let in_shared = at(&report, "shared");
    assert_eq!(in_shared.shared_atomics.requests, 4);
    assert_eq!(in_shared.shared_atomics.wavefronts, 4 * 32);
    assert_eq!(in_shared.shared_atomics.bytes, 512);
    assert_eq!(report.total.counts.class(Class::Atomic), executed(12, 384));
    assert_eq!(scene.run::<u32>(total).unwrap(), [128]);
    assert_eq!(scene.run::<u32>(blocks).unwrap(), [64, 64]);
}

/// One instruction after another, each with its class. The module is PTX text, so that no compiler
/// chooses the instructions.
static STRAIGHT: Module = Module::from_static(
    "straight",
    r#"
.version 7.8
.target sm_80
.address_size 64
.visible .entry straight(.param .u64 .ptr x, .param .u64 .ptr y, .param .u64 .ptr n)
{
    .shared .align 4 .b8 tile[256];
    .local .align 8 .b8 spilled[8];
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .f32 %f<8>;
    .reg .f64 %d<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [x];                       // load: 8 bytes of parameters
    ld.param.u64 %rd2, [y];                       // load: 8
    ld.param.u64 %rd3, [n];                       // load: 8
    mov.u32 %r1, %tid.x;                          // move
    mul.wide.u32 %rd4, %r1, 4;                    // integer
    add.u64 %rd1, %rd1, %rd4;                     // integer
    add.u64 %rd2, %rd2, %rd4;                     // integer
    ld.global.f32 %f1, [%rd1];                    // load: 4 bytes of global memory
    add.f32 %f2, %f1, %f1;                        // f32
    fma.rn.f32 %f2, %f2, %f1, %f1;                // f32
    setp.gt.f32 %p1, %f2, 0f00000000;             // f32
    selp.f32 %f2, %f2, %f1, %p1;                  // move
    cvt.f64.f32 %d1, %f2;                         // conversion
    mul.f64 %d2, %d1, %d1;                        // f64
    cvt.rn.f32.f64 %f3, %d2;                      // conversion
    mov.u32 %r2, tile;                            // move
    shl.b32 %r3, %r1, 2;                          // integer
    add.u32 %r2, %r2, %r3;                        // integer
    st.shared.f32 [%r2], %f3;                     // store: 4 bytes of shared memory
    bar.sync 0;                                   // barrier
    ld.shared.f32 %f4, [%r2];                     // load: 4
    st.local.f64 [spilled], %d2;                  // store: 8 bytes of local memory
    ld.local.f64 %d3, [spilled];                  // load: 8
    shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;       // warp
    vote.sync.ballot.b32 %r5, %p1, -1;            // warp
    atom.global.add.u32 %r6, [%rd3], 1;           // atomic: 4 bytes of global memory
    membar.gl;                                    // other
    st.global.f32 [%rd2], %f4;                    // store: 4 bytes of global memory
    ret;                                          // control
}
"#,
);

/// 2 warps: each instruction counts twice, and 64 times by thread.
#[test]
fn classes_and_bytes_of_a_straight_line() {
    let mut scene = Scene::of(&STRAIGHT);
    let x = scene.input("x", &ramp(64));
    let y = scene.scratch("y", Element::F32, 64);
    let n = scene.input("n", &[0u32]);
    scene.launch("straight", LaunchConfig::new(1, 64), args![x, y, n]);
    let counts = scene.report().total.counts;
    let by_hand = [
        (Class::Integer, 5),
        (Class::Float32, 3),
        (Class::Float64, 1),
        (Class::Conversion, 2),
        (Class::Move, 3),
        (Class::Load, 6),
        (Class::Store, 3),
        (Class::Atomic, 1),
        (Class::Control, 1),
        (Class::Barrier, 1),
        (Class::Warp, 2),
        (Class::Other, 1),
    ];
    let executed = |instructions: u64| executed(2 * instructions, 64 * instructions);
    for (class, instructions) in by_hand {
        let name = class.name();
        assert_eq!(counts.class(class), executed(instructions), "{name}");
    }
    assert_eq!(counts.instructions, executed(29));
    assert_eq!(counts.global_loads.bytes, 64 * 4);
    assert_eq!(counts.global_stores.bytes, 64 * 4);
    assert_eq!(counts.global_atomics.bytes, 64 * 4);
    assert_eq!(counts.shared_loads.bytes, 64 * 4);
    assert_eq!(counts.shared_stores.bytes, 64 * 4);
    assert_eq!(counts.local_bytes, 64 * (8 + 8));
    assert_eq!(counts.param_bytes, 64 * (8 + 8 + 8));
    assert_eq!((counts.branches, counts.divergent_branches), (0, 0));
}

/// Without branches, each of 8 warps executes every instruction of the kernel's PTX once, for any
/// compiler.
#[test]
fn every_instruction_of_a_straight_kernel() {
    let (_, text) = KERNELS.ptx().split_once(".entry copy(").expect("a kernel");
    let (_, body) = text.split_once("\n{").expect("a body");
    let (body, _) = body.split_once("\n}").expect("its end");
    let instructions = body
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
        .count();
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(256));
    let y = scene.scratch("y", Element::F32, 256);
    scene.launch("copy", LaunchConfig::new(2, 128), args![x, y]);
    let total = scene.report().total;
    assert_eq!(total.instructions.len(), instructions);
    assert_eq!(total.counts.instructions.warp, 8 * instructions as u64);
    assert_eq!(total.counts.instructions.thread, 256 * instructions as u64);
}

#[test]
fn counts_by_source_line() {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(256));
    let y = scene.scratch("y", Element::F32, 256);
    scene.launch("copy", LaunchConfig::new(2, 128), args![x, y]);
    let report = scene.report();
    // The line that loads does all of it, and stores nothing; the line that stores likewise.
    let (load, store) = (at(&report, "load"), at(&report, "store"));
    assert_eq!(load.global_loads, global(8, 32, 32, 1024));
    assert_eq!(load.global_stores, GlobalTraffic::default());
    assert_eq!(store.global_stores, global(8, 32, 32, 1024));
    assert_eq!(store.global_loads, GlobalTraffic::default());
    // Every instruction belongs to one line: the lines add up to the whole.
    let lines = report.total.lines();
    let sum: Counts = lines.iter().map(|line| &line.counts).sum();
    assert_eq!(sum, report.total.counts);
    let mut ptx_lines: Vec<u32> = lines.iter().flat_map(|l| l.ptx_lines.clone()).collect();
    ptx_lines.sort_unstable();
    let executed = report.total.instructions.iter().map(|i| i.place.ptx_line);
    assert_eq!(ptx_lines, executed.collect::<Vec<u32>>());
    // No line is listed twice.
    let mut places: Vec<_> = lines
        .iter()
        .map(|line| line.source.as_ref().map(|at| (at.file.clone(), at.line)))
        .collect();
    let listed = places.len();
    places.dedup();
    assert_eq!(places.len(), listed);
}
