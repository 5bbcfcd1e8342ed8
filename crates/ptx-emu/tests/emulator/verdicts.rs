//! One verdict for any number of host threads: blocks that are taken for independent run in
//! parallel, and one after the other if they are not.

use crate::common::{Launch, launch};

/// The outcome of a launch on this number of host threads: its message, or what it stored.
fn outcome(make: &impl Fn() -> Launch, threads: usize) -> Result<Vec<u32>, String> {
    let mut launch = make();
    launch.options.threads = threads;
    let outcome = launch.run();
    match outcome.result {
        Ok(_) => Ok(outcome.out),
        Err(fault) => Err(fault.to_string()),
    }
}

/// The outcome, which must be the same on 1, 2 and 8 host threads, several times.
fn verdict(make: impl Fn() -> Launch) -> Result<Vec<u32>, String> {
    let one = outcome(&make, 1);
    for threads in [2, 8] {
        for time in 0..10 {
            assert_eq!(
                outcome(&make, threads),
                one,
                "{threads} threads, time {time}"
            );
        }
    }
    one
}

/// Work of different length in each block, so that host threads meet at different places.
const WORK: &str = "mov.u32 %r10, %ctaid.x;\nmul.lo.u32 %r11, %r10, 797;\nand.b32 %r11, %r11, 1023;\n$work:\n\
                    sub.u32 %r11, %r11, 1;\nsetp.gt.s32 %p5, %r11, 0;\n@%p5 bra $work;\n";

fn blocks(body: &str) -> Launch {
    launch(&format!("{WORK}{body}")).grid(24).out_words(1024)
}

#[test]
fn a_store_that_is_equal_in_one_order() {
    // Block 0 stores 1, then 2; the others store 2.
    let body =
        "setp.ne.u32 %p1, %r10, 0;\n@!%p1 st.global.u32 [%rd1], 1;\nst.global.u32 [%rd1], 2;";
    verdict(|| blocks(body).block(1)).unwrap();
}

#[test]
fn races_of_blocks() {
    // A plain sum, a sum that one block zeroes, a maximum that is looked at.
    for body in [
        "ld.global.u32 %r5, [%rd1];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%rd1], %r5;",
        "setp.ne.u32 %p1, %r10, 9;\n@!%p1 st.global.u32 [%rd1], 0;\nred.global.add.u32 [%rd1], 1;",
        "red.global.max.u32 [%rd1], %r10;\nld.global.u32 %r5, [%rd1];\nst.global.u32 [%rd3+256], %r5;",
    ] {
        let message = verdict(|| blocks(body)).unwrap_err();
        assert!(message.starts_with("race"), "{message}");
    }
}

#[test]
fn a_fault_that_follows_from_a_race() {
    // A block that finds the word set goes out of bounds.
    let body = "ld.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p1, %r5, 0;\n@!%p1 st.global.u32 [%rd1+1000000], 1;\n\
                st.global.u32 [%rd1], 1;";
    verdict(|| blocks(body).block(1)).unwrap_err();
}

#[test]
fn blocks_that_leave_the_same_run_again() {
    // All store 7 to one word, and count themselves once, also in memory that was written before.
    let body = "st.global.u32 [%rd1], 7;\nred.global.add.u32 [%rd1+4], 1;\nld.global.u32 %r5, [%rd4];\n\
                st.global.u32 [%rd3+256], %r5;";
    let out = verdict(|| blocks(body).block(8).input(0..1024)).unwrap();
    assert_eq!(out[..2], [7, 192]);
    assert_eq!(out[64..256], Vec::from_iter(0..192));
}

/// Loads of each block, and stores of the last one to what it has loaded.
const LATE: &str = "ld.global.u32 %r5, [%rd4];\nsetp.ne.u32 %p1, %r10, 23;\n\
                    @!%p1 st.global.u32 [%rd4], 5;\nst.global.u32 [%rd3], %r5;";

#[test]
fn a_late_store_to_a_page_that_others_have_loaded() {
    let out = verdict(|| blocks(LATE).input(0..1024)).unwrap();
    assert_eq!(out[..768], Vec::from_iter(0..768));
    // The work before the launch started again is not counted.
    let counts = blocks(LATE).input(0..1024).report().counts;
    assert_eq!(counts.global_loads.requests, 24);
    assert_eq!(counts.global_stores.requests, 25);
}

#[test]
fn a_late_store_to_what_others_have_loaded() {
    let shared = LATE.replace("[%rd4]", "[%rd2]");
    let message = verdict(|| blocks(&shared).input(0..1024)).unwrap_err();
    assert!(
        message.starts_with("race in global memory: store"),
        "{message}"
    );
    assert!(
        message.contains("an earlier load by another block"),
        "{message}"
    );
}

#[test]
fn lanes_that_load_from_several_buffers() {
    // Odd lanes from `out`, even ones from `in`: each part has the addresses of both.
    let body = "and.b32 %r5, %r2, 1;\nsetp.eq.u32 %p1, %r5, 1;\nselp.b64 %rd5, %rd1, %rd2, %p1;\n\
                ld.global.u32 %r6, [%rd5];\nst.global.u32 [%rd3+1024], %r6;";
    let out = verdict(|| blocks(body).input(7..1024)).unwrap();
    assert_eq!(out[256..260], [7, 0, 7, 0]);
}

#[test]
fn a_kernel_that_is_known_to_store_late() {
    // In one machine, again and again: of the loads before the store none is forgotten.
    let mut machine = ptx_emu::Machine::default();
    let shared = LATE.replace("[%rd4]", "[%rd2]");
    for body in [LATE, &shared, LATE, &shared] {
        let outcome = blocks(body).input(0..1024).run_on(&mut machine);
        assert_eq!(outcome.result.is_err(), body != LATE);
    }
}
