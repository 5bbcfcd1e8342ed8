//! Many passes in one launch, one behind the other.
//!
//! A pass advances all fields by T timesteps. In a pass a warp owns a whole strip, and streams down
//! its rows in the [pipeline](kernels_gpu::wave2d::levels) of `fast`. No row is computed twice,
//! unlike in strips divided into chunks. Meanwhile warps of later passes follow it in the same
//! strip. A warp may copy a row when the pass before has stored it, in its own strip and those on
//! both sides. Each warp therefore publishes its progress once in a few rows
//! ([`atomic::store_release`]), and reads the progress of the three ([`atomic::load_acquire`]).
//!
//! Fields change places from pass to pass. A row is overwritten two passes after it was stored, and
//! by then all its readers have read it. A warp that stores a row has copied rows below it. The
//! pass before had stored these, and before that had copied rows further below.
//!
//! Blocks take turns from a counter until none is left. Turns go through the warps of one pass
//! after the other. A warp waits only for earlier turns, which running blocks have: no grid is too
//! large. If the rows have no room for more passes behind one another, more blocks would only wait.
//!
//! The slowest strip sets the pace of all. A kernel therefore [computes before](strips) the kind of
//! a strip's rows, for [`INTERVAL`] rows at a time: plain; all alike, as at the left and right
//! borders; plain except for walls; or anything. A warp that takes a quarter longer than one with
//! plain rows has a scheduler of its multiprocessor for itself: in blocks of eight warps, its
//! partner's place stays empty.
//!
//! The next pass soon reads the rows that a pass stores once more. Hints tell L2 to keep them until
//! then, and not after ([`l2`]). A load that acquires empties L1, which holds local memory and
//! values that a warp needs once per interval. Shared memory therefore holds these values.

use cuda_std::atomic::{self, AtomicU32, Ordering};
use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;
use cuda_std::{async_copy, hint, l2, mem};

use kernels_gpu::wave2d::kinds;
use kernels_gpu::wave2d::levels::{
    AHEAD, Cells, GROUP, Levels, MAX_STEPS, PLAIN, ROUGH, ROW_BYTES, Rows, SOURCES, UNIFORM, WALLS,
    WARP_FLOATS,
};
use kernels_gpu::wave2d::padded::{self, Layout, MARGIN, STRIP};
use kernels_gpu::wave2d::strips::{self, INTERVAL, NEAR, NUMBERS};
use kernels_gpu::wave2d::{AnyScene, Domain, Scene};

/// The halo of strips, and the number of rows before the first one at which a pass begins. Both are
/// enough for the largest number of timesteps of a pass.
pub const HALO: u32 = MAX_STEPS;
/// Intervals after which a warp publishes its progress.
const PUBLISHED: u32 = 3;
/// Paths of intervals that a warp has in shared memory: one for each lane.
const PATHS: u32 = 32;
const _: () = assert!(
    HALO + INTERVAL + AHEAD as u32 <= MARGIN && HALO.is_multiple_of(8),
    "there is padding for all rows that a pass copies, and none before the first row"
);

/// Rows before an interval's first that the pipeline holds while it takes the interval.
const HELD: u32 = HALO + 2;

/// Lays two fields out with padding, as [`padded::pad`] does.
///
/// # Safety
/// As [`padded::pad`].
#[kernel]
pub unsafe fn wave2d_wavefront_pad(
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

/// Removes the padding, as [`padded::unpad`] does.
///
/// # Safety
/// As [`padded::unpad`].
#[kernel]
pub unsafe fn wave2d_wavefront_unpad(
    fields: &[f32],
    kinds: &[f32],
    u0: *mut f32,
    u1: *mut f32,
    n_x: u32,
    n_y: u32,
    halo: u32,
    skips: u32,
) {
    let layout = Layout { n_x, n_y, halo };
    // SAFETY: the caller's.
    unsafe { padded::unpad(fields, kinds, [u0, u1], layout, [0, n_y], skips != 0) }
}

/// Writes the kinds of cells and rows, as [`kinds::write`] does.
///
/// # Safety
/// As [`kinds::write`].
#[kernel]
pub unsafe fn wave2d_wavefront_kinds(
    kinds: *mut f32,
    rough: *mut u32,
    n_x: u32,
    n_y: u32,
    scene: u32,
    halo: u32,
    exact: u32,
) {
    let layout = Layout { n_x, n_y, halo };
    // SAFETY: the caller's.
    unsafe { kinds::write(kinds, rough, layout, [0, n_y], scene, exact != 0) }
}

/// Writes the paths for the strips' rows, as [`strips::paths`] does.
///
/// # Safety
/// As [`strips::paths`].
#[kernel]
pub unsafe fn wave2d_wavefront_paths(
    rough: &[u32],
    paths: *mut u32,
    table: *mut u32,
    n_y: u32,
    skips: u32,
) {
    // SAFETY: the caller's.
    unsafe { strips::paths(rough, paths, table, n_y, [HELD, AHEAD as u32], skips != 0) }
}

/// Writes the warps' strips in a pass, as [`strips::warps`] does.
///
/// # Safety
/// As [`strips::warps`].
#[kernel]
pub unsafe fn wave2d_wavefront_warps(table: &[u32], warps: *mut u32, strips: u32, apart: u32) {
    // SAFETY: the caller's.
    unsafe { strips::warps(table, warps, strips, apart != 0) }
}

/// Prepares a launch of `passes`. It writes the progress of all passes, and of one before the
/// first, in all strips and one more on each side: at the start, or at the end where nothing is to
/// do. It also sets the counter to the first turn.
///
/// Block: any. Grid: a thread for each of (passes + 1) (strips + 2) numbers.
///
/// # Safety
/// - `table` has [`NUMBERS`] for each strip. `progress` points to a number per thread of the grid,
///   `counter` to one. Nothing else accesses them during the launch.
#[kernel]
pub unsafe fn wave2d_wavefront_start(
    table: &[u32],
    progress: *mut u32,
    counter: *mut u32,
    strips: u32,
    passes: u32,
) {
    let i = thread::index_1d();
    let (pass, strip) = (i / (strips + 2), (i % (strips + 2)).wrapping_sub(1));
    // SAFETY: the caller's.
    unsafe {
        if i == 0 {
            *counter = 0;
        }
        if pass <= passes {
            let mut done = u32::MAX;
            if pass > 0 && strip < strips {
                let numbers = table.as_ptr().add((NUMBERS * strip) as usize);
                let [first, end, ..]: [u32; NUMBERS as usize] = mem::load_vector(numbers);
                if first < end {
                    done = first;
                }
            }
            *progress.add(i as usize) = done;
        }
    }
}

/// Values that a warp needs once per interval. It keeps them in shared memory, behind the source's
/// values, because registers are for the levels.
#[derive(Clone, Copy)]
enum Kept {
    /// The place of the warp's number in `progress`.
    Place,
    /// The place of the first of three that it waits for: the same strip and those on both sides,
    /// in the pass before.
    Before,
    /// The first step's row, with padding.
    Row,
    /// Intervals of the strip.
    Intervals,
    /// The first interval's place in `paths`.
    Paths,
    /// The row, with padding, before which all rows are known to be free to copy.
    Admitted,
    /// The paths that follow: [`PATHS`] of them, a byte each.
    Copied,
}
const _: () = assert!(
    MAX_STEPS as usize + Kept::Copied as usize + PATHS as usize / 4 <= SOURCES,
    "all that is kept has room behind the source's values"
);

/// A lane's view of its warp's pipeline over the strip. Places are counted in lanes' cells: 32 bits
/// count up to 2^34 floats.
struct Pass<'a> {
    k: f32,
    /// The distance from a row of fields to the next.
    pitch: u32,
    /// The distance from a field to the one behind it.
    plane: u32,
    /// The four planes of the fields, and the table of kinds behind them.
    fields: *mut f32,
    /// The distance from the field that is read to the table.
    to_kinds: u32,
    /// The lane's cells of the next row to copy.
    next: u32,
    /// The lane's cells of level T in the next step, stored or not.
    out: u32,
    /// The rows in shared memory.
    shared: Rows,
    paths: &'a [u32],
    progress: *mut u32,
}

/// A lane's cells of the rows that the last level and the last but one have reached in a step.
type Reached = [Cells; 2];

/// Whether a lane's cells belong to its strip, not to another.
#[inline(always)]
fn is_own(lane: u32) -> bool {
    (4 * lane).wrapping_sub(HALO) < STRIP - 2 * HALO
}

impl Pass<'_> {
    /// The lane's cells at a place.
    #[inline(always)]
    fn at(&self, place: u32) -> *mut f32 {
        self.fields.wrapping_add(4 * place as usize)
    }

    /// The place of a kept value.
    #[inline(always)]
    fn kept(&self, what: Kept) -> *mut u32 {
        let behind = self.shared.sources().wrapping_add(MAX_STEPS as usize);
        behind.cast::<u32>().wrapping_add(what as usize)
    }

    /// Reads a kept value.
    ///
    /// # Safety
    /// The value has been written.
    #[inline(always)]
    unsafe fn get(&self, what: Kept) -> u32 {
        // SAFETY: the caller's. The read is volatile: otherwise the value would take a register.
        unsafe { self.kept(what).read_volatile() }
    }

    /// Starts to copy the next row, number `row` counted from the group's first. Every path except
    /// [`PLAIN`] also copies the row's codes.
    ///
    /// # Safety
    /// This lane has read the old values in the row's place, and the row is admitted.
    #[inline(always)]
    unsafe fn copy<const PATH: u32>(&mut self, group: u32, row: i32) {
        // SAFETY: the layout has padding for all rows that a pass copies; the ring has room for
        // whole rows.
        unsafe {
            let cells = shared::address(self.shared.cells);
            let place = cells + 4 * Rows::ring(group, row);
            l2::copy_16_evict_first_to(place, self.at(self.next));
            l2::copy_16_evict_first_to(place + ROW_BYTES, self.at(self.next + self.plane));
            if PATH != PLAIN {
                let place = cells + 4 * Rows::codes(group, row);
                async_copy::copy_16_to(place, self.at(self.next + self.to_kinds));
            }
        }
        async_copy::commit();
        self.next += self.pitch;
    }

    /// One step takes a row from the ring, advances each level by a row, and returns the rows to
    /// store. The first step of a group starts to copy two rows.
    ///
    /// # Safety
    /// As [`Rows::level`]'s; groups count up from 0.
    #[inline(always)]
    unsafe fn step<const T: usize, const EXACT: bool, const PATH: u32, const Q: usize>(
        &mut self,
        levels: &mut Levels,
        group: u32,
    ) -> Reached {
        // SAFETY: the caller's. Each lane waits for its own copies, and reads nothing else. The
        // rows whose places the next two get were last read by the step before and by this one's
        // first level.
        unsafe {
            if Q == 0 {
                async_copy::wait::<{ AHEAD as u32 - 1 }>();
            } else {
                // At most `AHEAD` - 2 rows stay in flight: this step's row has arrived.
                async_copy::wait::<{ AHEAD as u32 - 2 }>();
            }
            let mut arrived = self.shared.arrived::<EXACT>(group, Q);
            if PATH == UNIFORM || PATH == ROUGH {
                arrived.codes = self.shared.load_codes(group, Q as i32);
            }
            macro_rules! levels {
                ($($level:literal)*) => {$(
                    self.shared.level::<T, EXACT, PATH, Q, $level>(self.k, levels, &mut arrived, group);
                )*};
            }
            levels!(1);
            if Q == 0 {
                // Both steps' rows start at once: they have arrived when the warp publishes its
                // progress, which waits for them.
                self.copy::<PATH>(group, AHEAD as i32);
                self.copy::<PATH>(group, AHEAD as i32 + 1);
            }
            levels!(2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
            // `opaque` keeps the computation out of the branch of `store`, where it would not
            // overlap with other work.
            [arrived.newest.map(hint::opaque), arrived.older]
        }
    }

    /// Stores the rows that a step has reached.
    ///
    /// # Safety
    /// Nothing else accesses the rows meanwhile.
    #[inline(always)]
    unsafe fn store<const T: usize>(&mut self, step: u32, reached: Reached) {
        // Rows below the strip's last are blank, or padding.
        if step >= HALO + T as u32 && is_own(thread::thread_idx_x()) {
            // SAFETY: the caller's; the layout has the rows.
            unsafe {
                l2::store_4_evict_last(self.at(self.out), reached[0]);
                l2::store_4_evict_last(self.at(self.out + self.plane), reached[1]);
            }
        }
        self.out = self.out.wrapping_add(self.pitch);
    }

    /// The steps of an interval. Fused arithmetic returns the rows that the last step has reached;
    /// exact arithmetic stores these too.
    ///
    /// # Safety
    /// As [`step`](Self::step)'s.
    #[inline(always)]
    unsafe fn interval<const T: usize, const EXACT: bool, const PATH: u32>(
        &mut self,
        levels: &mut Levels,
        group: &mut u32,
    ) -> Reached {
        loop {
            // One number and two places go from a group to the next, but no addresses.
            *group = hint::opaque(*group);
            self.next = hint::opaque(self.next);
            self.out = hint::opaque(self.out);
            let step = *group * GROUP as u32;
            // SAFETY: the caller's; this warp stores its rows of the last two levels.
            unsafe {
                let reached = self.step::<T, EXACT, PATH, 0>(levels, *group);
                self.store::<T>(step, reached);
                let reached = self.step::<T, EXACT, PATH, 1>(levels, *group);
                *group += 1;
                let ends = (*group).is_multiple_of(INTERVAL / GROUP as u32);
                if EXACT || !ends {
                    self.store::<T>(step + 1, reached);
                }
                if ends {
                    return reached;
                }
            }
        }
    }

    /// Publishes that all rows before this one are stored.
    ///
    /// # Safety
    /// All lanes of the warp call together, after their stores.
    #[inline(always)]
    unsafe fn publish(&self, row: u32) {
        // SAFETY: the caller's; the warp's place is its own.
        unsafe {
            warp::sync_warp(FULL_MASK);
            if thread::thread_idx_x() == 0 {
                let place = self.get(Kept::Place) as usize;
                atomic::store_release(self.progress.add(place), row);
            }
        }
    }

    /// Waits until all rows before this one may be copied.
    ///
    /// # Safety
    /// All lanes of the warp call together.
    #[inline(always)]
    unsafe fn admit(&self, row: u32) {
        // SAFETY: the caller's; `progress` has a pass before the first, and a strip more on each
        // side.
        unsafe {
            while self.get(Kept::Admitted) < row {
                let lane = thread::thread_idx_x();
                let place = self.get(Kept::Before) + lane.min(2);
                let done = atomic::load_acquire(self.progress.add(place as usize));
                let admitted = warp::warp_reduce_min(FULL_MASK, done);
                // All lanes see the rows that the three lanes have seen, and have read the old
                // value here.
                warp::sync_warp(FULL_MASK);
                if lane == 0 {
                    self.kept(Kept::Admitted).write_volatile(admitted);
                }
                warp::sync_warp(FULL_MASK);
            }
        }
    }

    /// The path of an interval. Intervals come one after the other from 0 on.
    ///
    /// # Safety
    /// All lanes of the warp call together, and the strip has the interval.
    #[inline(always)]
    unsafe fn path(&self, interval: u32) -> u32 {
        let copied = self.kept(Kept::Copied).cast::<u8>();
        // SAFETY: the caller's; the place has `PATHS` bytes.
        unsafe {
            if interval.is_multiple_of(PATHS) {
                let lane = thread::thread_idx_x();
                let last = self.get(Kept::Intervals) - 1;
                let place = self.get(Kept::Paths) + (interval + lane).min(last);
                let path = *self.paths.get_unchecked(place as usize);
                // All lanes have read the last of the old paths, and none has read the first of the
                // new ones.
                warp::sync_warp(FULL_MASK);
                let byte = copied.wrapping_add(lane as usize);
                byte.write_volatile(path as u8);
                warp::sync_warp(FULL_MASK);
            }
            let place = copied.wrapping_add((interval % PATHS) as usize);
            u32::from(place.read_volatile())
        }
    }

    /// Computes the whole strip.
    ///
    /// # Safety
    /// All lanes of the warp call together; arrays, domain and strip are as the kernel's caller
    /// promises.
    #[inline(always)]
    unsafe fn run<const T: usize, const EXACT: bool>(
        &mut self,
        kept: [u32; Kept::Copied as usize],
        scene: &impl Scene,
        t: u32,
    ) {
        let mut levels = Levels::NONE;
        // SAFETY: the caller's.
        unsafe {
            // The first level takes the row before the first, but no cell that is stored depends on
            // it.
            let before = Rows::ring(0, -1) as usize;
            mem::store_vector(self.shared.cells.add(before), [0.0; 4]);
            self.shared.prepare::<T>(scene, t);
            if thread::thread_idx_x() == 0 {
                for (i, number) in kept.iter().enumerate() {
                    self.kept(Kept::Place).add(i).write_volatile(*number);
                }
            }
            warp::sync_warp(FULL_MASK);
            self.admit(self.get(Kept::Row) + AHEAD as u32);
            for row in 0..AHEAD as i32 {
                self.copy::<ROUGH>(0, row);
            }
            let mut group = 0;
            loop {
                group = hint::opaque(group);
                let interval = group / (INTERVAL / GROUP as u32);
                if interval >= self.get(Kept::Intervals) {
                    break;
                }
                let (step, row) = (interval * INTERVAL, self.get(Kept::Row));
                self.admit(row + step + INTERVAL + AHEAD as u32);
                let reached = match self.path(interval) {
                    PLAIN => self.interval::<T, EXACT, PLAIN>(&mut levels, &mut group),
                    NEAR => self.interval::<T, EXACT, NEAR>(&mut levels, &mut group),
                    UNIFORM => self.interval::<T, EXACT, UNIFORM>(&mut levels, &mut group),
                    WALLS => self.interval::<T, EXACT, WALLS>(&mut levels, &mut group),
                    _ => self.interval::<T, EXACT, ROUGH>(&mut levels, &mut group),
                };
                // In fused arithmetic, the last step's rows are stored after the warp has published
                // its progress, which waits for all earlier stores. (In exact arithmetic, this
                // would add more moves than it saves.)
                let end = group * GROUP as u32;
                let stored = if EXACT { end } else { end - 1 };
                if end.is_multiple_of(PUBLISHED * INTERVAL) && end > HALO + T as u32 {
                    self.publish(self.get(Kept::Row) + stored - T as u32);
                }
                if !EXACT {
                    self.store::<T>(stored, reached);
                }
            }
            // The warp that overwrites rows that this one has read waits for this, too.
            async_copy::wait::<0>();
            self.publish(u32::MAX);
        }
    }
}

/// The arrays of a launch.
#[derive(Clone, Copy)]
struct Arrays<'a> {
    fields: *mut f32,
    paths: &'a [u32],
    warps: &'a [u32],
    progress: *mut u32,
    counter: *mut u32,
}

/// The body of the kernels below.
///
/// # Safety
/// As the kernels'.
#[inline(always)]
unsafe fn passes<const T: usize, const EXACT: bool>(
    arrays: Arrays,
    (layout, pitch, plane): (Layout, u32, u32),
    (scene, k): (u32, f32),
    (t, from, passes): (u32, u32, u32),
) {
    let (lane, warp) = (thread::thread_idx_x(), thread::thread_idx_y());
    // SAFETY: the arrays have all numbers; the block has WARP_FLOATS for each warp. Rows are those
    // of the strip and its margins.
    unsafe {
        loop {
            let memory = shared::dynamic_shared_mem::<u32>();
            if lane == 0 && warp == 0 {
                let counter = AtomicU32::from_ptr(arrays.counter);
                *memory = counter.fetch_add(1, Ordering::Relaxed);
            }
            thread::sync_threads();
            let turn = *memory;
            thread::sync_threads();
            // Pairs are warps of one scheduler.
            let block_warps = thread::block_dim_y();
            let pairs = block_warps.div_ceil(2);
            let in_pass = *arrays.warps.get_unchecked(0);
            if in_pass == 0 || turn * block_warps / in_pass >= passes {
                return;
            }
            let number = turn * block_warps + warp % pairs * 2 + warp / pairs;
            let (pass, number) = (number / in_pass, number % in_pass);
            let numbers = arrays.warps.as_ptr().add((NUMBERS * (number + 1)) as usize);
            let [strip, first, end, _]: [u32; NUMBERS as usize] = mem::load_vector(numbers);
            if pass >= passes || first >= end {
                continue;
            }
            let row = first - HALO;
            let column = 4 * lane;
            let shared = shared::dynamic_shared_mem::<f32>().add((warp * WARP_FLOATS) as usize);
            // A pass reads two of the four planes, and writes the others.
            let from = if pass.is_multiple_of(2) {
                from
            } else {
                2 * plane - from
            };
            let place = row * pitch + (strip * layout.own() + column) / 4;
            let mut this = Pass {
                k,
                pitch,
                plane,
                fields: arrays.fields,
                to_kinds: 4 * plane - from,
                next: from + place,
                // Level T of step s is at row s - T.
                out: (2 * plane - from + place).wrapping_sub(pitch * T as u32),
                shared: Rows {
                    cells: shared.add(column as usize),
                },
                paths: arrays.paths,
                progress: arrays.progress,
            };
            let intervals = layout.rows().div_ceil(INTERVAL);
            let of_pass = layout.strips() + 2;
            let kept = [
                (pass + 1) * of_pass + strip + 1,
                pass * of_pass + strip,
                row,
                (end - row + T as u32).div_ceil(INTERVAL),
                strip * intervals + row / INTERVAL,
                0,
            ];
            let (n_x, n_y) = (layout.n_x, layout.n_y);
            let scene = AnyScene::new(scene, Domain { n_x, n_y });
            this.run::<T, EXACT>(kept, &scene, t.wrapping_add(pass * T as u32));
        }
    }
}

macro_rules! passes {
    ($($name:ident: $steps:literal, $exact:literal;)*) => {$(
        /// Computes `passes` passes, from timestep `t` on. A pass has the number of timesteps in
        /// the kernel's name. `fields` has four planes, and behind them the table of kinds. At
        /// first, the fields are in the first two planes or in the others: `from` is 0 or the
        /// length of two. The planes change roles with each pass.
        ///
        /// Block: 32 x up to 8, with [`WARP_FLOATS`] of dynamic shared memory for each warp. Grid:
        /// any number of blocks.
        ///
        /// # Safety
        /// - `fields` points to five planes of the [`Layout`] with a halo of [`HALO`]. Nothing else
        ///   accesses the first four during the launch. `pitch` and `plane` are the layout's: they
        ///   are parameters because parameters take no registers. `from` is a place, by fours. Five
        ///   planes have at most 2^34 floats. n_x * n_y is at most 2^31, n_x and n_y are at least
        ///   2.
        /// - The kernels above wrote the fifth plane, `paths` and `warps` for this layout, scene
        ///   and arithmetic. [`wave2d_wavefront_start`] wrote `progress` and `counter` for as many
        ///   passes.
        #[kernel(max_threads = 256, capability = "8.0")]
        pub unsafe fn $name(
            fields: *mut f32,
            paths: &[u32],
            warps: &[u32],
            progress: *mut u32,
            counter: *mut u32,
            n_x: u32,
            n_y: u32,
            pitch: u32,
            plane: u32,
            scene: u32,
            k: f32,
            t: u32,
            from: u32,
            passes: u32,
        ) {
            let arrays = Arrays { fields, paths, warps, progress, counter };
            let layout = Layout { n_x, n_y, halo: HALO };
            // SAFETY: the caller's.
            unsafe { self::passes::<$steps, $exact>(arrays, (layout, pitch, plane), (scene, k), (t, from, passes)) }
        }
    )*};
}

passes! {
    wave2d_wavefront_t1: 1, false;
    wave2d_wavefront_t4: 4, false;
    wave2d_wavefront_t16: 16, false;
    wave2d_wavefront_exact_t1: 1, true;
    wave2d_wavefront_exact_t4: 4, true;
    wave2d_wavefront_exact_t12: 12, true;
}
