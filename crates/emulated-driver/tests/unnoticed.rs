//! Faults that a GPU does not notice: each is told, and the program gets success.
#![cfg(target_os = "linux")]

mod common;

use common::{allocate, arg, context, function, launch, module, read, write};

/// A kernel of 32 threads that breaks a rule, then stores 7 to each thread's word; the kind that is
/// told; whether the kernel goes on behind it.
const KERNELS: [(&str, &str, bool); 15] = [
    ("st.global.u32 [%rd1], %r1;", "race in global memory", true),
    (
        "mov.u32 %r2, a;\nst.shared.u32 [%r2], %r1;",
        "race in shared memory",
        true,
    ),
    (
        "ld.shared.u32 %r3, [b+8];\nst.global.u32 [%rd2], %r3;",
        "uninitialized read",
        true,
    ),
    (
        "ld.local.u32 %r3, [own];\nsetp.eq.u32 %p1, %r3, 5;\n@%p1 bra end;\nend:",
        "uninitialized value",
        true,
    ),
    (
        "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra end;\nshfl.sync.down.b32 %r3, %r1, 1, 31, 0xffff;\nend:",
        "shuffle from an inactive lane",
        true,
    ),
    (
        "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra past;\nbar.warp.sync -1;\npast:",
        "lanes missing",
        true,
    ),
    (
        "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra upper;\nbar.sync 0;\nbra end;\nupper: bar.sync 0;\nend:",
        "barrier in divergent code",
        true,
    ),
    // The next array is there, and hardware knows nothing of arrays.
    (
        "shl.b32 %r3, %r1, 2;\nmov.u32 %r2, a;\nadd.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2+64], 1;",
        "out of bounds",
        true,
    ),
    // An object is made twice, its memory is used again without an end of it.
    (
        "setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [b], 1;\n@!%p1 mbarrier.init.shared.b64 [b], 1;",
        "invalid barrier",
        true,
    ),
    (
        "setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [b], 1;\n@!%p1 st.shared.u32 [b], 1;",
        "invalid barrier",
        true,
    ),
    // The emulator has no model of the way on.
    (
        "setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.arrive.shared.b64 _, [b];",
        "invalid barrier",
        false,
    ),
    (
        "setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [b], 1;\n@!%p1 mbarrier.inval.shared.b64 [b];\n\
         @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [%rd1], 16, [b];",
        "invalid barrier",
        false,
    ),
    (
        "setp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [b], 1;\n\
         @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [%rd1+128], 16, [b];",
        "copy under way at the end",
        true,
    ),
    (
        "{ .param .b64 n; .param .b64 p; st.param.b64 [n], 16; call.uni (p), malloc, (n); ld.param.b64 %rd3, [p]; }\n\
         st.u32 [%rd3], %r1;\nst.global.u32 [%rd1], %r1;",
        "race in global memory",
        true,
    ),
    (
        "ld.global.nc.u32 %r3, [%rd2];\nadd.u32 %r3, %r3, 1;\nst.global.u32 [%rd2], %r3;",
        "read-only load of changing data",
        true,
    ),
];

fn text(name: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func (.param .b64 p) malloc (.param .b64 n);\n.visible .entry {name}(.param .u64 out)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n.local .align 4 .b8 own[4];\n\
         .shared .align 16 .b8 a[64];\n.shared .align 16 .b8 b[128];\n\
         ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd2, %rd1;\n\
         {body}\nst.global.u32 [%rd2], 7;\nret;\n}}"
    )
}

#[test]
fn a_program_goes_on_after_each() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    // SAFETY: this is the only test of the program, and nothing has called the driver before, which
    // alone reads the variable.
    unsafe { std::env::set_var("EMULATED_DRIVER_REPORT", &report) };
    context();
    let out = allocate(256);
    for (index, (body, kind, goes_on)) in KERNELS.into_iter().enumerate() {
        write(out, &[0; 64]);
        // A fault is told once for each kernel and line.
        let name = format!("kernel{index}");
        let kernel = function(module(&text(&name, body)), &name);
        let told = || std::fs::read_to_string(&report).unwrap();
        let before = told().len();
        assert_eq!(launch(kernel, 32, 0, &[arg(&out)]), 0, "{body}");
        assert_eq!(cu!(cuCtxSynchronize()), 0, "{body}");
        let told = told().split_off(before);
        assert!(
            told.contains(&format!(r#""kind":"{kind}""#)),
            "{body}\n{told}"
        );
        let expected = if goes_on { [7; 32] } else { [0; 32] };
        assert_eq!(read(out, 32), expected, "{body}\n{told}");
        assert_eq!(
            told.contains("ended at this fault"),
            !goes_on,
            "{body}\n{told}"
        );
    }
    // A trap is an error from then on.
    let kernel = function(module(&text("trap", "trap;")), "trap");
    launch(kernel, 32, 0, &[arg(&out)]);
    assert_eq!(cu!(cuCtxSynchronize()), 719);
}
