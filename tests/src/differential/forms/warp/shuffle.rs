//! `shfl.sync`.

use crate::differential::{Class, Form, Operand};

use super::rows::{LANES, OUTSIDE, lanes, masked, warp, warps};

/// The lane that a shuffle reads, and whether it is in range (PTX ISA, `shfl.sync`).
pub(super) fn source(mode: &str, lane: usize, b: u64, c: u64) -> (usize, bool) {
    let (lane, b, clamp, segment) = (
        lane as i64,
        b as i64 & 31,
        c as i64 & 31,
        c as i64 >> 8 & 31,
    );
    let (first, last) = (lane & segment, lane & segment | clamp & !segment);
    let (from, in_range) = match mode {
        "up" => (lane - b, lane - b >= last),
        "down" => (lane + b, lane + b <= last),
        "bfly" => (lane ^ b, lane ^ b <= last),
        _ => (first | b & !segment, first | b & !segment <= last),
    };
    (if in_range { from } else { lane } as usize, in_range)
}

/// Clamp and segment mask as CUDA makes them of a width.
pub(super) fn of_width(mode: &str, width: u64) -> u64 {
    (32 - width) << 8 | if mode == "up" { 0 } else { 31 }
}

/// Every mode with every width and amounts below, at and beyond it; then amounts and clamps at random, which may differ
/// from lane to lane.
pub(super) fn shuffle(mode: &'static str) -> Form {
    let amounts = [
        0,
        1,
        2,
        3,
        4,
        7,
        8,
        15,
        16,
        17,
        30,
        31,
        32,
        33,
        63,
        0xffff_ffff,
    ];
    let widths = [1, 2, 4, 8, 16, 32];
    let sweep = amounts.len() * widths.len();
    let rows = warps(1, sweep + 160, |rng, warp| {
        let (b, c) = match warp < sweep {
            true => (
                amounts[warp % amounts.len()],
                of_width(mode, widths[warp / amounts.len()]),
            ),
            false => (rng.u64(..64), rng.u64(..0x2000)),
        };
        let differ = warp >= sweep + 80;
        std::array::from_fn(|_| match differ {
            true => [rng.u32(..).into(), rng.u64(..32), rng.u64(..0x2000), 0],
            false => [rng.u32(..).into(), b, c, 0],
        })
    });
    let body = format!(
        "shfl.sync.{mode}.b32 %x|%y, %a, %b, %c, -1; shfl.sync.{mode}.b32 %z, %a, %b, %c, 0xffffffff"
    );
    let sources = [Operand::I32, Operand::I32, Operand::I32];
    let classes = [Class::B32, Class::Pred, Class::B32];
    warp(
        format!("shfl.sync.{mode}.b32"),
        sources,
        classes,
        body,
        move |rows| {
            let one = |lane: usize| {
                let (from, in_range) = source(mode, lane, rows[lane][1], rows[lane][2]);
                [rows[from][0], in_range.into(), rows[from][0]]
            };
            (0..LANES).map(one).collect()
        },
    )
    .with_rows(rows)
}

/// The two halves of a warp, in different branches, each with its own mask.
pub(super) fn shuffle_halves(mode: &'static str) -> Form {
    let rows = warps(2, 64, |rng, warp| {
        let b = rng.u64(..16);
        let width = [2, 4, 8, 16][warp % 4];
        std::array::from_fn(|_| [rng.u32(..).into(), b, of_width(mode, width), 0])
    });
    let shuffle = |mask| format!("shfl.sync.{mode}.b32 %x|%y, %a, %b, %c, {mask}");
    let body = format!(
        "setp.lt.u32 %p0, %lane, 16; @%p0 bra lower; {}; add.u32 %x, %x, 1; bra done; lower: {}; done:",
        shuffle("0xffff0000"),
        shuffle("0x0000ffff")
    );
    let sources = [Operand::I32, Operand::I32, Operand::I32];
    warp(
        format!("shfl.sync.{mode}.b32 in two branches"),
        sources,
        [Class::B32, Class::Pred],
        body,
        move |rows| {
            let one = |lane: usize| {
                let (from, in_range) = source(mode, lane, rows[lane][1], rows[lane][2]);
                [rows[from][0] + u64::from(lane >= 16), in_range.into()]
            };
            (0..LANES).map(one).collect()
        },
    )
    .with_rows(rows)
}

/// A shuffle by some lanes, each reading one of them.
pub(super) fn shuffle_masked() -> Form {
    let rows = warps(3, 64, |rng, _| {
        let mask = u64::from(rng.u32(1..));
        let members: Vec<usize> = lanes(mask).collect();
        std::array::from_fn(|_| {
            let from = *rng.choice(&members).expect("a lane");
            [rng.u32(..).into(), from as u64, 0, mask]
        })
    });
    let body = masked(&["%x"], "shfl.sync.idx.b32 %x, %a, %b, 31, %e");
    let sources = [Operand::I32, Operand::I32, Operand::I32, Operand::I32];
    warp(
        "shfl.sync.idx.b32 with a mask",
        sources,
        [Class::B32],
        body,
        |rows| {
            let one = |lane: usize| match rows[lane][3] >> lane & 1 {
                1 => [rows[rows[lane][1] as usize][0]],
                _ => [OUTSIDE],
            };
            (0..LANES).map(one).collect()
        },
    )
    .with_rows(rows)
}
