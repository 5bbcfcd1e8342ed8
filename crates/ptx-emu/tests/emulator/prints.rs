//! Calls of the driver's `vprintf` and `__assertfail`.

use crate::common::{Launch, launch};
use insta::assert_snapshot;
use ptx_emu::{Machine, Printed, Schedule};

/// Declarations, and the texts that kernels here use.
const SCOPE: &str = "
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
.global .align 1 .b8 format[] = {98, 108, 111, 99, 107, 32, 37, 117, 32, 116, 104, 114, 101, 97, 100, 32, 37, 108, 108, 117, 10, 0};
.global .align 1 .b8 file[] = {115, 114, 99, 47, 120, 46, 114, 115, 0};
.global .align 1 .b8 panic[] = {112, 97, 110, 105, 99, 0};
.global .align 1 .b8 check[] = {99, 104, 101, 99, 107, 0};";

/// Prints `block B thread T`.
const PRINT: &str = ".local .align 8 .b8 values[16];
mov.u32 %r5, %ctaid.x;
st.local.u32 [values], %r5;
cvt.u64.u32 %rd10, %r2;
st.local.u64 [values+8], %rd10;
mov.u64 %rd11, values;
cvta.local.u64 %rd11, %rd11;
mov.u64 %rd12, format;
cvta.global.u64 %rd12, %rd12;
{
.param .b64 a;
.param .b64 b;
.param .b32 c;
st.param.b64 [a], %rd12;
st.param.b64 [b], %rd11;
call.uni (c), vprintf, (a, b);
ld.param.b32 %r6, [c];
}
st.global.u32 [%rd3], %r6;";

fn printed(launch: &Launch) -> Printed {
    let mut machine = Machine::new(launch.limits.clone(), launch.options.clone());
    let _ = launch.run_on(&mut machine);
    let printed = machine.take_printed();
    assert_eq!(machine.take_printed(), Printed::default());
    printed
}

#[test]
fn threads_print_in_order() {
    let mut print = launch(PRINT).module_scope(SCOPE).block(2).grid(3);
    let expected = "block 0 thread 0\nblock 0 thread 1\nblock 1 thread 0\nblock 1 thread 1\n\
                    block 2 thread 0\nblock 2 thread 1\n";
    assert_eq!(printed(&print).text, expected);
    // The number of arguments.
    assert_eq!(print.out()[..6], [2; 6]);
    print.options.threads = 4;
    assert_eq!(printed(&print).text, expected);
    let random = print.schedule(Schedule::Random { seed: 8 });
    assert_eq!(printed(&random), printed(&random));
    assert_eq!(printed(&random).text.len(), expected.len());
}

#[test]
fn too_much_is_cut() {
    let loops = format!(
        "mov.u32 %r20, 0;\n$loop:\n{PRINT}\nadd.u32 %r20, %r20, 1;\nsetp.lt.u32 %p1, %r20, 100;\n@%p1 bra $loop;"
    );
    let mut print = launch(&loops)
        .module_scope(SCOPE)
        .block(32)
        .grid(8)
        .out_words(256);
    let one = printed(&print);
    assert!(one.is_cut && one.text.len() == 64 << 10);
    assert!(one.text.starts_with("block 0 thread 0\n"));
    print.options.threads = 4;
    assert_eq!(printed(&print), one);
}

/// How many blocks after the one at fault have printed depends on the number of host threads.
#[test]
fn after_a_fault_earlier_blocks_have_printed() {
    let body = format!("{PRINT}\nsetp.eq.u32 %p1, %r5, 1;\n@%p1 trap;");
    let mut print = launch(&body).module_scope(SCOPE).block(1).grid(40);
    print.options.threads = 4;
    assert_eq!(printed(&print).text, "block 0 thread 0\nblock 1 thread 0\n");
}

fn assertion(function: &str) -> Launch {
    let body = format!(
        "setp.ne.u32 %p1, %r2, 3;\n@%p1 bra $end;\n.loc 1 12 5\n\
         mov.u64 %rd10, check;\ncvta.global.u64 %rd10, %rd10;\n\
         mov.u64 %rd11, file;\ncvta.global.u64 %rd11, %rd11;\n\
         mov.u64 %rd12, {function};\ncvta.global.u64 %rd12, %rd12;\n\
         {{\n.param .b64 a;\n.param .b64 b;\n.param .b32 c;\n.param .b64 d;\n.param .b64 e;\n\
         st.param.b64 [a], %rd10;\nst.param.b64 [b], %rd11;\nst.param.b32 [c], 7;\n\
         st.param.b64 [d], %rd12;\nst.param.b64 [e], 1;\n\
         call.uni __assertfail, (a, b, c, d, e);\n}}\ntrap;\n$end:"
    );
    launch(&body).module_scope(SCOPE)
}

#[test]
fn a_failed_assertion() {
    assert_snapshot!(assertion("check").fault(), @r"
    failed assertion: check
      in kernel `k` at src/x.rs:7 (PTX line 51), block (0, 0, 0), thread (3, 0, 0)
    ");
    assert_snapshot!(assertion("panic").fault(), @r"
    panic: check
      in kernel `k` at src/x.rs:7 (PTX line 51), block (0, 0, 0), thread (3, 0, 0)
    ");
}

#[test]
fn a_text_that_is_not_there() {
    let body = PRINT.replace("mov.u64 %rd12, format;", "mov.u64 %rd12, 16;");
    assert_snapshot!(launch(&body).module_scope(SCOPE).fault(), @r"
    out of bounds: load of 1 byte at address 0x10: a null pointer
      in kernel `k` at src/lab.rs:1 (PTX line 46), block (0, 0, 0), thread (0, 0, 0)
    ");
}
