//! Many timesteps in one launch of one cluster, for small domains: the fields stay in the blocks' registers and shared memory.
//!
//! The cluster's blocks share the domain out in boxes. A thread owns some rows of some planes at one k, their last two values in
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

use cuda_std::prelude::*;

use kernels_gpu::wave3d::domain::Domain;
use kernels_gpu::wave3d::update::{Factors, Neighbours, Scheme, laplacian};

/// The most timesteps of a launch: the source's values are among its parameters, which have 4 KiB.
pub const MOST_STEPS: usize = 400;

/// The source's value at each timestep of a launch.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Values(pub [f64; MOST_STEPS]);

/// Values of a column's factors in shared memory, one unused.
const FACTORS: usize = 4;

/// The box that is number `part` of `split` boxes along each axis: where it begins, and its extents.
pub const fn part(n: [u32; 3], split: [u32; 3], part: [u32; 3]) -> [[u32; 3]; 2] {
    let mut first = [0; 3];
    let mut extent = [0; 3];
    let mut axis = 0;
    while axis < 3 {
        first[axis] = n[axis] * part[axis] / split[axis];
        extent[axis] = n[axis] * (part[axis] + 1) / split[axis] - first[axis];
        axis += 1;
    }
    [first, extent]
}

/// The largest extents of a box.
pub const fn largest(n: [u32; 3], split: [u32; 3]) -> [u32; 3] {
    [
        n[0].div_ceil(split[0]),
        n[1].div_ceil(split[1]),
        n[2].div_ceil(split[2]),
    ]
}

/// Values of a tile, for boxes of these extents.
pub const fn tile_len([planes, rows, sites]: [u32; 3]) -> usize {
    (planes as usize + 2) * (rows as usize + 2) * (sites as usize + 2)
}

/// Shared memory of a block, for boxes of these extents: the factors of its columns, and two tiles.
pub const fn shared_mem_bytes(largest: [u32; 3]) -> usize {
    8 * (FACTORS * largest[0] as usize * largest[1] as usize + 2 * tile_len(largest))
}

/// The parameters of a launch.
#[derive(Clone, Copy)]
struct Task<'a> {
    u_prev: *mut f64,
    u: *mut f64,
    c2: &'a [f64],
    d: &'a [f64],
    n: [u32; 3],
    scheme: Scheme,
    source: u32,
    steps: u32,
    split: [u32; 3],
    values: &'a Values,
}

/// A thread's sites: `ROWS` rows of `PLANES` planes at one k. Site (plane, row) has bit plane * ROWS + row of the masks.
#[derive(Clone, Copy)]
struct Sites<const PLANES: usize, const ROWS: usize> {
    u_prev: [[f64; ROWS]; PLANES],
    u: [[f64; ROWS]; PLANES],
    /// Those that are in the box.
    own: u32,
    /// Those of them that are inside the border.
    inside: u32,
    /// Those that are damped.
    damped: u32,
    /// Those whose value another block needs.
    needed: u32,
    /// The bit of the source's site.
    source: u32,
    /// ratio c^2.
    ratio_c2: f64,
    /// From a value of a tile to the next along i and j.
    strides: [usize; 2],
    /// This block's factors, from those of the first site on, and from a plane's to the next's.
    factors: *const f64,
    factors_of_plane: usize,
    others: Others,
}

/// The blocks beside this one, before and after it along each axis: rank, and how far from a site's place the place of its value in that block's tile is.
#[derive(Clone, Copy)]
struct Others {
    along_x: [Option<(u32, usize)>; 2],
    along_y: [Option<(u32, usize)>; 2],
    along_z: [Option<(u32, usize)>; 2],
    /// The last plane's number.
    last_plane: usize,
    /// The number of the box's last row, counted from the thread's first.
    last_row: usize,
    /// Whether the thread has the box's first row, its first k, its last k.
    has_first_row: bool,
    at_k: [bool; 2],
}

impl<const PLANES: usize, const ROWS: usize> Sites<PLANES, ROWS> {
    const fn bit(plane: usize, row: usize) -> u32 {
        1 << (plane * ROWS + row)
    }

    /// The next values of this plane's sites: of those that others need, or of the rest. `from` is the first site's place in the tile of the last field,
    /// `to` in that of the next.
    ///
    /// # Safety
    /// The tile `from` has the neighbours, and nothing else accesses the places in `to`.
    #[inline(always)]
    unsafe fn plane<const NEEDED: bool>(
        &mut self,
        plane: usize,
        from: *const f64,
        to: *mut f64,
        value: f64,
    ) {
        if plane >= PLANES {
            return;
        }
        for row in 0..ROWS {
            let bit = Self::bit(plane, row);
            let here = match NEEDED {
                true => self.needed,
                false => self.own & !self.needed,
            };
            if here & bit == 0 {
                continue;
            }
            let [along_i, along_j] = self.strides;
            let place = plane * along_i + row * along_j;
            // SAFETY: the caller's.
            unsafe {
                let at = from.add(place);
                let has = |bit: u32| self.own & bit != 0;
                let west = match plane {
                    0 => *at.sub(along_i),
                    _ => self.u[plane - 1][row],
                };
                let east = match plane + 1 < PLANES && has(Self::bit(plane + 1, row)) {
                    true => self.u[plane + 1][row],
                    false => *at.add(along_i),
                };
                let south = match row {
                    0 => *at.sub(along_j),
                    _ => self.u[plane][row - 1],
                };
                let north = match row + 1 < ROWS && has(Self::bit(plane, row + 1)) {
                    true => self.u[plane][row + 1],
                    false => *at.add(along_j),
                };
                let around = Neighbours {
                    along_x: [west, east],
                    along_y: [south, north],
                    along_z: [*at.sub(1), *at.add(1)],
                };
                let (u_prev, u) = (self.u_prev[plane][row], self.u[plane][row]);
                let mut laplacian = laplacian(u, around);
                if self.source & bit != 0 {
                    laplacian += value;
                }
                let next = if self.damped & bit != 0 {
                    let factors = self
                        .factors
                        .add(plane * self.factors_of_plane + row * FACTORS);
                    let [divisor, inverse]: [f64; 2] = mem::load_vector(factors);
                    let factors = Factors {
                        of_u_prev: *factors.add(2),
                        divisor,
                        inverse,
                    };
                    Scheme::damped_by(self.ratio_c2, factors, u_prev, u, laplacian)
                } else {
                    Scheme::undamped_by(self.ratio_c2, u_prev, u, laplacian)
                };
                let next = if self.inside & bit != 0 { next } else { 0.0 };
                self.u_prev[plane][row] = next;
                *to.add(place) = next;
                if NEEDED {
                    self.others.send(plane, row, to.add(place), next);
                }
            }
        }
    }

    /// [`plane`](Self::plane), of all planes.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn planes<const NEEDED: bool>(&mut self, from: *const f64, to: *mut f64, value: f64) {
        const { assert!(PLANES <= 16 && PLANES * ROWS <= 32) };
        macro_rules! planes {
            ($($plane:literal)*) => {
                // SAFETY: the caller's.
                unsafe { $(self.plane::<NEEDED>($plane, from, to, value);)* }
            };
        }
        // Written out: a loop of this length would stay one, and the fields be in local memory.
        planes!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    }
}

impl Others {
    /// Writes a site's value, whose place in this block's tile is `to`, to the blocks that need it.
    ///
    /// # Safety
    /// Nothing else accesses the places in their tiles.
    #[inline(always)]
    unsafe fn send(&self, plane: usize, row: usize, to: *mut f64, value: f64) {
        let send = |other: Option<(u32, usize)>| {
            if let Some((rank, distance)) = other {
                // SAFETY: the caller's; the distance, forwards or backwards, leads to the place in a tile of the same layout.
                unsafe { *cluster::map_shared(to.wrapping_add(distance), rank) = value }
            }
        };
        if plane == 0 {
            send(self.along_x[0]);
        }
        if plane == self.last_plane {
            send(self.along_x[1]);
        }
        if row == 0 && self.has_first_row {
            send(self.along_y[0]);
        }
        if row == self.last_row {
            send(self.along_y[1]);
        }
        if self.at_k[0] {
            send(self.along_z[0]);
        }
        if self.at_k[1] {
            send(self.along_z[1]);
        }
    }
}

/// # Safety
/// As [`wave3d_resident_4x4`].
#[inline(always)]
unsafe fn resident<const PLANES: usize, const ROWS: usize>(task: Task<'_>) {
    let Task { n, split, .. } = task;
    let domain = Domain {
        n_x: n[0],
        n_y: n[1],
        n_z: n[2],
    };
    let rank = cluster::block_rank();
    let number = [
        rank / (split[1] * split[2]),
        rank / split[2] % split[1],
        rank % split[2],
    ];
    let [first, extent] = part(n, split, number);
    let extents = largest(n, split);
    let along_j = extents[2] + 2;
    let along_i = (extents[1] + 2) * along_j;
    let cells = (extents[0] + 2) * along_i;

    let shared = shared::dynamic_shared_mem::<f64>();
    let table = shared;
    let mut from = shared.wrapping_add(FACTORS * (extents[0] * extents[1]) as usize);
    let mut to = from.wrapping_add(cells as usize);
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());

    // SAFETY: for all that follows: the shared memory has room for the table and two tiles. Each site is one thread's.
    unsafe {
        let mut cell = thread;
        while cell < cells {
            let (i, j, k) = (cell / along_i, cell % along_i / along_j, cell % along_j);
            // Before the domain this wraps around.
            let [i, j, k] = [
                (first[0] + i).wrapping_sub(1),
                (first[1] + j).wrapping_sub(1),
                (first[2] + k).wrapping_sub(1),
            ];
            let in_domain = i < n[0] && j < n[1] && k < n[2];
            *from.add(cell as usize) = match in_domain {
                true => *task.u.add(domain.index(i, j, k) as usize),
                false => 0.0,
            };
            *to.add(cell as usize) = 0.0;
            cell += threads;
        }
        let mut column = thread;
        while column < extent[0] * extent[1] {
            let (i, j) = (column / extent[1], column % extent[1]);
            let d = domain.column(first[0] + i, first[1] + j) as usize;
            let factors = task.scheme.factors(*task.d.get_unchecked(d));
            let at = table.add(FACTORS * (i * extents[1] + j) as usize);
            mem::store_vector(at, [factors.divisor, factors.inverse]);
            *at.add(2) = factors.of_u_prev;
            column += threads;
        }

        // This thread's first row and k in the box.
        let (row, k) = (thread / extent[2] * ROWS as u32, thread % extent[2]);
        let beside = |axis: usize, stride: u32| {
            let step = [split[1] * split[2], split[2], 1][axis];
            let before = || {
                let [_, other] = part(n, split, {
                    let mut other = number;
                    other[axis] -= 1;
                    other
                });
                (rank - step, (other[axis] * stride) as usize)
            };
            let after = (
                rank + step,
                ((extent[axis] * stride) as usize).wrapping_neg(),
            );
            [
                (number[axis] > 0).then(before),
                (number[axis] + 1 < split[axis]).then_some(after),
            ]
        };
        let others = Others {
            along_x: beside(0, along_i),
            along_y: beside(1, along_j),
            along_z: beside(2, 1),
            last_plane: extent[0] as usize - 1,
            last_row: extent[1].wrapping_sub(1 + row) as usize,
            has_first_row: row == 0,
            at_k: [k == 0, k == extent[2] - 1],
        };
        let mut sites = Sites::<PLANES, ROWS> {
            u_prev: [[0.0; ROWS]; PLANES],
            u: [[0.0; ROWS]; PLANES],
            own: 0,
            inside: 0,
            damped: 0,
            needed: 0,
            source: 0,
            ratio_c2: task.scheme.ratio * *task.c2.get_unchecked((first[2] + k) as usize),
            strides: [along_i as usize, along_j as usize],
            factors: table.add(FACTORS * row as usize),
            factors_of_plane: FACTORS * extents[1] as usize,
            others,
        };
        for plane in 0..PLANES {
            for r in 0..ROWS {
                let (i, j) = (plane as u32, row + r as u32);
                if i >= extent[0] || j >= extent[1] {
                    continue;
                }
                let [i, j, k] = [first[0] + i, first[1] + j, first[2] + k];
                let bit = Sites::<PLANES, ROWS>::bit(plane, r);
                let index = domain.index(i, j, k);
                sites.u_prev[plane][r] = *task.u_prev.add(index as usize);
                sites.u[plane][r] = *task.u.add(index as usize);
                sites.own |= bit;
                if !domain.is_border(i, j, k) {
                    sites.inside |= bit;
                }
                if *task.d.get_unchecked(domain.column(i, j) as usize) > 0.0 {
                    sites.damped |= bit;
                }
                if index == task.source {
                    sites.source = bit;
                }
                let is_needed = plane == 0 && others.along_x[0].is_some()
                    || plane == others.last_plane && others.along_x[1].is_some()
                    || r == 0 && others.has_first_row && others.along_y[0].is_some()
                    || r == others.last_row && others.along_y[1].is_some()
                    || others.at_k[0] && others.along_z[0].is_some()
                    || others.at_k[1] && others.along_z[1].is_some();
                if is_needed {
                    sites.needed |= bit;
                }
            }
        }
        // All tiles are filled, and nobody reads global memory any more.
        cluster::sync();

        let place = (along_i + (row + 1) * along_j + k + 1) as usize;
        (from, to) = (from.add(place), to.add(place));
        let mut step = 0;
        while step < task.steps {
            let value = task.values.0[step as usize % MOST_STEPS];
            sites.planes::<true>(from, to, value);
            let arrival = cluster::arrive();
            sites.planes::<false>(from, to, value);
            thread::sync_threads();
            arrival.wait();
            (sites.u_prev, sites.u) = (sites.u, sites.u_prev);
            (from, to) = (to, from);
            step += 1;
        }

        for plane in 0..PLANES {
            for r in 0..ROWS {
                if sites.own & Sites::<PLANES, ROWS>::bit(plane, r) != 0 {
                    let (i, j) = (first[0] + plane as u32, first[1] + row + r as u32);
                    let index = domain.index(i, j, first[2] + k) as usize;
                    *task.u_prev.add(index) = sites.u_prev[plane][r];
                    *task.u.add(index) = sites.u[plane][r];
                }
            }
        }
    }
}

/// The kernels, by the planes and rows of a thread.
macro_rules! instances {
    ($($name:ident: $planes:literal, $rows:literal, $threads:literal;)*) => {
        /// What kernels there are: planes and rows of a thread, the most threads of a block.
        pub const INSTANCES: &[[u32; 3]] = &[$([$planes, $rows, $threads]),*];

        $(
        /// Advances both fields by `steps` timesteps.
        ///
        /// `ratio` is dt^2/dx^2; `source` the position of the source's site, `values` its value at each timestep. The domain is split in
        /// so many boxes along each axis.
        ///
        /// Block: along x a thread for each k of the largest box, times its rows by those of a thread, rounded up. Grid: one cluster along x, of a block
        /// for each box, with [`shared_mem_bytes`] of the largest box.
        ///
        /// # Safety
        /// - `u_prev` and `u` point to the domain's values, which nothing else accesses during the launch; `c2` has n_z elements, `d` n_x n_y.
        /// - No split is larger than the sites along its axis; no box has more planes than a thread.
        /// - n_x, n_y and n_z are at least 3; `steps` is at most [`MOST_STEPS`].
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
            steps: u32,
            split_x: u32,
            split_y: u32,
            split_z: u32,
            values: Values,
        ) {
            let task = Task {
                u_prev,
                u,
                c2,
                d,
                n: [n_x, n_y, n_z],
                scheme: Scheme { dt, ratio },
                source,
                steps,
                split: [split_x, split_y, split_z],
                values: &values,
            };
            // SAFETY: the caller's.
            unsafe { resident::<$planes, $rows>(task) }
        }
        )*
    };
}

instances! {
    wave3d_resident_4x4: 4, 4, 512;
    wave3d_resident_4x1: 4, 1, 1024;
    wave3d_resident_8x2: 8, 2, 512;
    wave3d_resident_16x1: 16, 1, 512;
    wave3d_resident_8x4: 8, 4, 256;
}
