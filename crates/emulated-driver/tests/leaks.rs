//! Memory that is not freed, and memory that is freed twice.
#![cfg(target_os = "linux")]

mod common;

use common::{Handle, allocate, context};

const INSIDE: &str = "LEAKS_TEST_INSIDE";

/// A program: it frees one allocation twice, and leaves others.
fn program() {
    let first = context();
    let freed = allocate(100);
    assert_eq!(cu!(cuMemFree_v2(freed => u64)), 0);
    assert_eq!(cu!(cuMemFree_v2(freed => u64)), 1);
    allocate(200);
    assert_eq!(cu!(cuCtxDestroy_v2(first => Handle)), 0);
    context();
    allocate(300);
    let mut host = 0usize;
    assert_eq!(
        cu!(cuMemAllocHost_v2(&mut host => *mut usize, 4 => usize)),
        0
    );
}

/// In a process of its own, whose end is looked at.
#[test]
fn memory_that_is_left_is_told_at_the_end_of_its_context_or_the_process() {
    if std::env::var_os(INSIDE).is_some() {
        return program();
    }
    let told = |leaks: &str| {
        let report = tempfile::NamedTempFile::new().unwrap();
        let name = "memory_that_is_left_is_told_at_the_end_of_its_context_or_the_process";
        let ended = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(INSIDE, "")
            .env("EMULATED_DRIVER_REPORT", report.path())
            .env("EMULATED_DRIVER_LEAKS", leaks)
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
        std::fs::read_to_string(report.path()).unwrap()
    };
    let all = told("1");
    let bytes = |text: &str| all.contains(&format!("of {text} bytes"));
    assert!(bytes("200") && !bytes("100"), "{all}");
    assert!(all.contains("when its context ended"), "{all}");
    assert!(all.contains("when the program ended"), "{all}");
    // Those of one place are one.
    assert!(bytes("304") || bytes("300") && bytes("4"), "{all}");
    assert_eq!(all.matches("memory freed twice").count(), 1, "{all}");
    let none = told("0");
    assert!(!none.contains("memory not freed"), "{none}");
}
