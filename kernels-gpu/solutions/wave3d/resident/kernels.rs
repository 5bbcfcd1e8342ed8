//! Many timesteps in one launch of one cluster, for small domains: the fields stay in the blocks'
//! registers and shared memory.
//!
//! The cluster's blocks divide the domain into boxes. A thread owns some rows of some planes of its
//! box at one k, with their last two values in registers. Each block has two tiles in shared
//! memory, its box with a ring of halo around it: one with the last field, one for the next. They
//! swap roles with each timestep. A site's neighbours along i and j are in the thread's own
//! registers, except at its outermost sites; neighbours along k are in the tile.
//!
//! A thread sends a value that another block needs to that block's tile ([`Inboxes`]). Between two
//! timesteps is a barrier of the block. Threads whose sites have neighbours in other blocks also
//! wait for the values from these blocks. The cluster's barrier would wait for all values that a
//! thread has sent, and for the slowest block.
//!
//! No value is overwritten that a thread still needs. Threads read the block's own values before
//! its barrier, and overwrite them after it. The threads that read a halo send to the block that
//! the halo comes from. That block sends again when it has received all values that they computed
//! from the halo.
//!
//! Boxes are whole: they have all planes and rows of their threads. Sites beyond the domain have
//! the value 0, like those on the border: a thread need not test which sites it has.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use kernels_gpu::inbox::{Beside, Inboxes, Instance, Tiles};
use kernels_gpu::unrolled;
use kernels_gpu::wave3d::domain::Domain;
use kernels_gpu::wave3d::source::Values;
use kernels_gpu::wave3d::update::{Factors, Neighbours, Scheme, laplacian};

/// Values of a column's factors in shared memory. One is not used.
const FACTORS: usize = 4;

/// Values of a tile for boxes of these extents.
const fn tile_len([planes, rows, sites]: [u32; 3]) -> usize {
    (planes as usize + 2) * (rows as usize + 2) * (sites as usize + 2)
}

/// Shared memory of a block whose box has these extents: the inboxes, the factors of its columns,
/// and two tiles.
pub const fn shared_mem_bytes(extents: [u32; 3]) -> usize {
    Inboxes::BYTES
        + 8 * (FACTORS * extents[0] as usize * extents[1] as usize + 2 * tile_len(extents))
}

/// Stores the source's values at [`VALUES`](kernels_gpu::wave3d::source::VALUES) timesteps.
///
/// Block and grid: one thread.
///
/// # Safety
/// `out` points to [`VALUES`](kernels_gpu::wave3d::source::VALUES) elements, which nothing else
/// accesses during the launch.
#[kernel]
pub unsafe fn wave3d_resident_values(out: *mut f64, values: Values) {
    // SAFETY: the caller's.
    unsafe { *out.cast() = values }
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
    /// Planes and rows of a box.
    planes: u32,
    rows: u32,
}

/// One field of a thread's sites: rows of planes at one k.
type Field<const PLANES: usize, const ROWS: usize> = [[f64; ROWS]; PLANES];

/// A thread's knowledge of its sites.
#[derive(Clone, Copy)]
struct Sites<const PLANES: usize, const ROWS: usize> {
    /// Whether the thread has sites.
    any: bool,
    /// The sites inside the border: site (plane, row) is bit plane * ROWS + row.
    inside: u32,
    /// Whether some are damped.
    is_damped: bool,
    /// The bit of the source's site, if the thread has it.
    source: u32,
    /// ratio c^2.
    ratio_c2: f64,
    tiles: Tiles,
    /// The factors of the first site's column, and below, the distance from a plane's factors to
    /// the next one's.
    factors: *const f64,
    factors_of_plane: usize,
}

impl<const PLANES: usize, const ROWS: usize> Sites<PLANES, ROWS> {
    #[inline(always)]
    fn has(mask: u32, plane: usize, row: usize) -> bool {
        mask >> (plane * ROWS + row) & 1 != 0
    }

    /// Computes one timestep: u_prev becomes the next field, which also goes to a tile, the second
    /// if `ODD`. `number` counts the steps of this kind.
    ///
    /// # Safety
    /// All threads of the cluster call together. The other tile has the last field with its halo,
    /// and nothing else accesses this one's places.
    #[inline(always)]
    unsafe fn step<const ODD: bool>(
        &self,
        u_prev: &mut Field<PLANES, ROWS>,
        u: &Field<PLANES, ROWS>,
        value: f64,
        number: u32,
    ) {
        const { assert!(PLANES * ROWS <= 32) };
        let sites = Self {
            tiles: self.tiles.opaque(),
            ..*self
        };
        // SAFETY: the caller's. The block's first thread waits for each turn; others wait where
        // they read a halo.
        unsafe {
            if self.any {
                let laplacians = sites.laplacians::<ODD>(u, value);
                if !self.is_damped {
                    sites.advance::<false>(u_prev, u, &laplacians);
                } else {
                    sites.advance::<true>(u_prev, u, &laplacians);
                }
                sites.tiles.publish::<ODD, _, _>(u_prev);
            }
            thread::sync_threads();
            if self.tiles.has_others || thread::thread_idx_x() == 0 {
                self.tiles.inboxes.wait(ODD, number);
            }
        }
    }

    /// Computes the Laplacians of the last field, with the source's value.
    ///
    /// # Safety
    /// As [`step`](Self::step).
    #[inline(always)]
    unsafe fn laplacians<const ODD: bool>(
        &self,
        u: &Field<PLANES, ROWS>,
        value: f64,
    ) -> Field<PLANES, ROWS> {
        let [along_i, along_j, other] = self.tiles.strides.map(|stride| stride as usize);
        let from = if ODD { 0 } else { other };
        let mut laplacians = [[0.0; ROWS]; PLANES];
        unrolled!(plane in PLANES => {
            unrolled!(row in ROWS => {
                let at = self.tiles.place.wrapping_add(from + plane * along_i + row * along_j);
                // SAFETY: the tile has all neighbours.
                let around = unsafe {
                    Neighbours {
                        along_x: [
                            if plane == 0 { *at.sub(along_i) } else { u[plane - 1][row] },
                            if plane == PLANES - 1 { *at.add(along_i) } else { u[plane + 1][row] },
                        ],
                        along_y: [
                            if row == 0 { *at.sub(along_j) } else { u[plane][row - 1] },
                            if row == ROWS - 1 { *at.add(along_j) } else { u[plane][row + 1] },
                        ],
                        along_z: [*at.sub(1), *at.add(1)],
                    }
                };
                laplacians[plane][row] = laplacian(u[plane][row], around);
            });
        });
        if self.source != 0 {
            unrolled!(plane in PLANES => {
                unrolled!(row in ROWS => {
                    if Self::has(self.source, plane, row) {
                        laplacians[plane][row] += value;
                    }
                });
            });
        }
        laplacians
    }

    /// u_prev becomes the next field. With `DAMPED`, some sites are damped; the factors of the
    /// others change nothing.
    ///
    /// # Safety
    /// The table has the factors of the box's columns.
    #[inline(always)]
    unsafe fn advance<const DAMPED: bool>(
        &self,
        u_prev: &mut Field<PLANES, ROWS>,
        u: &Field<PLANES, ROWS>,
        laplacians: &Field<PLANES, ROWS>,
    ) {
        let mut is_right = true;
        let mut next = [[0.0; ROWS]; PLANES];
        unrolled!(plane in PLANES => {
            unrolled!(row in ROWS => {
                let (before, last) = (u_prev[plane][row], u[plane][row]);
                let laplacian = laplacians[plane][row];
                next[plane][row] = if DAMPED {
                    // SAFETY: the caller's.
                    let factors = unsafe { self.factors(plane, row) };
                    let value = Scheme::undivided(self.ratio_c2, factors, before, last, laplacian);
                    is_right &= Factors::is_sure(value);
                    u_prev[plane][row] = value;
                    factors.quotient(value)
                } else {
                    Scheme::undamped_by(self.ratio_c2, before, last, laplacian)
                };
            });
        });
        if DAMPED && !is_right {
            unrolled!(plane in PLANES => {
                unrolled!(row in ROWS => {
                    // SAFETY: the caller's.
                    let factors = unsafe { self.factors(plane, row) };
                    next[plane][row] = u_prev[plane][row] / factors.divisor;
                });
            });
        }
        unrolled!(plane in PLANES => {
            unrolled!(row in ROWS => {
                let is_inside = Self::has(self.inside, plane, row);
                u_prev[plane][row] = if is_inside { next[plane][row] } else { 0.0 };
            });
        });
    }

    /// # Safety
    /// As [`advance`](Self::advance).
    #[inline(always)]
    unsafe fn factors(&self, plane: usize, row: usize) -> Factors {
        let column = plane * self.factors_of_plane + row * FACTORS;
        let at = self.factors.wrapping_add(column);
        // SAFETY: the caller's.
        unsafe {
            let [divisor, inverse]: [f64; 2] = mem::load_vector(at);
            Factors {
                of_u_prev: *at.add(2),
                divisor,
                inverse,
            }
        }
    }
}

/// # Safety
/// As [`wave3d_resident_2x2`].
#[inline(always)]
unsafe fn resident<const PLANES: usize, const ROWS: usize>(task: Task<'_>) {
    let Task {
        domain,
        planes,
        rows,
        ..
    } = task;
    let Domain { n_x, n_y, n_z } = domain;
    let rank = cluster::block_rank();
    let (boxes_x, boxes_y) = (n_x.div_ceil(planes), n_y.div_ceil(rows));
    let number = [rank / boxes_y, rank % boxes_y];
    let first = [number[0] * planes, number[1] * rows];
    let along_j = n_z + 2;
    let along_i = (rows + 2) * along_j;
    let cells = (planes + 2) * along_i;
    // The blocks beside this one: before and after it along the planes, and along the rows.
    let others = [
        [number[0] > 0, number[0] + 1 < boxes_x],
        [number[1] > 0, number[1] + 1 < boxes_y],
    ];

    let memory = shared::dynamic_shared_mem::<f64>();
    let table = memory.wrapping_add(Inboxes::BYTES / size_of::<f64>());
    let tiles = table.wrapping_add(FACTORS * (planes * rows) as usize);
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());

    // SAFETY: this holds for the whole block: the shared memory has room for inboxes, table and two
    // tiles. Each site belongs to one thread.
    unsafe {
        let sides = |there: [bool; 2]| u32::from(there[0]) + u32::from(there[1]);
        let values = (sides(others[0]) * rows + sides(others[1]) * planes) * n_z;
        let inboxes = Inboxes::new(memory.cast(), values * size_of::<f64>() as u32);
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
        while column < planes * rows {
            let (i, j) = (first[0] + column / rows, first[1] + column % rows);
            let mut d = 0.0;
            if i < n_x && j < n_y {
                d = *task.d.get_unchecked(domain.column(i, j) as usize);
            }
            // The factors of a damping of 0 change nothing.
            let factors = task.scheme.factors(if d > 0.0 { d } else { 0.0 });
            let at = table.add(FACTORS * column as usize);
            mem::store_vector(at, [factors.divisor, factors.inverse]);
            *at.add(2) = factors.of_u_prev;
            column += threads;
        }

        // This thread's first plane and row in the box, and its k. The last threads may have no
        // sites.
        let rows_of_threads = rows / ROWS as u32;
        let has_sites = thread < planes / PLANES as u32 * rows_of_threads * n_z;
        let group = if has_sites { thread / n_z } else { 0 };
        let k = thread % n_z;
        let plane = group / rows_of_threads * PLANES as u32;
        let row = group % rows_of_threads * ROWS as u32;
        let first_i = first[0] + plane;
        let first_j = first[1] + row;
        let place = (plane + 1) * along_i + (row + 1) * along_j + k + 1;
        let mut sites = Sites::<PLANES, ROWS> {
            any: has_sites,
            inside: 0,
            is_damped: false,
            source: 0,
            ratio_c2: task.scheme.ratio * *task.c2.get_unchecked(k as usize),
            tiles: Tiles {
                strides: [along_i, along_j, cells],
                place: tiles.add(place as usize),
                along_planes: [Beside::NOBODY; 2],
                along_rows: [Beside::NOBODY; 2],
                has_others: false,
                inboxes,
            },
            factors: table.add(FACTORS * (plane * rows + row) as usize),
            factors_of_plane: FACTORS * rows as usize,
        };
        let (mut u_prev, mut u) = ([[0.0; ROWS]; PLANES], [[0.0; ROWS]; PLANES]);
        unrolled!(p in PLANES => {
            unrolled!(r in ROWS => {
                let (i, j) = (first_i + p as u32, first_j + r as u32);
                if i < n_x && j < n_y {
                    let bit = 1 << (p * ROWS + r);
                    let index = domain.index(i, j, k);
                    u_prev[p][r] = *task.u_prev.add(index as usize);
                    u[p][r] = *task.u.add(index as usize);
                    if !domain.is_border(i, j, k) {
                        sites.inside |= bit;
                        let d = *task.d.get_unchecked(domain.column(i, j) as usize);
                        sites.is_damped |= d > 0.0;
                    }
                    if index == task.source {
                        sites.source = bit;
                    }
                }
            });
        });
        let mut value = 0.0;
        let has_source = sites.source != 0;
        if has_source && task.steps > 0 {
            value = *task.values.get_unchecked(0);
        }
        // All tiles are filled, and no thread reads the domain's values any more.
        cluster::sync();

        if has_sites {
            let beside = |place: *mut f64, rank: u32| Beside { rank, place };
            // The distances are from the first site's place. A first plane goes behind the last one
            // of the block before, a last plane before the first one of the block after.
            let before =
                |extent: u32, stride: u32| sites.tiles.place.add((extent * stride) as usize);
            let after =
                |last: u32, stride: u32| sites.tiles.place.sub(((last + 1) * stride) as usize);
            if others[0][0] && plane == 0 {
                sites.tiles.along_planes[0] = beside(before(planes, along_i), rank - boxes_y);
            }
            if others[0][1] && plane + PLANES as u32 == planes {
                sites.tiles.along_planes[1] = beside(after(plane, along_i), rank + boxes_y);
            }
            if others[1][0] && row == 0 {
                sites.tiles.along_rows[0] = beside(before(rows, along_j), rank - 1);
            }
            if others[1][1] && row + ROWS as u32 == rows {
                sites.tiles.along_rows[1] = beside(after(row, along_j), rank + 1);
            }
            sites.tiles.has_others = [sites.tiles.along_planes, sites.tiles.along_rows]
                .as_flattened()
                .iter()
                .any(Beside::is_there);
        }
        let mut step = 0;
        // Two steps at a time: the fields swap roles without moves.
        while step < task.steps {
            let mut next = 0.0;
            let mut fetch = |step: u32| {
                if has_source && step < task.steps {
                    next = *task.values.get_unchecked(step as usize);
                }
                next
            };
            let odd = fetch(step + 1);
            sites.step::<true>(&mut u_prev, &u, value, step / 2);
            step += 1;
            if step == task.steps {
                break;
            }
            value = fetch(step + 1);
            sites.step::<false>(&mut u, &u_prev, odd, step / 2);
            step += 1;
        }

        if has_sites {
            // After an odd number of steps, the last field is in the registers of the second-last.
            let (to_u_prev, to_u) = match task.steps % 2 {
                0 => (task.u_prev, task.u),
                _ => (task.u, task.u_prev),
            };
            unrolled!(p in PLANES => {
                unrolled!(r in ROWS => {
                    let (i, j) = (first_i + p as u32, first_j + r as u32);
                    if i < n_x && j < n_y {
                        let index = domain.index(i, j, k) as usize;
                        *to_u_prev.add(index) = u_prev[p][r];
                        *to_u.add(index) = u[p][r];
                    }
                });
            });
        }
    }
}

/// The kernels, by the planes and rows of a thread.
macro_rules! instances {
    ($($name:ident: $planes:literal, $rows:literal, $threads:literal;)*) => {
        /// The kernels: name, planes and rows of a thread, the largest number of threads of a
        /// block.
        pub const INSTANCES: &[Instance] = &[$((stringify!($name), $planes, $rows, $threads)),*];

        $(
        /// Advances both fields by `steps` timesteps.
        ///
        /// `ratio` is dt^2/dx^2, `source` the position of the source's site, `values` its value at
        /// each timestep. A box has `planes` planes of `rows` whole rows.
        ///
        /// Block: along x, n_z * (`planes` / a thread's planes) * (`rows` / a thread's rows)
        /// threads. Grid: one cluster along x, with a block for each box, those along y first, with
        /// [`shared_mem_bytes`].
        ///
        /// # Safety
        /// - `u_prev` and `u` point to the domain's values, which nothing else accesses during the
        ///   launch; `c2` has n_z elements, `d` n_x n_y, `values` one for each timestep.
        /// - `planes` and `rows` are multiples of the thread's.
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
            planes: u32,
            rows: u32,
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
                planes,
                rows,
            };
            // SAFETY: the caller's.
            unsafe { resident::<$planes, $rows>(task) }
        }
        )*
    };
}

instances! {
    wave3d_resident_2x1: 2, 1, 1024;
    wave3d_resident_2x2: 2, 2, 512;
    wave3d_resident_4x2: 4, 2, 512;
    wave3d_resident_4x4: 4, 4, 256;
}

/// Computes one timestep of a domain that does not fit a cluster, from global memory: the new field
/// replaces `u_prev`.
///
/// `ratio` is dt^2/dx^2, `source` the position of the source's site, `value` its value at this
/// timestep.
///
/// Block: any shape, k along x, j along y, i along z. Grid: at least one thread for each site.
///
/// # Safety
/// - `u_prev` points to n_x n_y n_z initialised values, which nothing else accesses during the
///   launch; `u` has as many elements, `c2` n_z, `d` n_x n_y.
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
    // SAFETY: the site is in the domain, and only this thread accesses its element of u_prev.
    // Inside the border it has all six neighbours.
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
