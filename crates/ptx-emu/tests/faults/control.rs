//! Code that does not end, within limits of the device.

use insta::assert_snapshot;

use crate::common::{Launch, launch};

const RECURSION: &str = "
.func (.param .b32 result) depth(.param .b32 n)
{
.local .align 8 .b8 frame[64];
.reg .b32 %x<4>;
.reg .pred %q<2>;
ld.param.u32 %x1, [n];
mov.u32 %x2, 0;
setp.eq.u32 %q1, %x1, 0;
@%q1 bra $end;
sub.u32 %x1, %x1, 1;
{
.param .b32 a;
.param .b32 b;
st.param.b32 [a], %x1;
call.uni (b), depth, (a);
ld.param.b32 %x2, [b];
}
add.u32 %x2, %x2, 1;
$end:
st.param.b32 [result], %x2;
ret;
}";

fn recursion(n: u32) -> Launch {
    let body = format!(
        "mov.u32 %r5, {n};\n{{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r5;\n\
         call.uni (b), depth, (a);\nld.param.b32 %r6, [b];\n}}\nst.global.u32 [%rd3], %r6;"
    );
    launch(&body).module_scope(RECURSION)
}

#[test]
fn too_deep_a_recursion() {
    assert_snapshot!(recursion(50).fault(), @r"
    stack overflow: a recursion, 16 calls deep, takes 1080 bytes of stack or more, and a thread has 1024 (`cudaLimitStackSize`)
      in kernel `k` at PTX line 20, block (0, 0, 0), thread (0, 0, 0)
    ");
    let deep = |n| {
        let mut deep = recursion(n);
        deep.limits.stack_bytes = 1 << 20;
        deep
    };
    assert_eq!(deep(50).out()[..2], [50, 50]);
    assert_snapshot!(deep(100_000).fault(), @r"
    stack overflow: more than 1024 nested calls; is there an endless recursion?
      in kernel `k` at PTX line 20, block (0, 0, 0), thread (0, 0, 0)
    ");
    let mut small = deep(50);
    small.limits.local_bytes_per_thread = 2048;
    assert_snapshot!(small.fault(), @r"
    stack overflow: 2096 bytes of local memory in 26 nested calls; the limit is 2048 bytes
      in kernel `k` at PTX line 20, block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn an_endless_loop() {
    let mut endless = launch("$loop:\n.loc 1 80 1\nbra $loop;");
    endless.options.fuel = 1000;
    assert_snapshot!(endless.fault(), @r"
    out of fuel: the block has executed 1000 warp instructions and has not ended; is there an endless loop, or a wait for another block?
      in kernel `k` at src/lab.rs:80 (PTX line 27), block (0, 0, 0), thread (0, 0, 0)
    ");
    let mut enough = launch("mov.u32 %r5, 0;");
    enough.options.fuel = 13;
    enough.report();
}

#[test]
fn a_block_that_spins_in_vain() {
    let mut spin = launch(
        "$loop:\nld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@%p1 bra $loop;",
    );
    spin.options.fuel = 10_000;
    assert_snapshot!(spin.fault(), @r"
    deadlock: the block waits for something that none of its threads does: its threads poll memory in which nothing changes any more
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
    ");
}
