//! The memory that the system gives a kernel: a heap, a workspace for the blocks of a grid,
//! reserved shared memory; and the values of conditional nodes that kernels set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ptx_emu::{ConditionHandles, DeviceLimits, Fault, Machine, Options, Sanitize};

use crate::common::launch;

const HEAP: &str =
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);";

/// The call of `malloc` for the bytes in a register, and of `free`.
fn call(name: &str, register: &str) -> String {
    match name {
        "malloc" => format!(
            "{{ .param .b64 n; .param .b64 r; st.param.b64 [n], {register}; call (r), malloc, (n); ld.param.b64 {register}, [r]; }}"
        ),
        _ => format!("{{ .param .b64 p; st.param.b64 [p], {register}; call free, (p); }}"),
    }
}

#[test]
fn memory_from_the_heap_is_memory() {
    let out = launch(&format!(
        "mov.u64 %rd5, 8; {} st.u32 [%rd5], %r3; st.u32 [%rd5+4], %r3; ld.u32 %r5, [%rd5]; ld.global.u32 %r6, [%rd5+4];
         add.u32 %r5, %r5, %r6; st.global.u32 [%rd3], %r5; {} mov.u64 %rd6, 0; {}
         mov.u64 %rd7, 100000000; {} setp.ne.u64 %p1, %rd7, 0; @%p1 trap;",
        call("malloc", "%rd5"),
        call("free", "%rd5"),
        call("free", "%rd6"),
        call("malloc", "%rd7"),
    ))
    .module_scope(HEAP)
    .grid(2)
    .out();
    assert_eq!(out, (0..64).map(|i| 2 * i).collect::<Vec<_>>());
}

#[test]
fn misuse_of_the_heap_is_a_fault() {
    let run = |body: &str| launch(body).module_scope(HEAP).block(1).fault();
    let [malloc, free] = ["malloc", "free"].map(|name| call(name, "%rd5"));
    let fault = run(&format!("mov.u64 %rd5, 8; {malloc} {free} {free}"));
    assert!(
        fault.starts_with("invalid free: `free` of address 0x"),
        "{fault}"
    );
    let of_load = run(&format!(
        "mov.u64 %rd5, 8; {malloc} ld.u32 %r5, [%rd5]; add.u32 %r5, %r5, 1; st.global.u32 [%rd1], %r5;"
    ));
    assert!(
        of_load.contains("the heap of `malloc` in kernels"),
        "{of_load}"
    );
    let of_freed = run(&format!(
        "mov.u64 %rd5, 8; {malloc} st.u64 [%rd5], %rd5; mov.u64 %rd6, %rd5; {free} ld.u64 %rd7, [%rd6]; add.u64 %rd7, %rd7, 1; st.global.u64 [%rd1], %rd7;"
    ));
    assert!(of_freed.starts_with("uninitialized read"), "{of_freed}");
}

/// As `grid.sync()` of CUDA's cooperative groups: block 0 adds what turns the barrier's top bit.
const GRID_SYNC: &str = "mov.u32 %r5, %envreg1; mov.u32 %r6, %envreg2; mov.b64 %rd5, {%r6, %r5};
    bar.sync 0; setp.ne.u32 %p1, %r2, 0; @%p1 bra DONE;
    mov.u32 %r7, %ctaid.x; setp.eq.u32 %p2, %r7, 0; mov.u32 %r8, %nctaid.x; sub.u32 %r8, 0x80000001, %r8;
    selp.u32 %r8, %r8, 1, %p2; atom.add.release.gpu.u32 %r9, [%rd5+4], %r8;
    WAIT: ld.acquire.gpu.u32 %r10, [%rd5+4]; xor.b32 %r10, %r10, %r9; setp.ge.s32 %p3, %r10, 0; @%p3 bra WAIT;
    DONE: bar.sync 0;";

#[test]
fn the_blocks_of_a_grid_meet() {
    // Each block writes its word and reads that of the next.
    let body = format!(
        "st.global.u32 [%rd3], %r3; {GRID_SYNC} add.u32 %r11, %r3, 32; rem.u32 %r11, %r11, 128;
         mul.wide.u32 %rd6, %r11, 4; add.u64 %rd6, %rd1, %rd6; ld.global.u32 %r12, [%rd6];
         st.global.u32 [%rd3+512], %r12;"
    );
    let launch = launch(&body).grid(4).out_words(256);
    let expected: Vec<u32> = (0..128).map(|i| (i + 32) % 128).collect();
    assert_eq!(launch.out()[128..], expected);
    let without = launch.body.replace(GRID_SYNC, "");
    let fault = crate::common::launch(&without)
        .grid(4)
        .out_words(256)
        .out_unwritten()
        .fault();
    assert!(
        fault.starts_with("race") || fault.starts_with("uninitialized"),
        "{fault}"
    );
}

#[test]
fn reserved_shared_memory_lies_behind_the_block_s() {
    let out = launch(
        "mov.u32 %r5, %reserved_smem_offset_1; mov.u32 %r6, s; st.shared.u32 [%r6], 1; st.shared.u32 [%r5], 2;
         st.shared.u32 [%r5+284], 3; ld.shared.u32 %r7, [%r6]; ld.shared.u32 %r8, [%r5]; ld.shared.u32 %r9, [%r5+284];
         mov.u32 %r10, %total_smem_size; st.global.v4.u32 [%rd1], {%r7, %r8, %r9, %r10};",
    )
    .module_scope(".shared .b32 s;")
    .shared(256)
    .block(1)
    .out();
    assert_eq!(out[..4], [1, 2, 3, 260]);
}

const COOPERATIVE_GROUPS: &str =
    ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);";

/// `this_grid().sync()` by the device runtime, as Numba compiles it; the error is in `%r5`.
fn synchronize(scope: u32) -> String {
    format!(
        "{{ .param .b32 s; .param .b64 h; st.param.b32 [s], {scope}; call.uni (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %rd5, [h]; }}
         {{ .param .b64 h; .param .b32 f; .param .b32 e; st.param.b64 [h], %rd5; st.param.b32 [f], 0;
            call.uni (e), cudaCGSynchronize, (h, f); ld.param.b32 %r5, [e]; }}"
    )
}

#[test]
fn the_blocks_of_a_grid_meet_by_the_device_runtime() {
    let sync = synchronize(1);
    // Each block writes its word and reads that of the next, twice.
    let body = format!(
        "add.u32 %r11, %r3, 32; rem.u32 %r11, %r11, 128; mul.wide.u32 %rd6, %r11, 4; add.u64 %rd6, %rd1, %rd6;
         st.global.u32 [%rd3], %r3; {sync} ld.global.u32 %r12, [%rd6];
         {sync} add.u32 %r12, %r12, %r5; st.global.u32 [%rd3], %r12; {sync} ld.global.u32 %r13, [%rd6]; st.global.u32 [%rd3+512], %r13;"
    );
    let launch = crate::common::launch(&body)
        .module_scope(COOPERATIVE_GROUPS)
        .grid(4)
        .out_words(256);
    let expected: Vec<u32> = (0..128).map(|i| (i + 64) % 128).collect();
    assert_eq!(launch.out()[128..], expected);
    let other_scope =
        crate::common::launch(&format!("{} st.global.u32 [%rd3], %r5;", synchronize(2)));
    assert_eq!(
        other_scope.module_scope(COOPERATIVE_GROUPS).out()[..32],
        [999; 32]
    );
}

#[test]
fn a_block_that_stays_away_is_told() {
    let fault = launch(&format!(
        "mov.u32 %r6, %ctaid.x; setp.eq.u32 %p1, %r6, 0; @%p1 ret; {}",
        synchronize(1)
    ))
    .module_scope(COOPERATIVE_GROUPS)
    .grid(4)
    .fault();
    assert!(fault.starts_with("deadlock: the 3 blocks"), "{fault}");
}

#[test]
fn a_launch_from_a_kernel_is_refused_by_name() {
    let fault = launch("{ .param .b64 b; .param .b64 r; st.param.b64 [b], %rd1; call.uni (r), __cudaCDP2GetParameterBufferV2, (b); ld.param.b64 %rd5, [r]; }")
        .module_scope(".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f);")
        .fault();
    assert!(
        fault.contains("`__cudaCDP2GetParameterBufferV2`: dynamic parallelism"),
        "{fault}"
    );
}

/// A call of `cudaGraphSetConditional` with the number of the thread in its launch.
fn set_condition(handle: u64) -> String {
    format!(
        "mov.u64 %rd5, {handle}; {{ .param .b64 h; .param .b32 v; st.param.b64 [h], %rd5; st.param.b32 [v], %r3; call cudaGraphSetConditional, (h, v); }}"
    )
}

const SET_CONDITION: &str = ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);";

/// A machine whose launches are part of a graph with handle 2, where 1 and 3 are of others.
fn in_a_graph() -> Machine {
    let mut machine = Machine::new(DeviceLimits::default(), Options::default());
    machine.set_condition_handles(ConditionHandles {
        own: Some(Arc::new(BTreeSet::from([2]))),
        last: 3,
    });
    machine
}

#[test]
fn a_kernel_sets_the_condition_of_a_graph() {
    let mut machine = in_a_graph();
    let kernel = launch(&set_condition(2)).module_scope(SET_CONDITION);
    // That of the last block stays, however many host threads there are.
    for _ in 0..5 {
        assert!(kernel.run_on(&mut machine).result.is_ok());
        let last = machine.take_conditions();
        assert_eq!(last, BTreeMap::from([(2, 31)]));
    }
    let of_three = launch(&set_condition(2))
        .module_scope(SET_CONDITION)
        .grid(3);
    assert!(of_three.run_on(&mut machine).result.is_ok());
    assert_eq!(machine.take_conditions(), BTreeMap::from([(2, 95)]));
    assert!(machine.take_conditions().is_empty());
}

#[test]
fn a_condition_that_a_kernel_may_not_set_is_a_fault() {
    let outside = launch(&set_condition(2)).module_scope(SET_CONDITION);
    assert_eq!(
        outside.fault().lines().next().unwrap(),
        "invalid conditional handle: `cudaGraphSetConditional` of 0x2, which is not a conditional handle: cudaGraphConditionalHandleCreate gives them"
    );
    let fault = |handle| {
        let kernel = launch(&set_condition(handle)).module_scope(SET_CONDITION);
        let mut machine = in_a_graph();
        let Err(Fault::Program(fault)) = kernel.run_on(&mut machine).result else {
            panic!("no fault of a program");
        };
        assert!(machine.take_conditions().is_empty());
        fault.kind
    };
    let of_other = fault(3);
    assert!(of_other.is_unnoticed_by_a_gpu(), "{of_other}");
    let unknown = fault(4);
    assert!(!unknown.is_unnoticed_by_a_gpu(), "{unknown}");
    // Without checks it goes on as on a GPU.
    let unchecked = launch(&set_condition(3))
        .module_scope(SET_CONDITION)
        .sanitize(Sanitize::NONE);
    let mut machine = in_a_graph();
    machine.set_options(Options {
        sanitize: Sanitize::NONE,
        ..Options::default()
    });
    assert!(unchecked.run_on(&mut machine).result.is_ok());
    assert!(machine.take_conditions().is_empty());
}
