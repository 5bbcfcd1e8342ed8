//! The kinds of strips' rows, and the assignment of strips to warps, computed on the device, for
//! kernels whose warps each take a whole strip.

use cuda_std::mem;
use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use super::kinds::{IS_CHANGED, IS_OTHER, IS_ROUGH, IS_ZERO};
use super::levels::{GROUP, PLAIN, ROUGH, UNIFORM, WALLS};
use super::padded::MARGIN;

/// Rows that take one path: [`GROUP`] times a power of two. Padding is whole intervals.
pub const INTERVAL: u32 = 8;
const _: () = assert!(
    MARGIN.is_multiple_of(INTERVAL) && (INTERVAL / GROUP as u32).is_power_of_two(),
    "intervals are whole groups, and padding is whole intervals"
);
/// A path: all rows in the pipeline are plain, but some rows that are copied meanwhile will be in
/// it together with others.
pub const NEAR: u32 = 4;
/// Numbers of a strip in the table of strips, and of a warp in that of warps. They are loaded
/// together.
pub const NUMBERS: u32 = 4;

/// Writes the path of each interval of each strip's rows, with padding, from the bits that
/// [`kinds::write`](super::kinds::write) wrote as `rough`. Before an interval's first row the
/// pipeline still holds `held` rows, and rows are copied `ahead` of it. It also writes [`NUMBERS`]
/// for each strip: its first row that is not blank, the row after its last, both counted with
/// padding, and whether it is slow. If `skips`, a row is blank where all cells up to `held` rows
/// away are zero. A strip is slow if it takes a quarter longer than a plain one.
///
/// Block: 32. Grid: strips.
///
/// # Safety
/// - `rough` has a number for each row, with padding, of each strip. `paths` points to a number for
///   each interval of these, `table` to [`NUMBERS`] for each strip. Nothing else accesses them
///   during the launch.
#[inline(always)]
pub unsafe fn paths(
    rough: &[u32],
    paths: *mut u32,
    table: *mut u32,
    n_y: u32,
    [held, ahead]: [u32; 2],
    skips: bool,
) {
    let (strip, lane) = (thread::block_idx_x(), thread::thread_idx_x());
    let rows = n_y + 2 * MARGIN;
    let intervals = rows.div_ceil(INTERVAL);
    let is = |row: u32| match row < rows {
        // SAFETY: the row is one of the strip's.
        true => unsafe { *rough.get_unchecked((strip * rows + row) as usize) },
        // Rows before the first wrap around.
        false => IS_ZERO,
    };
    // Rows after an interval that are in the pipeline together with the rows copied in it.
    let later = (ahead + held).next_multiple_of(INTERVAL) + INTERVAL;
    let paths = paths.wrapping_add((strip * intervals) as usize);
    let (mut first, mut end, mut quarters) = (u32::MAX, 0, 0);
    let mut interval = lane;
    while interval < intervals {
        let row = interval * INTERVAL;
        let (mut any, mut changed, mut any_later, mut all) = (0, 0, 0, IS_ZERO);
        let mut other = 0;
        while other < held + INTERVAL + later {
            let flags = is((row + other).wrapping_sub(held));
            if other < held + INTERVAL + held {
                all &= flags;
            }
            if other < held + INTERVAL {
                any |= flags;
                // The first of them may differ from the row before, which the pipeline does not
                // hold.
                changed |= if other > 0 { flags } else { 0 };
            } else {
                any_later |= flags;
            }
            other += 1;
        }
        let path = match (any & IS_ROUGH, changed & IS_CHANGED) {
            (0, _) if any_later & IS_ROUGH == 0 => PLAIN,
            (0, _) => NEAR,
            (_, 0) => UNIFORM,
            _ if any & IS_OTHER == 0 => WALLS,
            _ => ROUGH,
        };
        let is_blank = skips && all != 0;
        if row + INTERVAL > MARGIN && row < n_y + MARGIN && !is_blank {
            first = first.min(row);
            end = end.max((row + INTERVAL).min(n_y + MARGIN));
            // The time of the interval in quarters of a plain one's, from the instructions of the
            // paths' loops.
            quarters += match path {
                PLAIN | NEAR => 4,
                ROUGH => 8,
                _ => 6,
            };
        }
        // SAFETY: the strip has the interval.
        unsafe { *paths.add(interval as usize) = path }
        interval += 32;
    }
    // SAFETY: all lanes are here; the table has numbers for the strip.
    unsafe {
        let first = warp::warp_reduce_min(FULL_MASK, first);
        let end = warp::warp_reduce_max(FULL_MASK, end);
        let quarters = warp::warp_reduce_add(FULL_MASK, quarters);
        if lane == 0 {
            let is_slow = u32::from(quarters > 5 * intervals);
            let first = if end == 0 { 0 } else { first };
            let numbers = [first, end, is_slow, 0];
            mem::store_vector(table.add((NUMBERS * strip) as usize), numbers);
        }
    }
}

/// Writes the work of each warp in a pass. The first entry is the number of warps. Then each warp
/// has its strip, its first row and the row after its last; [`NUMBERS`] for each. Slow strips come
/// first. If `apart`, warps are in pairs, and the partner of a slow strip's warp is empty.
///
/// Block: 32. Grid: 1.
///
/// # Safety
/// - `table` has [`NUMBERS`] for each strip. `warps` points to [`NUMBERS`] for each of 2 (strips +
///   1) entries, which nothing else accesses during the launch.
#[inline(always)]
pub unsafe fn warps(table: &[u32], warps: *mut u32, strips: u32, apart: bool) {
    let lane = thread::thread_idx_x();
    let write = |at: u32, numbers: [u32; NUMBERS as usize]| {
        // SAFETY: `at` is below 2 (strips + 1): a slow strip takes two, and one may stay empty.
        unsafe { mem::store_vector(warps.wrapping_add((NUMBERS * at) as usize), numbers) }
    };
    let mut at = 1;
    for is_slow in [1, 0] {
        let each = if is_slow != 0 && apart { 2 } else { 1 };
        let mut from = 0;
        while from < strips {
            let strip = from + lane;
            let mut numbers = [0; NUMBERS as usize];
            if strip < strips {
                // SAFETY: the table has the strip's numbers, at a multiple of 16 bytes.
                numbers =
                    unsafe { mem::load_vector(table.as_ptr().add((NUMBERS * strip) as usize)) };
            }
            let [first, end, slow, _] = numbers;
            let is_one = first < end && slow == is_slow;
            // SAFETY: all lanes are here.
            let lanes = unsafe { warp::warp_vote_ballot(FULL_MASK, is_one) };
            if is_one {
                let place = at + each * (lanes & ((1 << lane) - 1)).count_ones();
                write(place, [strip, first, end, 0]);
                if each == 2 {
                    write(place + 1, [0; NUMBERS as usize]);
                }
            }
            at += each * lanes.count_ones();
            from += 32;
        }
    }
    if lane == 0 {
        if apart && at % 2 == 0 {
            write(at, [0; NUMBERS as usize]);
            at += 1;
        }
        write(0, [at - 1, 0, 0, 0]);
    }
}
