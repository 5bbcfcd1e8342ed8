//! `vote.sync`, `activemask`, `elect.sync`.

use crate::differential::{Class, Form, Operand, Row};

use super::rows::{LANES, OUTSIDE, lanes, masked, warp, warps};

/// Predicates in `%a`: none, all, one, one missing, at random; the mask in `%e`.
pub(super) fn ballots(seed: u64, full: bool) -> Vec<Row> {
    warps(seed, 64, |rng, warp| {
        let bits = match warp % 5 {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << rng.u32(..32),
            3 => !(1 << rng.u32(..32)),
            _ => rng.u32(..),
        };
        let mask = if full { u32::MAX } else { rng.u32(1..) };
        std::array::from_fn(|lane| [u64::from(bits >> lane & 1), 0, 0, mask.into()])
    })
}

/// All, any, uni as 0 or 1, and the ballot, of the lanes of a mask.
pub(super) fn vote(rows: &[Row], mask: u64) -> [u64; 4] {
    let votes: u64 = lanes(mask).map(|lane| rows[lane][0] << lane).sum();
    let (all, any) = (votes == mask, votes != 0);
    [all.into(), any.into(), (all || !any).into(), votes]
}

pub(super) fn votes() -> Vec<Form> {
    let sources = || [Operand::Pred, Operand::Pred, Operand::Pred, Operand::I32];
    let classes = [Class::Pred, Class::Pred, Class::Pred, Class::B32];
    let full = "vote.sync.all.pred %x, %a, -1; vote.sync.any.pred %y, %a, -1; vote.sync.uni.pred %z, %a, -1; \
                vote.sync.ballot.b32 %w, %a, -1";
    let negated = "vote.sync.all.pred %x, !%a, -1; vote.sync.any.pred %y, !%a, -1; \
                   vote.sync.uni.pred %z, !%a, -1; vote.sync.ballot.b32 %w, !%a, -1";
    let mut all = vec![
        warp("vote.sync", sources(), classes, full, |rows| {
            vec![vote(rows, 0xffff_ffff); LANES]
        })
        .with_rows(ballots(4, true)),
        warp("vote.sync, negated", sources(), classes, negated, |rows| {
            let [all, any, uni, ballot] = vote(rows, 0xffff_ffff);
            vec![[1 - any, 1 - all, uni, !ballot]; LANES]
        })
        .with_rows(ballots(5, true)),
    ];
    let modes = [
        ("all.pred", 0),
        ("any.pred", 1),
        ("uni.pred", 2),
        ("ballot.b32", 3),
    ];
    for (mode, index) in modes {
        let line = match index {
            3 => "vote.sync.ballot.b32 %x, %a, %e".to_owned(),
            _ => format!("vote.sync.{mode} %p1, %a, %e; selp.u32 %x, 1, 0, %p1"),
        };
        let name = format!("vote.sync.{mode} with a mask");
        all.push(
            warp(
                name,
                sources(),
                [Class::B32],
                masked(&["%x"], &line),
                move |rows| {
                    let one = |lane: usize| match rows[lane][3] >> lane & 1 {
                        1 => [vote(rows, rows[lane][3])[index]],
                        _ => [OUTSIDE],
                    };
                    (0..LANES).map(one).collect()
                },
            )
            .with_rows(ballots(6, false)),
        );
    }
    all
}

/// `activemask` and ballots where the predicate in `%a` sends lanes different ways.
pub(super) fn votes_in_branches() -> Vec<Form> {
    let sources = || [Operand::Pred, Operand::I32];
    let rows = |seed| {
        warps(seed, 64, |rng, warp| {
            let bits = [0, u32::MAX, 1, 0x8000_0000, rng.u32(..), rng.u32(..)][warp % 6];
            std::array::from_fn(|lane| [u64::from(bits >> lane & 1), rng.u64(..2), 0, 0])
        })
    };
    let taken = |rows: &[Row]| (0..LANES).map(|lane| rows[lane][0] << lane).sum::<u64>();
    let side = move |rows: &[Row], lane: usize| match rows[lane][0] {
        1 => taken(rows),
        _ => !taken(rows),
    };
    let branches = |line: &str| {
        format!(
            "@%a bra taken; {line}; add.u32 %y, %lane, 100; bra done; taken: {line}; add.u32 %y, %lane, 200; done:"
        )
    };
    let which = |rows: &[Row], lane: usize| lane as u64 + 100 + 100 * rows[lane][0];
    let in_branch = "setp.ne.u32 %p1, %b, 0; vote.sync.ballot.b32 %x, %p1, %r1";
    let ballot = format!(
        "vote.sync.ballot.b32 %r1, %a, -1; @%a bra begin; not.b32 %r1, %r1; begin: {}",
        branches(in_branch)
    );
    vec![
        warp(
            "activemask.b32",
            sources(),
            [Class::B32],
            "activemask.b32 %x",
            |_| vec![[u64::MAX]; LANES],
        )
        .with_rows(rows(7)),
        warp(
            "activemask.b32 in two branches",
            sources(),
            [Class::B32; 2],
            branches("activemask.b32 %x"),
            {
                move |rows| {
                    (0..LANES)
                        .map(|lane| [side(rows, lane), which(rows, lane)])
                        .collect()
                }
            },
        )
        .with_rows(rows(8)),
        warp(
            "vote.sync.ballot.b32 in two branches",
            sources(),
            [Class::B32; 2],
            ballot,
            move |rows| {
                let chosen: u64 = (0..LANES).map(|lane| rows[lane][1] << lane).sum();
                (0..LANES)
                    .map(|lane| [side(rows, lane) & chosen, which(rows, lane)])
                    .collect()
            },
        )
        .with_rows(rows(9)),
    ]
}

/// `elect.sync`: the lowest lane of the mask, as the hardware elects.
pub(super) fn elections() -> Form {
    let sources = [Operand::Pred, Operand::Pred, Operand::Pred, Operand::I32];
    let body = masked(
        &["%x", "%y"],
        "elect.sync %x|%p1, %e; selp.u32 %y, 1, 0, %p1",
    );
    warp("elect.sync", sources, [Class::B32; 2], body, |rows| {
        let mask = rows[0][3];
        let leader = u64::from(mask.trailing_zeros());
        let one = |lane: usize| match mask >> lane & 1 {
            1 => [leader, u64::from(lane as u64 == leader)],
            _ => [OUTSIDE; 2],
        };
        (0..LANES).map(one).collect()
    })
    .with_rows(ballots(13, false))
}
