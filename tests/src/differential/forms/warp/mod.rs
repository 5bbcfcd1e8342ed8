//! What the lanes of a warp do together.

mod reduce;
mod rows;
mod shuffle;
mod vote;

use crate::differential::Form;

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for mode in ["up", "down", "bfly", "idx"] {
        all.push(shuffle::shuffle(mode));
        all.push(shuffle::shuffle_halves(mode));
    }
    all.push(shuffle::shuffle_masked());
    all.extend(vote::votes());
    all.extend(vote::votes_in_branches());
    all.extend(reduce::matches());
    all.extend(reduce::reductions());
    all.push(vote::elections());
    all.push(reduce::warp_barrier());
    all
}
