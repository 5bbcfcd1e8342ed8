//! Shuffles with lanes missing.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

/// The shuffle is in a branch that half of the warp takes, and its mask names all lanes.
#[kernel]
pub unsafe fn sum_in_branch(x: *const f32, out: *mut f32) {
    let lane = warp::lane_id() as usize;
    let mut sum = *x.add(lane);
    if lane < 16 {
        sum += warp::warp_shuffle_down(FULL_MASK, sum, 16, 32).0; //~ fault
    }
    warp::sync_warp(FULL_MASK); //~ fault
    *out.add(lane) = sum;
}

/// All lanes shuffle, half of them keep the result.
#[kernel]
pub unsafe fn sum_in_branch_fixed(x: *const f32, out: *mut f32) {
    let lane = warp::lane_id() as usize;
    let mut sum = *x.add(lane);
    let other = warp::warp_shuffle_down(FULL_MASK, sum, 16, 32).0;
    if lane < 16 {
        sum += other;
    }
    *out.add(lane) = sum;
}

/// Lanes without an element have returned when the others read from them.
#[kernel]
pub unsafe fn sum_of_few(x: &[f32], out: *mut f32) {
    let lane = warp::lane_id() as usize;
    if lane >= x.len() {
        return;
    }
    let mut sum = x[lane];
    let mut step = 16;
    while step > 0 {
        sum += warp::warp_shuffle_down(FULL_MASK, sum, step, 32).0; //~ fault
        step /= 2;
    }
    if lane == 0 {
        *out = sum;
    }
}

/// Lanes without an element add 0.
#[kernel]
pub unsafe fn sum_of_few_fixed(x: &[f32], out: *mut f32) {
    let lane = warp::lane_id() as usize;
    let mut sum = if lane < x.len() { x[lane] } else { 0.0 };
    let mut step = 16;
    while step > 0 {
        sum += warp::warp_shuffle_down(FULL_MASK, sum, step, 32).0;
        step /= 2;
    }
    if lane == 0 {
        *out = sum;
    }
}

/// The mask of the first n lanes is one lane short.
#[kernel]
pub unsafe fn broadcast_last(x: *const f32, out: *mut f32, n: u32) {
    let lane = warp::lane_id();
    if lane < n {
        let mask = (1 << (n - 1)) - 1;
        let value = *x.add(lane as usize);
        *out.add(lane as usize) = warp::warp_shuffle_idx(mask, value, n - 1, 32).0; //~ fault
    }
}

/// The mask has n lanes.
#[kernel]
pub unsafe fn broadcast_last_fixed(x: *const f32, out: *mut f32, n: u32) {
    let lane = warp::lane_id();
    if lane < n {
        let mask = (1 << n) - 1;
        let value = *x.add(lane as usize);
        *out.add(lane as usize) = warp::warp_shuffle_idx(mask, value, n - 1, 32).0;
    }
}
