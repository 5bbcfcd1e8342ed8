//! Many timesteps a launch, in a pipeline that each warp has for itself.
//!
//! A warp owns a strip of [`STRIP`] columns, four neighbouring cells a lane, and streams over a chunk of its rows. Level s is the field after s
//! of the launch's T timesteps; a lane holds three rows of its cells for each level, all in registers. When row r of the inputs, which are
//! levels 0 and -1, has arrived, level 1 advances to row r - 1, level 2 to row r - 2, and so on: level s needs rows r - s - 1 to r - s + 1 of
//! level s - 1 and row r - s of level s - 2, and all of them are there. Row r - T of the last two levels leaves. Neighbours along y are the
//! lane's own registers, those along x too, but for two shuffles for four cells. No warp waits for another.
//!
//! A row of level s has its slot by the step that made it, modulo three, and the loop takes three steps at a time: nothing is moved.
//!
//! Rows come through a ring in shared memory by asynchronous copies, and leave through shared memory, so that neighbouring lanes access
//! neighbouring cells of global memory, wherever a row begins. T columns on each side of a strip are wrong after T timesteps, so strips
//! overlap; chunks overlap by T rows on each side. Neighbouring chunks stream in opposite directions, and all of them turn with each launch:
//! rows that two chunks need are read by both at about the same time, and a launch begins with what the last one has just written.
//!
//! What a cell is stands in a table, which [`wave2d_fast_kinds`] writes once in a run. While all cells that the pipeline holds are plain (inside,
//! free, undamped), a warp takes a path that asks nothing of them; otherwise one that reads the table's rows through shared memory, too, and
//! takes about twice as long. So [`wave2d_fast_chunks`] makes chunks of equal time, not of equal length. An instruction cache
//! has 32 KiB, less than the two paths together: so the warps of a block should take the same path, which the order of chunks decides.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;
use cuda_std::{async_copy, mem};

use kernels_gpu::real::Fused;
use kernels_gpu::wave2d::update::{self, Kind, Neighbours};
use kernels_gpu::wave2d::{AnyScene, Domain, Scene};

/// Cells of a strip along x: four for each lane.
pub const STRIP: u32 = 128;
/// Rows before and after the domain of which there are flags.
pub const MARGIN: u32 = 64;
/// Floats of shared memory of each warp.
pub const WARP_FLOATS: u32 = (RING * 2 * ROW + CODE_RING * ROW + 4 * ROW + SOURCES) as u32;
/// The most timesteps of a launch.
pub const MOST_STEPS: u32 = 20;

/// Floats of a strip's row.
const ROW: usize = STRIP as usize;
/// Its bytes.
const ROW_BYTES: u32 = 4 * STRIP;
/// Bytes of the ring of the inputs, after which the table's is.
const CODES_AT: u32 = RING as u32 * 2 * ROW_BYTES;
/// Rows of both inputs in the ring; a power of two.
const RING: usize = 8;
/// Rows of the table in their ring: those in the pipeline and those on their way; a power of two.
const CODE_RING: usize = 32;
/// Room for the source's values.
const SOURCES: usize = 32;
const _: () = assert!(
    MOST_STEPS as usize + RING + 2 <= CODE_RING && MOST_STEPS as usize <= SOURCES,
    "a table's row stays in the ring until the last level has passed"
);

/// Of a row of a strip: some cell is not plain.
const IS_ROUGH: u32 = 1;
/// Of a row of a strip: it is in the pipeline together with one that is rough.
const IS_NEAR_ROUGH: u32 = 2;

/// A table's code for a border or wall cell, and what the ring has for those outside the domain.
const ZERO: f32 = 0.0;
/// A source's code.
const SOURCE: f32 = 1.0;

/// The code of a cell. A free cell's has the sign bit: -d where `exact`, so that both orders of operations have what they start with, and
/// otherwise d - 1, as -(1 - d).
#[inline(always)]
fn encode(kind: Kind, exact: bool) -> f32 {
    match kind {
        Kind::Zero => ZERO,
        Kind::Source => SOURCE,
        Kind::Free { damping } if exact => -damping,
        Kind::Free { damping } => -(1.0 - damping),
    }
}

/// Writes what each cell is to `kinds`, and whether each row of each strip is rough to `rough`, for strips that overlap by `halo` on each
/// side. `rough` has [`MARGIN`] rows more than the domain on each side, all rough.
///
/// Block: 32 x any. Grid: strips; rows with margins over the block's y, rounded up.
///
/// # Safety
/// - `kinds` points to n_x * n_y floats, `rough` to (n_y + 2 * MARGIN) * strips numbers, which nothing else accesses during the launch.
/// - n_x and n_y are at least 2, n_x * n_y is at most 2^31, and the strips of the grid cover n_x.
#[kernel]
pub unsafe fn wave2d_fast_kinds(
    kinds: *mut f32,
    rough: *mut u32,
    n_x: u32,
    n_y: u32,
    scene: u32,
    halo: u32,
    exact: u32,
) {
    let (strip, lane) = (thread::block_idx_x(), thread::thread_idx_x());
    let row = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    let rows = n_y + 2 * MARGIN;
    if row >= rows {
        return;
    }
    let domain = Domain { n_x, n_y };
    let scene = AnyScene::new(scene, domain);
    // Outside the domain these wrap around.
    let y = row.wrapping_sub(MARGIN);
    let first = (strip * (STRIP - 2 * halo)).wrapping_sub(halo);
    let plain = encode(Kind::Free { damping: 0.0 }, exact != 0);
    let mut all_plain = true;
    // One column at a time: all scenes stand here.
    let mut column = lane;
    while column < STRIP {
        let x = first.wrapping_add(column);
        if x < n_x && y < n_y {
            let code = encode(update::kind(&scene, domain, x, y), exact != 0);
            if column.wrapping_sub(halo) < STRIP - 2 * halo {
                // SAFETY: (x, y) is in the domain, and in the part of this strip that no other has.
                unsafe { *kinds.add((y * n_x + x) as usize) = code }
            }
            all_plain &= code.to_bits() == plain.to_bits();
        } else {
            all_plain = false;
        }
        column += 32;
    }
    // SAFETY: all lanes are here; `row` and `strip` are below the extents that the caller states.
    unsafe {
        let plain = warp::warp_vote_all(FULL_MASK, all_plain);
        if lane == 0 {
            *rough.add((strip * rows + row) as usize) = u32::from(!plain);
        }
    }
}

/// Writes the flags of each row of each strip, from what [`wave2d_fast_kinds`] wrote; and how many of the strip's rows before each row, and in
/// all, are near rough ones: n_y + 1 numbers for each strip.
///
/// Block: 32. Grid: strips.
///
/// # Safety
/// - `rough` and `flags` have (n_y + 2 * MARGIN) * strips numbers, `near` has (n_y + 1) * strips.
/// - Nothing else accesses `flags` and `near` during the launch. `reach` is at most MARGIN.
#[kernel]
pub unsafe fn wave2d_fast_flags(
    rough: &[u32],
    flags: *mut u32,
    near: *mut u32,
    n_y: u32,
    reach: u32,
) {
    let (strip, lane) = (thread::block_idx_x(), thread::thread_idx_x());
    let rows = n_y + 2 * MARGIN;
    let of_strip = (strip * rows) as usize;
    let mut count = 0;
    let mut first = 0;
    while first < rows {
        let row = first + lane;
        let mut flag = 0;
        if row < rows {
            // SAFETY: `row` is clamped to the strip's.
            unsafe {
                flag = IS_ROUGH * *rough.get_unchecked(of_strip + row as usize);
                let mut other = row.saturating_sub(reach);
                while other <= row + reach && other < rows {
                    flag |= IS_NEAR_ROUGH * *rough.get_unchecked(of_strip + other as usize);
                    other += 1;
                }
                *flags.add(of_strip + row as usize) = flag;
            }
        }
        let y = row.wrapping_sub(MARGIN);
        // SAFETY: all lanes are here; `near` has n_y + 1 numbers for the strip.
        unsafe {
            let are_near = warp::warp_vote_ballot(FULL_MASK, y < n_y && flag != 0);
            if y <= n_y {
                let before = count + (are_near & ((1 << lane) - 1)).count_ones();
                *near.add((strip * (n_y + 1) + y) as usize) = before;
            }
            count += are_near.count_ones();
        }
        first += 32;
    }
}

/// Numbers of a chunk in the table of chunks: strip, first row, row after the last, and its place among the strip's chunks.
pub const CHUNK_NUMBERS: u32 = 4;
/// Threads of [`wave2d_fast_chunks`].
pub const CHUNKS_THREADS: u32 = 512;

/// A budget of time for each chunk, in hundredths of a step of the pipeline on plain rows.
///
/// A chunk of L rows takes L + T steps, since half of the 2 T steps more that it takes are skipped; those near rough rows cost `rough`. So L rows of
/// a budget B are B / 100 - T plain ones, or B / rough - T others.
#[derive(Clone, Copy)]
struct Budget {
    hundredths: u32,
    t: u32,
    rough: u32,
}

impl Budget {
    /// What `all` rows take, of which `near` are near rough ones; in parts of [`whole`](Self::whole).
    #[inline(always)]
    fn share(self, all: u32, near: u32) -> u64 {
        let of_plain = 100 * u64::from(self.hundredths - self.rough * self.t);
        let of_near = u64::from(self.rough) * u64::from(self.hundredths - 100 * self.t);
        u64::from(all - near) * of_plain + u64::from(near) * of_near
    }

    /// The share of a whole chunk.
    #[inline(always)]
    fn whole(self) -> u64 {
        let plain = u64::from(self.hundredths - 100 * self.t);
        plain * u64::from(self.hundredths - self.rough * self.t)
    }

    /// How many chunks a strip of so many rows has: at least 1, and at most its rows.
    #[inline(always)]
    fn chunks(self, all: u32, near: u32) -> u32 {
        let chunks = self.share(all, near).div_ceil(self.whole());
        chunks.clamp(1, u64::from(all)) as u32
    }
}

/// Divides strips into at most `most` chunks of equal time, as short as can be, and writes the table of chunks: `most` entries, empty ones
/// last. They come strip by strip; if `near_first`, those with rows near rough ones before all others, so that few blocks have both.
///
/// `rough`: hundredths of what a plain row takes that one takes near rough ones, 100 or more.
///
/// Block: [`CHUNKS_THREADS`]. Grid: 1.
///
/// # Safety
/// - `near` is what [`wave2d_fast_flags`] wrote, `chunks` points to CHUNK_NUMBERS * most numbers, `counts` to two for each strip. Nothing
///   else accesses these two during the launch.
/// - `most` is at least `strips`; `t` is at least 1.
#[kernel(max_threads = 512)]
pub unsafe fn wave2d_fast_chunks(
    near: &[u32],
    counts: *mut u32,
    chunks: *mut u32,
    n_y: u32,
    strips: u32,
    most: u32,
    t: u32,
    rough: u32,
    near_first: u32,
) {
    let thread = thread::thread_idx_x();
    let (lane, warp) = (thread % 32, thread / 32);
    // SAFETY: y is at most n_y.
    let near_before =
        |strip: u32, y: u32| unsafe { *near.get_unchecked((strip * (n_y + 1) + y) as usize) };
    // Every warp finds the least budget for itself: with this every strip is one chunk.
    let (mut too_small, mut enough) = (rough * t, rough * (n_y + t));
    while enough - too_small > 1 {
        let budget = Budget {
            hundredths: too_small + (enough - too_small) / 2,
            t,
            rough,
        };
        let mut all = 0;
        let mut strip = lane;
        while strip < strips {
            all += budget.chunks(n_y, near_before(strip, n_y));
            strip += 32;
        }
        // SAFETY: all lanes are here.
        let all = unsafe { warp::warp_reduce_add(FULL_MASK, all) };
        if all <= most {
            enough = budget.hundredths;
        } else {
            too_small = budget.hundredths;
        }
    }
    let budget = Budget {
        hundredths: enough,
        t,
        rough,
    };
    let write = |at: u32, numbers: [u32; CHUNK_NUMBERS as usize]| {
        for (i, number) in numbers.into_iter().enumerate() {
            // SAFETY: `at` is below `most`.
            unsafe { *chunks.add((at * CHUNK_NUMBERS) as usize + i) = number }
        }
    };
    // A strip for each warp, a chunk for each lane: from chunk `first` on. Gives how many the strip has, the rows of the lane's own, and which lanes
    // have one that comes first and which have another.
    let chunks_from = |strip: u32, first: u32| {
        let all = near_before(strip, n_y);
        let (count, share) = (budget.chunks(n_y, all), budget.share(n_y, all));
        let rows = [first + lane, first + lane + 1].map(|chunk| {
            // The first row before which there is the part of the strip's share that is before the chunk.
            let (mut low, mut high) = (0, n_y);
            while low < high {
                let y = low + (high - low) / 2;
                let before = budget.share(y, near_before(strip, y));
                if before * u64::from(count) >= share * u64::from(chunk.min(count)) {
                    high = y;
                } else {
                    low = y + 1;
                }
            }
            low
        });
        let is_chunk = first + lane < count;
        let is_near = near_before(strip, rows[1]) > near_before(strip, rows[0]);
        let comes_first = near_first != 0 && is_near;
        // SAFETY: all lanes are here.
        let lanes = [is_chunk && comes_first, is_chunk && !comes_first]
            .map(|is| unsafe { warp::warp_vote_ballot(FULL_MASK, is) });
        (count, rows, lanes)
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
        strip += CHUNKS_THREADS / 32;
    }
    thread::sync_threads();
    // How many so many strips have of both.
    let in_strips = |strips: u32| {
        let mut both = [0; 2];
        for strip in 0..strips as usize {
            // SAFETY: written before the barrier.
            both = [0, 1].map(|i| both[i] + unsafe { *counts.add(2 * strip + i) });
        }
        both
    };
    let [first_ones, others] = in_strips(strips);
    let mut strip = warp;
    while strip < strips {
        let [before, others_before] = in_strips(strip);
        let (mut at, mut first) = ([before, first_ones + others_before], 0);
        loop {
            let (count, [y, end], lanes) = chunks_from(strip, first);
            for i in 0..2 {
                if lanes[i] & 1 << lane != 0 {
                    let before = (lanes[i] & ((1 << lane) - 1)).count_ones();
                    write(at[i] + before, [strip, y, end, first + lane]);
                }
                at[i] += lanes[i].count_ones();
            }
            first += 32;
            if first >= count {
                break;
            }
        }
        strip += CHUNKS_THREADS / 32;
    }
    let mut empty = first_ones + others + thread;
    while empty < most {
        write(empty, [0; CHUNK_NUMBERS as usize]);
        empty += CHUNKS_THREADS;
    }
}

/// A lane's cells of a row of its strip.
type Cells = [f32; 4];
/// Three rows of each level: levels 0 to T are in use. A level's row of step i is in slot i mod 3.
type Levels = [[Cells; 3]; MOST_STEPS as usize + 1];

/// The fields and tables of a launch.
#[derive(Clone, Copy)]
struct Arrays<'a> {
    u0: &'a [f32],
    u1: &'a [f32],
    out0: *mut f32,
    out1: *mut f32,
    kinds: &'a [f32],
    flags: &'a [u32],
}

/// A warp's pipeline over its chunk, as one of its lanes sees it. Rows are numbered by the step that takes them from the ring.
struct Pipeline<'a> {
    arrays: Arrays<'a>,
    domain: Domain,
    k: f32,
    lane: u32,
    /// 1 downwards, -1 upwards.
    direction: u32,
    /// Rows of the chunk.
    rows: u32,
    /// Of the four cells that this lane copies of each row: which are in the domain (bits 0 to 3), and which of these are no other warp's to
    /// store (bits 4 to 7).
    columns: u32,
    /// The address of the first of them in the ring.
    copied: u32,
    /// Shared memory: `RING` rows of u1 and u0, then `CODE_RING` rows of the table, two rows on their way out, the source's values.
    shared: *mut f32,
    /// The next row to copy: its y, the index of this lane's first cell, the index of its flags, and these.
    next_y: u32,
    next_cell: i32,
    next_flags: u32,
    flags: u32,
    /// The next row to leave: the index of this lane's first cell.
    out_cell: i32,
    /// Whether rows are rough: bit 0 is the latest that was copied.
    rough: u32,
}

impl Pipeline<'_> {
    /// Starts to copy row `row`, which is [`next_y`](Self::next_y).
    ///
    /// # Safety
    /// All lanes of the warp call together, and have read what is in the row's place.
    #[inline(always)]
    unsafe fn copy(&mut self, row: u32) {
        let arrays = self.arrays;
        let offset = self.next_cell as isize;
        let (u0, u1) = (arrays.u0.as_ptr(), arrays.u1.as_ptr());
        let (u0, u1) = (u0.wrapping_offset(offset), u1.wrapping_offset(offset));
        let is_row = self.next_y < self.domain.n_y;
        let columns = if is_row { self.columns } else { 0 };
        let place = self.copied + (row % RING as u32) * (2 * ROW_BYTES);
        // SAFETY: what is there is in the domain; the ring has room for whole rows.
        unsafe {
            for i in 0..4 {
                let (is_there, at) = (columns & 1 << i, place + 128 * i);
                let column = 32 * i as usize;
                async_copy::copy_4_if(at, u1.wrapping_add(column), is_there);
                async_copy::copy_4_if(at + ROW_BYTES, u0.wrapping_add(column), is_there);
            }
            if self.flags & IS_NEAR_ROUGH != 0 {
                let place = self.copied + CODES_AT + (row % CODE_RING as u32) * ROW_BYTES;
                let kinds = arrays.kinds.as_ptr().wrapping_offset(offset);
                for i in 0..4 {
                    let (is_there, at) = (columns & 1 << i, place + 128 * i);
                    async_copy::copy_4_if(at, kinds.wrapping_add(32 * i as usize), is_there);
                }
            }
            async_copy::commit();
            self.rough = self.rough << 1 | self.flags & IS_ROUGH;
            let stride = self.direction.wrapping_mul(self.domain.n_x);
            self.next_y = self.next_y.wrapping_add(self.direction);
            self.next_cell = self.next_cell.wrapping_add(stride as i32);
            self.next_flags = self.next_flags.wrapping_add(self.direction);
            self.flags = *arrays.flags.get_unchecked(self.next_flags as usize);
        }
    }

    /// Where a row of u1 is, and u0 behind it.
    #[inline(always)]
    fn ring(&self, row: u32) -> *mut f32 {
        self.shared.wrapping_add((row as usize % RING) * 2 * ROW)
    }

    /// Where a row of the table is.
    #[inline(always)]
    fn codes(&self, row: u32) -> *mut f32 {
        let first = RING * 2 * ROW;
        self.shared
            .wrapping_add(first + (row as usize % CODE_RING) * ROW)
    }

    /// Where the rows of a step are on their way out.
    #[inline(always)]
    fn leaving(&self, step: u32) -> *mut f32 {
        let first = RING * 2 * ROW + CODE_RING * ROW;
        self.shared
            .wrapping_add(first + (step as usize % 2) * 2 * ROW)
    }

    /// Where the source's values are.
    #[inline(always)]
    fn sources(&self) -> *mut f32 {
        self.leaving(0).wrapping_add(4 * ROW)
    }

    /// Computes level `S` of step `step`, whose slot is `Q`, from those below. `ROUGH`: its cells may be anything.
    ///
    /// # Safety
    /// All lanes of the warp call together. If `ROUGH`, the table's rows are in their ring.
    #[inline(always)]
    unsafe fn level<
        const T: usize,
        const EXACT: bool,
        const ROUGH: bool,
        const Q: usize,
        const S: usize,
    >(
        &self,
        levels: &mut Levels,
        second_last: &[Cells; 3],
        step: u32,
    ) {
        if S > T {
            return;
        }
        let (newest, middle, oldest) = (Q, (Q + 2) % 3, (Q + 1) % 3);
        let last = levels[S - 1];
        let own = last[middle];
        let old = if S == 1 {
            second_last[middle]
        } else {
            levels[S - 2][oldest]
        };
        // At the strip's edge a lane gets its own value back: wrong, like all that the edge lacks.
        // SAFETY: all lanes of the warp are here.
        let (before, after) = unsafe {
            (
                warp::warp_shuffle_up(FULL_MASK, own[3], 1, 32).0,
                warp::warp_shuffle_down(FULL_MASK, own[0], 1, 32).0,
            )
        };
        let (codes, source): (Cells, f32) = if ROUGH {
            let codes = self.codes(step.wrapping_sub(S as u32));
            // SAFETY: the caller's; four floats from a multiple of four are aligned.
            unsafe {
                (
                    mem::load_vector(codes.add(4 * self.lane as usize)),
                    *self.sources().add(S - 1),
                )
            }
        } else {
            ([if EXACT { -0.0 } else { -1.0 }; 4], 0.0)
        };
        let mut next = [0.0; 4];
        for i in 0..4 {
            let around = Neighbours {
                west: if i == 0 { before } else { own[i - 1] },
                east: if i == 3 { after } else { own[i + 1] },
                north: last[oldest][i],
                south: last[newest][i],
            };
            let code = codes[i];
            let free = if EXACT {
                update::free_cell(old[i], own[i], around, self.k, -code)
            } else {
                update::fused_cell_that_keeps(old[i], own[i], around, self.k, -code)
            };
            next[i] = if ROUGH {
                // A choice between values that are there, not a branch. Never -0 for a cell that is zero.
                let fixed = code.fused(source, 0.0);
                if (code.to_bits() as i32) < 0 {
                    free
                } else {
                    fixed
                }
            } else {
                free
            };
        }
        levels[S][Q] = next;
    }

    /// One step: takes a row from the ring, starts to copy another, stores one that the last step computed of the last two levels, and computes
    /// a row of each level.
    /// `BEGINS`: levels that nothing needs yet are skipped, four at a time.
    ///
    /// # Safety
    /// As [`level`](Self::level)'s; `step` counts up from 0, and `Q` is `step` modulo 3.
    #[inline(always)]
    unsafe fn step<
        const T: usize,
        const EXACT: bool,
        const ROUGH: bool,
        const BEGINS: bool,
        const Q: usize,
    >(
        &mut self,
        levels: &mut Levels,
        second_last: &mut [Cells; 3],
        step: u32,
    ) {
        let lane = 4 * self.lane as usize;
        // SAFETY: the caller's. What a lane copied is seen by the others after the barrier; and all have read the row before, whose place the
        // next one gets.
        unsafe {
            async_copy::wait::<{ RING as u32 - 2 }>();
            warp::sync_warp(FULL_MASK);
            let row = self.ring(step).add(lane);
            levels[0][Q] = mem::load_vector(row);
            second_last[Q] = mem::load_vector(row.add(ROW));
            // Before the copies, which take as long as these loads.
            let leaving = self.leaving(step.wrapping_sub(1)).add(self.lane as usize);
            let leaving =
                [0, ROW].map(|row| [0, 32, 64, 96].map(|column| *leaving.add(row + column)));
            self.copy(step + RING as u32 - 1);
            if step.wrapping_sub(2 * T as u32 + 1) < self.rows {
                self.store(&leaving);
            }
            macro_rules! group {
                ($($level:literal)*; $first:literal) => {
                    if $first <= T && (!BEGINS || step >= 2 * $first) {
                        $(self.level::<T, EXACT, ROUGH, Q, $level>(levels, second_last, step);)*
                    } else if $first <= T {
                        // So that no register keeps what was here three steps ago.
                        $(levels[$level][Q] = [0.0; 4];)*
                    }
                };
            }
            group!(1 2 3 4; 1);
            group!(5 6 7 8; 5);
            group!(9 10 11 12; 9);
            group!(13 14 15 16; 13);
            group!(17 18 19 20; 17);
            let own = self.leaving(step).add(lane);
            mem::store_vector(own, levels[T][Q]);
            mem::store_vector(own.add(ROW), levels[T - 1][(Q + 2) % 3]);
        }
    }

    /// Stores the next row of the last two levels, of which these are the cells that this lane stores.
    ///
    /// # Safety
    /// The row is one of the domain, and no other warp's.
    #[inline(always)]
    unsafe fn store(&mut self, [last, second_last]: &[Cells; 2]) {
        let Arrays { out0, out1, .. } = self.arrays;
        let offset = self.out_cell as isize;
        let (out0, out1) = (out0.wrapping_offset(offset), out1.wrapping_offset(offset));
        for i in 0..4 {
            if self.columns & 16 << i != 0 {
                // SAFETY: the caller's; a cell is in the domain, and in the part of this strip that no other has.
                unsafe {
                    *out1.wrapping_add(32 * i) = last[i];
                    *out0.wrapping_add(32 * i) = second_last[i];
                }
            }
        }
        let stride = self.direction.wrapping_mul(self.domain.n_x);
        self.out_cell = self.out_cell.wrapping_add(stride as i32);
    }

    /// Three steps, so that rows have the slots that they had before.
    ///
    /// # Safety
    /// As [`step`](Self::step)'s, from a multiple of 3 on.
    #[inline(always)]
    unsafe fn three<const T: usize, const EXACT: bool, const ROUGH: bool, const BEGINS: bool>(
        &mut self,
        levels: &mut Levels,
        second_last: &mut [Cells; 3],
        step: u32,
    ) {
        // SAFETY: the caller's.
        unsafe {
            self.step::<T, EXACT, ROUGH, BEGINS, 0>(levels, second_last, step);
            self.step::<T, EXACT, ROUGH, BEGINS, 1>(levels, second_last, step + 1);
            self.step::<T, EXACT, ROUGH, BEGINS, 2>(levels, second_last, step + 2);
        }
    }

    /// All of the chunk.
    ///
    /// # Safety
    /// All lanes of the warp call together; arrays, domain and chunk are as the kernel's caller promises.
    #[inline(always)]
    unsafe fn run<const T: usize, const EXACT: bool>(&mut self, scene: &impl Scene, t: u32) {
        let mut levels: Levels = [[[0.0; 4]; 3]; MOST_STEPS as usize + 1];
        let mut second_last = [[0.0; 4]; 3];
        // SAFETY: the caller's.
        unsafe {
            self.flags = *self.arrays.flags.get_unchecked(self.next_flags as usize);
            // Cells outside the domain are never copied.
            for at in 0..WARP_FLOATS / 128 {
                mem::store_vector(
                    self.shared.add((128 * at + 4 * self.lane) as usize),
                    [0.0; 4],
                );
            }
            warp::sync_warp(FULL_MASK);
            if self.lane < T as u32 {
                let value = scene.source_value(t.wrapping_add(self.lane));
                *self.sources().add(self.lane as usize) = value;
            }
            for row in 0..RING as u32 - 1 {
                self.copy(row);
            }
            // The last row leaves a step after it was computed.
            let steps = self.rows + 2 * T as u32 + 1;
            // From here on all levels are needed: the first of the last group is that of the last level.
            let begun = 2 * ((T as u32 - 1) / 4 * 4 + 1);
            // The rows that three steps compute cells of, in bits of `rough`, the last of which is the ring's last.
            let held = ((1 << (T + 2)) - 1) << (RING - 3);
            let mut step = 0;
            while step < steps {
                if self.rough & held != 0 {
                    self.three::<T, EXACT, true, true>(&mut levels, &mut second_last, step);
                    step += 3;
                } else if step < begun {
                    self.three::<T, EXACT, false, true>(&mut levels, &mut second_last, step);
                    step += 3;
                } else {
                    while step < steps && self.rough & held == 0 {
                        self.three::<T, EXACT, false, false>(&mut levels, &mut second_last, step);
                        step += 3;
                    }
                }
            }
        }
    }
}

/// What the kernels below do.
///
/// # Safety
/// As theirs.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn pass<const T: usize, const EXACT: bool>(
    arrays: Arrays,
    chunks: &[u32],
    domain: Domain,
    scene: u32,
    k: f32,
    t: u32,
    halo: u32,
    turn: u32,
) {
    let (lane, warp) = (thread::thread_idx_x(), thread::thread_idx_y());
    let chunk = (thread::block_idx_x() * thread::block_dim_y() + warp) * CHUNK_NUMBERS;
    if chunk as usize >= chunks.len() {
        return;
    }
    // SAFETY: all numbers of the chunk are there; the block has WARP_FLOATS for each warp. Rows and flags are those of the chunk and its
    // margins.
    unsafe {
        let [strip, first, end, place]: [u32; 4] =
            mem::load_vector(chunks.as_ptr().add(chunk as usize));
        if first >= end {
            return;
        }
        // Upwards the neighbours along y would be added in another order, which only fused arithmetic leaves open.
        let is_up = !EXACT && (place ^ turn) & 1 == 1;
        let direction = if is_up { u32::MAX } else { 1 };
        let out_y = if is_up { end - 1 } else { first };
        let strip_x = (strip * (STRIP - 2 * halo)).wrapping_sub(halo);
        let out_cell = (out_y * domain.n_x)
            .wrapping_add(strip_x)
            .wrapping_add(lane);
        let before = direction.wrapping_mul(T as u32);
        let next_y = out_y.wrapping_sub(before);
        let shared = shared::dynamic_shared_mem::<f32>().add((warp * WARP_FLOATS) as usize);
        let mut columns = 0;
        for i in 0..4 {
            let column = lane + 32 * i;
            if strip_x.wrapping_add(column) < domain.n_x {
                let is_own = column.wrapping_sub(halo) < STRIP - 2 * halo;
                columns |= (1 | u32::from(is_own) << 4) << i;
            }
        }
        let mut pipeline = Pipeline {
            arrays,
            domain,
            k,
            lane,
            direction,
            rows: end - first,
            columns,
            copied: shared::address(shared.add(lane as usize)),
            shared,
            next_y,
            next_cell: out_cell.wrapping_sub(before.wrapping_mul(domain.n_x)) as i32,
            next_flags: (strip * (domain.n_y + 2 * MARGIN))
                .wrapping_add(next_y.wrapping_add(MARGIN)),
            flags: 0,
            out_cell: out_cell as i32,
            rough: 0,
        };
        pipeline.run::<T, EXACT>(&AnyScene::new(scene, domain), t);
    }
}

macro_rules! passes {
    ($($name:ident: $steps:literal, $exact:literal;)*) => {$(
        /// Computes that many timesteps, from timestep `t` on: `out0` is the second-last field then, `out1` the last. `turn`: the number of
        /// the launch.
        ///
        /// Block: 32 x up to 8, with [`WARP_FLOATS`] of dynamic shared memory for each warp. Grid: at least a warp for each chunk.
        ///
        /// # Safety
        /// - `u0`, `u1` and `kinds` have n_x * n_y elements, at most 2^31; n_x and n_y are at least 2.
        /// - `out0` and `out1` point to as many, which nothing else accesses during the launch.
        /// - `kinds`, `flags` and `chunks` are what the kernels above wrote for this domain, scene, halo and arithmetic, with a reach of at
        ///   least the timesteps and 2. `halo` is at least the timesteps and less than 64.
        #[kernel(max_threads = 256)]
        pub unsafe fn $name(
            u0: &[f32],
            u1: &[f32],
            out0: *mut f32,
            out1: *mut f32,
            kinds: &[f32],
            flags: &[u32],
            chunks: &[u32],
            n_x: u32,
            n_y: u32,
            scene: u32,
            k: f32,
            t: u32,
            halo: u32,
            turn: u32,
        ) {
            let arrays = Arrays { u0, u1, out0, out1, kinds, flags };
            let domain = Domain { n_x, n_y };
            // SAFETY: the caller's.
            unsafe { pass::<$steps, $exact>(arrays, chunks, domain, scene, k, t, halo, turn) }
        }
    )*};
}

passes! {
    wave2d_fast_t1: 1, false;
    wave2d_fast_t4: 4, false;
    wave2d_fast_t14: 14, false;
    wave2d_fast_t16: 16, false;
    wave2d_fast_exact_t1: 1, true;
    wave2d_fast_exact_t4: 4, true;
    wave2d_fast_exact_t12: 12, true;
}
