//! Many timesteps per launch, in a pipeline of each warp.
//!
//! A warp streams down a chunk of a strip's rows, in the [pipeline](kernels_gpu::wave2d::levels) of
//! T timesteps: when row r of the two inputs arrives, row r - T of the last two levels leaves. No
//! warp waits for another. The loop takes two steps at a time: a level's last row and the one
//! before can thus change places.
//!
//! During a run, fields have padding, by [`padded`]: every lane's four
//! cells are 16 aligned bytes within the field. The cells come through a ring in shared memory by
//! asynchronous copies, and leave by one store. [`wave2d_fast_pad`] pads the fields once in a run,
//! and [`wave2d_fast_unpad`] removes the padding. T columns on each side of a strip are wrong after
//! T timesteps, so strips overlap; chunks overlap by T rows on each side.
//!
//! A table has the kinds of cells; [`wave2d_fast_kinds`] writes it once in a run. While all cells
//! in the pipeline are plain (inside, free, undamped), a warp takes a path without tests. Otherwise
//! it takes a path that also reads the table's rows through shared memory, and takes about twice as
//! long. [`wave2d_fast_chunks`] therefore makes chunks of equal time, not of equal length, and
//! leaves out rows far inside walls. An instruction cache has 32 KiB, less than the two paths
//! together. Therefore either all warps of a block take chunks with rough rows, or none does.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;
use cuda_std::{async_copy, hint, mem};

use kernels_gpu::wave2d::kinds::{self, IS_ROUGH, IS_ZERO};
use kernels_gpu::wave2d::levels::{
    AHEAD, GROUP, Levels, MAX_STEPS, PLAIN, ROUGH, ROW_BYTES, Rows, WARP_FLOATS,
};
use kernels_gpu::wave2d::padded::{self, Layout, MARGIN};
use kernels_gpu::wave2d::{AnyScene, Domain, Scene, chunks};

const _: () = assert!(
    MAX_STEPS as usize + AHEAD + GROUP < MARGIN as usize,
    "there is padding for all rows that a chunk copies, a group at a time"
);

/// Lays two fields out with padding, as [`padded::pad`] does.
///
/// # Safety
/// As [`padded::pad`].
#[kernel]
pub unsafe fn wave2d_fast_pad(
    u0: &[f32],
    u1: &[f32],
    fields: *mut f32,
    n_x: u32,
    n_y: u32,
    halo: u32,
) {
    // SAFETY: the caller's.
    unsafe { padded::pad(u0, u1, fields, Layout { n_x, n_y, halo }) }
}

/// Removes the padding of `len` rows from row `first` on, as [`padded::unpad`] does.
///
/// # Safety
/// As [`padded::unpad`].
#[kernel]
pub unsafe fn wave2d_fast_unpad(
    fields: &[f32],
    kinds: &[f32],
    u0: *mut f32,
    u1: *mut f32,
    n_x: u32,
    n_y: u32,
    halo: u32,
    first: u32,
    len: u32,
    skips: u32,
) {
    let layout = Layout { n_x, n_y, halo };
    // SAFETY: the caller's.
    unsafe { padded::unpad(fields, kinds, [u0, u1], layout, [first, len], skips != 0) }
}

/// Writes the kinds of cells and rows, as [`kinds::write`] does. The n_y rows are those of a domain
/// of `rows` rows from row `first` on.
///
/// # Safety
/// As [`kinds::write`].
#[kernel]
pub unsafe fn wave2d_fast_kinds(
    kinds: *mut f32,
    rough: *mut u32,
    n_x: u32,
    n_y: u32,
    scene: u32,
    halo: u32,
    exact: u32,
    first: u32,
    rows: u32,
) {
    let layout = Layout { n_x, n_y, halo };
    // SAFETY: the caller's.
    unsafe { kinds::write(kinds, rough, layout, [first, rows], scene, exact != 0) }
}

/// The bit of a group's flags that says that its rows are in the pipeline together with a rough
/// row.
const IS_NEAR_ROUGH: u32 = 1 << GROUP;

/// Writes the flags of each row of each strip, from the output of [`wave2d_fast_kinds`]. Of the
/// `len` rows from row `first` on it also counts, before each row and in all, the strip's rows that
/// are not blank, and those of them near rough ones: 2 (`len` + 1) numbers for each strip. If
/// `skips`, a row is blank where all cells up to `reach` rows away are zero.
///
/// A row's flags are for the group that ends with the row. Bits 0 and 1 say whether the row and the
/// one above are rough. [`IS_NEAR_ROUGH`] says whether some row up to `reach` from the row is.
///
/// Block: 32. Grid: strips.
///
/// # Safety
/// - `rough` and `flags` have (n_y + 2 * MARGIN) * strips numbers, `before` has 2 * (`len` + 1) *
///   strips. The rows are among the n_y.
/// - Nothing else accesses `flags` and `before` during the launch. `reach` is less than MARGIN.
#[kernel]
pub unsafe fn wave2d_fast_flags(
    rough: &[u32],
    flags: *mut u32,
    before: *mut u32,
    n_y: u32,
    first: u32,
    len: u32,
    reach: u32,
    skips: u32,
) {
    let (strip, lane) = (thread::block_idx_x(), thread::thread_idx_x());
    let rows = n_y + 2 * MARGIN;
    let of_strip = (strip * rows) as usize;
    // Rows before the first wrap around.
    let is = |row: u32| match row < rows {
        // SAFETY: the row is one of the strip's.
        true => unsafe { *rough.get_unchecked(of_strip + row as usize) },
        false => IS_ZERO,
    };
    let mut count = [0; 2];
    let mut group = 0;
    while group < rows {
        let row = group + lane;
        let (mut is_near, mut is_blank) = (false, skips != 0);
        let mut other = row.saturating_sub(reach);
        while other <= row + reach {
            let is_other = is(other);
            is_near |= is_other & IS_ROUGH != 0;
            is_blank &= is_other & IS_ZERO != 0;
            other += 1;
        }
        if row < rows {
            let mut flag = if is_near { IS_NEAR_ROUGH } else { 0 };
            for i in 0..GROUP as u32 {
                flag |= (is(row.wrapping_sub(i)) & IS_ROUGH) << i;
            }
            // SAFETY: as in `is`.
            unsafe { *flags.add(of_strip + row as usize) = flag }
        }
        let y = row.wrapping_sub(MARGIN + first);
        let counted = [!is_blank, !is_blank && is_near].map(|is| y < len && is);
        for i in 0..2 {
            // SAFETY: all lanes are here; the array has two numbers for each y of the strip, and
            // for one more.
            unsafe {
                let lanes = warp::warp_vote_ballot(FULL_MASK, counted[i]);
                if y <= len {
                    let at = 2 * (strip as usize * (len as usize + 1) + y as usize) + i;
                    *before.add(at) = count[i] + (lanes & ((1 << lane) - 1)).count_ones();
                }
                count[i] += lanes.count_ones();
            }
        }
        group += 32;
    }
}

/// Divides the `len` rows of strips from row `first` on into chunks, from the output of
/// [`wave2d_fast_flags`].
///
/// Block: [`chunks::THREADS`]. Grid: 1.
///
/// # Safety
/// As [`chunks::divide`].
#[kernel(max_threads = 512)]
pub unsafe fn wave2d_fast_chunks(
    before: &[u32],
    counts: *mut u32,
    chunks: *mut u32,
    strips: u32,
    first: u32,
    len: u32,
    most: u32,
    t: u32,
    rough: u32,
    together: u32,
) {
    let (extents, costs) = ((strips, [first, len]), chunks::Costs { t, rough });
    // SAFETY: the caller's.
    unsafe { chunks::divide(before, counts, chunks, extents, most, costs, together) }
}

/// A lane's view of its warp's pipeline over the chunk. The number of a row is that of the step
/// that takes it from the ring.
struct Pipeline {
    k: f32,
    /// Rows of the chunk.
    rows: u32,
    /// Whether this lane stores its cells, rather than a lane of another warp.
    is_own: bool,
    /// The distance from a row of fields to the next.
    pitch: u32,
    /// The distance from a field to the one behind it, in lanes' cells: 32 bits count up to 2^34
    /// floats.
    plane: u32,
    /// The lane's cells of the next row to copy, of u1.
    next: *const f32,
    /// The lane's cells of level T in the next step, stored or not.
    out: *mut f32,
    /// The distance from the fields to the table of kinds, in bytes.
    to_kinds: isize,
    /// The flags of the group to copy next, and below, the place of those after it.
    flags: u32,
    next_flags: *const u32,
    /// Whether rows are rough: bit 0 is for the row copied last.
    rough: u32,
    /// The rows in shared memory.
    shared: Rows,
}

impl Pipeline {
    /// Goes from cells to those of the field behind. Here and for rows, the distance has 32 bits
    /// and is unknown to LLVM. An address then takes one instruction, and the distance in bytes no
    /// registers.
    #[inline(always)]
    fn behind(&self, cells: *const f32) -> *const f32 {
        cells.wrapping_add(4 * hint::opaque(self.plane) as usize)
    }

    /// Starts to copy the next row, number `row` counted from the group's first. It copies the
    /// row's codes too, if the row is in the pipeline together with a rough one.
    ///
    /// # Safety
    /// This lane has read the old values in the row's place.
    #[inline(always)]
    unsafe fn copy(&mut self, group: u32, row: i32, is_near_rough: bool) {
        // SAFETY: the layout has padding for all rows that a chunk copies; the ring has room for
        // whole rows.
        unsafe {
            let cells = shared::address(self.shared.cells);
            let place = cells + 4 * Rows::ring(group, row);
            async_copy::copy_16_to(place, self.next);
            async_copy::copy_16_to(place + ROW_BYTES, self.behind(self.next));
            if is_near_rough {
                let place = cells + 4 * Rows::codes(group, row);
                async_copy::copy_16_to(place, self.next.wrapping_byte_offset(self.to_kinds));
            }
        }
        async_copy::commit();
        self.next = self.next.wrapping_add(hint::opaque(self.pitch) as usize);
    }

    /// Whether rows of the group to copy next are in the pipeline together with a rough one.
    #[inline(always)]
    fn is_near_rough(&self) -> bool {
        self.flags & IS_NEAR_ROUGH != 0
    }

    /// Takes the flags of the group to copy next, and loads those of the one after.
    ///
    /// # Safety
    /// The strip has flags at that place.
    #[inline(always)]
    unsafe fn take_flags(&mut self) {
        self.rough = self.rough << GROUP | self.flags & (IS_NEAR_ROUGH - 1);
        // SAFETY: the caller's.
        self.flags = unsafe { *self.next_flags };
        self.next_flags = self.next_flags.wrapping_add(GROUP);
    }

    /// One step takes a row from the ring, starts to copy another, advances each level by a row,
    /// and stores a row of the last two. With `BEGINS`, levels that are not needed yet are skipped,
    /// four at a time.
    ///
    /// # Safety
    /// As [`Rows::level`]'s; groups count up from 0.
    #[inline(always)]
    unsafe fn step<
        const T: usize,
        const EXACT: bool,
        const PATH: u32,
        const BEGINS: bool,
        const Q: usize,
    >(
        &mut self,
        levels: &mut Levels,
        group: u32,
        is_near_rough: bool,
    ) {
        let step = GROUP as u32 * group + Q as u32;
        // SAFETY: the caller's. Each lane waits for its own copies, and reads nothing else. The
        // next row replaces a row that is two steps old and was last read in the step before.
        unsafe {
            async_copy::wait::<{ AHEAD as u32 - 1 }>();
            let mut arrived = self.shared.arrived::<EXACT>(group, Q);
            self.copy(group, (Q + AHEAD) as i32, is_near_rough);
            if PATH == ROUGH {
                arrived.codes = self.shared.load_codes(group, Q as i32);
            }
            // In this step, the last level reaches the row that the last but one has reached.
            let is_stored = self.is_own && step.wrapping_sub(2 * T as u32) < self.rows;
            if is_stored {
                let last = if T == 1 {
                    self.shared.load_row(group, Q as i32 - 1, 0)
                } else {
                    levels.last[T - 1]
                };
                mem::store_vector(self.behind(self.out).cast_mut(), last);
            }
            macro_rules! levels {
                () => {};
                ([$first:literal $($level:literal)*] $($rest:tt)*) => {
                    if $first <= T {
                        // The first row of level s that is needed ends in step 2 s, and begins in
                        // the step before.
                        if !BEGINS || step + 1 >= 2 * $first {
                            self.shared.level::<T, EXACT, PATH, Q, $first>(self.k, levels, &mut arrived, group);
                            $(self.shared.level::<T, EXACT, PATH, Q, $level>(self.k, levels, &mut arrived, group);)*
                            levels!($($rest)*);
                        } else {
                            levels.last[$first - 1] = arrived.newest;
                        }
                    }
                };
            }
            levels!([1 2 3 4] [5 6 7 8] [9 10 11 12] [13 14 15 16]);
            // `opaque` keeps the computation out of the branch, where it would not overlap with
            // other work.
            let newest = arrived.newest.map(hint::opaque);
            if is_stored {
                mem::store_vector(self.out, newest);
            }
            self.out = self.out.wrapping_add(hint::opaque(self.pitch) as usize);
        }
    }

    /// The steps of a group. If the path is not [`ROUGH`] and `BEGINS` is false, no row to copy is
    /// in the pipeline together with a rough one.
    ///
    /// # Safety
    /// As [`step`](Self::step)'s.
    #[inline(always)]
    unsafe fn group<const T: usize, const EXACT: bool, const PATH: u32, const BEGINS: bool>(
        &mut self,
        levels: &mut Levels,
        group: u32,
    ) {
        // SAFETY: the caller's; flags have padding as fields do.
        unsafe {
            let is_near_rough = (PATH == ROUGH || BEGINS) && self.is_near_rough();
            self.take_flags();
            self.step::<T, EXACT, PATH, BEGINS, 0>(levels, group, is_near_rough);
            self.step::<T, EXACT, PATH, BEGINS, 1>(levels, group, is_near_rough);
        }
    }

    /// Computes the whole chunk.
    ///
    /// # Safety
    /// All lanes of the warp call together; arrays, domain and chunk are as the kernel's caller
    /// promises.
    #[inline(always)]
    unsafe fn run<const T: usize, const EXACT: bool>(&mut self, scene: &impl Scene, t: u32) {
        let mut levels = Levels::NONE;
        // SAFETY: the caller's.
        unsafe {
            self.shared.prepare::<T>(scene, t);
            warp::sync_warp(FULL_MASK);
            let mut is_near_rough = false;
            for row in 0..AHEAD as i32 {
                if row % GROUP as i32 == 0 {
                    is_near_rough = self.is_near_rough();
                    self.take_flags();
                }
                self.copy(0, row, is_near_rough);
            }

            let groups = (self.rows + 2 * T as u32).div_ceil(GROUP as u32);
            // From this group on, all levels are needed: the last four levels, which include the
            // last one, have begun.
            let begun = (2 * ((T as u32 - 1) / 4 * 4 + 1) - 1).div_ceil(GROUP as u32);
            // The rows whose cells a group's steps begin or end, in bits of `rough`. The last bit
            // is for the ring's last row.
            let held = ((1 << (T + GROUP)) - 1) << (AHEAD - GROUP);
            let mut group = 0;
            while group < groups {
                if self.rough & held != 0 {
                    self.group::<T, EXACT, ROUGH, true>(&mut levels, group);
                    group += 1;
                } else if group < begun || self.is_near_rough() {
                    self.group::<T, EXACT, PLAIN, true>(&mut levels, group);
                    group += 1;
                } else {
                    while group < groups && self.rough & held == 0 && !self.is_near_rough() {
                        self.group::<T, EXACT, PLAIN, false>(&mut levels, group);
                        group += 1;
                    }
                }
            }
        }
    }
}

/// The arrays of a launch.
#[derive(Clone, Copy)]
struct Arrays<'a> {
    fields: &'a [f32],
    /// The rows to write, from `first` on.
    out: *mut f32,
    out_behind: *mut f32,
    first: u32,
    kinds: &'a [f32],
    flags: &'a [u32],
    chunks: &'a [u32],
}

/// The body of the kernels below.
///
/// # Safety
/// As the kernels'.
#[inline(always)]
unsafe fn pass<const T: usize, const EXACT: bool>(
    arrays: Arrays,
    layout: Layout,
    scene: &AnyScene,
    k: f32,
    t: u32,
) {
    let (lane, warp) = (thread::thread_idx_x(), thread::thread_idx_y());
    let chunk = (thread::block_idx_x() * thread::block_dim_y() + warp) * chunks::NUMBERS;
    if chunk as usize >= arrays.chunks.len() {
        return;
    }
    // SAFETY: the table has all numbers of the chunk; the block has WARP_FLOATS for each warp. Rows
    // and flags are those of the chunk and its margins.
    unsafe {
        let [strip, first, end, _]: [u32; 4] =
            mem::load_vector(arrays.chunks.as_ptr().add(chunk as usize));
        if first >= end {
            return;
        }
        let row_0 = first.wrapping_sub(T as u32);
        let column = 4 * lane;
        // A group has the flags of its last row.
        let first_flags = (strip * layout.rows() + row_0.wrapping_add(MARGIN)) as usize + GROUP - 1;
        let next = layout.row(row_0) + (strip * layout.own() + column) as usize;
        let is_own = column.wrapping_sub(layout.halo) < layout.own();
        let shared = shared::dynamic_shared_mem::<f32>().add((warp * WARP_FLOATS) as usize);
        let pitch = layout.pitch();
        let mut pipeline = Pipeline {
            k,
            rows: end - first,
            is_own,
            pitch,
            plane: ((arrays.out_behind.addr() - arrays.out.addr()) / 16) as u32,
            next: arrays.fields.as_ptr().wrapping_add(next),
            // Level T of step s is at row s - T.
            out: arrays
                .out
                .wrapping_add(next)
                .wrapping_sub(layout.row(arrays.first) + pitch as usize * T),
            to_kinds: (arrays.kinds.as_ptr() as isize)
                .wrapping_sub(arrays.fields.as_ptr() as isize),
            flags: *arrays.flags.get_unchecked(first_flags),
            next_flags: arrays.flags.as_ptr().add(first_flags + GROUP),
            rough: 0,
            shared: Rows {
                cells: shared.add(column as usize),
            },
        };
        pipeline.run::<T, EXACT>(scene, t);
    }
}

macro_rules! passes {
    ($($name:ident: $steps:literal, $exact:literal;)*) => {$(
        /// Computes the number of timesteps in the kernel's name, from `fields` and timestep `t`
        /// on, in the rows of `chunks`. Writes the last field to `out`, the second-last to
        /// `out_behind`; both begin with row `first` and its padding.
        ///
        /// The fields have n_y rows of a domain of `rows` rows.
        ///
        /// Block: 32 x up to 8, with [`WARP_FLOATS`] of dynamic shared memory for each warp. Grid:
        /// at least a warp for each chunk.
        ///
        /// # Safety
        /// - `fields` has two planes of the [`Layout`], and `kinds` has one. A plane has fewer than
        ///   2^34 floats. n_x * `rows` is at most 2^31, and n_x and `rows` are at least 2.
        /// - `out` and `out_behind` point to the rows of the chunks, a plane apart, which nothing
        ///   else accesses during the launch.
        /// - The kernels above wrote `kinds`, `flags` and `chunks` for this layout, scene and
        ///   arithmetic, with a reach of at least the timesteps plus 2. `halo` is at least the
        ///   timesteps.
        #[kernel(max_threads = 256, capability = "8.0")]
        pub unsafe fn $name(
            fields: &[f32],
            out: *mut f32,
            out_behind: *mut f32,
            kinds: &[f32],
            flags: &[u32],
            chunks: &[u32],
            n_x: u32,
            n_y: u32,
            halo: u32,
            first: u32,
            rows: u32,
            scene: u32,
            k: f32,
            t: u32,
        ) {
            let arrays = Arrays { fields, out, out_behind, first, kinds, flags, chunks };
            let layout = Layout { n_x, n_y, halo };
            let scene = AnyScene::new(scene, Domain { n_x, n_y: rows });
            // SAFETY: the caller's.
            unsafe { pass::<$steps, $exact>(arrays, layout, &scene, k, t) }
        }
    )*};
}

passes! {
    wave2d_fast_t1: 1, false;
    wave2d_fast_t4: 4, false;
    wave2d_fast_t16: 16, false;
    wave2d_fast_exact_t1: 1, true;
    wave2d_fast_exact_t4: 4, true;
    wave2d_fast_exact_t12: 12, true;
}
