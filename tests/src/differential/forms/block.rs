//! Barriers of a block, and special registers.

use fastrand::Rng;

use crate::differential::{Class, Form, Operand, Row};

/// Blocks of rows with a predicate in `%a` and a word in `%b`: none, all, one, one missing, at
/// random.
fn blocks(seed: u64) -> Vec<Row> {
    let mut rng = Rng::with_seed(seed);
    let block = |block: usize| {
        let special = rng.usize(..Form::BLOCK);
        let density = rng.u8(..);
        let row = |thread: usize| {
            let flag = match block % 5 {
                0 => false,
                1 => true,
                2 => thread == special,
                3 => thread != special,
                _ => rng.u8(..) < density,
            };
            [flag.into(), rng.u32(..).into(), 0, 0]
        };
        (0..Form::BLOCK).map(row).collect::<Vec<_>>()
    };
    (0..20).flat_map(block).collect()
}

fn block<const M: usize>(
    name: &str,
    results: [Class; M],
    body: &str,
    f: impl Fn(&[Row]) -> Vec<[u64; M]> + Send + Sync + 'static,
) -> Form {
    let sources = [Operand::Pred, Operand::I32];
    Form::together(name, sources, results, Form::BLOCK, body, f)
        .with_rows(blocks(1))
        .with_module(".shared .align 4 .b8 tile[512];")
}

/// Number of true predicates, whether all are, whether any is.
fn reduced(rows: &[Row]) -> [u64; 3] {
    let count: u64 = rows.iter().map(|row| row[0]).sum();
    [
        count,
        u64::from(count == rows.len() as u64),
        u64::from(count > 0),
    ]
}

const EACH: [Class; 3] = [Class::B32, Class::Pred, Class::Pred];

/// Each thread's word stored, and that of the thread at the other end loaded after a barrier.
fn exchanged(name: &str, barrier: &str) -> Form {
    let body = format!(
        "mov.u32 %r15, tile; mad.lo.u32 %r14, %thread, 4, %r15; st.shared.u32 [%r14], %b; {barrier}; \
         xor.b32 %r13, %thread, 127; mad.lo.u32 %r13, %r13, 4, %r15; ld.shared.u32 %x, [%r13]"
    );
    block(name, [Class::B32], &body, |rows| {
        rows.iter().rev().map(|row| [row[1]]).collect()
    })
}

pub(super) fn barriers() -> Vec<Form> {
    let mut all = Vec::new();
    // The texts before and after the operation.
    for (stem, aligned) in [
        ("bar.red", ""),
        ("bar.cta.red", ""),
        ("barrier.red", ""),
        ("barrier.cta.red", ".aligned"),
    ] {
        let lines = |source: &str| {
            format!(
                "{stem}.popc{aligned}.u32 %x, 0, {source}; {stem}.and{aligned}.pred %y, 0, {source}; \
                 {stem}.or{aligned}.pred %z, 0, {source}"
            )
        };
        let name = format!("{stem}{aligned}");
        all.push(block(&name, EACH, &lines("%a"), |rows| {
            vec![reduced(rows); rows.len()]
        }));
        let negated = format!("{name}, negated");
        all.push(block(&negated, EACH, &lines("!%a"), |rows| {
            let [count, every, any] = reduced(rows);
            vec![[rows.len() as u64 - count, 1 - any, 1 - every]; rows.len()]
        }));
    }
    // Each half of the block has its own barrier.
    let halves = "shr.u32 %r0, %thread, 6; add.u32 %r0, %r0, 1; bar.red.popc.u32 %x, %r0, 64, %a; \
                  bar.red.and.pred %y, %r0, 64, %a; bar.red.or.pred %z, %r0, 64, %a";
    all.push(block("bar.red of half a block", EACH, halves, |rows| {
        rows.chunks(64)
            .flat_map(|half| vec![reduced(half); 64])
            .collect()
    }));
    for barrier in [
        "bar.sync 0",
        "bar.cta.sync 3",
        "bar.sync 15, 128",
        "barrier.sync 0",
        "barrier.sync.aligned 1",
        "barrier.cta.sync 2, 128",
        "mov.u32 %r0, 5; bar.sync %r0",
    ] {
        all.push(exchanged(
            barrier.rsplit("; ").next().expect("a barrier"),
            barrier,
        ));
    }
    // The lower half brings words, the upper half waits for them.
    let arrive = "mov.u32 %r15, tile; mov.u32 %x, 0; setp.ge.u32 %p0, %thread, 64; @%p0 bra wait; \
                  mad.lo.u32 %r14, %thread, 4, %r15; st.shared.u32 [%r14], %b; bar.arrive 1, 128; bra done; \
                  wait: bar.sync 1, 128; sub.u32 %r14, %thread, 64; mad.lo.u32 %r14, %r14, 4, %r15; \
                  ld.shared.u32 %x, [%r14]; done:";
    all.push(block("bar.arrive", [Class::B32], arrive, |rows| {
        (0..rows.len())
            .map(|thread| [if thread < 64 { 0 } else { rows[thread - 64][1] }])
            .collect()
    }));
    all
}

/// A special register as a function of the thread in the grid and the grid's blocks.
fn register(name: &str, f: impl Fn(u64, u64) -> u64 + Send + Sync + 'static) -> Form {
    let body = format!("mov.u32 %x, {name}");
    let rows = vec![[0; 4]; 3 * Form::BLOCK];
    let all = move |grid: &[Row]| {
        let blocks = (grid.len() / Form::BLOCK) as u64;
        (0..grid.len())
            .map(|thread| [f(thread as u64, blocks)])
            .collect()
    };
    Form::together(name, [Operand::Pred], [Class::B32], 0, body, all).with_rows(rows)
}

pub(super) fn special_registers() -> Vec<Form> {
    const BLOCK: u64 = Form::BLOCK as u64;
    let mut all = vec![
        register("%tid.x", |thread, _| thread % BLOCK),
        register("%ntid.x", |_, _| BLOCK),
        register("%ctaid.x", |thread, _| thread / BLOCK),
        register("%nctaid.x", |_, blocks| blocks),
        register("%laneid", |thread, _| thread % 32),
        register("%lanemask_eq", |thread, _| 1 << (thread % 32)),
        register("%lanemask_le", |thread, _| (2 << (thread % 32)) - 1),
        register("%lanemask_lt", |thread, _| (1 << (thread % 32)) - 1),
        register("%lanemask_ge", |thread, _| u64::MAX << (thread % 32)),
        register("%lanemask_gt", |thread, _| (u64::MAX - 1) << (thread % 32)),
        register("%dynamic_smem_size", |_, _| 0),
        register("WARP_SZ", |_, _| 32),
    ];
    for axis in ["y", "z"] {
        all.push(register(&format!("%tid.{axis}"), |_, _| 0));
        all.push(register(&format!("%ntid.{axis}"), |_, _| 1));
        all.push(register(&format!("%ctaid.{axis}"), |_, _| 0));
        all.push(register(&format!("%nctaid.{axis}"), |_, _| 1));
    }
    let dynamic = register("%dynamic_smem_size", |_, _| 16 * BLOCK)
        .with_module(".extern .shared .align 16 .b8 dynamic[];");
    all.push(Form {
        name: "%dynamic_smem_size, with some".to_owned(),
        ..dynamic
    });
    all
}
