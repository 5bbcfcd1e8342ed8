//! Sources for whole warps, and kernels of which some lanes stay outside.

use fastrand::Rng;

use crate::differential::{Class, Form, Operand, Row};

pub(super) const LANES: usize = 32;

/// Warps of rows; `f` makes those of one warp.
pub(super) fn warps(
    seed: u64,
    count: usize,
    mut f: impl FnMut(&mut Rng, usize) -> [Row; LANES],
) -> Vec<Row> {
    let mut rng = Rng::with_seed(seed);
    let count = count.next_multiple_of(Form::BLOCK / LANES);
    (0..count).flat_map(|warp| f(&mut rng, warp)).collect()
}

pub(super) fn warp<const N: usize, const M: usize>(
    name: impl Into<String>,
    sources: [Operand; N],
    results: [Class; M],
    body: impl Into<String>,
    f: impl Fn(&[Row]) -> Vec<[u64; M]> + Send + Sync + 'static,
) -> Form {
    Form::together("warp", name, sources, results, LANES, body, f)
}

/// The lanes of a mask.
pub(super) fn lanes(mask: u64) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |&lane| mask >> lane & 1 == 1)
}

/// What lanes outside the mask in `%e` report.
pub(super) const OUTSIDE: u64 = 0xdead;

/// `body` by the lanes of the mask in `%e` alone.
pub(super) fn masked(results: &[&str], body: &str) -> String {
    let begin: String = results
        .iter()
        .map(|x| format!("mov.b32 {x}, {OUTSIDE:#x};"))
        .collect();
    format!(
        "{begin} shr.b32 %r0, %e, %lane; and.b32 %r0, %r0, 1; setp.eq.u32 %p0, %r0, 0; @%p0 bra outside; {body}; outside:"
    )
}
