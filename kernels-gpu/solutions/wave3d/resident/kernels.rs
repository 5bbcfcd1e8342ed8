//! Many timesteps in one launch of one cluster, for small domains: the fields stay in the blocks' registers and shared memory.
//!
//! The cluster's blocks share the domain out in boxes. A thread owns some rows of all planes of its box at one k, their last two values in
//! registers. Each block has two tiles in shared memory, its box with a ring of halo around it: one with the last field, one for the next. They swap roles
//! with each timestep. A site's neighbours along i and j are the thread's own registers, but for its first and last; those along k are in the tile.
//!
//! A thread writes a value that another block needs to that block's tile too. These values come first; then all arrive at the cluster's
//! barrier, compute the rest, which needs nothing of other blocks, and wait. So the barrier's time is hidden as far as there is a rest. Between two
//! barriers nothing goes to global memory, for which an arrival would wait.
//!
//! What is between two timesteps: a barrier of the block, for the values that its threads write after they have arrived, and the cluster's. A
//! block writes to another's tile only after it has waited, so after all of the other's threads have read what is overwritten: it is
//! read before they arrive.
//!
//! Boxes are whole: they have all planes and rows that their threads have. Those beyond the domain are sites like others whose value is 0, as
//! those of the border are, so that no thread asks what it has.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use kernels_gpu::wave3d::domain::Domain;
use kernels_gpu::wave3d::update::{Factors, Neighbours, Scheme, laplacian};

/// How many values [`wave3d_resident_values`] stores.
pub const VALUES: usize = 256;

/// Values of a column's factors in shared memory, one unused.
const FACTORS: usize = 4;

/// Values of a tile for boxes of these extents.
const fn tile_len([planes, rows, sites]: [u32; 3]) -> usize {
    (planes as usize + 2) * (rows as usize + 2) * (sites as usize + 2)
}

/// Shared memory of a block whose box has these extents: the factors of its columns, and two tiles.
pub const fn shared_mem_bytes(extents: [u32; 3]) -> usize {
    8 * (FACTORS * extents[0] as usize * extents[1] as usize + 2 * tile_len(extents))
}

/// Stores the source's values at so many timesteps.
///
/// Block and grid: one thread.
///
/// # Safety
/// `out` points to as many elements, which nothing else accesses during the launch.
#[kernel]
pub unsafe fn wave3d_resident_values(out: *mut f64, values: Values) {
    // SAFETY: the caller's.
    unsafe { *out.cast() = values }
}

/// The source's values at so many timesteps.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Values(pub [f64; VALUES]);

/// The body for each of so many planes, or rows, written out: a long loop would stay one, and the fields be in local memory.
macro_rules! for_planes {
    ($plane:ident in $first:expr, $end:expr => $body:block) => {
        for_planes!(@ $plane $first, $end, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $plane:ident $first:expr, $end:expr, $body:block, $($number:literal)*) => {$(
        if $number >= $first && $number < $end {
            let $plane: usize = $number;
            $body
        }
    )*};
}
macro_rules! for_rows {
    ($row:ident in $end:expr => $body:block) => {
        for_planes!(@ $row 0, $end, $body, 0 1 2 3)
    };
}

/// The parameters of a launch.
#[derive(Clone, Copy)]
struct Task<'a> {
    u_prev: *mut f64,
    u: *mut f64,
    c2: &'a [f64],
    d: &'a [f64],
    domain: Domain,
    scheme: Scheme,
    source: u32,
    values: &'a [f64],
    steps: u32,
    /// Rows of a box, and boxes along y.
    rows: u32,
    boxes_y: u32,
}

/// One field of a thread's sites: rows of planes at one k.
type Field<const PLANES: usize, const ROWS: usize> = [[f64; ROWS]; PLANES];

/// What a thread knows of its sites.
#[derive(Clone, Copy)]
struct Sites<const PLANES: usize, const ROWS: usize> {
    /// Whether there are any.
    any: bool,
    /// Those that are inside the border: site (plane, row) is bit plane * ROWS + row.
    inside: u32,
    /// Those that are damped.
    damped: u32,
    /// The plane and the row of the source's site, or such as no site has.
    source: [usize; 2],
    /// ratio c^2.
    ratio_c2: f64,
    /// From a value of a tile to the next along i and j, and from one tile to the other.
    strides: [usize; 3],
    /// The first site's place in the first tile.
    place: *mut f64,
    /// The factors of the first site's column, and how far from a plane's those of the next are.
    factors: *const f64,
    factors_of_plane: usize,
    /// Where the other blocks' first tiles have the values of the first site of the first and of the last plane; null if there is no such block.
    along_x: [*mut f64; 2],
    /// Where they have those of the first and of the last row of the first plane; null if this thread has no such row, or there is no such block.
    along_y: [*mut f64; 2],
}

impl<const PLANES: usize, const ROWS: usize> Sites<PLANES, ROWS> {
    const LAST: usize = PLANES - 1;

    #[inline(always)]
    fn has(mask: u32, plane: usize, row: usize) -> bool {
        mask >> (plane * ROWS + row) & 1 != 0
    }

    /// One timestep: u_prev becomes the next field, which goes to a tile too, the second if `ODD`. `SIDES`: rows have other blocks beside them too.
    ///
    /// # Safety
    /// All threads of the cluster call together. The other tile has the last field with its halo, and nothing else accesses this one's places.
    #[inline(always)]
    unsafe fn step<const SIDES: bool, const ODD: bool>(
        &self,
        u_prev: &mut Field<PLANES, ROWS>,
        u: &Field<PLANES, ROWS>,
        value: f64,
    ) {
        let on_side = SIDES && !(self.along_y[0].is_null() && self.along_y[1].is_null());
        // SAFETY: the caller's.
        unsafe {
            if self.any {
                self.plane::<SIDES, ODD>(0, u_prev, u, value);
                if PLANES > 1 {
                    self.plane::<SIDES, ODD>(Self::LAST, u_prev, u, value);
                }
                if SIDES && on_side {
                    self.middle::<SIDES, ODD>(u_prev, u, value);
                }
            }
            let arrival = cluster::arrive();
            if self.any && !on_side {
                self.middle::<false, ODD>(u_prev, u, value);
            }
            thread::sync_threads();
            arrival.wait();
        }
    }

    /// The planes between the first and the last.
    ///
    /// # Safety
    /// As [`step`](Self::step).
    #[inline(always)]
    unsafe fn middle<const SIDES: bool, const ODD: bool>(
        &self,
        u_prev: &mut Field<PLANES, ROWS>,
        u: &Field<PLANES, ROWS>,
        value: f64,
    ) {
        const { assert!(PLANES <= 16 && ROWS <= 4 && PLANES * ROWS <= 32) };
        for_planes!(plane in 1, Self::LAST => {
            // SAFETY: the caller's.
            unsafe { self.plane::<SIDES, ODD>(plane, u_prev, u, value) }
        });
    }

    /// One plane.
    ///
    /// # Safety
    /// As [`step`](Self::step).
    #[inline(always)]
    unsafe fn plane<const SIDES: bool, const ODD: bool>(
        &self,
        plane: usize,
        u_prev: &mut Field<PLANES, ROWS>,
        u: &Field<PLANES, ROWS>,
        value: f64,
    ) {
        let [along_i, along_j, other] = self.strides;
        let (from, to) = if ODD { (0, other) } else { (other, 0) };
        let first = self.place.wrapping_add(plane * along_i);
        let mut laplacians = [0.0; ROWS];
        for row in 0..ROWS {
            let at = first.wrapping_add(from + row * along_j);
            // SAFETY: the tile has all neighbours.
            unsafe {
                let around = Neighbours {
                    along_x: [
                        if plane == 0 {
                            *at.sub(along_i)
                        } else {
                            u[plane - 1][row]
                        },
                        if plane == Self::LAST {
                            *at.add(along_i)
                        } else {
                            u[plane + 1][row]
                        },
                    ],
                    along_y: [
                        if row == 0 {
                            *at.sub(along_j)
                        } else {
                            u[plane][row - 1]
                        },
                        if row == ROWS - 1 {
                            *at.add(along_j)
                        } else {
                            u[plane][row + 1]
                        },
                    ],
                    along_z: [*at.sub(1), *at.add(1)],
                };
                laplacians[row] = laplacian(u[plane][row], around);
            }
        }
        if self.source[0] == plane {
            for (row, laplacian) in laplacians.iter_mut().enumerate() {
                if self.source[1] == row {
                    *laplacian += value;
                }
            }
        }
        let mut next = [0.0; ROWS];
        if self.damped >> (plane * ROWS) & ((1 << ROWS) - 1) == 0 {
            for row in 0..ROWS {
                let (u_prev, u) = (u_prev[plane][row], u[plane][row]);
                next[row] = Scheme::undamped_by(self.ratio_c2, u_prev, u, laplacians[row]);
            }
        } else {
            for row in 0..ROWS {
                let at = self
                    .factors
                    .wrapping_add(plane * self.factors_of_plane + row * FACTORS);
                // SAFETY: the table has the box's columns.
                let factors = unsafe {
                    let [divisor, inverse]: [f64; 2] = mem::load_vector(at);
                    Factors {
                        of_u_prev: *at.add(2),
                        divisor,
                        inverse,
                    }
                };
                let (u_prev, u) = (u_prev[plane][row], u[plane][row]);
                next[row] = if Self::has(self.damped, plane, row) {
                    Scheme::damped_by(self.ratio_c2, factors, u_prev, u, laplacians[row])
                } else {
                    Scheme::undamped_by(self.ratio_c2, u_prev, u, laplacians[row])
                };
            }
        }
        for row in 0..ROWS {
            let inside = Self::has(self.inside, plane, row);
            let value = if inside { next[row] } else { 0.0 };
            u_prev[plane][row] = value;
            // SAFETY: the thread's own places.
            unsafe {
                *first.wrapping_add(to + row * along_j) = value;
                let there = to + row * along_j;
                if plane == 0 && !self.along_x[0].is_null() {
                    *self.along_x[0].wrapping_add(there) = value;
                }
                if plane == Self::LAST && !self.along_x[1].is_null() {
                    *self.along_x[1].wrapping_add(there) = value;
                }
                let there = to + plane * along_i;
                if SIDES && row == 0 && !self.along_y[0].is_null() {
                    *self.along_y[0].wrapping_add(there) = value;
                }
                if SIDES && row == ROWS - 1 && !self.along_y[1].is_null() {
                    *self.along_y[1].wrapping_add(there) = value;
                }
            }
        }
    }
}

/// # Safety
/// As [`wave3d_resident_4x4`].
#[inline(always)]
unsafe fn resident<const PLANES: usize, const ROWS: usize, const SIDES: bool>(task: Task<'_>) {
    let Task {
        domain,
        rows,
        boxes_y,
        ..
    } = task;
    let Domain { n_x, n_y, n_z } = domain;
    let rank = cluster::block_rank();
    let boxes_x = cluster::blocks() / boxes_y;
    let number = [rank / boxes_y, rank % boxes_y];
    let first = [number[0] * PLANES as u32, number[1] * rows];
    let along_j = n_z + 2;
    let along_i = (rows + 2) * along_j;
    let cells = (PLANES as u32 + 2) * along_i;

    let table = shared::dynamic_shared_mem::<f64>();
    let tiles = table.wrapping_add(FACTORS * PLANES * rows as usize);
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());

    // SAFETY: for all that follows: the shared memory has room for the table and two tiles. Each site is one thread's.
    unsafe {
        let mut cell = thread;
        while cell < cells {
            let (i, j, k) = (cell / along_i, cell % along_i / along_j, cell % along_j);
            // Before the domain this wraps around.
            let (i, j) = (
                (first[0] + i).wrapping_sub(1),
                (first[1] + j).wrapping_sub(1),
            );
            let k = k.wrapping_sub(1);
            let mut value = 0.0;
            if i < n_x && j < n_y && k < n_z {
                value = *task.u.add(domain.index(i, j, k) as usize);
            }
            *tiles.add(cell as usize) = value;
            *tiles.add((cells + cell) as usize) = 0.0;
            cell += threads;
        }
        let mut column = thread;
        while column < PLANES as u32 * rows {
            let (i, j) = (first[0] + column / rows, first[1] + column % rows);
            let mut d = 0.0;
            if i < n_x && j < n_y {
                d = *task.d.get_unchecked(domain.column(i, j) as usize);
            }
            let factors = task.scheme.factors(d);
            let at = table.add(FACTORS * column as usize);
            mem::store_vector(at, [factors.divisor, factors.inverse]);
            *at.add(2) = factors.of_u_prev;
            column += threads;
        }

        // This thread's first row in the box, and its k. The last threads may have none.
        let has_sites = thread < rows / ROWS as u32 * n_z;
        let number_of_sites = if has_sites { thread } else { 0 };
        let (row, k) = (number_of_sites / n_z * ROWS as u32, number_of_sites % n_z);
        let mut sites = Sites::<PLANES, ROWS> {
            any: has_sites,
            inside: 0,
            damped: 0,
            source: [usize::MAX; 2],
            ratio_c2: task.scheme.ratio * *task.c2.get_unchecked(k as usize),
            strides: [along_i as usize, along_j as usize, cells as usize],
            place: tiles.add((along_i + (row + 1) * along_j + k + 1) as usize),
            factors: table.add(FACTORS * row as usize),
            factors_of_plane: FACTORS * rows as usize,
            along_x: [core::ptr::null_mut(); 2],
            along_y: [core::ptr::null_mut(); 2],
        };
        let (mut u_prev, mut u) = ([[0.0; ROWS]; PLANES], [[0.0; ROWS]; PLANES]);
        for_planes!(plane in 0, PLANES => {
            for_rows!(r in ROWS => {
                let (i, j) = (first[0] + plane as u32, first[1] + row + r as u32);
                if i < n_x && j < n_y {
                    let bit = 1 << (plane * ROWS + r);
                    let index = domain.index(i, j, k);
                    u_prev[plane][r] = *task.u_prev.add(index as usize);
                    u[plane][r] = *task.u.add(index as usize);
                    if !domain.is_border(i, j, k) {
                        sites.inside |= bit;
                        if *task.d.get_unchecked(domain.column(i, j) as usize) > 0.0 {
                            sites.damped |= bit;
                        }
                    }
                    if index == task.source {
                        sites.source = [plane, r];
                    }
                }
            });
        });
        let mut value = 0.0;
        let has_source = sites.source[0] < PLANES;
        if has_source && task.steps > 0 {
            value = *task.values.get_unchecked(0);
        }
        // All tiles are filled, and nobody reads the domain's values any more.
        cluster::sync();

        if has_sites {
            let planes = PLANES * along_i as usize;
            if number[0] > 0 {
                let to = sites.place.add(planes);
                sites.along_x[0] = cluster::map_shared(to, rank - boxes_y);
            }
            if number[0] + 1 < boxes_x {
                // From the first plane's place: the last one's values go to the plane before the first.
                let to = sites.place.sub(along_i as usize);
                sites.along_x[1] = cluster::map_shared(to, rank + boxes_y);
            }
            if SIDES && number[1] > 0 && row == 0 {
                let to = sites.place.add((rows * along_j) as usize);
                sites.along_y[0] = cluster::map_shared(to, rank - 1);
            }
            if SIDES && number[1] + 1 < boxes_y && row + ROWS as u32 == rows {
                let to = sites.place.sub(((row + 1) * along_j) as usize);
                sites.along_y[1] = cluster::map_shared(to, rank + 1);
            }
        }
        let mut step = 0;
        // Two at a time, so that the fields swap roles without being moved.
        while step < task.steps {
            let mut next = 0.0;
            let mut fetch = |step: u32| {
                if has_source && step < task.steps {
                    next = *task.values.get_unchecked(step as usize);
                }
                next
            };
            let odd = fetch(step + 1);
            sites.step::<SIDES, true>(&mut u_prev, &u, value);
            step += 1;
            if step == task.steps {
                break;
            }
            value = fetch(step + 1);
            sites.step::<SIDES, false>(&mut u, &u_prev, odd);
            step += 1;
        }

        if has_sites {
            // After an odd number, the last field is where the second-last was.
            let (to_u_prev, to_u) = match task.steps % 2 {
                0 => (task.u_prev, task.u),
                _ => (task.u, task.u_prev),
            };
            for_planes!(plane in 0, PLANES => {
                for_rows!(r in ROWS => {
                    let (i, j) = (first[0] + plane as u32, first[1] + row + r as u32);
                    if i < n_x && j < n_y {
                        let index = domain.index(i, j, k) as usize;
                        *to_u_prev.add(index) = u_prev[plane][r];
                        *to_u.add(index) = u[plane][r];
                    }
                });
            });
        }
    }
}

/// The kernels, by the planes and rows of a thread, and whether a box has others along y.
macro_rules! instances {
    ($($name:ident: $planes:literal, $rows:literal, $sides:literal, $threads:literal;)*) => {
        /// What kernels there are: name, planes and rows of a thread, whether boxes may lie side by side along y, the most threads of a block.
        pub const INSTANCES: &[(&str, u32, u32, bool, u32)] =
            &[$((stringify!($name), $planes, $rows, $sides, $threads)),*];

        $(
        /// Advances both fields by `steps` timesteps.
        ///
        /// `ratio` is dt^2/dx^2; `source` the position of the source's site, `values` its value at each timestep. A box has the planes of a thread,
        /// `rows` rows, and whole rows; so many lie along y.
        ///
        /// Block: along x a thread for each k, times the box's rows by those of a thread. Grid: one cluster along x, of a block
        /// for each box, with [`shared_mem_bytes`].
        ///
        /// # Safety
        /// - `u_prev` and `u` point to the domain's values, which nothing else accesses during the launch; `c2` has n_z elements, `d` n_x n_y, `values`
        ///   one for each timestep.
        /// - The boxes cover the domain; `rows` is a multiple of the thread's. `boxes_y` is 1 where boxes do not lie side by side.
        /// - n_x, n_y and n_z are at least 3.
        #[kernel(max_threads = $threads, capability = "9.0")]
        pub unsafe fn $name(
            u_prev: *mut f64,
            u: *mut f64,
            c2: &[f64],
            d: &[f64],
            n_x: u32,
            n_y: u32,
            n_z: u32,
            dt: f64,
            ratio: f64,
            source: u32,
            values: &[f64],
            steps: u32,
            rows: u32,
            boxes_y: u32,
        ) {
            let task = Task {
                u_prev,
                u,
                c2,
                d,
                domain: Domain { n_x, n_y, n_z },
                scheme: Scheme { dt, ratio },
                source,
                values,
                steps,
                rows,
                boxes_y,
            };
            // SAFETY: the caller's.
            unsafe { resident::<$planes, $rows, $sides>(task) }
        }
        )*
    };
}

instances! {
    wave3d_resident_4x4: 4, 4, false, 256;
    wave3d_resident_4x2: 4, 2, false, 512;
    wave3d_resident_2x4: 2, 4, false, 384;
    wave3d_resident_8x2_sides: 8, 2, true, 256;
    wave3d_resident_8x2: 8, 2, false, 256;
}

/// One timestep of a domain that fits no cluster, from global memory: the new field replaces `u_prev`.
///
/// `ratio` is dt^2/dx^2; `source` the position of the source's site, `value` its value at this timestep.
///
/// Block: any shape, k along x, j along y, i along z. Grid: at least one thread for each site.
///
/// # Safety
/// - `u_prev` points to n_x n_y n_z initialised values, which nothing else accesses during the launch; `u` has as many elements, `c2` n_z, `d` n_x n_y.
/// - The number of sites fits in 31 bits; n_x, n_y and n_z are at least 3.
#[kernel]
pub unsafe fn wave3d_resident_one_step(
    u_prev: *mut f64,
    u: &[f64],
    c2: &[f64],
    d: &[f64],
    n_x: u32,
    n_y: u32,
    n_z: u32,
    dt: f64,
    ratio: f64,
    source: u32,
    value: f64,
) {
    let UVec3 { x: k, y: j, z: i } = thread::index_3d();
    if i >= n_x || j >= n_y || k >= n_z {
        return;
    }
    let domain = Domain { n_x, n_y, n_z };
    let index = domain.index(i, j, k) as usize;
    // SAFETY: the site is in the domain, and its element of u_prev this thread's alone. Inside the border it has all six neighbours.
    unsafe {
        let site = u_prev.add(index);
        if domain.is_border(i, j, k) {
            *site = 0.0;
            return;
        }
        let last = |index: usize| *u.get_unchecked(index);
        let pair = |stride: u32| [last(index - stride as usize), last(index + stride as usize)];
        let around = Neighbours {
            along_x: pair(n_y * n_z),
            along_y: pair(n_z),
            along_z: pair(1),
        };
        let mut laplacian = laplacian(last(index), around);
        if index as u32 == source {
            laplacian += value;
        }
        let c2 = *c2.get_unchecked(k as usize);
        let d = *d.get_unchecked(domain.column(i, j) as usize);
        *site = Scheme { dt, ratio }.next(*site, last(index), laplacian, c2, d);
    }
}
