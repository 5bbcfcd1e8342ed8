//! Divergence, barriers, atomics, classes of instructions, source lines.

use host::device::{Counts, InstructionClass as Class, KernelReport};
use host::{Element, LaunchConfig, Module, args};
use ptx_emu::{Executed, GlobalTraffic};

use crate::emulated::{KERNELS, Scene, ramp};
use crate::{at, global};

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
    // Every warp executes both arms, with 16 lanes: every second word of 128 bytes, 4 sectors where 2 are ideal.
    assert_eq!(counts.global_stores, global(4, 16, 8, 256));
    assert_eq!(counts.global_atomics, global(4, 16, 8, 256));
    let executed = Executed {
        warp: 4,
        thread: 64,
    };
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
    let executed = Executed {
        warp: 2,
        thread: 64,
    };
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
    let executed = Executed {
        warp: 30,
        thread: 960,
    };
    assert_eq!(counts.class(Class::Barrier), executed);
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
    // One word for all lanes: one sector a warp.
    let one_word = at(&report, "total");
    assert_eq!(one_word.global_atomics, global(4, 4, 4, 512));
    // A word for each lane: 4 sectors a warp.
    let a_word_each = at(&report, "each");
    assert_eq!(a_word_each.global_atomics, global(4, 16, 16, 512));
    // One word of shared memory, which changes 32 times for each warp.
    let in_shared = at(&report, "shared");
    assert_eq!(in_shared.shared_atomics.requests, 4);
    assert_eq!(in_shared.shared_atomics.wavefronts, 4 * 32);
    assert_eq!(in_shared.shared_atomics.bytes, 512);
    let executed = Executed {
        warp: 12,
        thread: 384,
    };
    assert_eq!(report.total.counts.class(Class::Atomic), executed);
    assert_eq!(scene.run::<u32>(total).unwrap(), [128]);
    assert_eq!(scene.run::<u32>(blocks).unwrap(), [64, 64]);
}

/// One instruction after another, each with its class; written in PTX, so that no compiler chooses them.
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
    let executed = |instructions: u64| Executed {
        warp: 2 * instructions,
        thread: 64 * instructions,
    };
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

/// Without branches, every instruction of the kernel's PTX is executed once by each of 8 warps, whatever the compiler
/// made.
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
    // Every instruction belongs to one line, so that the lines add up to the whole.
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
