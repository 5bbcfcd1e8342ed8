//! The place that a fault names.

use insta::assert_snapshot;

use crate::common::launch;

#[test]
fn a_fault_of_a_later_block_and_thread() {
    let body = "setp.eq.u32 %p1, %r3, 45;\n@%p1 trap;";
    assert_snapshot!(launch(body).grid(2).fault(), @r"
    trap: the kernel executed `trap`: a panic, for example from an index out of range, a division by zero or an `unwrap` of `None`
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (1, 0, 0), thread (13, 0, 0)
    ");
}

#[test]
fn a_panic_in_a_library_function() {
    // The place is where the user's code called it.
    let scope = ".file 2 \"/usr/lib/rustlib/src/rust/library/core/src/panicking.rs\"\n.func panic()\n{\n.loc 2 80 5\ntrap;\nret;\n}";
    let body = "setp.ne.u32 %p1, %r2, 3;\n@%p1 ret;\n.loc 1 92 7\ncall.uni panic, ();";
    assert_snapshot!(launch(body).module_scope(scope).fault(), @r"
    trap: the kernel executed `trap`: a panic, for example from an index out of range, a division by zero or an `unwrap` of `None`
      in kernel `k` at src/lab.rs:92 (PTX line 34), block (0, 0, 0), thread (3, 0, 0)
    ");
}

/// The place of code that was inlined out of a function of the user's own names the function's line
/// and the call's.
#[test]
fn an_inlined_function() {
    let body = "sub.u64 %rd5, %rd2, 4;\n.loc 1 20 1 // src/lab.rs:20:1 @[ src/lab.rs:8:5 ]\nld.global.u32 %r5, [%rd5];";
    assert_snapshot!(launch(body).fault(), @r"
    out of bounds: load of 4 bytes at offset -4 of buffer `in` (256 bytes) starts 4 bytes before its start (index -1, length 64)
      in kernel `k` at src/lab.rs:20, called at src/lab.rs:8 (PTX line 27), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn code_without_a_line_of_its_own() {
    // Optimised code of several lines has line 0; the last line before it in the function is near.
    let load = "sub.u64 %rd5, %rd2, 4;\n.loc 1 0 0\nld.global.u32 %r5, [%rd5];";
    assert_snapshot!(launch(&format!(".loc 1 17 3\n{load}")).fault(), @r"
    out of bounds: load of 4 bytes at offset -4 of buffer `in` (256 bytes) starts 4 bytes before its start (index -1, length 64)
      in kernel `k` at PTX line 28 (near src/lab.rs:17), block (0, 0, 0), thread (0, 0, 0)
    ");
    let library = ".file 2 \"/usr/lib/rustlib/src/rust/library/core/src/ptr/mod.rs\"\n";
    let body = format!(".loc 1 17 3\nmov.u32 %r6, 0;\n.loc 2 80 5\n{load}");
    let fault = launch(&body).module_scope(library).fault();
    assert!(fault.contains("(near src/lab.rs:17)"), "{fault}");
    // A line of another function is not near.
    let scope = ".func other()\n{\n.loc 1 0 0\ntrap;\nret;\n}";
    assert_snapshot!(launch("call.uni other, ();").module_scope(scope).fault(), @r"
    trap: the kernel executed `trap`: a panic, for example from an index out of range, a division by zero or an `unwrap` of `None`
      in kernel `k` at src/lab.rs:1 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
    ");
}
