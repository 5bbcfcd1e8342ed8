//! Several timesteps per launch, on tiles that stream along i: each field is read and written once
//! in `DEPTH` timesteps.
//!
//! A block owns a tile of [`WIDTH`] sites along k and some rows, and takes it through a chunk of
//! planes. A thread owns some rows at one k. When plane i of the last field arrives, timestep 1
//! computes plane i - 1, timestep 2 plane i - 2, and so on. Each timestep needs the plane that the
//! one before it has just computed, the two planes before that, and the second-last timestep's
//! value at the same site. A thread thus keeps two planes of its sites per timestep in registers.
//! Where registers are short, it keeps one plane and loads the newer from shared memory again. The
//! loop over planes is unrolled by two: the newest plane replaces the oldest without moves.
//!
//! Neighbours along i are in registers, and along j too, except at the thread's first and last row.
//! The others are in shared memory: each timestep has two planes of the tile there, one to read,
//! and one to write meanwhile. One barrier per plane is enough for all timesteps.
//!
//! Planes of both fields, and the factors of their columns, come to rings in shared memory by
//! asynchronous copies, two planes ahead of their use. A thread does not wait for values that it
//! has just requested, and values in flight need no registers.
//!
//! A site at the tile's edge lacks neighbours: each timestep makes one more ring of sites wrong.
//! The block writes the sites that stay right, and tiles overlap. The first and the last tile end
//! with the domain, where no site is wrong. Chunks overlap likewise. Sites on the border and beyond
//! are 0 after each timestep, with any neighbours.
//!
//! Most planes of most tiles have no border, no source and no damped row. They run code without
//! these.

use cuda_std::hint;
use cuda_std::prelude::*;
use cuda_std::warp;

use kernels_gpu::blocks::{BlockList, Place};
use kernels_gpu::wave3d::domain::Domain;
use kernels_gpu::wave3d::update::{Factors, Neighbours, Scheme, laplacian};

/// Threads of a block along k.
pub const WIDTH: u32 = 64;
/// Sites at either side of a tile along k that a block does not write, at any depth. The written
/// sites begin at a sector.
pub const MARGIN: u32 = 4;
/// The largest number of timesteps of a launch.
pub const MAX_DEPTH: u32 = 4;
/// The largest number of rows of a thread.
pub const MAX_ROWS: u32 = 8;

/// The planes before the first written one that a launch of `depth` timesteps reads: one that each
/// timestep needs, and one of u_prev that comes with the first of these, without effect.
pub const fn reach(depth: u32) -> u32 {
    depth + 1
}

/// Values of a tile's row in shared memory.
const ROW: u32 = WIDTH;
/// Planes in flight while a plane is computed.
const AHEAD: u32 = 2;
/// Places of u's ring: for the planes in flight, plane i, and plane i - 1, whose neighbours
/// timestep 1 reads.
const U_SLOTS: u32 = AHEAD + 2;
/// Places of `u_prev`'s ring: threads read no neighbours there.
const U_PREV_SLOTS: u32 = AHEAD + 1;
/// Places of the factors' ring: for the planes in flight, and for the planes of the timesteps.
const FACTOR_SLOTS: u32 = 8;
const _: () = assert!(FACTOR_SLOTS > AHEAD + MAX_DEPTH);

/// Values in shared memory of a plane of `tile_rows` rows whose sites have neighbours there. After
/// it is a row of zeros, which is also the row before the next plane.
const fn plane_len(tile_rows: u32) -> u32 {
    ROW * (tile_rows + 1)
}

/// The start of u_prev's ring, after that of u and two planes for each timestep except the last.
const fn u_prev_ring(depth: u32, tile_rows: u32) -> u32 {
    ROW + (U_SLOTS + 2 * (depth - 1)) * plane_len(tile_rows)
}

/// The start of the factors' ring.
const fn factors_ring(depth: u32, tile_rows: u32) -> u32 {
    u_prev_ring(depth, tile_rows) + U_PREV_SLOTS * tile_rows * ROW
}

/// Shared memory of a block.
pub const fn shared_mem_bytes(depth: u32, tile_rows: u32) -> u32 {
    8 * (factors_ring(depth, tile_rows) + FACTOR_SLOTS * tile_rows * FACTORS)
}

/// Tiles along an axis of n sites. Each tile has `sites` sites, and neighbouring tiles share two
/// margins.
pub const fn tiles(n: u32, sites: u32, margin: u32) -> u32 {
    let tiles = n.saturating_sub(2 * margin).div_ceil(sites - 2 * margin);
    if tiles == 0 { 1 } else { tiles }
}

/// Values of a column's factors: divisor, inverse, of_u_prev. The bits of the last value say which
/// of the [`MAX_ROWS`] columns from this one on along j are damped.
pub const FACTORS: u32 = 4;

/// Computes the factors of columns from their damping `d`. A row has n_y columns.
///
/// Block: any along x. Grid: a thread for each column.
///
/// # Safety
/// `out` points to [`FACTORS`] elements for each of d's, aligned to 16 bytes, which nothing else
/// accesses during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn wave3d_fast_factors(d: &[f64], out: *mut f64, n_y: u32, dt: f64) {
    let column = thread::index_1d();
    let of = |column: u32| Scheme { dt, ratio: 0.0 }.factors(d[column as usize]);
    if (column as usize) < d.len() {
        let factors = of(column);
        let mut damped = 0;
        for row in 0..MAX_ROWS.min(n_y - column % n_y) {
            damped |= u64::from(of(column + row).of_u_prev != 1.0) << row;
        }
        // SAFETY: the thread's own elements.
        unsafe {
            let out = out.add((FACTORS * column) as usize);
            mem::store_vector(out, [factors.divisor, factors.inverse]);
            mem::store_vector(out.add(2), [factors.of_u_prev, f64::from_bits(damped)]);
        }
    }
}

/// A flag of a thread: whether the pairs that it copies have a second site.
const HAS_SECOND: u32 = 1;
/// Whether row 0 is inside the domain's border; the next bits are for the rows after.
const INSIDE: u32 = 1 << 8;
/// Whether the thread writes row 0; the next bits are for the rows after.
const WRITTEN: u32 = 1 << 16;

/// A thread's sites in one plane.
type Plane<const ROWS: usize> = [f64; ROWS];

/// Two planes of each timestep. In phase p, plane p is the older, which the newest replaces.
type Planes<const DEPTH: usize, const ROWS: usize> = [[Plane<ROWS>; 2]; DEPTH];

/// Fields and tables. Each pointer is to plane 0 of the domain, which need not be in memory.
#[derive(Clone, Copy)]
struct Task {
    u_prev: *const f64,
    u: *const f64,
    out_prev: *mut f64,
    out: *mut f64,
    factors: *const f64,
    /// The last plane of u_prev and u in memory.
    last: u32,
    domain: Domain,
    /// The plane of the source and this thread's row with the source, if any; below, its values.
    source: [u32; 2],
    values: [f64; MAX_DEPTH as usize],
}

/// A thread's knowledge of its tile and its sites.
#[derive(Clone, Copy)]
struct Sites<const DEPTH: usize, const ROWS: usize, const THREADS: usize, const RELOADED: usize> {
    task: Task,
    /// Properties of its sites, one bit each: one register holds all.
    flags: u32,
    /// The position of its first site in a plane of the domain, which may be beyond the last.
    position: u32,
    /// The first site of each pair that this thread copies, in a plane of the domain: ROWS / 2
    /// pairs.
    copied: [u32; ROWS],
    /// The place in a plane of the tile that it copies them to.
    copied_to: u32,
    /// The half of a column's factors that this thread copies in each plane, if any.
    copied_factors: u32,
    ratio_c2: f64,
    /// The first site's place in a plane of the tile.
    own: u32,
    /// The planes that the block writes.
    chunk: [u32; 2],
    /// The first plane i, and the number of planes from there on, at which the block writes a plane
    /// and all timesteps' planes are without border and source.
    plain: [u32; 2],
}

impl<const DEPTH: usize, const ROWS: usize, const THREADS: usize, const RELOADED: usize>
    Sites<DEPTH, ROWS, THREADS, RELOADED>
{
    const TILE_ROWS: u32 = (ROWS * THREADS) as u32;
    const PLANE: u32 = plane_len(Self::TILE_ROWS);

    /// A place in shared memory.
    #[inline(always)]
    fn shared(&self, place: u32) -> *mut f64 {
        shared::dynamic_shared_mem::<f64>().wrapping_add(place as usize)
    }

    /// A plane's place in u's ring.
    #[inline(always)]
    fn in_u(&self, plane: u32) -> u32 {
        ROW + plane % U_SLOTS * Self::PLANE
    }

    /// The place of the plane that this timestep publishes in a phase.
    #[inline(always)]
    fn in_published(&self, step: u32, phase: u32) -> u32 {
        ROW + (U_SLOTS + 2 * (step - 1) + phase) * Self::PLANE
    }

    /// The place in u_prev's ring of plane i - 1.
    #[inline(always)]
    fn in_u_prev(&self, i: u32) -> u32 {
        let slot = i.wrapping_add(U_PREV_SLOTS - 1) % U_PREV_SLOTS;
        u_prev_ring(DEPTH as u32, Self::TILE_ROWS) + slot * Self::TILE_ROWS * ROW
    }

    /// The place of a plane's factors: those of a thread's first row, where its sites are at `own`.
    #[inline(always)]
    fn in_factors(&self, plane: u32, own: u32) -> u32 {
        let slot = plane % FACTOR_SLOTS;
        factors_ring(DEPTH as u32, Self::TILE_ROWS) + FACTORS * (slot * Self::TILE_ROWS + own / ROW)
    }

    /// Starts the copies of u's plane i, and of plane i - 1 of u_prev and of the factors. Beyond
    /// the domain it copies another plane, which affects only sites outside the border.
    ///
    /// # Safety
    /// Fields and tables are the domain's. No thread reads these planes' places any more.
    #[inline(always)]
    unsafe fn fetch(&self, i: u32) {
        let Domain { n_y, n_z, .. } = self.task.domain;
        // The plane before the first is the last one: it has no effect either.
        let [plane, before] = [i, i.wrapping_sub(1)].map(|plane| plane.min(self.task.last));
        let (own, copied_to) = (hint::opaque(self.own), hint::opaque(self.copied_to));
        let copy = |field: *const f64, plane: u32, to: u32| {
            let first = u64::from(plane) * u64::from(n_y * n_z);
            let from = field.wrapping_add(first as usize);
            let to = self.shared(to + copied_to);
            let places = |row: usize| (to.wrapping_add(row * ROW as usize), self.copied[row]);
            // SAFETY: the sites are in the domain; the caller's. Where n_z is even, they begin at
            // multiples of 16 bytes.
            unsafe {
                if n_z.is_multiple_of(2) {
                    for row in 0..ROWS / 2 {
                        let (to, at) = places(row);
                        async_copy::copy_16_at(to, from, at);
                    }
                } else {
                    // Without a second site, this is the first.
                    let second = from.wrapping_add((self.flags & HAS_SECOND) as usize);
                    for row in 0..ROWS / 2 {
                        let (to, at) = places(row);
                        async_copy::copy_8_at(to, from, at);
                        async_copy::copy_8_at(to.wrapping_add(1), second, at);
                    }
                }
            }
        };
        copy(self.task.u, plane, self.in_u(i));
        copy(self.task.u_prev, before, self.in_u_prev(i));
        // Each of the first threads of a row copies a half of a column's factors.
        let half = own % ROW;
        if half < 2 * ROWS as u32 {
            let first = u64::from(before) * u64::from(n_y * FACTORS);
            let from = self.task.factors.wrapping_add(first as usize);
            let to = self.in_factors(i.wrapping_sub(1), own) + 2 * half;
            // SAFETY: the column is in the domain; the caller's.
            unsafe { async_copy::copy_16_at(self.shared(to), from, self.copied_factors) };
        }
    }

    /// Computes timestep `step` (from 1 on) of its plane, i - step, from the newest, the middle and
    /// the oldest plane of the timestep before it. This thread's sites of the middle plane are at
    /// `here` in shared memory.
    ///
    /// # Safety
    /// As [`run`](Self::run); the planes that are read were written before a barrier; the plane is
    /// `PLAIN`.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "arrays stay in registers")]
    unsafe fn timestep<const PLAIN: bool>(
        &self,
        step: usize,
        [newest, middle, oldest]: [&Plane<ROWS>; 3],
        here: u32,
        u_prev: &Plane<ROWS>,
        i: u32,
        is_damped: bool,
    ) -> Plane<ROWS> {
        let plane = i.wrapping_sub(step as u32);
        let is_damped = !PLAIN && is_damped;
        let factors = self.shared(self.in_factors(plane, hint::opaque(self.own)));
        let here = self.shared(here);
        // Without damping the factors are 1, which changes no bit.
        let mut next = *u_prev;
        if is_damped {
            for row in 0..ROWS {
                // SAFETY: factors were copied when the plane arrived, and a barrier came after
                // that.
                next[row] *= unsafe { *factors.wrapping_add(FACTORS as usize * row + 2) };
            }
        }
        let mut laplacians = [0.0; ROWS];
        for row in 0..ROWS {
            let at = here.wrapping_add(row * ROW as usize);
            // SAFETY: every site of the tile has neighbours in shared memory.
            let around = unsafe {
                Neighbours {
                    along_x: [oldest[row], newest[row]],
                    along_y: [
                        if row == 0 {
                            *at.sub(ROW as usize)
                        } else {
                            middle[row - 1]
                        },
                        if row == ROWS - 1 {
                            *at.add(ROW as usize)
                        } else {
                            middle[row + 1]
                        },
                    ],
                    along_z: [*at.sub(1), *at.add(1)],
                }
            };
            laplacians[row] = laplacian(middle[row], around);
        }
        if !PLAIN && plane == self.task.source[0] {
            // Without `opaque`, every plane would compute sums to select from.
            let source_row = hint::opaque(self.task.source[1]);
            for row in 0..ROWS {
                if row as u32 == source_row {
                    laplacians[row] += self.task.values[step - 1];
                }
            }
        }
        for row in 0..ROWS {
            next[row] = Scheme::undamped_by(self.ratio_c2, next[row], middle[row], laplacians[row]);
        }
        if is_damped {
            let factors = |row: usize| {
                // SAFETY: factors were copied when the plane arrived, before a barrier.
                let [divisor, inverse]: [f64; 2] =
                    unsafe { mem::load_vector(factors.wrapping_add(FACTORS as usize * row)) };
                Factors {
                    of_u_prev: 1.0,
                    divisor,
                    inverse,
                }
            };
            let mut are_sure = true;
            for row in 0..ROWS {
                are_sure &= Factors::is_sure(next[row]);
            }
            // All rows share one branch: their quotients do not wait for one another.
            if are_sure {
                for row in 0..ROWS {
                    next[row] = factors(row).quotient(next[row]);
                }
            } else {
                for row in 0..ROWS {
                    next[row] /= factors(row).divisor;
                }
            }
        }
        if !PLAIN {
            let is_plane_inside = plane.wrapping_sub(1) < self.task.domain.n_x - 2;
            let flags = match is_plane_inside {
                true => hint::opaque(self.flags),
                false => 0,
            };
            for row in 0..ROWS {
                if flags & INSIDE << row == 0 {
                    next[row] = 0.0;
                }
            }
        }
        next
    }

    /// Computes all timesteps when plane i has arrived, in this `PHASE`. Bit s - 1 of `damped` is
    /// for plane i - s.
    ///
    /// # Safety
    /// As [`run`](Self::run). A barrier separates this plane's reads from the next plane's writes.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "arrays stay in registers")]
    unsafe fn advance<const PHASE: usize, const PLAIN: bool>(
        &self,
        planes: &mut Planes<DEPTH, ROWS>,
        damped: u32,
        i: u32,
    ) {
        let own = hint::opaque(self.own);
        let load = |place: u32| {
            let first = self.shared(place + own);
            let mut plane = [0.0; ROWS];
            for row in 0..ROWS {
                // SAFETY: these are the thread's sites, which have arrived or were published.
                plane[row] = unsafe { *first.wrapping_add(row * ROW as usize) };
            }
            plane
        };
        let mut newest = load(self.in_u(i));
        let mut before = load(self.in_u_prev(i));
        macro_rules! timesteps {
            ($($step:literal)*) => {$(
                if $step <= DEPTH {
                    const BEFORE: usize = $step - 1;
                    let here = match BEFORE {
                        0 => self.in_u(i.wrapping_sub(1)),
                        step => self.in_published(step as u32, 1 - PHASE as u32),
                    };
                    let oldest = planes[BEFORE % DEPTH][PHASE];
                    // u_prev is from the timestep before that one. For the first timestep it is the
                    // plane that has arrived.
                    let u_prev = core::mem::replace(&mut before, oldest);
                    let middle = match BEFORE < RELOADED {
                        true => load(here),
                        false => planes[BEFORE % DEPTH][1 - PHASE],
                    };
                    let is_damped = damped >> BEFORE & 1 != 0;
                    // SAFETY: the caller's.
                    let next = unsafe {
                        self.timestep::<PLAIN>($step, [&newest, &middle, &oldest], here + own, &u_prev, i, is_damped)
                    };
                    // The oldest plane for the next plane's turn, and the middle one if that is not
                    // loaded again.
                    planes[BEFORE % DEPTH][1 - PHASE] = middle;
                    planes[BEFORE % DEPTH][PHASE] = newest;
                    newest = next;
                    if $step < DEPTH {
                        let to = self.shared(self.in_published($step, PHASE as u32) + own);
                        for row in 0..ROWS {
                            // SAFETY: these are the thread's own places, which no thread reads
                            // before the next barrier.
                            unsafe { *to.wrapping_add(row * ROW as usize) = next[row] }
                        }
                    }
                }
            )*};
        }
        timesteps!(1 2 3 4);
        let plane = i.wrapping_sub(DEPTH as u32);
        if PLAIN || plane >= self.chunk[0] && plane < self.chunk[1] {
            // SAFETY: the plane is this block's.
            unsafe { self.store(plane, &planes[DEPTH - 1][1 - PHASE], &newest) };
        }
    }

    /// Writes this thread's sites of a plane, of both fields.
    ///
    /// # Safety
    /// Nothing else accesses these sites.
    #[inline(always)]
    unsafe fn store(&self, plane: u32, second_last: &Plane<ROWS>, last: &Plane<ROWS>) {
        let Domain { n_y, n_z, .. } = self.task.domain;
        let flags = hint::opaque(self.flags);
        let first = (hint::opaque(self.position) + plane * (n_y * n_z)) as usize;
        let to = [self.task.out_prev, self.task.out].map(|out| out.wrapping_add(first));
        // `opaque` makes all values be computed before the first branch.
        let mut last = *last;
        for value in &mut last {
            *value = hint::opaque(*value);
        }
        for row in 0..ROWS {
            let [to_prev, to] = to.map(|out| out.wrapping_add(row * n_z as usize));
            if flags & WRITTEN << row != 0 {
                // SAFETY: the sites are in the domain.
                unsafe {
                    *to_prev = second_last[row];
                    *to = last[row];
                }
            }
        }
    }

    /// Does the work when plane i arrives, in this `PHASE`. `damped` has bit s for plane i - 1 - s,
    /// and becomes that of the next plane.
    ///
    /// # Safety
    /// As [`run`](Self::run).
    #[inline(always)]
    unsafe fn plane<const PHASE: usize>(
        &self,
        planes: &mut Planes<DEPTH, ROWS>,
        damped: &mut u32,
        i: u32,
    ) {
        let i = hint::opaque(i);
        // SAFETY: the caller's. Copies and published planes are used after the barrier, and the
        // last uses of overwritten places are before it.
        unsafe {
            async_copy::wait::<{ AHEAD - 1 }>();
            thread::sync_threads();
            if i + AHEAD < self.chunk[1] + DEPTH as u32 {
                self.fetch(i + AHEAD);
            }
            async_copy::commit();
            let own = hint::opaque(self.own);
            let rows = self.shared(self.in_factors(i.wrapping_sub(1), own) + 3);
            let is_damped = *rows.cast::<u32>() & ((1 << ROWS) - 1) != 0;
            // It is the same in the whole warp, and the vote tells ptxas so.
            let is_damped = warp::warp_vote_any(warp::FULL_MASK, is_damped);
            *damped = *damped << 1 | u32::from(is_damped);
            let is_plain = i.wrapping_sub(self.plain[0]) < self.plain[1];
            if is_plain && *damped & ((1 << DEPTH) - 1) == 0 {
                self.advance::<PHASE, true>(planes, *damped, i);
            } else {
                self.advance::<PHASE, false>(planes, *damped, i);
            }
        }
    }

    /// Takes the tile through its chunk.
    ///
    /// # Safety
    /// All threads of the block call together; shared memory has zeros. Fields and tables are the
    /// domain's.
    #[inline(always)]
    unsafe fn run(&self) {
        let mut planes: Planes<DEPTH, ROWS> = [[[0.0; ROWS]; 2]; DEPTH];
        let mut i = self.chunk[0].saturating_sub(DEPTH as u32);
        let end = self.chunk[1] + DEPTH as u32;
        let mut damped = 0;
        // SAFETY: the caller's.
        unsafe {
            for ahead in 0..AHEAD {
                self.fetch(i + ahead);
                async_copy::commit();
            }
            // After an odd number of planes comes one more, without effect.
            while i < end {
                self.plane::<0>(&mut planes, &mut damped, i);
                self.plane::<1>(&mut planes, &mut damped, i + 1);
                i += 2;
            }
        }
    }
}

/// The kernels, by their timesteps. The last number is that of the timesteps, from the start of the
/// launch, whose newer plane threads load again for lack of registers.
macro_rules! instances {
    ($($name:ident: $depth:literal, $rows:literal, $threads:literal, reloaded $reloaded:literal, $most:literal;)*) => {
        /// The kernels: name, timesteps, rows of a thread, and threads along j.
        pub const INSTANCES: &[(&str, u32, u32, u32)] = &[$((stringify!($name), $depth, $rows, $threads)),*];

        $(
        /// Computes some timesteps in `len` planes of sites from `first` on, from two fields to two
        /// others.
        ///
        /// `u_prev`, `u` and `factors` begin [`reach`] planes before `first`, or with plane 0;
        /// `out_prev` and `out` begin with `first`. `ratio` is dt^2/dx^2. `factors` are those of
        /// [`wave3d_fast_factors`] by i n_y + j. `source` is the position of the source's site in
        /// the domain; its values at these timesteps follow. `blocks` are the
        /// tiles, along k and j, and their chunks of these planes.
        ///
        /// Block: [`WIDTH`] threads along k, and those along j, with [`shared_mem_bytes`]. Grid:
        /// the list's blocks. There are [`tiles`] along k with [`MARGIN`] and along j with the
        /// timesteps.
        ///
        /// # Safety
        /// - The planes are the domain's. `u_prev` and `u` have values, and `factors` [`FACTORS`]
        ///   for each column, as far as the timesteps' number of planes after those that are
        ///   written, or as the last one. They are aligned to 16 bytes. `c2` has n_z values.
        /// - `out_prev` and `out` point to these planes' values, which nothing else accesses during
        ///   the launch.
        /// - n_x, n_y and n_z are at least 3; the number of sites fits in 31 bits.
        #[kernel(max_threads = $most, capability = "8.0")]
        pub unsafe fn $name(
            u_prev: &[f64],
            u: &[f64],
            out_prev: *mut f64,
            out: *mut f64,
            c2: &[f64],
            factors: &[f64],
            first: u32,
            len: u32,
            n_x: u32,
            n_y: u32,
            n_z: u32,
            ratio: f64,
            source: u32,
            value_1: f64,
            value_2: f64,
            value_3: f64,
            value_4: f64,
            blocks: BlockList,
        ) {
            let before = |planes: u32, plane: u32| {
                (u64::from(planes) * u64::from(plane)) as usize
            };
            let (plane, read) = (n_y * n_z, first.saturating_sub(reach($depth)));
            let task = Task {
                u_prev: u_prev.as_ptr().wrapping_sub(before(read, plane)),
                u: u.as_ptr().wrapping_sub(before(read, plane)),
                out_prev: out_prev.wrapping_sub(before(first, plane)),
                out: out.wrapping_sub(before(first, plane)),
                factors: factors.as_ptr().wrapping_sub(before(read, n_y * FACTORS)),
                last: (first + len + $depth).min(n_x) - 1,
                domain: Domain { n_x, n_y, n_z },
                source: [u32::MAX; 2],
                values: [value_1, value_2, value_3, value_4],
            };
            // SAFETY: the caller's.
            unsafe {
                fast::<$depth, $rows, $threads, $reloaded>(task, c2, ratio, source, &blocks)
            }
        }
    )*};
}

instances! {
    wave3d_fast_t1_r2_y10: 1, 2, 10, reloaded 0, 640;
    wave3d_fast_t2_r2_y10: 2, 2, 10, reloaded 0, 640;
    wave3d_fast_t1_r4_y8: 1, 4, 8, reloaded 1, 512;
    wave3d_fast_t2_r4_y8: 2, 4, 8, reloaded 0, 512;
    wave3d_fast_t3_r4_y8: 3, 4, 8, reloaded 1, 512;
    wave3d_fast_t3_r4_y6: 3, 4, 6, reloaded 0, 384;
    wave3d_fast_t3_r6_y6: 3, 6, 6, reloaded 2, 384;
    wave3d_fast_t3_r4_y9: 3, 4, 9, reloaded 3, 576;
    wave3d_fast_t3_r8_y4: 3, 8, 4, reloaded 1, 256;
    wave3d_fast_t3_r2_y16: 3, 2, 16, reloaded 3, 1024;
    wave3d_fast_t4_r4_y8: 4, 4, 8, reloaded 3, 512;
    wave3d_fast_t4_r4_y7: 4, 4, 7, reloaded 3, 448;
    wave3d_fast_t4_r4_y6: 4, 4, 6, reloaded 2, 384;
    wave3d_fast_t4_r8_y4: 4, 8, 4, reloaded 3, 256;
}

/// # Safety
/// As [`wave3d_fast_t1_r4_y8`].
#[inline(always)]
unsafe fn fast<
    const DEPTH: usize,
    const ROWS: usize,
    const THREADS: usize,
    const RELOADED: usize,
>(
    mut task: Task,
    c2: &[f64],
    ratio: f64,
    source: u32,
    blocks: &BlockList,
) {
    const { assert!(ROWS.is_multiple_of(2) && ROWS <= MAX_ROWS as usize && 2 * ROWS <= ROW as usize) };
    let Domain { n_x, n_y, n_z } = task.domain;
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (depth, tile_rows) = (DEPTH as u32, (ROWS * THREADS) as u32);
    let Place {
        tile,
        planes: chunk,
    } = blocks.find(thread::block_idx_x());
    let [first_k, first_j] = [
        tile[0] * (WIDTH - 2 * MARGIN),
        tile[1] * (tile_rows - 2 * depth),
    ];
    let first_row = y * ROWS as u32;
    let (k, j) = (first_k + x, first_j + first_row);
    let rows = |is: &dyn Fn(u32) -> bool| {
        let mut mask = 0;
        for row in 0..ROWS as u32 {
            mask |= u32::from(is(row)) << row;
        }
        mask
    };
    let inside = |row: u32| (j + row).wrapping_sub(1) < n_y - 2 && k.wrapping_sub(1) < n_z - 2;
    // The first and the last tile have no margin where the domain ends.
    let is_right = |at: u32, sites: u32, margin: u32, first: u32, n: u32| {
        (at >= margin || first == 0) && (at < sites - margin || first + sites >= n)
    };
    let is_written = |row: u32| {
        j + row < n_y
            && k < n_z
            && is_right(x, WIDTH, MARGIN, first_k, n_z)
            && is_right(first_row + row, tile_rows, depth, first_j, n_y)
    };
    let mut is_plain =
        first_j > 0 && first_k > 0 && first_j + tile_rows < n_y && first_k + WIDTH < n_z;
    if source < n_x * n_y * n_z {
        let (i, in_plane) = (source / (n_y * n_z), source % (n_y * n_z));
        task.source[0] = i;
        if in_plane % n_z == k {
            task.source[1] = (in_plane / n_z).wrapping_sub(j);
        }
        is_plain &= (in_plane / n_z).wrapping_sub(first_j) >= tile_rows
            || (in_plane % n_z).wrapping_sub(first_k) >= WIDTH;
    }
    let plain_from = chunk[0].max(1) + depth;
    let plain_end = match is_plain {
        true => (chunk[1] + depth).min(n_x),
        false => 0,
    };
    // Sites beyond the domain read its last sites.
    let copied_k = (first_k + 2 * (x % 32)).min(n_z - 2 + n_z % 2);
    let copied_row = first_row + x / 32 * (ROWS as u32 / 2);
    let mut copied = [0; ROWS];
    for row in 0..ROWS as u32 / 2 {
        let j = first_j + copied_row + row;
        copied[row as usize] = j.min(n_y - 1) * n_z + copied_k;
    }
    let shared = shared::dynamic_shared_mem::<f64>();
    // SAFETY: this holds for the whole block: the shared memory has the rings and planes, and each
    // site of the tile has a place in each.
    unsafe {
        let mut at = 2 * (y * WIDTH + x);
        while at < shared_mem_bytes(depth, tile_rows) / 8 {
            mem::store_vector(shared.add(at as usize), [0.0; 2]);
            at += 2 * WIDTH * THREADS as u32;
        }
        thread::sync_threads();
        let sites = Sites::<DEPTH, ROWS, THREADS, RELOADED> {
            flags: (u32::from(copied_k + 1 < n_z) * HAS_SECOND)
                | (rows(&inside) * INSIDE)
                | (rows(&is_written) * WRITTEN),
            position: j * n_z + k,
            copied,
            copied_to: copied_row * ROW + 2 * (x % 32),
            copied_factors: (j + x / 2).min(n_y - 1) * FACTORS + x % 2 * 2,
            ratio_c2: ratio * *c2.get_unchecked(k.min(n_z - 1) as usize),
            own: first_row * ROW + x,
            chunk,
            plain: [plain_from, plain_end.saturating_sub(plain_from)],
            task,
        };
        sites.run();
    }
}
