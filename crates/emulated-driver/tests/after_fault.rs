//! A program goes on after each fault, where it has asked for that.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;

use common::branches::{self, WHILE};
use common::{allocate, arg, context, function, launch, module, read, write};

fn text(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 out)\n{{\n\
         .reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd2, %rd1;\n\
         st.global.u32 [%rd2], 7;\nbar.sync 0;\n{body}\nret;\n}}"
    )
}

#[test]
fn a_launch_with_a_fault_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let list = folder.path().join("known");
    std::fs::write(
        &list,
        "# They store the same.\nrace in global memory  kernel:kernel\n",
    )
    .unwrap();
    // SAFETY: this is the only test of the program, and nothing has called the driver before, which
    // alone reads the variables.
    unsafe {
        std::env::set_var("EMULATED_DRIVER_REPORT", &report);
        std::env::set_var("EMULATED_DRIVER_AFTER_FAULT", "continue");
        std::env::set_var("EMULATED_DRIVER_KNOWN", &list);
        std::env::set_var("EMULATED_DRIVER_EACH", "1");
    }
    context();
    let out = allocate(128);
    let run = |body: &str, times: u32| {
        write(out, &[0; 32]);
        let kernel = function(module(&text(body)), "kernel");
        for _ in 0..times {
            assert_eq!(launch(kernel, 32, 0, &[arg(&out)]), 0, "{body}");
            assert_eq!(cu!(cuCtxSynchronize()), 0, "{body}");
        }
        read(out, 1)[0]
    };
    for body in [
        "trap;",
        "st.global.u32 [%rd2+4096], 1;",
        "ld.global.u32 %r2, [%rd2+1];",
    ] {
        assert_eq!(run(body, 2), 0, "the launch has left something: {body}");
    }
    // One that is known is done: one of its stores is there.
    assert!(run("st.global.u32 [%rd1], %r1;", 2) < 32);
    let told = std::fs::read_to_string(&report).unwrap();
    let kinds: Vec<&str> = told
        .lines()
        .map(|line| line.split('"').nth(3).unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "started", "fault", "again", "fault", "again", "fault", "again", "known"
        ],
        "{told}"
    );
    assert!(
        told.contains(r#""reason":"They store the same.""#),
        "{told}"
    );
    loops_end_whose_kernels_have_faults(&report);
}

/// Without their kernels, nothing would end them.
fn loops_end_whose_kernels_have_faults(report: &Path) {
    let kernels = module(branches::KERNELS);
    let count = allocate(4);
    write(count, &[0]);
    let own = branches::graph();
    let [of_outer, of_inner] = [(); 2].map(|()| branches::handle(own, Some(1)));
    let (outer, bodies) = branches::branch(own, &[], of_outer, WHILE, 1).unwrap();
    let (_, inner) = branches::branch(bodies[0], &[], of_inner, WHILE, 1).unwrap();
    let up = branches::kernel(kernels, "up", inner[0], &[], &[count]);
    branches::kernel(kernels, "down", inner[0], &[up], &[of_inner, count + 4096]);
    branches::kernel(kernels, "up", own, &[outer], &[count]);
    // Nor is there any in this one's body.
    let (endless, _) =
        branches::branch(own, &[outer], branches::handle(own, Some(1)), WHILE, 1).unwrap();
    branches::kernel(kernels, "up", own, &[endless], &[count]);
    let executable = branches::instantiate(own).unwrap();
    for _ in 0..2 {
        assert_eq!(branches::run(executable, 0), 0);
        assert_eq!(cu!(cuCtxSynchronize()), 0);
    }
    assert_eq!(read(count, 1), [6]);
    let told = std::fs::read_to_string(report).unwrap();
    let ends = told.matches("has no further round: the launch of `down` ended");
    assert_eq!(ends.count(), 1, "{told}");
    assert_eq!(told.matches("endless loop: ").count(), 1, "{told}");
}
