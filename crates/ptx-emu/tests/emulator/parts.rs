//! Atomics of a part of a word, as LLVM writes those of 8 and 16 bits for NVPTX: a `cas`, `or`,
//! `and` or `xor` of the word around.

use crate::common::{Launch, launch, load};
use insta::assert_snapshot;
use ptx_emu::{DeviceLimits, LaunchConfig, Machine, Options, Schedule};

/// `%r10` is the place in its word, in bits, of the part at `%rd5`; `%rd6` the address of the word.
const PLACE: &str = "and.b64 %rd6, %rd5, -4;\ncvt.u32.u64 %r10, %rd5;\nand.b32 %r10, %r10, 3;\nshl.b32 %r10, %r10, 3;\n\
                     mov.b32 %r11, 255;\nshl.b32 %r11, %r11, %r10;\nnot.b32 %r11, %r11;\nmov.b32 %r12, 1;\nshl.b32 %r12, %r12, %r10;\n";

/// Takes a lock of type `AtomicBool` at `%rd5` by `swap(true, Acquire)`.
const SWAP: &str = "$spin:\nld.global.b32 %r13, [%rd6];\n$swap:\nand.b32 %r14, %r13, %r11;\nor.b32 %r15, %r14, %r12;\n\
                    atom.acquire.sys.global.cas.b32 %r16, [%rd6], %r13, %r15;\nsetp.ne.b32 %p5, %r16, %r13;\n\
                    mov.b32 %r13, %r16;\n@%p5 bra $swap;\nshr.u32 %r17, %r16, %r10;\nand.b32 %r17, %r17, 255;\n\
                    setp.ne.b32 %p6, %r17, 0;\n@%p6 bra $spin;\n";

/// Takes the lock by `compare_exchange(false, true, Acquire, Relaxed)`.
const COMPARE: &str = "bra $spin;\n$end:\nfence.acq_rel.sys;\nnot.pred %p7, %p5;\n@%p7 bra $spin;\nbra $in;\n\
                       $spin:\nld.global.b32 %r13, [%rd6];\nand.b32 %r14, %r13, %r11;\n$loop:\nor.b32 %r15, %r14, %r12;\n\
                       atom.relaxed.sys.global.cas.b32 %r16, [%rd6], %r14, %r15;\nsetp.eq.b32 %p5, %r16, %r14;\n@%p5 bra $end;\n\
                       and.b32 %r17, %r16, %r11;\nsetp.ne.b32 %p6, %r14, %r17;\nmov.b32 %r14, %r17;\n@%p6 bra $loop;\nbra $end;\n$in:\n";

/// Counts in the word at `%rd7`, and gives the lock back.
const COUNT: &str = "ld.global.b32 %r20, [%rd7];\nadd.s32 %r20, %r20, 1;\nst.global.b32 [%rd7], %r20;\n\
                     st.release.sys.global.b8 [%rd5], 0;\n";

/// Three threads store to the other bytes of the lock's word, the second one.
const NEIGHBOURS: &str = "setp.eq.u32 %p1, %r3, 0;\nsetp.eq.u32 %p2, %r3, 1;\nsetp.eq.u32 %p3, %r3, 9;\n\
                          @%p1 st.global.u8 [%rd1], 7;\n@%p2 st.global.u8 [%rd1+2], 8;\n@%p3 st.global.u8 [%rd1+3], 9;\n";

/// The lock is byte 1 of `out`, the counter word 16.
const PLACES: &str = "add.u64 %rd5, %rd1, 1;\nadd.u64 %rd7, %rd1, 64;\n";

fn in_orders(kernel: impl Fn() -> Launch) -> Vec<u32> {
    let first = kernel().out();
    for seed in 0..8 {
        let kernel = kernel().schedule(Schedule::Random { seed });
        assert_eq!(kernel.out(), first, "seed {seed}");
    }
    first
}

#[test]
fn a_lock_of_one_byte_beside_other_bytes() {
    for take in [SWAP, COMPARE] {
        for neighbours in ["", NEIGHBOURS] {
            let body = format!("{PLACES}{PLACE}{neighbours}{take}{COUNT}");
            let out = in_orders(|| launch(&body).block(8).grid(2));
            let word = if neighbours.is_empty() {
                0
            } else {
                0x0908_0007
            };
            assert_eq!((out[0], out[16]), (word, 16), "{take}");
        }
    }
}

#[test]
fn numbers_of_8_and_16_bits() {
    // `fetch_add` of 8 bits at byte 1, with neighbours.
    let add = "ld.relaxed.sys.global.b8 %h1, [%rd5];\nld.global.b32 %r13, [%rd6];\n$again:\nadd.s32 %r14, %r13, %r12;\nnot.b32 %r18, %r11;\nand.b32 %r14, %r14, %r18;\n\
               and.b32 %r15, %r13, %r11;\nor.b32 %r15, %r15, %r14;\natom.relaxed.sys.global.cas.b32 %r16, [%rd6], %r13, %r15;\n\
               setp.ne.b32 %p5, %r16, %r13;\nmov.b32 %r13, %r16;\n@%p5 bra $again;\n";
    let body = format!("{PLACES}{PLACE}{NEIGHBOURS}{add}");
    let out = in_orders(|| launch(&body).block(8).grid(2));
    assert_eq!(out[0], 0x0908_1007);
    // The same where the load of the word is relaxed, as other compilers have it.
    let body = body.replace("ld.global.b32 %r13", "ld.relaxed.gpu.global.b32 %r13");
    assert_eq!(in_orders(|| launch(&body).block(8).grid(2))[0], 0x0908_1007);
    // 16 bits at the upper half; one thread stores to the lower one.
    let of_halves = format!("{PLACES}{PLACE}{add}")
        .replace("%rd1, 1;", "%rd1, 2;")
        .replace(".b8", ".b16");
    let of_halves = of_halves.replace(
        "mov.b32 %r11, 255",
        "setp.eq.u32 %p1, %r3, 3;\n@%p1 st.global.u16 [%rd1], 5;\nmov.b32 %r11, 65535",
    );
    assert_eq!(
        in_orders(|| launch(&of_halves).block(8).grid(2))[0],
        0x0010_0005
    );
    // `fetch_or` of 8 bits is an `or` of 32.
    let by_or = format!("{PLACES}{PLACE}{NEIGHBOURS}atom.global.or.b32 %r16, [%rd6], %r12;\n");
    assert_eq!(
        in_orders(|| launch(&by_or).block(8).grid(2))[0],
        0x0908_0107
    );
    let by_or = by_or.replace("or.b32 %r16, [%rd6], %r12", "and.b32 %r16, [%rd6], %r11");
    assert_eq!(
        in_orders(|| launch(&by_or).block(8).grid(2))[0],
        0x0908_0007
    );
    // The hardware's own `cas` of 16 bits.
    let by_cas = "setp.eq.u32 %p1, %r3, 3;\n@%p1 st.global.u16 [%rd1], 5;\nld.global.u16 %h1, [%rd1+2];\n$again:\nadd.u16 %h2, %h1, 1;\n\
                atom.global.cas.b16 %h3, [%rd1+2], %h1, %h2;\nsetp.ne.u16 %p2, %h1, %h3;\nmov.b16 %h1, %h3;\n@%p2 bra $again;";
    assert_eq!(
        in_orders(|| launch(by_cas).block(8).grid(2))[0],
        0x0010_0005
    );
}

#[test]
fn the_rest_of_the_word_may_be_unset_or_past_the_end() {
    let body = format!("{PLACE}{SWAP}{COUNT}");
    let shared = "{\n.shared .align 4 .b8 locks[2];\n.shared .align 4 .b8 count[4];\n".to_owned()
        + "setp.eq.u32 %p1, %r2, 0;\n@%p1 st.shared.u8 [locks+1], 0;\n@%p1 st.shared.u32 [count], 0;\nbar.sync 0;\n\
           mov.u64 %rd5, locks;\nadd.u64 %rd5, %rd5, 1;\nmov.u64 %rd7, count;\n"
        + &body.replace(".global", ".shared")
        + "bar.sync 0;\nld.shared.u32 %r5, [count];\nst.global.u32 [%rd3], %r5;\n}";
    assert_eq!(in_orders(|| launch(&shared).block(40))[39], 40);
    // A buffer of one byte, another of five.
    for (bytes, at) in [(1, 0), (5, 4)] {
        let text = launch(&format!(
            "add.u64 %rd5, %rd1, {at};\nmov.u64 %rd7, %rd2;\n{body}"
        ))
        .text();
        let mut machine = Machine::new(DeviceLimits::default(), Options::default());
        let module = load(&mut machine, &text);
        let lock = machine.allocate(bytes, "lock").expect("it fits");
        let count = machine.allocate(4, "count").expect("it fits");
        machine
            .write(lock, &vec![0; bytes as usize])
            .expect("in bounds");
        machine.write(count, &[0; 4]).expect("in bounds");
        let params = [lock.to_le_bytes(), count.to_le_bytes(), [0; 8]].concat();
        let config = LaunchConfig::new([3], [8]);
        machine
            .launch(&module, "k", &config, &params[..20])
            .unwrap();
        let mut counted = [0; 4];
        machine.read(count, &mut counted).expect("in bounds");
        assert_eq!(counted, [24, 0, 0, 0]);
    }
}

#[test]
fn what_is_no_part_of_a_word_still_races() {
    let locked = |extra: &str| {
        let body = format!("{PLACES}{PLACE}.loc 1 5 1\n{extra}\n.loc 1 9 1\n{SWAP}{COUNT}");
        launch(&body).block(8).fault()
    };
    // The lock itself, by a plain store; the whole word, by one.
    assert_snapshot!(locked("setp.eq.u32 %p1, %r2, 3;\n@%p1 st.global.u8 [%rd5], 0;"), @r"
    race in global memory: atomic operation of byte 1 of buffer `out` and an earlier store by another lane of the warp, with no barrier or warp barrier between them
      in kernel `k` at src/lab.rs:9 (PTX line 45), block (0, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:5 (PTX line 38), block (0, 0, 0), thread (3, 0, 0)
    ");
    assert_snapshot!(locked("setp.eq.u32 %p1, %r2, 3;\n@%p1 st.global.u32 [%rd1], 0;"), @r"
    race in global memory: atomic operation of byte 1 of buffer `out` and an earlier store by another lane of the warp, with no barrier or warp barrier between them
      in kernel `k` at src/lab.rs:9 (PTX line 45), block (0, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:5 (PTX line 38), block (0, 0, 0), thread (3, 0, 0)
    ");
    // A sum is of its whole word.
    let sum = "atom.global.add.u32 %r5, [%rd1], 256;\nst.relaxed.gpu.global.u8 [%rd1+1], 0;";
    assert_snapshot!(launch(sum).fault(), @r"
    race in global memory: store of byte 1 of buffer `out` and an earlier atomic operation by another thread, of another width: atomic operations of different widths are not atomic for each other
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
      earlier atomic operation at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (1, 0, 0)
    ");
    // So is a `cas` of 64 bits.
    let wide = "atom.global.cas.b64 %rd5, [%rd1], 0, 1;\nst.relaxed.gpu.global.u8 [%rd1], 0;";
    assert_snapshot!(launch(wide).fault(), @r"
    race in global memory: store of byte 0 of buffer `out` and an earlier atomic operation by another thread, of another width: atomic operations of different widths are not atomic for each other
      in kernel `k` at src/lab.rs:1 (PTX line 26), block (0, 0, 0), thread (0, 0, 0)
      earlier atomic operation at src/lab.rs:1 (PTX line 25), block (0, 0, 0), thread (1, 0, 0)
    ");
    // Without the order of the lock, what it guards races.
    let relaxed = format!("{PLACES}{PLACE}{SWAP}{COUNT}").replace("release.sys", "relaxed.sys");
    let relaxed = relaxed.replace("acquire.sys", "relaxed.sys");
    assert_snapshot!(launch(&relaxed).grid(2).block(1).fault(), @r"
    race in global memory: load of byte 64 of buffer `out` and an earlier store by another block, and nothing orders the two: that takes a device-wide fence (or a release) behind the first, an atomic or a flag that the other block reads, and a fence (or an acquire) there before the second
      in kernel `k` at src/lab.rs:1 (PTX line 49), block (1, 0, 0), thread (0, 0, 0)
      earlier store at src/lab.rs:1 (PTX line 51), block (0, 0, 0), thread (0, 0, 0)
    ");
}
