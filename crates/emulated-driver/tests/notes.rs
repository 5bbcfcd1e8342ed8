//! Notes about kernels, beside faults.
#![cfg(target_os = "linux")]

mod common;

use common::{context, function, launch, module};

const EARLY: &str = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry early()\n{\n\
                     .reg .pred %p<1>;\n.reg .b32 %r<1>;\nmov.u32 %r0, %tid.x;\n\
                     setp.ge.u32 %p0, %r0, 50;\n@%p0 ret;\nbar.sync 0;\nret;\n}";

#[test]
fn an_early_exit_is_noted_once_per_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    // SAFETY: this is the only test of the program, and nothing has called the driver before, which
    // alone reads the variable.
    unsafe { std::env::set_var("EMULATED_DRIVER_REPORT", &report) };
    context();
    let early = function(module(EARLY), "early");
    assert_eq!(launch(early, 32, 0, &[]), 0);
    let records = || std::fs::read_to_string(&report).unwrap();
    assert_eq!(records().matches(r#""record":"note""#).count(), 0);
    for _ in 0..2 {
        assert_eq!(launch(early, 128, 0, &[]), 0);
    }
    let lines = records();
    assert_eq!(lines.matches(r#""record":"note""#).count(), 1);
    assert!(lines.contains("78 threads of 128 had exited"), "{lines}");
    assert!(!lines.contains("fault"), "{lines}");
}
