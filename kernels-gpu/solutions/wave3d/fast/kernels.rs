//! Several timesteps a launch, on tiles that stream along i: each field is read and written once in `DEPTH` timesteps.
//!
//! A block owns a tile of [`WIDTH`] sites along k and some rows, and takes it through a chunk of planes. A thread owns some rows at one k. When plane i of
//! the last field comes in, timestep 1 computes plane i - 1, timestep 2 plane i - 2, and so on: each needs what the one before it has just computed, the
//! two planes before that, and the second-last timestep's value at the same site. So for each timestep a thread keeps two planes of its sites in registers.
//!
//! Neighbours along i are registers, along j too but for the thread's first and last row. These and those along k are in shared memory: each timestep has
//! two planes of the tile there, the one that is read, and the one that is written meanwhile. One barrier a plane is enough for all timesteps.
//!
//! A site at the tile's edge lacks neighbours, so each timestep makes one more ring of sites wrong; what is left right, the tile less `DEPTH` sites on each side, is
//! written. Chunks overlap likewise. Sites on the border and beyond are 0 after each timestep, whatever their neighbours are.
//!
//! A thread's loads for a plane are under way while the plane before is computed.

use cuda_std::hint;
use cuda_std::prelude::*;

use kernels_gpu::wave3d::domain::Domain;
use kernels_gpu::wave3d::update::{Factors, Neighbours, Scheme, laplacian};

/// Threads of a block along k.
pub const WIDTH: u32 = 64;
/// The most timesteps of a launch.
pub const MOST_DEPTH: u32 = 4;

/// Values of a tile's row in shared memory.
const ROW: usize = WIDTH as usize;

/// Values of a plane of so many rows in shared memory: with a row more on each side, so that every site has neighbours.
const fn plane_len(tile_rows: u32) -> usize {
    ROW * (tile_rows as usize + 2)
}

/// How many sites of a tile are written along k and j, of so many rows.
pub const fn written(depth: u32, tile_rows: u32) -> [u32; 2] {
    [WIDTH - 2 * depth, tile_rows - 2 * depth]
}

/// Shared memory of a block: two planes for each timestep that another follows.
pub const fn shared_mem_bytes(depth: u32, tile_rows: u32) -> u32 {
    2 * depth * (plane_len(tile_rows) * size_of::<f64>()) as u32
}

/// Values of a column's factors: divisor, inverse, of_u_prev, and one unused.
pub const FACTORS: usize = 4;

/// Computes the factors of so many columns from their damping `d`.
///
/// Block: any along x. Grid: a thread for each column.
///
/// # Safety
/// `out` points to [`FACTORS`] elements for each of d's, aligned to 16 bytes, which nothing else accesses during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn wave3d_fast_factors(d: &[f64], out: *mut f64, dt: f64) {
    let column = thread::index_1d() as usize;
    if column < d.len() {
        let factors = Scheme { dt, ratio: 0.0 }.factors(d[column]);
        // SAFETY: the thread's own elements.
        unsafe {
            let out = out.add(FACTORS * column);
            mem::store_vector(out, [factors.divisor, factors.inverse]);
            mem::store_vector(out.add(2), [factors.of_u_prev, 0.0]);
        }
    }
}

/// A thread's sites in one plane.
type Plane<const ROWS: usize> = [f64; ROWS];

/// Fields and tables.
#[derive(Clone, Copy)]
struct Task<'a> {
    u_prev: &'a [f64],
    u: &'a [f64],
    out_prev: *mut f64,
    out: *mut f64,
    factors: &'a [f64],
    domain: Domain,
    /// The plane of the source, if this thread has its site, or one that there is not; its row; its values.
    source: [u32; 2],
    values: [f64; MOST_DEPTH as usize],
}

/// What a thread knows of its sites. Row r is bit r of the masks.
#[derive(Clone, Copy)]
struct Sites<'a, const DEPTH: usize, const ROWS: usize, const THREADS: usize> {
    task: Task<'a>,
    /// Rows in the domain, rows inside its border, rows that this thread writes.
    in_domain: u32,
    inside: u32,
    written: u32,
    /// j of the first row; the position of its site in a plane of the domain. Both may be before the first.
    j: u32,
    position: u32,
    ratio_c2: f64,
    /// The first site's place in the first plane in shared memory.
    place: *mut f64,
    /// The planes that are written.
    chunk: [u32; 2],
}

/// Three planes of each timestep, the newest in slot i modulo 3.
type Planes<const DEPTH: usize, const ROWS: usize> = [[Plane<ROWS>; 3]; DEPTH];

/// What is loaded for a plane, one ahead.
#[derive(Clone, Copy)]
struct Ahead<const ROWS: usize> {
    /// The last field's next plane.
    u: Plane<ROWS>,
    /// The second-last field's plane before that.
    u_prev: Plane<ROWS>,
    /// Whether a row of that plane is damped.
    damped: bool,
}

impl<const DEPTH: usize, const ROWS: usize, const THREADS: usize> Sites<'_, DEPTH, ROWS, THREADS> {
    const PLANE: usize = plane_len((ROWS * THREADS) as u32);

    /// Loads u's plane i and u_prev's plane i - 1: 0 where there is none.
    ///
    /// # Safety
    /// Fields and tables are the domain's.
    #[inline(always)]
    unsafe fn load(&self, i: u32) -> Ahead<ROWS> {
        let Domain { n_x, n_y, n_z } = self.task.domain;
        let (n_z, in_domain) = (hint::opaque(n_z), hint::opaque(self.in_domain));
        let (position, j) = (hint::opaque(self.position), hint::opaque(self.j));
        let mut ahead = Ahead {
            u: [0.0; ROWS],
            u_prev: [0.0; ROWS],
            damped: false,
        };
        let before = i.wrapping_sub(1);
        let at = |plane: u32, row: usize| {
            let site = position.wrapping_add(row as u32 * n_z);
            site.wrapping_add(plane.wrapping_mul(n_y * n_z)) as usize
        };
        for row in 0..ROWS {
            let is_there = in_domain >> row & 1 != 0;
            // SAFETY: the site is in the domain.
            unsafe {
                if is_there && i < n_x {
                    ahead.u[row] = *self.task.u.get_unchecked(at(i, row));
                }
                if is_there && before < n_x {
                    ahead.u_prev[row] = *self.task.u_prev.get_unchecked(at(before, row));
                    let column = before * n_y + j.wrapping_add(row as u32);
                    let of_u_prev = FACTORS * column as usize + 2;
                    ahead.damped |= *self.task.factors.get_unchecked(of_u_prev) != 1.0;
                }
            }
        }
        ahead
    }

    /// Timestep `step` (from 1 on) of its plane, i - step, when plane i has come in, in slot `SLOT`.
    ///
    /// # Safety
    /// As [`run`](Self::run); the planes that are read were written before a barrier.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "arrays stay in registers")]
    unsafe fn timestep<const SLOT: usize>(
        &self,
        step: usize,
        planes: &Planes<DEPTH, ROWS>,
        u_prev: &Plane<ROWS>,
        i: u32,
        is_damped: bool,
    ) -> Plane<ROWS> {
        let Domain { n_x, n_y, .. } = self.task.domain;
        let [newest, middle, oldest] = planes[step - 1].slots::<SLOT>();
        // What was written when plane i - 1 came in.
        let of_plane = 2 * (step - 1) + (i as usize + 1) % 2;
        let here = self.place.wrapping_add(of_plane * Self::PLANE);
        let plane = i.wrapping_sub(step as u32);
        let mut laplacians = [0.0; ROWS];
        for row in 0..ROWS {
            let at = here.wrapping_add(row * ROW);
            // SAFETY: every site of the tile has neighbours in shared memory.
            unsafe {
                let around = Neighbours {
                    along_x: [oldest[row], newest[row]],
                    along_y: [
                        if row == 0 {
                            *at.sub(ROW)
                        } else {
                            middle[row - 1]
                        },
                        if row == ROWS - 1 {
                            *at.add(ROW)
                        } else {
                            middle[row + 1]
                        },
                    ],
                    along_z: [*at.sub(1), *at.add(1)],
                };
                laplacians[row] = laplacian(middle[row], around);
            }
        }
        if plane == self.task.source[0] {
            for (row, laplacian) in (0..).zip(&mut laplacians) {
                if row == self.task.source[1] {
                    *laplacian += self.task.values[step - 1];
                }
            }
        }
        let mut next = [0.0; ROWS];
        if is_damped {
            let j = hint::opaque(self.j);
            for row in 0..ROWS {
                // Sites that are not in the domain have some factors.
                let j = j.wrapping_add(row as u32).min(n_y - 1);
                let column = (plane.min(n_x - 1) * n_y + j) as usize;
                // SAFETY: the column is in the domain.
                let factors = unsafe {
                    let at = self.task.factors.as_ptr().add(FACTORS * column);
                    let [divisor, inverse]: [f64; 2] = mem::load_vector(at);
                    Factors {
                        of_u_prev: *at.add(2),
                        divisor,
                        inverse,
                    }
                };
                let (ratio_c2, u) = (self.ratio_c2, middle[row]);
                // Without damping the factors are 1, which changes no bit.
                next[row] = Scheme::damped_by(ratio_c2, factors, u_prev[row], u, laplacians[row]);
            }
        } else {
            for row in 0..ROWS {
                let (ratio_c2, u) = (self.ratio_c2, middle[row]);
                next[row] = Scheme::undamped_by(ratio_c2, u_prev[row], u, laplacians[row]);
            }
        }
        let inside = hint::opaque(self.inside);
        let is_plane_inside = plane.wrapping_sub(1) < n_x - 2;
        for row in 0..ROWS {
            if !is_plane_inside || inside >> row & 1 == 0 {
                next[row] = 0.0;
            }
        }
        next
    }

    /// All timesteps when plane i comes in. `damped` has bit s for plane i - s.
    ///
    /// # Safety
    /// As [`run`](Self::run).
    #[inline(always)]
    unsafe fn advance<const SLOT: usize>(
        &self,
        planes: &mut Planes<DEPTH, ROWS>,
        ahead: &mut Ahead<ROWS>,
        damped: &mut u32,
        i: u32,
    ) {
        // SAFETY: the caller's. The barrier parts what is read when this plane comes in from what is written when the next does.
        unsafe {
            let i = hint::opaque(i);
            let Ahead { u, u_prev, .. } = *ahead;
            *damped = *damped << 1 | u32::from(ahead.damped);
            planes[0][SLOT] = u;
            let mut last = [0.0; ROWS];
            macro_rules! timesteps {
                ($($step:literal)*) => {$(
                    if $step <= DEPTH {
                        let is_damped = *damped >> ($step - 1) & 1 != 0;
                        let before = match $step {
                            1 => u_prev,
                            _ => planes[($step - 2_usize) % DEPTH].slots::<SLOT>()[2],
                        };
                        last = self.timestep::<SLOT>($step, planes, &before, i, is_damped);
                        // Not before: the second-last field's values need no registers any more.
                        if $step == 1 {
                            *ahead = self.load(i.wrapping_add(1));
                        }
                        if $step < DEPTH {
                            planes[$step % DEPTH][SLOT] = last;
                        }
                    }
                )*};
            }
            timesteps!(1 2 3 4);
            self.publish::<SLOT>(planes, i);
            let plane = i.wrapping_sub(DEPTH as u32);
            if plane >= self.chunk[0] && plane < self.chunk[1] {
                let [_, second_last, _] = planes[DEPTH - 1].slots::<SLOT>();
                self.store(plane, &second_last, &last);
            }
            thread::sync_threads();
        }
    }

    /// Puts the newest planes into shared memory.
    ///
    /// # Safety
    /// Nobody reads those places before the next barrier.
    #[inline(always)]
    #[allow(clippy::needless_range_loop, reason = "arrays stay in registers")]
    unsafe fn publish<const SLOT: usize>(&self, planes: &Planes<DEPTH, ROWS>, i: u32) {
        for (step, planes) in planes.iter().enumerate() {
            let place = self
                .place
                .wrapping_add((2 * step + i as usize % 2) * Self::PLANE);
            for row in 0..ROWS {
                // SAFETY: the thread's own places.
                unsafe { *place.add(row * ROW) = planes[SLOT][row] }
            }
        }
    }

    /// Writes this thread's sites of a plane, of both fields.
    ///
    /// # Safety
    /// Nothing else accesses them.
    #[inline(always)]
    unsafe fn store(&self, plane: u32, second_last: &Plane<ROWS>, last: &Plane<ROWS>) {
        let Domain { n_y, n_z, .. } = self.task.domain;
        let (n_z, written) = (hint::opaque(n_z), hint::opaque(self.written));
        let first = hint::opaque(self.position).wrapping_add(plane * n_y * n_z);
        for row in 0..ROWS {
            if written >> row & 1 != 0 {
                let at = first.wrapping_add(row as u32 * n_z) as usize;
                // SAFETY: the site is in the domain.
                unsafe {
                    *self.task.out_prev.add(at) = second_last[row];
                    *self.task.out.add(at) = last[row];
                }
            }
        }
    }

    /// Takes the tile through its chunk.
    ///
    /// # Safety
    /// All threads of the block call together; shared memory has zeros. Fields and tables are the domain's.
    #[inline(always)]
    unsafe fn run(&self) {
        let mut planes: Planes<DEPTH, ROWS> = [[[0.0; ROWS]; 3]; DEPTH];
        let mut i = self.chunk[0].saturating_sub(DEPTH as u32);
        let end = self.chunk[1] + DEPTH as u32;
        let mut damped = 0;
        // SAFETY: the caller's.
        unsafe {
            let mut ahead = self.load(i);
            // Three planes at a time, so that the slots swap roles without being moved.
            loop {
                self.advance::<0>(&mut planes, &mut ahead, &mut damped, i);
                if i + 1 >= end {
                    break;
                }
                self.advance::<1>(&mut planes, &mut ahead, &mut damped, i + 1);
                if i + 2 >= end {
                    break;
                }
                self.advance::<2>(&mut planes, &mut ahead, &mut damped, i + 2);
                i += 3;
                if i >= end {
                    break;
                }
            }
        }
    }
}

/// Planes by age.
trait Slots: Sized {
    /// The newest plane, the one before, and the one before that.
    fn slots<const SLOT: usize>(&self) -> Self;
}

impl<const ROWS: usize> Slots for [Plane<ROWS>; 3] {
    #[inline(always)]
    fn slots<const SLOT: usize>(&self) -> Self {
        [self[SLOT], self[(SLOT + 2) % 3], self[(SLOT + 1) % 3]]
    }
}

/// The kernels, by the timesteps that they take.
macro_rules! instances {
    ($($name:ident: $depth:literal, $rows:literal, $threads:literal, $most:literal;)*) => {
        /// What kernels there are: name, timesteps, rows of a thread, and threads along j.
        pub const INSTANCES: &[(&str, u32, u32, u32)] = &[$((stringify!($name), $depth, $rows, $threads)),*];

        $(
        /// Some timesteps of all sites, from two fields to two others.
        ///
        /// `ratio` is dt^2/dx^2; `factors` those of [`wave3d_fast_factors`] by i n_y + j; `source` the position of the source's site, and its values
        /// at these timesteps follow. A chunk has `planes` planes.
        ///
        /// Block: [`WIDTH`] threads along k, and those along j, with [`shared_mem_bytes`]. Grid: n_z and n_y over [`written`], n_x over `planes`, each rounded up.
        ///
        /// # Safety
        /// - `u_prev` and `u` have the domain's values, `c2` n_z, `factors` [`FACTORS`] for each column, aligned to 16 bytes.
        /// - `out_prev` and `out` point to as many values as the domain's, which nothing else accesses during the launch.
        /// - n_x, n_y and n_z are at least 3; the number of sites fits in 31 bits.
        #[kernel(max_threads = $most)]
        pub unsafe fn $name(
            u_prev: &[f64],
            u: &[f64],
            out_prev: *mut f64,
            out: *mut f64,
            c2: &[f64],
            factors: &[f64],
            n_x: u32,
            n_y: u32,
            n_z: u32,
            ratio: f64,
            source: u32,
            value_1: f64,
            value_2: f64,
            value_3: f64,
            value_4: f64,
            planes: u32,
        ) {
            let task = Task {
                u_prev,
                u,
                out_prev,
                out,
                factors,
                domain: Domain { n_x, n_y, n_z },
                source: [u32::MAX; 2],
                values: [value_1, value_2, value_3, value_4],
            };
            // SAFETY: the caller's.
            unsafe { fast::<$depth, $rows, $threads>(task, c2, ratio, source, planes) }
        }
    )*};
}

instances! {
    wave3d_fast_t1_r4_y6: 1, 4, 6, 384;
    wave3d_fast_t2_r6_y6: 2, 6, 6, 384;
    wave3d_fast_t3_r4_y6: 3, 4, 6, 384;
    wave3d_fast_t3_r8_y4: 3, 8, 4, 256;
    wave3d_fast_t4_r4_y6: 4, 4, 6, 384;
    wave3d_fast_t4_r6_y4: 4, 6, 4, 256;
}

/// # Safety
/// As [`wave3d_fast_t1_r4_y6`].
#[inline(always)]
unsafe fn fast<const DEPTH: usize, const ROWS: usize, const THREADS: usize>(
    mut task: Task<'_>,
    c2: &[f64],
    ratio: f64,
    source: u32,
    planes: u32,
) {
    let Domain { n_x, n_y, n_z } = task.domain;
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let depth = DEPTH as u32;
    let written = written(depth, (ROWS * THREADS) as u32);
    // Before the domain these wrap around.
    let k = (thread::block_idx_x() * written[0] + x).wrapping_sub(depth);
    let first_row = y * ROWS as u32;
    let j = (thread::block_idx_y() * written[1] + first_row).wrapping_sub(depth);
    let rows = |is: &dyn Fn(u32) -> bool| {
        let mut mask = 0;
        for row in 0..ROWS as u32 {
            mask |= u32::from(is(row)) << row;
        }
        mask
    };
    let in_domain = |row: u32| j.wrapping_add(row) < n_y && k < n_z;
    let inside =
        |row: u32| j.wrapping_add(row).wrapping_sub(1) < n_y - 2 && k.wrapping_sub(1) < n_z - 2;
    let is_written = |row: u32| {
        let right = |at: u32, written: u32| at.wrapping_sub(depth) < written;
        in_domain(row) && right(x, written[0]) && right(first_row + row, written[1])
    };
    if source < n_x * n_y * n_z {
        let (i, in_plane) = (source / (n_y * n_z), source % (n_y * n_z));
        let row = (in_plane / n_z).wrapping_sub(j);
        if in_plane % n_z == k && row < ROWS as u32 {
            task.source = [i, row];
        }
    }
    let first = thread::block_idx_z() * planes;
    let shared = shared::dynamic_shared_mem::<f64>();
    // SAFETY: for all that follows: the shared memory has two planes for each timestep, and a site of the tile a place in each.
    unsafe {
        let mut at = y * WIDTH + x;
        while at < 2 * depth * plane_len((ROWS * THREADS) as u32) as u32 {
            *shared.add(at as usize) = 0.0;
            at += WIDTH * THREADS as u32;
        }
        thread::sync_threads();
        let sites = Sites::<DEPTH, ROWS, THREADS> {
            in_domain: rows(&in_domain),
            inside: rows(&inside),
            written: rows(&is_written),
            j,
            position: j.wrapping_mul(n_z).wrapping_add(k),
            ratio_c2: ratio * *c2.get_unchecked(k.min(n_z - 1) as usize),
            place: shared.add((first_row as usize + 1) * ROW + x as usize),
            chunk: [first, (first + planes).min(n_x)],
            task,
        };
        sites.run();
    }
}
