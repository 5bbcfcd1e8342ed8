//! Accesses that hardware makes past the end of shared memory, and the words for those to other
//! spaces.

use crate::common::{Launch, launch};
use insta::assert_snapshot;
use ptx_emu::Sanitize;

/// A block that numbers the words of its dynamic shared memory, and then does `body`; `%r9` is the
/// address.
fn dynamic(bytes: u32, body: &str) -> Launch {
    let words = (0..bytes / 4).map(|word| format!("st.shared.u32 [%r9+{}], {word};\n", 4 * word));
    let body = format!("mov.u32 %r9, dyn;\n{}{body}", String::from_iter(words));
    let launch = launch(&body).module_scope(".extern .shared .align 16 .b8 dyn[];\n");
    launch.block(1).shared(bytes)
}

#[test]
fn a_load_that_a_compiler_has_widened() {
    // Numba's test of slices: the link-time optimiser makes one load of three.
    let load = ".loc 1 20 1\nld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r9+16];\n";
    let used =
        format!("{load}st.global.v2.u32 [%rd3], {{%r5, %r6}};\nst.global.u32 [%rd3+8], %r7;");
    let launched = dynamic(28, &used);
    assert_eq!(launched.out()[..3], [4, 5, 6]);
    let note = launched.report().widened_load.expect("a note");
    assert_snapshot!(note, @"kernel `k`: a load of 16 bytes at byte 16 of shared memory (28 bytes) goes past its end, at src/lab.rs:20 (PTX line 35). A compiler may have made it of smaller loads: the block has the rest of the last 128 bytes too, where nothing has set a value. Where the program itself asks for them, launch it with more dynamic shared memory.");
    let generic = "cvt.u64.u32 %rd5, %r9;\ncvta.shared.u64 %rd5, %rd5;\nld.v4.u32 {%r5, %r6, %r7, %r8}, [%rd5+16];\nst.global.u32 [%rd3], %r7;";
    assert_eq!(dynamic(28, generic).out()[0], 6);
    // The values that it gets there are not set.
    let value = format!("{load}.loc 1 21 1\nst.global.u32 [%rd3], %r8;");
    assert_snapshot!(dynamic(28, &value).fault(), @r"
    uninitialized read: load of 16 bytes from element 4 (byte 16) of shared memory, whose bytes 28 to 31 nothing has written before
      in kernel `k` at src/lab.rs:20 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
      at src/lab.rs:21 (PTX line 37), a store to global memory of it
    ");
    // All of it is there: no note.
    assert_eq!(dynamic(32, &used).report().widened_load, None);
}

#[test]
fn what_the_program_asks_for_past_the_end() {
    let of = |bytes: u32, load: &str| dynamic(bytes, &format!(".loc 1 20 1\n{load}\n"));
    let vector = |at: u32| format!("ld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%r9+{at}];");
    assert_snapshot!(of(28, "ld.shared.u32 %r5, [%r9+28];").fault(), @r"
    out of bounds: load of 4 bytes at offset 28 of shared memory (28 bytes) reaches 4 bytes past its end (index 7, length 7)
      in kernel `k` at src/lab.rs:20 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of(28, &vector(32)).fault(), @r"
    out of bounds: load of 16 bytes at offset 32 of shared memory (28 bytes) reaches 20 bytes past its end
      in kernel `k` at src/lab.rs:20 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of(28, "st.shared.v4.u32 [%r9+16], {%r1, %r2, %r3, %r4};").fault(), @r"
    out of bounds: store of 16 bytes at offset 16 of shared memory (28 bytes) reaches 4 bytes past its end
      in kernel `k` at src/lab.rs:20 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
    // The last unit ends with the memory.
    assert_snapshot!(of(128, &vector(128)).fault(), @r"
    out of bounds: load of 16 bytes at offset 128 of shared memory (128 bytes) reaches 16 bytes past its end (index 8, length 8)
      in kernel `k` at src/lab.rs:20 (PTX line 60), block (0, 0, 0), thread (0, 0, 0)
    ");
    of(116, &vector(112)).report();
    // A GPU notices none of the first three, and so nothing is told where nothing is checked.
    let unchecked = |load: &str| of(28, load).sanitize(Sanitize::NONE);
    unchecked("ld.shared.u32 %r5, [%r9+28];").report();
    unchecked(&vector(112)).report();
    assert_snapshot!(unchecked(&vector(128)).fault(), @r"
    out of bounds: load of 16 bytes at offset 128 of shared memory (28 bytes) reaches 116 bytes past its end
      in kernel `k` at src/lab.rs:20 (PTX line 35), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn an_offset_in_another_space() {
    let of = |variables: &str, body: &str| {
        let body = format!("{variables}.loc 1 20 1\n{body}");
        let launch = launch(&body).module_scope(".extern .shared .align 16 .b8 dyn[];\n");
        launch.shared(64).fault()
    };
    let arrays = ".shared .align 4 .b8 first[620];\n.shared .align 4 .b8 second[64];\nmov.u32 %r5, 5;\nst.shared.u32 [first], %r5;\n";
    assert_snapshot!(of(arrays, "mov.u64 %rd5, second;\nst.u32 [%rd5+8], %r5;"), @r"
    out of bounds: store of 4 bytes at address 0x274, which is an offset in shared memory (byte 8 of shared array `second`): `cvta.shared` makes a generic address of it, and `ld.shared` and the like take it as it is
      in kernel `k` at src/lab.rs:20 (PTX line 32), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of(arrays, "mov.u64 %rd5, second;\nst.global.u32 [%rd5], %r5;"), @r"
    out of bounds: store of 4 bytes at address 0x26c, which is an offset in shared memory (byte 0 of shared array `second`): `cvta.shared` makes a generic address of it, and `ld.shared` and the like take it as it is
      in kernel `k` at src/lab.rs:20 (PTX line 32), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of(arrays, "mov.u64 %rd5, second;\nred.add.u32 [%rd5], %r5;"), @r"
    out of bounds: atomic operation of 4 bytes at address 0x26c, which is an offset in shared memory (byte 0 of shared array `second`): `cvta.shared` makes a generic address of it, and `ld.shared` and the like take it as it is
      in kernel `k` at src/lab.rs:20 (PTX line 32), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of("", "mov.u64 %rd5, dyn;\nadd.u64 %rd5, %rd5, 12;\nld.u32 %r5, [%rd5];"), @r"
    out of bounds: load of 4 bytes at address 0xc, which is an offset in shared memory (byte 12 of shared memory): `cvta.shared` makes a generic address of it, and `ld.shared` and the like take it as it is
      in kernel `k` at src/lab.rs:20 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of(".local .align 4 .b8 own[64];\n", "mov.u64 %rd5, own;\nst.u32 [%rd5+4], %r1;"), @r"
    out of bounds: store of 4 bytes at address 0x4, which is an offset in local memory: `cvta.local` makes a generic address of it, and `ld.local` and the like take it as it is
      in kernel `k` at src/lab.rs:20 (PTX line 29), block (0, 0, 0), thread (0, 0, 0)
    ");
    // Nothing is known of this one.
    assert_snapshot!(of(arrays, "mov.u64 %rd5, 0;\nld.u32 %r5, [%rd5+620];"), @r"
    out of bounds: load of 4 bytes at address 0x26c: a null pointer
      in kernel `k` at src/lab.rs:20 (PTX line 32), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_misaligned_access_is_told_with_its_place() {
    let of = |body: &str| {
        let body = format!(
            ".shared .align 8 .b8 array[64];\nmov.u32 %r6, array;\nmov.u32 %r9, dyn;\n.loc 1 20 1\n{body}"
        );
        let launch = launch(&body).module_scope(".extern .shared .align 16 .b8 dyn[];\n");
        launch.shared(512).fault()
    };
    assert_snapshot!(of("st.shared.f32 [%r9+66], 0f00000000;"), @r"
    misaligned access: store of 4 bytes at byte 130 of shared memory, address 0x82, which is 2 bytes past a multiple of 4
      in kernel `k` at src/lab.rs:20 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(of("ld.shared.u64 %rd5, [%r6+12];"), @r"
    misaligned access: load of 8 bytes at byte 12 of shared array `array`, address 0xc, which is 4 bytes past a multiple of 8
      in kernel `k` at src/lab.rs:20 (PTX line 30), block (0, 0, 0), thread (0, 0, 0)
    ");
}
