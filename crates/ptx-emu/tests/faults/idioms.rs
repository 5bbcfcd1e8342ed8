//! An idiom of the CUDA programming guide that is right on every GPU.

use ptx_emu::Schedule;

use crate::common::{Launch, launch};

/// An order of each kind, and that of the index.
fn schedules() -> impl Iterator<Item = Schedule> {
    let random = (40..48).map(|seed| Schedule::Random { seed });
    random.chain([Schedule::InOrder])
}

/// Checks that `out` holds the same at `word` in each order.
fn right(make: impl Fn() -> Launch, word: usize, value: u32) {
    for schedule in schedules() {
        let out = make().schedule(schedule).out();
        assert_eq!(out[word], value, "{schedule:?}");
    }
}

/// The sum of all blocks by the last one, and `count` reset for the next launch.
fn threadfence_reduction() -> Launch {
    launch(
        "st.volatile.global.u32 [%rd3], %r3;\nmembar.gl;\natom.global.inc.u32 %r5, [%rd1+64], 4;\n\
         setp.ne.u32 %p1, %r5, 3;\n@%p1 ret;\nld.volatile.global.u32 %r6, [%rd1];\n\
         ld.volatile.global.u32 %r7, [%rd1+4];\nadd.u32 %r6, %r6, %r7;\nld.volatile.global.u32 %r7, [%rd1+8];\n\
         add.u32 %r6, %r6, %r7;\nld.volatile.global.u32 %r7, [%rd1+12];\nadd.u32 %r6, %r6, %r7;\n\
         st.volatile.global.u32 [%rd1+32], %r6;\n.loc 1 9 1\nst.global.u32 [%rd1+64], 0;",
    )
    .block(1)
    .grid(4)
}

#[test]
fn the_last_block_resets_the_counter() {
    right(threadfence_reduction, 8, 6);
    right(threadfence_reduction, 16, 0);
    // By another thread of the block that drew the last ticket.
    let body = ".shared .align 4 .b8 last[4];\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra $wait;\nmembar.gl;\n\
                atom.global.inc.u32 %r5, [%rd1+64], 4;\nst.shared.u32 [last], %r5;\n$wait:\nbar.sync 0;\n\
                ld.shared.u32 %r5, [last];\nsetp.ne.u32 %p1, %r5, 3;\n@%p1 ret;\nsetp.ne.u32 %p1, %r2, 40;\n@%p1 ret;\n\
                st.global.u32 [%rd1+64], 0;";
    right(|| launch(body).block(64).grid(4), 16, 0);
}
