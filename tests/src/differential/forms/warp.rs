//! Instructions of a warp's lanes together.

use fastrand::Rng;

use crate::differential::{Class, Form, Operand, Row};

const LANES: usize = 32;
const FULL: u64 = 0xffff_ffff;

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for mode in ["up", "down", "bfly", "idx"] {
        all.push(shuffle(mode));
        all.push(shuffle_halves(mode));
    }
    all.push(shuffle_masked());
    all.extend(votes());
    all.extend(masked_votes());
    all.extend(votes_in_branches());
    all.extend(matches("b32", Operand::I32));
    all.extend(matches("b64", Operand::I64));
    all.extend(reductions());
    all.push(election());
    all.push(warp_barrier());
    all
}

/// Warps of rows; `f` makes those of one warp.
fn warps(seed: u64, count: usize, mut f: impl FnMut(&mut Rng, usize) -> [Row; LANES]) -> Vec<Row> {
    let mut rng = Rng::with_seed(seed);
    let count = count.next_multiple_of(Form::BLOCK / LANES);
    (0..count).flat_map(|warp| f(&mut rng, warp)).collect()
}

/// A form of a warp, whose results `f` gives lane by lane.
fn warp<const N: usize, const M: usize>(
    name: impl Into<String>,
    sources: [Operand; N],
    results: [Class; M],
    body: impl Into<String>,
    rows: Vec<Row>,
    f: impl Fn(&[Row], usize) -> [u64; M] + Send + Sync + 'static,
) -> Form {
    let all = move |own: &[Row]| (0..LANES).map(|lane| f(own, lane)).collect();
    Form::together(name, sources, results, LANES, body, all).with_rows(rows)
}

/// The lanes of a mask.
fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |&lane| mask >> lane & 1 == 1)
}

/// A form of only the lanes of the mask in the fourth source; the others report `OUTSIDE`.
fn masked<const M: usize>(
    name: impl Into<String>,
    sources: [Operand; 4],
    results: [Class; M],
    body: &str,
    rows: Vec<Row>,
    f: impl Fn(&[Row], usize) -> [u64; M] + Send + Sync + 'static,
) -> Form {
    const OUTSIDE: u64 = 0xdead;
    let begin: String = ["%x", "%y", "%z"][..M]
        .iter()
        .map(|x| format!("mov.b32 {x}, {OUTSIDE:#x};"))
        .collect();
    let body = format!(
        "{begin} shr.b32 %r0, %e, %lane; and.b32 %r0, %r0, 1; setp.eq.u32 %p0, %r0, 0; @%p0 bra outside; {body}; outside:"
    );
    warp(
        name,
        sources,
        results,
        body,
        rows,
        move |own, lane| match own[lane][3] >> lane & 1 {
            1 => f(own, lane),
            _ => [OUTSIDE; M],
        },
    )
}

/// A value, and the mask of [`masked`].
fn value_and_mask(value: Operand) -> [Operand; 4] {
    [value, Operand::Pred, Operand::Pred, Operand::I32]
}

/// All lanes, or some.
fn mask(rng: &mut Rng, full: bool) -> u64 {
    if full { FULL } else { rng.u32(1..).into() }
}

// `shfl.sync`.

/// The lane that a shuffle reads, and whether it is in range (PTX ISA, `shfl.sync`).
fn source(mode: &str, lane: usize, [_, b, c, _]: Row) -> (usize, bool) {
    let (lane, b, clamp) = (lane as i64, b as i64 & 31, c as i64 & 31);
    let segment = c as i64 >> 8 & 31;
    let (first, last) = (lane & segment, lane & segment | clamp & !segment);
    let (from, in_range) = match mode {
        "up" => (lane - b, lane - b >= last),
        "down" => (lane + b, lane + b <= last),
        "bfly" => (lane ^ b, lane ^ b <= last),
        _ => (first | b & !segment, first | b & !segment <= last),
    };
    (if in_range { from } else { lane } as usize, in_range)
}

/// Clamp and segment mask that CUDA makes from a width.
fn of_width(mode: &str, width: u64) -> u64 {
    (32 - width) << 8 | if mode == "up" { 0 } else { 31 }
}

/// Every mode with every width and amounts below, at and beyond it; then amounts and clamps at
/// random, which may differ from lane to lane.
fn shuffle(mode: &'static str) -> Form {
    let amounts = [0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 30, 31, 32, 33, 63, FULL];
    let widths = [1, 2, 4, 8, 16, 32];
    let sweep = amounts.len() * widths.len();
    let rows = warps(1, sweep + 160, |rng, warp| {
        let (b, c) = if warp < sweep {
            let width = widths[warp / amounts.len()];
            (amounts[warp % amounts.len()], of_width(mode, width))
        } else {
            (rng.u64(..64), rng.u64(..0x2000))
        };
        let differ = warp >= sweep + 80;
        std::array::from_fn(|_| {
            if differ {
                [rng.u32(..).into(), rng.u64(..32), rng.u64(..0x2000), 0]
            } else {
                [rng.u32(..).into(), b, c, 0]
            }
        })
    });
    let body = format!(
        "shfl.sync.{mode}.b32 %x|%y, %a, %b, %c, -1; shfl.sync.{mode}.b32 %z, %a, %b, %c, 0xffffffff"
    );
    let sources = [Operand::I32, Operand::I32, Operand::I32];
    let results = [Class::B32, Class::Pred, Class::B32];
    let name = format!("shfl.sync.{mode}.b32");
    warp(name, sources, results, body, rows, move |own, lane| {
        let (from, in_range) = source(mode, lane, own[lane]);
        [own[from][0], in_range.into(), own[from][0]]
    })
}

/// The two halves of a warp, in different branches, each with its own mask.
fn shuffle_halves(mode: &'static str) -> Form {
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
    let name = format!("shfl.sync.{mode}.b32 in two branches");
    let results = [Class::B32, Class::Pred];
    warp(name, sources, results, body, rows, move |own, lane| {
        let (from, in_range) = source(mode, lane, own[lane]);
        [own[from][0] + u64::from(lane >= 16), in_range.into()]
    })
}

/// A shuffle by some lanes; each reads one of them.
fn shuffle_masked() -> Form {
    let rows = warps(3, 64, |rng, _| {
        let mask = mask(rng, false);
        let members: Vec<usize> = lanes(mask).collect();
        std::array::from_fn(|_| {
            let from = *rng.choice(&members).expect("a lane");
            [rng.u32(..).into(), from as u64, 0, mask]
        })
    });
    let sources = [(); 4].map(|()| Operand::I32);
    let body = "shfl.sync.idx.b32 %x, %a, %b, 31, %e";
    let name = "shfl.sync.idx.b32 with a mask";
    masked(name, sources, [Class::B32], body, rows, |own, lane| {
        [own[own[lane][1] as usize][0]]
    })
}

// `vote.sync`, `activemask`, `elect.sync`.

/// Predicates in `%a`: none, all, one, one missing, at random; the mask in `%e`.
fn ballots(seed: u64, full: bool) -> Vec<Row> {
    warps(seed, 64, |rng, warp| {
        let bits = match warp % 5 {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << rng.u32(..32),
            3 => !(1 << rng.u32(..32)),
            _ => rng.u32(..),
        };
        let mask = mask(rng, full);
        std::array::from_fn(|lane| [u64::from(bits >> lane & 1), 0, 0, mask])
    })
}

/// All, any, uni as 0 or 1, and the ballot, of the lanes of a mask.
fn vote(rows: &[Row], mask: u64) -> [u64; 4] {
    let votes: u64 = lanes(mask).map(|lane| rows[lane][0] << lane).sum();
    let (all, any) = (votes == mask, votes != 0);
    [all.into(), any.into(), (all || !any).into(), votes]
}

fn votes() -> [Form; 2] {
    let form = |name: &str, source: &str, seed, f: fn(&[Row], usize) -> [u64; 4]| {
        let body = format!(
            "vote.sync.all.pred %x, {source}, -1; vote.sync.any.pred %y, {source}, -1; \
             vote.sync.uni.pred %z, {source}, -1; vote.sync.ballot.b32 %w, {source}, -1"
        );
        let results = [Class::Pred, Class::Pred, Class::Pred, Class::B32];
        warp(
            name,
            value_and_mask(Operand::Pred),
            results,
            body,
            ballots(seed, true),
            f,
        )
    };
    [
        form("vote.sync", "%a", 4, |rows, _| vote(rows, FULL)),
        form("vote.sync, negated", "!%a", 5, |rows, _| {
            let [all, any, uni, ballot] = vote(rows, FULL);
            [1 - any, 1 - all, uni, !ballot]
        }),
    ]
}

fn masked_votes() -> Vec<Form> {
    let form = |(index, mode): (usize, &str)| {
        let body = match mode {
            "ballot.b32" => "vote.sync.ballot.b32 %x, %a, %e".to_owned(),
            _ => format!("vote.sync.{mode} %p1, %a, %e; selp.u32 %x, 1, 0, %p1"),
        };
        let name = format!("vote.sync.{mode} with a mask");
        let (sources, rows) = (value_and_mask(Operand::Pred), ballots(6, false));
        masked(
            name,
            sources,
            [Class::B32],
            &body,
            rows,
            move |own, lane| [vote(own, own[lane][3])[index]],
        )
    };
    let modes = ["all.pred", "any.pred", "uni.pred", "ballot.b32"];
    modes.into_iter().enumerate().map(form).collect()
}

/// `activemask` and ballots where the predicate in `%a` sends lanes different ways.
fn votes_in_branches() -> [Form; 3] {
    fn form<const M: usize>(
        name: &str,
        body: &str,
        seed: u64,
        f: fn(&[Row], usize) -> [u64; M],
    ) -> Form {
        let rows = warps(seed, 64, |rng, warp| {
            let bits = [0, u32::MAX, 1, 0x8000_0000, rng.u32(..), rng.u32(..)][warp % 6];
            std::array::from_fn(|lane| [u64::from(bits >> lane & 1), rng.u64(..2), 0, 0])
        });
        warp(
            name,
            [Operand::Pred, Operand::I32],
            [Class::B32; M],
            body,
            rows,
            f,
        )
    }
    /// The lanes on the same side, and a value that identifies lane and side.
    fn side(rows: &[Row], lane: usize) -> [u64; 2] {
        let taken: u64 = (0..LANES).map(|other| rows[other][0] << other).sum();
        let side = if rows[lane][0] == 1 { taken } else { !taken };
        [side, lane as u64 + 100 + 100 * rows[lane][0]]
    }
    let branches = |line: &str| {
        format!(
            "@%a bra taken; {line}; add.u32 %y, %lane, 100; bra done; taken: {line}; add.u32 %y, %lane, 200; done:"
        )
    };
    let ballot = format!(
        "vote.sync.ballot.b32 %r1, %a, -1; @%a bra begin; not.b32 %r1, %r1; begin: {}",
        branches("setp.ne.u32 %p1, %b, 0; vote.sync.ballot.b32 %x, %p1, %r1")
    );
    let active = branches("activemask.b32 %x");
    [
        form("activemask.b32", "activemask.b32 %x", 7, |_, _| [u64::MAX]),
        form("activemask.b32 in two branches", &active, 8, side),
        form(
            "vote.sync.ballot.b32 in two branches",
            &ballot,
            9,
            |rows, lane| {
                let chosen: u64 = (0..LANES).map(|other| rows[other][1] << other).sum();
                let [side, which] = side(rows, lane);
                [side & chosen, which]
            },
        ),
    ]
}

/// `elect.sync`: the lowest lane of the mask, as the hardware elects.
fn election() -> Form {
    let (sources, rows) = (value_and_mask(Operand::Pred), ballots(13, false));
    let body = "elect.sync %x|%p1, %e; selp.u32 %y, 1, 0, %p1";
    masked(
        "elect.sync",
        sources,
        [Class::B32; 2],
        body,
        rows,
        |own, lane| {
            let leader = own[lane][3].trailing_zeros();
            [leader.into(), u64::from(lane as u32 == leader)]
        },
    )
}

// `match.sync`, `redux.sync`, `bar.warp.sync`.

fn matches(ty: &str, operand: Operand) -> [Form; 2] {
    let class = operand.class();
    let rows = |seed| {
        warps(seed, 64, |rng, warp| {
            let kinds = [1, 2, 5, 40][warp % 4];
            let mask = mask(rng, warp % 2 == 0);
            std::array::from_fn(|_| {
                // Some values differ only in their upper words.
                let value = rng.u64(..kinds).wrapping_mul(0x1_0000_0001 << rng.u32(..2));
                [value & class.mask(), 0, 0, mask]
            })
        })
    };
    let equal = |own: &[Row], lane: usize| {
        let others = lanes(own[lane][3]).filter(|&other| own[other][0] == own[lane][0]);
        others.map(|other| 1 << other).sum::<u64>()
    };
    let sources = value_and_mask(operand);
    let body = format!("match.any.sync.{ty} %x, %a, %e");
    let name = format!("match.any.sync.{ty}");
    let any = masked(
        name,
        sources.clone(),
        [Class::B32],
        &body,
        rows(10),
        move |own, lane| [equal(own, lane)],
    );
    let of_all = format!(
        "match.all.sync.{ty} %x|%p1, %a, %e; selp.u32 %y, 1, 0, %p1; match.all.sync.{ty} %z, %a, %e"
    );
    let all_name = format!("match.all.sync.{ty}");
    let all = masked(
        all_name,
        sources,
        [Class::B32; 3],
        &of_all,
        rows(11),
        move |own, lane| {
            if equal(own, lane) == own[lane][3] {
                [own[lane][3], 1, own[lane][3]]
            } else {
                [0, 0, 0]
            }
        },
    );
    [any, all]
}

fn reductions() -> [Form; 9] {
    let form = |(op, f): (&str, fn(u32, u32) -> u32)| {
        let rows = warps(12, 64, |rng, warp| {
            let mask = mask(rng, warp % 2 == 0);
            let shift = rng.u32(..32);
            std::array::from_fn(|_| {
                let value = rng.u32(..) >> shift;
                let value = if rng.bool() {
                    value
                } else {
                    value.wrapping_neg()
                };
                [value.into(), 0, 0, mask]
            })
        });
        let name = format!("redux.sync.{op}");
        let body = format!("redux.sync.{op} %x, %a, %e");
        let sources = value_and_mask(Operand::I32);
        masked(
            name,
            sources,
            [Class::B32],
            &body,
            rows,
            move |own, lane| {
                let values = lanes(own[lane][3]).map(|lane| own[lane][0] as u32);
                [values.reduce(f).expect("a lane").into()]
            },
        )
    };
    [
        ("add.u32", u32::wrapping_add as fn(u32, u32) -> u32),
        ("add.s32", u32::wrapping_add),
        ("min.u32", u32::min),
        ("min.s32", |a, b| (a as i32).min(b as i32) as u32),
        ("max.u32", u32::max),
        ("max.s32", |a, b| (a as i32).max(b as i32) as u32),
        ("and.b32", |a, b| a & b),
        ("or.b32", |a, b| a | b),
        ("xor.b32", |a, b| a ^ b),
    ]
    .map(form)
}

/// Values passed through shared memory around `bar.warp.sync`.
fn warp_barrier() -> Form {
    let rows = warps(14, 16, |rng, _| {
        std::array::from_fn(|_| [rng.u32(..).into(), 0, 0, 0])
    });
    let body = "mov.u32 %r15, tile; mad.lo.u32 %r14, %thread, 4, %r15; st.shared.u32 [%r14], %a; \
                bar.warp.sync 0xffffffff; xor.b32 %r14, %thread, 1; mad.lo.u32 %r14, %r14, 4, %r15; \
                ld.shared.u32 %x, [%r14]";
    let sources = [Operand::I32];
    warp(
        "bar.warp.sync",
        sources,
        [Class::B32],
        body,
        rows,
        |own, lane| [own[lane ^ 1][0]],
    )
    .with_module(".shared .align 4 .b8 tile[512];")
}
