//! Two things follow from the seeds of the options alone: the places of buffers, and what
//! clocks show.

use crate::common::{Launch, launch};
use ptx_emu::{GUARD_BYTES, Options, Schedule};

/// Options of one seed each, the first being the default's.
fn seeds() -> Vec<Options> {
    let seeded = (101..104).map(|seed| Options {
        seed,
        ..Options::default()
    });
    let ordered = (8..14).map(|seed| Options {
        schedule: Schedule::Random { seed },
        ..Options::default()
    });
    [Options::default()]
        .into_iter()
        .chain(seeded)
        .chain(ordered)
        .collect()
}

/// The 64-bit words that a kernel leaves in each of [`seeds`], which are the same each time and for
/// any number of host threads.
fn outputs(kernel: impl Fn() -> Launch, words: usize) -> Vec<Vec<u64>> {
    let each = seeds().into_iter().map(|options| {
        let [once, again] = [1, 3].map(|threads| {
            let mut launched = kernel();
            launched.options = Options {
                threads,
                ..options.clone()
            };
            let out = launched.out();
            let pairs = out.chunks_exact(2).take(words);
            let whole = pairs.map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32);
            whole.collect::<Vec<_>>()
        });
        assert_eq!(once, again, "{options:?}");
        once
    });
    each.collect()
}

fn all_differ(values: impl Iterator<Item = u64>) {
    let mut values: Vec<_> = values.collect();
    let count = values.len();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), count);
}

#[test]
fn buffers_lie_elsewhere() {
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nst.global.u64 [%rd1], %rd1;\nst.global.u64 [%rd1+8], %rd2;";
    let outputs = outputs(|| launch(body), 2);
    for out in &outputs {
        // `in` is 256 bytes, and allocated first.
        let [out, input] = out[..] else { panic!() };
        assert_eq!((out % 512, input % 512), (0, 0));
        assert!(input >= 0x2000_0000_0000 && out >= input + 256 + GUARD_BYTES);
    }
    all_differ(outputs.iter().map(|out| out[1]));
    all_differ(outputs.iter().map(|out| out[0] - out[1]));
}

#[test]
fn a_pointer_that_goes_from_buffer_to_buffer() {
    // As it happens to be right with the default's seed.
    let distance = outputs(
        || launch("sub.u64 %rd5, %rd1, %rd2;\nst.global.u64 [%rd1], %rd5;"),
        1,
    )[0][0];
    let body = format!("setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nst.global.u32 [%rd2+{distance}], 1;");
    for (number, options) in seeds().into_iter().enumerate() {
        let mut kernel = launch(&body);
        kernel.options = options;
        match number {
            0 => drop(kernel.out()),
            _ => assert!(kernel.fault().starts_with("out of bounds")),
        }
    }
}

#[test]
fn clocks_start_anywhere() {
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u32 %r5, %ctaid.x;\nmul.wide.u32 %rd5, %r5, 24;\n\
                add.u64 %rd5, %rd1, %rd5;\nmov.u64 %rd6, %clock64;\nmov.u64 %rd7, %globaltimer;\nmov.u64 %rd8, %clock64;\n\
                st.global.u64 [%rd5], %rd6;\nst.global.u64 [%rd5+8], %rd7;\nst.global.u64 [%rd5+16], %rd8;";
    let outputs = outputs(|| launch(body).grid(2), 6);
    for out in &outputs {
        // A clock for each multiprocessor, one timer for all, which shows Unix time.
        assert_eq!((out[2] - out[0], out[5] - out[3]), (2, 2));
        assert_ne!(out[0], out[3]);
        assert_eq!(out[1], out[4]);
        assert!((1_700_000_000_000_000_000..1_800_000_000_000_000_000).contains(&out[1]));
    }
    all_differ(outputs.iter().flat_map(|out| [out[0], out[3]]));
    all_differ(outputs.iter().map(|out| out[1]));
}

#[test]
fn registers_of_the_machine_differ() {
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u32 %r5, %ctaid.x;\nmul.wide.u32 %rd5, %r5, 32;\n\
                add.u64 %rd5, %rd1, %rd5;\nmov.u64 %rd6, %gridid;\nst.global.u64 [%rd5], %rd6;\n\
                mov.u32 %r6, %smid;\nst.global.u32 [%rd5+8], %r6;\nmov.u32 %r7, %nsmid;\nst.global.u32 [%rd5+12], %r7;\n\
                mov.u32 %r8, %warpid;\nst.global.u32 [%rd5+16], %r8;\nmov.u32 %r9, %nwarpid;\nst.global.u32 [%rd5+20], %r9;\n\
                mov.u32 %r10, %envreg3;\nst.global.u32 [%rd5+24], %r10;\nst.global.u32 [%rd5+28], 0;";
    let outputs = outputs(|| launch(body).grid(8).out_words(64), 32);
    let high = |word: u64| (word >> 32) as u32;
    for out in &outputs {
        let blocks: Vec<&[u64]> = out.chunks(4).collect();
        assert!(
            blocks
                .iter()
                .all(|block| block[0] == blocks[0][0] && block[0] > 0)
        );
        for block in &blocks {
            let (at, of) = (block[1] as u32, high(block[1]));
            assert!(at < 132 && (132..=144).contains(&of), "{at} of {of}");
            assert!((block[2] as u32) < 64 && high(block[2]) == 64);
        }
    }
    all_differ(outputs.iter().map(|out| out[0]));
    all_differ(outputs.iter().map(|out| out[3]));
    // Neighbours share a multiprocessor with some seeds, and with some they do not.
    let shares = |out: &&Vec<u64>| out[1] as u32 == out[5] as u32;
    let shared = outputs.iter().filter(shares).count();
    assert!(0 < shared && shared < outputs.len(), "{shared}");
}

#[test]
fn blocks_move_in_the_middle_of_a_kernel_in_some_orders() {
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nmov.u32 %r5, %smid;\nmov.u32 %r7, 0;\nAGAIN:\n\
                add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p2, %r7, 200;\n@%p2 bra AGAIN;\nmov.u32 %r6, %smid;\n\
                st.global.u32 [%rd1], %r5;\nst.global.u32 [%rd1+4], %r6;";
    let outputs = outputs(|| launch(body), 1);
    let moves = outputs
        .iter()
        .map(|out| out[0] as u32 != (out[0] >> 32) as u32);
    let kind = |options: &Options| match options.schedule {
        Schedule::InOrder => false,
        Schedule::Random { seed } => (2..=4).contains(&(seed % 8)),
    };
    assert_eq!(
        moves.collect::<Vec<_>>(),
        seeds().iter().map(kind).collect::<Vec<_>>()
    );
}
