//! Strips divided into chunks of rows that take equal time, on the device.
//!
//! A warp takes a chunk. All warps of a launch run at once, and the slowest ends it. Chunks are
//! therefore as short as the number of warps allows, and rows count by their time. A row is *blank*
//! (it needs no work), or *rough* (it takes longer), or neither.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

/// Numbers of a chunk in the table, which a warp loads together: strip, first row, row after the
/// last, and 0.
pub const NUMBERS: u32 = 4;
/// Threads of the block that [`divide`]s.
pub const THREADS: u32 = 512;

/// The costs of rows.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Timesteps of a launch: a chunk takes the time of this number of rows in addition to its own.
    pub t: u32,
    /// The time of a rough row in hundredths of any other row's: 100 or more.
    pub rough: u32,
}

/// The costs with a budget of time for each chunk, in hundredths of a row's. A chunk of budget B
/// has B / 100 - T rows that are not rough, or B / rough - T rough ones.
#[derive(Clone, Copy)]
struct Budget {
    costs: Costs,
    hundredths: u32,
}

/// Rows of a strip that are not blank, and those of them that are rough.
#[derive(Clone, Copy)]
struct Rows {
    all: u32,
    rough: u32,
}

impl Budget {
    /// The share of rows in a chunk, in parts of [`whole`](Self::whole).
    #[inline(always)]
    fn share(self, rows: Rows) -> u64 {
        let Costs { t, rough } = self.costs;
        let of_plain = 100 * u64::from(self.hundredths - rough * t);
        let of_rough = u64::from(rough) * u64::from(self.hundredths - 100 * t);
        u64::from(rows.all - rows.rough) * of_plain + u64::from(rows.rough) * of_rough
    }

    /// The share of a whole chunk.
    #[inline(always)]
    fn whole(self) -> u64 {
        let Costs { t, rough } = self.costs;
        u64::from(self.hundredths - 100 * t) * u64::from(self.hundredths - rough * t)
    }

    /// The number of chunks for these rows: at least 1, and at most one per row.
    #[inline(always)]
    fn chunks(self, rows: Rows) -> u32 {
        let chunks = self.share(rows).div_ceil(self.whole());
        chunks.clamp(1, u64::from(rows.all.max(1))) as u32
    }
}

/// The least y up to `n_y` for which `is_enough` is true. It is true for all y after that.
#[inline(always)]
fn first_row(n_y: u32, is_enough: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, n_y);
    while low < high {
        let y = low + (high - low) / 2;
        if is_enough(y) {
            high = y;
        } else {
            low = y + 1;
        }
    }
    low
}

/// Divides `rows` of strips, the first and their number, into chunks of equal time, as short as
/// possible, without the blank rows that they would begin or end with. Writes `most` entries of
/// [`NUMBERS`] to `chunks`. Chunks with rough rows come first, strip by strip, then all others.
/// Empty entries between the two kinds fill a group of `together` entries: either all or none of a
/// group have rough rows. Empty entries are last, too.
///
/// `before` counts, before each of these rows, those of the strip that are not blank, and the rough
/// ones among these: two numbers for each row of each strip, and for one row more.
///
/// # Safety
/// - All [`THREADS`] threads of the launch's only block call.
/// - `before` has its numbers for `strips` strips, `chunks` points to NUMBERS * most numbers,
///   `counts` to two for each strip. Nothing else accesses `chunks` and `counts` during the launch.
/// - `most` is at least `strips` + `together` - 1, because up to `together` - 1 entries between the
///   two kinds may stay empty. `costs.t` and `together` are at least 1.
#[inline(always)]
pub unsafe fn divide(
    before: &[u32],
    counts: *mut u32,
    chunks: *mut u32,
    (strips, rows): (u32, [u32; 2]),
    most: u32,
    costs: Costs,
    together: u32,
) {
    let [first_y, n_y] = rows;
    let thread = thread::thread_idx_x();
    let (lane, warp) = (thread % 32, thread / 32);
    let rows_before = |strip: u32, y: u32| {
        let at = 2 * (strip as usize * (n_y as usize + 1) + y as usize);
        // SAFETY: y is at most n_y.
        unsafe {
            Rows {
                all: *before.get_unchecked(at),
                rough: *before.get_unchecked(at + 1),
            }
        }
    };
    // Every warp itself finds the least budget. With this largest one, every strip is one chunk.
    let (mut too_small, mut enough) = (costs.rough * costs.t, costs.rough * (n_y + costs.t));
    while enough - too_small > 1 {
        let hundredths = too_small + (enough - too_small) / 2;
        let budget = Budget { costs, hundredths };
        let mut all = 0;
        let mut strip = lane;
        while strip < strips {
            all += budget.chunks(rows_before(strip, n_y));
            strip += 32;
        }
        // SAFETY: all lanes are here.
        let all = unsafe { warp::warp_reduce_add(FULL_MASK, all) };
        if all <= most - (together - 1) {
            enough = hundredths;
        } else {
            too_small = hundredths;
        }
    }
    let budget = Budget {
        costs,
        hundredths: enough,
    };
    let write = |at: u32, numbers: [u32; NUMBERS as usize]| {
        for (i, number) in numbers.into_iter().enumerate() {
            // SAFETY: `at` is below `most`.
            unsafe { *chunks.add((at * NUMBERS) as usize + i) = number }
        }
    };
    // Each warp takes a strip, each lane a chunk, from chunk `first` on. Returns the strip's number
    // of chunks, the rows of the lane's chunk, the lanes whose chunk comes first, and the lanes
    // with another chunk.
    let chunks_from = |strip: u32, first: u32| {
        let rows = rows_before(strip, n_y);
        let (count, share) = (budget.chunks(rows), budget.share(rows));
        // The first row before which the rows' share reaches the chunk's start.
        let boundary = |chunk: u32| {
            let wanted = share * u64::from(chunk.min(count));
            first_row(n_y, |y| {
                budget.share(rows_before(strip, y)) * u64::from(count) >= wanted
            })
        };
        let (begin, end) = (boundary(first + lane), boundary(first + lane + 1));
        let [before, after] = [begin, end].map(|y| rows_before(strip, y));
        // Blank rows there take no time: the chunk begins with the first row that takes some.
        let begin = first_row(n_y, |y| {
            rows_before(strip, (y + 1).min(n_y)).all > before.all
        });
        let is_chunk = first + lane < count;
        let comes_first = after.rough > before.rough;
        // SAFETY: all lanes are here.
        let lanes = [is_chunk && comes_first, is_chunk && !comes_first]
            .map(|is| unsafe { warp::warp_vote_ballot(FULL_MASK, is) });
        (count, [begin, end], lanes)
    };
    let mut strip = warp;
    while strip < strips {
        let (mut both, mut first) = ([0; 2], 0);
        loop {
            let (count, _, lanes) = chunks_from(strip, first);
            both = [0, 1].map(|i| both[i] + lanes[i].count_ones());
            first += 32;
            if first >= count {
                break;
            }
        }
        if lane < 2 {
            // SAFETY: two numbers for each strip.
            unsafe {
                *counts.add((2 * strip + lane) as usize) = if lane == 0 { both[0] } else { both[1] }
            }
        }
        strip += THREADS / 32;
    }
    thread::sync_threads();
    // The numbers of chunks of both kinds in the first `strips` strips.
    let in_strips = |strips: u32| {
        let mut both = [0; 2];
        for strip in 0..strips as usize {
            // SAFETY: written before the barrier.
            both = [0, 1].map(|i| both[i] + unsafe { *counts.add(2 * strip + i) });
        }
        both
    };
    let [first_ones, others] = in_strips(strips);
    let first_other = first_ones.next_multiple_of(together);
    let mut strip = warp;
    while strip < strips {
        let [before, others_before] = in_strips(strip);
        let (mut at, mut first) = ([before, first_other + others_before], 0);
        loop {
            let (count, [y, end], lanes) = chunks_from(strip, first);
            for i in 0..2 {
                if lanes[i] & 1 << lane != 0 {
                    let before = (lanes[i] & ((1 << lane) - 1)).count_ones();
                    write(at[i] + before, [strip, first_y + y, first_y + end, 0]);
                }
                at[i] += lanes[i].count_ones();
            }
            first += 32;
            if first >= count {
                break;
            }
        }
        strip += THREADS / 32;
    }
    let empty = |begin: u32, end: u32| {
        let mut at = begin + thread;
        while at < end {
            write(at, [0; NUMBERS as usize]);
            at += THREADS;
        }
    };
    empty(first_ones, first_other);
    empty(first_other + others, most);
}
