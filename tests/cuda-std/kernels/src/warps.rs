//! Functions of a warp. Each lane writes to its own row.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WarpReductionOp};

/// The values of shuffles of every width: of the lane 3 above, in four words for 128 bits.
#[kernel]
pub unsafe fn shuffles(out: *mut u32) {
    let lane = warp::lane_id();
    let row = out.add(16 * lane as usize);
    let wide = u128::from(lane) * 0x0001_0002_0003_0004_0005_0006_0007_0008;
    let of_byte = warp::warp_shuffle_down(FULL_MASK, lane as u8, 3, 32).0;
    let of_signed_byte = warp::warp_shuffle_down(FULL_MASK, -(lane as i8), 3, 32).0;
    let of_short = warp::warp_shuffle_down(FULL_MASK, 1000 * lane as u16, 3, 32).0;
    let of_signed_short = warp::warp_shuffle_down(FULL_MASK, -1000 * lane as i16, 3, 32).0;
    let (of_wide, is_there) = warp::warp_shuffle_down(FULL_MASK, wide, 3, 32);
    *row = u32::from(of_byte);
    *row.add(1) = of_signed_byte as u32;
    *row.add(2) = u32::from(of_short);
    *row.add(3) = of_signed_short as u32;
    for word in 0..4 {
        *row.add(4 + word) = (of_wide >> (32 * word)) as u32;
    }
    *row.add(8) = u32::from(is_there);
}

/// Lanes with equal values, and reductions.
#[kernel]
pub unsafe fn matches(out: *mut u32) {
    let lane = warp::lane_id();
    let row = out.add(16 * lane as usize);
    *row = warp::warp_match_any(FULL_MASK, lane % 3);
    *row.add(1) = warp::warp_match_any(FULL_MASK, u64::from(lane % 2) << 40);
    *row.add(2) = warp::warp_match_all(FULL_MASK, 7u64).unwrap_or(1);
    *row.add(3) = warp::warp_match_all(FULL_MASK, lane / 31).unwrap_or(1);
    let signed = lane as i32 - 20;
    *row.add(4) = warp::warp_reduce(FULL_MASK, signed, WarpReductionOp::Min) as u32;
    *row.add(5) = warp::warp_reduce(FULL_MASK, signed, WarpReductionOp::Add) as u32;
    *row.add(6) = warp::warp_reduce(FULL_MASK, lane, WarpReductionOp::Max);
    *row.add(7) = thread::sync_threads_and(1u32);
    *row.add(8) = u32::from(thread::sync_threads_or(lane == 40));
    *row.add(9) = thread::sync_threads_count(lane & 1);
    *row.add(10) = thread::index();
    *row.add(11) = thread::warp_size();
}

/// Prints a value on its way.
#[kernel]
pub unsafe fn debugged(out: *mut u32) {
    *out = cuda_std::dbg!(thread::index() + 2) * 2;
}
