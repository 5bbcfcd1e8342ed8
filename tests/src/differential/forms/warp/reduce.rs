//! `match.sync`, `redux.sync`, `bar.warp.sync`.

use crate::differential::{Class, Form, Operand, Row};

use super::rows::{LANES, OUTSIDE, lanes, masked, warp, warps};

pub(super) fn matches() -> Vec<Form> {
    let mut all = Vec::new();
    for (ty, class, operand) in [
        ("b32", Class::B32, Operand::I32),
        ("b64", Class::B64, Operand::I64),
    ] {
        let rows = |seed| {
            warps(seed, 64, |rng, warp| {
                let kinds = [1, 2, 5, 40][warp % 4];
                let mask = if warp % 2 == 0 {
                    u32::MAX
                } else {
                    rng.u32(1..)
                };
                std::array::from_fn(|_| {
                    // Values that differ in their upper words alone, too.
                    let value =
                        rng.u64(..kinds).wrapping_mul(0x1_0000_0001 << rng.u32(..2)) & class.mask();
                    [value, 0, 0, mask.into()]
                })
            })
        };
        let sources = || [operand.clone(), Operand::Pred, Operand::Pred, Operand::I32];
        let equal = |rows: &[Row], lane: usize| {
            lanes(rows[lane][3])
                .filter(|&other| rows[other][0] == rows[lane][0])
                .map(|l| 1 << l)
                .sum::<u64>()
        };
        let any = masked(&["%x"], &format!("match.any.sync.{ty} %x, %a, %e"));
        all.push(
            warp(
                format!("match.any.sync.{ty}"),
                sources(),
                [Class::B32],
                any,
                move |rows| {
                    let one = |lane: usize| match rows[lane][3] >> lane & 1 {
                        1 => [equal(rows, lane)],
                        _ => [OUTSIDE],
                    };
                    (0..LANES).map(one).collect()
                },
            )
            .with_rows(rows(10)),
        );
        let line = format!(
            "match.all.sync.{ty} %x|%p1, %a, %e; selp.u32 %y, 1, 0, %p1; match.all.sync.{ty} %z, %a, %e"
        );
        let every = masked(&["%x", "%y", "%z"], &line);
        all.push(
            warp(
                format!("match.all.sync.{ty}"),
                sources(),
                [Class::B32; 3],
                every,
                move |rows| {
                    let one = |lane: usize| match rows[lane][3] >> lane & 1 {
                        1 if equal(rows, lane) == rows[lane][3] => {
                            [rows[lane][3], 1, rows[lane][3]]
                        }
                        1 => [0, 0, 0],
                        _ => [OUTSIDE; 3],
                    };
                    (0..LANES).map(one).collect()
                },
            )
            .with_rows(rows(11)),
        );
    }
    all
}

pub(super) fn reductions() -> Vec<Form> {
    type Fold = fn(u32, u32) -> u32;
    let ops: [(&str, Fold); 9] = [
        ("add.u32", u32::wrapping_add),
        ("add.s32", u32::wrapping_add),
        ("min.u32", u32::min),
        ("min.s32", |a, b| (a as i32).min(b as i32) as u32),
        ("max.u32", u32::max),
        ("max.s32", |a, b| (a as i32).max(b as i32) as u32),
        ("and.b32", |a, b| a & b),
        ("or.b32", |a, b| a | b),
        ("xor.b32", |a, b| a ^ b),
    ];
    let mut all = Vec::new();
    for (op, f) in ops {
        let rows = warps(12, 64, |rng, warp| {
            let mask = if warp % 2 == 0 {
                u32::MAX
            } else {
                rng.u32(1..)
            };
            let shift = rng.u32(..32);
            std::array::from_fn(|_| {
                let value = rng.u32(..) >> shift;
                let value = if rng.bool() {
                    value
                } else {
                    value.wrapping_neg()
                };
                [value.into(), 0, 0, mask.into()]
            })
        });
        let sources = [Operand::I32, Operand::Pred, Operand::Pred, Operand::I32];
        let body = masked(&["%x"], &format!("redux.sync.{op} %x, %a, %e"));
        all.push(
            warp(
                format!("redux.sync.{op}"),
                sources,
                [Class::B32],
                body,
                move |rows| {
                    let mask = rows[0][3];
                    let total = lanes(mask)
                        .map(|lane| rows[lane][0] as u32)
                        .reduce(f)
                        .expect("a lane");
                    (0..LANES)
                        .map(|lane| {
                            if mask >> lane & 1 == 1 {
                                [total.into()]
                            } else {
                                [OUTSIDE]
                            }
                        })
                        .collect()
                },
            )
            .with_rows(rows),
        );
    }
    all
}

/// Values passed through shared memory around `bar.warp.sync`.
pub(super) fn warp_barrier() -> Form {
    let rows = warps(14, 16, |rng, _| {
        std::array::from_fn(|_| [rng.u32(..).into(), 0, 0, 0])
    });
    let body = "mov.u32 %r15, tile; mad.lo.u32 %r14, %thread, 4, %r15; st.shared.u32 [%r14], %a; \
                bar.warp.sync 0xffffffff; xor.b32 %r14, %thread, 1; mad.lo.u32 %r14, %r14, 4, %r15; \
                ld.shared.u32 %x, [%r14]";
    warp(
        "bar.warp.sync",
        [Operand::I32],
        [Class::B32],
        body,
        |rows| (0..LANES).map(|lane| [rows[lane ^ 1][0]]).collect(),
    )
    .with_rows(rows)
    .with_module(".shared .align 4 .b8 tile[512];")
}
