//! Accesses beside the shared array that they are meant for, in another one.

use insta::assert_snapshot;

use crate::common::{Launch, launch};

/// Two arrays of 32 words, the first before the second; `%r5` is 4 * thread.
fn two_arrays(body: &str) -> Launch {
    launch(&format!(
        ".shared .align 4 .b8 first[128];\n.shared .align 4 .b8 second[128];\nshl.b32 %r5, %r2, 2;\n\
         mov.u32 %r6, first;\nmov.u32 %r7, second;\n{body}"
    ))
}

#[test]
fn past_the_end_of_the_first() {
    let body = "add.u32 %r8, %r6, %r5;\n.loc 1 7 5\nst.shared.u32 [%r8+4], %r2;";
    assert_snapshot!(two_arrays(body).fault(), @r"
    out of bounds: store of 4 bytes at offset 128 of shared array `first` (128 bytes) reaches 4 bytes past its end (index 32, length 32), in shared array `second`
      in kernel `k` at src/lab.rs:7 (PTX line 32), block (0, 0, 0), thread (31, 0, 0)
    ");
    two_arrays(&body.replace("+4", "+0")).report();
}

#[test]
fn before_the_start_of_the_second() {
    let body = "mad.lo.u32 %r8, %r2, 4, %r7;\nst.shared.u32 [%r8+-4], %r2;";
    assert_snapshot!(two_arrays(body).fault(), @r"
    out of bounds: store of 4 bytes at offset -4 of shared array `second` (128 bytes) starts 4 bytes before its start (index -1, length 32), in shared array `first`
      in kernel `k` at src/lab.rs:1 (PTX line 31), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn far_past_the_end_in_dynamic_shared_memory() {
    let body = "add.u32 %r8, %r6, 300;\nst.shared.u32 [%r8], %r2;";
    assert_snapshot!(two_arrays(body).block(1).shared(128).fault(), @r"
    out of bounds: store of 4 bytes at offset 300 of shared array `first` (128 bytes) reaches 176 bytes past its end (index 75, length 32)
      in kernel `k` at src/lab.rs:1 (PTX line 31), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn by_name_in_a_loop_by_an_index_from_memory_by_an_atomic_and_a_copy() {
    let index = "ld.global.u32 %r8, [%rd2+132];\nshl.b32 %r9, %r8, 2;\nadd.u32 %r10, %r6, %r9;\n";
    for body in [
        "ld.shared.u32 %r8, [first+128];",
        "st.u32 [first+128], %r2;",
        "mov.u64 %rd5, first;\ncvta.shared.u64 %rd6, %rd5;\nmov.u32 %r8, 0;\n$next:\nst.u32 [%rd6], %r8;\n\
         add.s64 %rd6, %rd6, 4;\nadd.u32 %r8, %r8, 1;\nsetp.le.u32 %p1, %r8, 32;\n@%p1 bra $next;",
        &format!("{index}atom.shared.add.u32 %r11, [%r10+-4], 1;"),
        &format!("{index}cp.async.ca.shared.global [%r10+-4], [%rd2], 4;"),
    ] {
        let fault = two_arrays(body).block(1).fault();
        assert!(
            fault.contains("at offset 128 of shared array `first`"),
            "{fault}"
        );
        // One element less is inside.
        let inside = body
            .replace("+128", "+124")
            .replace("setp.le", "setp.lt")
            .replace("+-4", "+-8");
        let written = format!("st.shared.u32 [first+124], %r2;\n{inside}");
        two_arrays(&written).block(1).report();
    }
}

#[test]
fn nothing_is_concluded_of_addresses_that_may_be_of_either() {
    for body in [
        // By the distance between the two.
        "sub.u32 %r8, %r7, %r6;\nadd.u32 %r8, %r6, %r8;\nst.shared.u32 [%r8], %r2;",
        // The one or the other.
        "setp.eq.u32 %p1, %r2, 0;\nselp.b32 %r8, %r7, %r6, %p1;\nst.shared.u32 [%r8], %r2;",
        "setp.eq.u32 %p1, %r2, 1;\nmov.u32 %r8, %r6;\n@%p1 mov.u32 %r8, %r7;\nst.shared.u32 [%r8+128], %r2;",
        // A distance, or an address, that was in local memory.
        ".local .align 4 .b8 own[4];\nsub.u32 %r8, %r7, %r6;\nst.local.u32 [own], %r8;\n\
         ld.local.u32 %r8, [own];\nadd.u32 %r8, %r6, %r8;\nst.shared.u32 [%r8], %r2;",
        ".local .align 4 .b8 own[4];\nst.local.u32 [own], %r6;\nld.local.u32 %r8, [own];\n\
         st.shared.u32 [%r8+128], %r2;",
        // A part of the whole.
        "and.b32 %r8, %r6, -1;\nst.shared.u32 [%r8+128], %r2;",
        "mov.u32 %r8, 0;\nst.shared.u32 [%r8+128], %r2;",
    ] {
        two_arrays(body).block(1).report();
    }
}

#[test]
fn arrays_of_two_kernels_that_overlap_are_told_apart() {
    let other =
        ".visible .entry other() { .shared .align 4 .b8 first[4]; st.shared.u32 [first], 0; ret; }";
    let body = "add.u32 %r8, %r6, %r5;\nst.shared.u32 [%r8], %r2;";
    two_arrays(body).module_scope(other).report();
}
