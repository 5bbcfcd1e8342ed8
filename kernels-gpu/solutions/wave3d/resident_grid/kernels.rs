//! All timesteps in one launch of as many blocks as the GPU has multiprocessors: the fields stay in
//! their registers and shared memory.
//!
//! A warp has R rows of L layers of its block's [box](kernels_gpu::boxes), a lane P pairs of sites
//! of each row. The last field is in the block's tile in shared memory. The second-last one is in
//! the lanes' registers, where the next one replaces it. Neighbours along k come by shuffle.
//!
//! A warp sends the rows that another block needs as soon as it has computed them. It puts those
//! that it receives into the tile. When all warps have read the tile, the last field and the next
//! one change places. The block waits before and after that.
//!
//! "Layers" are planes of one i, "rows" have one i and j. The damping of a row is the same for all
//! of its sites.

use cuda_std::hint;
use cuda_std::prelude::*;

use kernels_gpu::boxes::{COLUMNS, Instance, Row, Tile, beyond, is_uniformly, shared_mem_bytes};
use kernels_gpu::unrolled;
use kernels_gpu::wave3d::domain::Domain;
use kernels_gpu::wave3d::source::Values;
use kernels_gpu::wave3d::update::{Factors, Neighbours, Scheme, laplacian};

/// Values of a row's factors in shared memory. One is not used.
const FACTORS: u32 = 4;

/// Shared memory of a block whose box has this number of layers and rows, of `pairs` pairs per
/// lane: the [tile](shared_mem_bytes), ratio c^2 of a row's sites, and the factors of the rows.
pub const fn all_shared_mem_bytes(layers: u32, rows: u32, pairs: u32) -> u32 {
    shared_mem_bytes(layers, rows, pairs) + 8 * (COLUMNS * pairs + FACTORS * layers * rows)
}

/// Stores the source's values at some timesteps.
///
/// Block and grid: one thread.
///
/// # Safety
/// `out` points to the elements, which nothing else accesses during the launch.
#[kernel]
pub unsafe fn wave3d_resident_grid_values(out: *mut f64, values: Values) {
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
    inbox: *mut u64,
    domain: Domain,
    scheme: Scheme,
    source: u32,
    values: &'a [f64],
    steps: u32,
}

/// A bit of a warp's knowledge: whether row 0 is inside the border along x and y; the next bits are
/// for the other rows. Row r of layer l is row l R + r.
const INSIDE: u32 = 1;
/// Whether the row is damped.
const DAMPED: u32 = 1 << 16;
/// A bit of a lane's knowledge: whether site 0 is inside the border along z; the next bits are for
/// its other sites. Site e of pair p is site 2 p + e.
const INSIDE_Z: u32 = 1;
/// Whether the site's k is the source's.
const SOURCE_Z: u32 = 1 << 8;
/// Whether row 0 has the source; the next bits are for the other rows.
const SOURCE: u32 = 1 << 16;

/// A warp's knowledge of its rows.
#[derive(Clone, Copy)]
struct Rows<const L: usize, const R: usize, const P: usize> {
    tile: Tile<L, R, P>,
    /// The bits of rows, and of the sites of a row.
    rows: u32,
    sites: u32,
    /// The number in shared memory of ratio c^2 of this lane's first site. It is 0 beyond the
    /// domain.
    ratio_c2: u32,
    /// The number of the first row's factors, and the distance from a layer's to the next one's.
    factors: [u32; 2],
}

impl<const L: usize, const R: usize, const P: usize> Rows<L, R, P> {
    /// # Safety
    /// As the kernels'. All threads of the block call together, before a barrier.
    #[inline(always)]
    unsafe fn new(tile: Tile<L, R, P>, task: &Task<'_>) -> Self {
        let Task { domain, scheme, .. } = *task;
        let [warp_y, warp_z] = [thread::thread_idx_y(), thread::thread_idx_z()];
        let all_rows = R as u32 * thread::block_dim_y();
        let all_layers = L as u32 * thread::block_dim_z();
        let behind = shared_mem_bytes(all_layers, all_rows, P as u32) / 8;
        let first = L as u32 * warp_z * all_rows + R as u32 * warp_y;
        let mut rows = Self {
            tile,
            rows: 0,
            sites: 0,
            ratio_c2: behind + 2 * thread::thread_idx_x(),
            factors: [
                behind + COLUMNS * P as u32 + FACTORS * first,
                FACTORS * all_rows,
            ],
        };
        unrolled!(l in L => {
            unrolled!(r in R => {
                let ([j, i], row) = (tile.row(l, r), l * R + r);
                if i < domain.n_x && j < domain.n_y {
                    let column = domain.column(i, j);
                    // SAFETY: the column is in the domain.
                    let d = unsafe { *task.d.get_unchecked(column as usize) };
                    rows.rows |= (u32::from(!domain.is_border(i, j, 1)) * INSIDE) << row;
                    rows.rows |= (u32::from(d > 0.0) * DAMPED) << row;
                    rows.sites |= (u32::from(task.source / domain.n_z == column) * SOURCE) << row;
                    let (factors, at) = (scheme.factors(d), rows.factors_of(l, r));
                    if thread::thread_idx_x() == 0 {
                        // SAFETY: the place is this row's.
                        unsafe {
                            *at = factors.divisor;
                            *at.add(1) = factors.inverse;
                            *at.add(2) = factors.of_u_prev;
                        }
                    }
                }
            });
        });
        unrolled!(p in P => {
            unrolled!(e in 2 => {
                let (k, site) = (tile.x(p) + e as u32, 2 * p + e);
                let mut ratio_c2 = 0.0;
                if k < domain.n_z {
                    rows.sites |= (u32::from(!domain.is_border(1, 1, k)) * INSIDE_Z) << site;
                    rows.sites |= (u32::from(task.source % domain.n_z == k) * SOURCE_Z) << site;
                    // SAFETY: k is in the domain.
                    ratio_c2 = scheme.ratio * unsafe { *task.c2.get_unchecked(k as usize) };
                }
                if warp_y + warp_z == 0 {
                    let at = rows.in_shared(rows.ratio_c2 + COLUMNS * p as u32 + e as u32);
                    // SAFETY: the block's first warp alone writes the sites' values.
                    unsafe { *at = ratio_c2 };
                }
            });
        });
        rows
    }

    #[inline(always)]
    fn in_shared(&self, number: u32) -> *mut f64 {
        shared::dynamic_shared_mem::<f64>().wrapping_add(number as usize)
    }

    #[inline(always)]
    fn factors_of(&self, l: usize, r: usize) -> *mut f64 {
        self.in_shared(self.factors[0] + l as u32 * self.factors[1] + FACTORS * r as u32)
    }

    /// ratio c^2 of this lane's sites.
    #[inline(always)]
    fn ratio_c2(&self) -> Row<P> {
        core::array::from_fn(|p| {
            // SAFETY: the values were written before a barrier, and stay.
            unsafe { mem::load_vector(self.in_shared(self.ratio_c2 + COLUMNS * p as u32)) }
        })
    }

    /// Whether a row has the source.
    #[inline(always)]
    fn have_source(&self) -> bool {
        self.sites >= SOURCE
    }

    /// Whether a row has this bit.
    #[inline(always)]
    fn is(&self, bit: u32, l: usize, r: usize) -> bool {
        self.rows & (bit << (l * R + r)) != 0
    }

    /// Hides the rows from the compiler: it would keep each bit in a register of its own.
    #[inline(always)]
    fn opaque(self) -> Self {
        Self {
            tile: self.tile.opaque(),
            rows: hint::opaque(self.rows),
            sites: hint::opaque(self.sites),
            ratio_c2: hint::opaque(self.ratio_c2),
            factors: self.factors.map(hint::opaque),
        }
    }

    /// Replaces `u_prev` by the next values, and sends them, before the timestep of this number.
    /// `value` is the source's.
    ///
    /// # Safety
    /// All lanes of the warp call together. The tile has the last values, and no thread writes it.
    #[inline(always)]
    unsafe fn advance(&self, u_prev: &mut [[Row<P>; R]; L], value: f64, number: u32) {
        // SAFETY: the tile has the rows around this warp's.
        let load = |l: i32, r: i32| unsafe { self.tile.load(l, r) };
        let mut here: [Row<P>; R] = core::array::from_fn(|r| load(0, r as i32));
        unrolled!(l in L => {
            let layer = l as i32;
            let above: [Row<P>; R] = core::array::from_fn(|r| load(layer + 1, r as i32));
            unrolled!(r in R => {
                let around = [
                    load(layer - 1, r as i32),
                    above[r],
                    if r == 0 { load(layer, -1) } else { here[r - 1] },
                    if r == R - 1 { load(layer, R as i32) } else { here[r + 1] },
                ];
                // SAFETY: all lanes are here, and other blocks receive the row.
                unsafe {
                    u_prev[l][r] = match is_uniformly(self.is(INSIDE, l, r)) {
                        true => self.next(&u_prev[l][r], &here[r], around, [l, r], value),
                        false => [[0.0; 2]; P],
                    };
                    self.tile.send(l, r, &u_prev[l][r], number);
                }
            });
            here = above;
        });
        let _ = here;
    }

    /// The next values of a row inside the border along x and y, from its last two and from the
    /// last ones of the rows before and after it along x and y.
    ///
    /// # Safety
    /// All lanes of the warp call together.
    #[inline(always)]
    unsafe fn next(
        &self,
        before: &Row<P>,
        here: &Row<P>,
        [west, east, south, north]: [Row<P>; 4],
        [l, r]: [usize; 2],
        value: f64,
    ) -> Row<P> {
        // SAFETY: the caller's.
        let [above, below] = unsafe { beyond(here) };
        let is = |bit: u32, p: usize, e: usize| self.sites & bit << (2 * p + e) != 0;
        let mut laplacians = [[0.0; 2]; P];
        unrolled!(p in P => {
            unrolled!(e in 2 => {
                let around = Neighbours {
                    along_x: [west[p][e], east[p][e]],
                    along_y: [south[p][e], north[p][e]],
                    along_z: [
                        if e == 0 { above[p] } else { here[p][0] },
                        if e == 0 { here[p][1] } else { below[p] },
                    ],
                };
                laplacians[p][e] = hint::opaque(laplacian(here[p][e], around));
            });
        });
        // SAFETY: the caller's; the row's factors are in shared memory.
        let values = unsafe {
            if is_uniformly(self.sites & SOURCE << (l * R + r) != 0) {
                unrolled!(p in P => {
                    unrolled!(e in 2 => {
                        if is(SOURCE_Z, p, e) {
                            laplacians[p][e] += value;
                        }
                    });
                });
            }
            match is_uniformly(self.is(DAMPED, l, r)) {
                true => self.damped(before, here, &laplacians, self.factors_of(l, r)),
                false => self.undamped(before, here, &laplacians),
            }
        };
        let mut next = [[0.0; 2]; P];
        unrolled!(p in P => {
            unrolled!(e in 2 => {
                // The border is in the first pair and in the last one. Sites beyond the domain stay
                // 0, as their c^2 is.
                let may_be_border = p == P - 1 || p == 0 && e == 0;
                let value = hint::opaque(values[p][e]);
                next[p][e] = match !may_be_border || is(INSIDE_Z, p, e) {
                    true => value,
                    false => 0.0,
                };
            });
        });
        next
    }

    #[inline(always)]
    fn undamped(&self, before: &Row<P>, here: &Row<P>, laplacians: &Row<P>) -> Row<P> {
        let (ratio_c2, mut next) = (self.ratio_c2(), [[0.0; 2]; P]);
        unrolled!(p in P => {
            unrolled!(e in 2 => {
                next[p][e] = Scheme::undamped_by(
                    ratio_c2[p][e],
                    before[p][e],
                    here[p][e],
                    laplacians[p][e],
                );
            });
        });
        next
    }

    /// # Safety
    /// All lanes of the warp call together. `factors` points to the row's.
    #[inline(always)]
    unsafe fn damped(
        &self,
        before: &Row<P>,
        here: &Row<P>,
        laplacians: &Row<P>,
        factors: *const f64,
    ) -> Row<P> {
        // SAFETY: the caller's.
        let factors = unsafe {
            let [divisor, inverse]: [f64; 2] = mem::load_vector(factors);
            Factors {
                of_u_prev: *factors.add(2),
                divisor,
                inverse,
            }
        };
        let (ratio_c2, mut is_sure) = (self.ratio_c2(), true);
        let (mut values, mut next) = ([[0.0; 2]; P], [[0.0; 2]; P]);
        unrolled!(p in P => {
            unrolled!(e in 2 => {
                let value = Scheme::undivided(
                    ratio_c2[p][e],
                    factors,
                    before[p][e],
                    here[p][e],
                    laplacians[p][e],
                );
                is_sure &= Factors::is_sure(value);
                values[p][e] = value;
                next[p][e] = factors.quotient(value);
            });
        });
        // SAFETY: all lanes are here.
        if unsafe { is_uniformly(!is_sure) } {
            unrolled!(p in P => {
                next[p] = values[p].map(|value| value / factors.divisor);
            });
        }
        next
    }

    /// The tile gets the next values from `u_prev`, which gets the last ones.
    ///
    /// # Safety
    /// No other thread accesses the warp's rows of the tile.
    #[inline(always)]
    unsafe fn swap(&self, u_prev: &mut [[Row<P>; R]; L]) {
        unrolled!(l in L => {
            unrolled!(r in R => {
                // SAFETY: the caller's.
                unsafe {
                    let last = self.tile.load(l as i32, r as i32);
                    self.tile.write(l as i32, r as i32, &u_prev[l][r]);
                    u_prev[l][r] = last;
                }
            });
        });
    }
}

/// # Safety
/// As the kernels'.
#[inline(always)]
unsafe fn resident<const L: usize, const R: usize, const P: usize>(task: Task<'_>) {
    let Domain { n_x, n_y, n_z } = task.domain;
    // SAFETY: each site of the fields belongs to one lane, and each row of the tile to one warp.
    // All threads come to each barrier. Warps of all blocks send and receive the same timesteps.
    unsafe {
        let tile = Tile::new(task.inbox, [n_z, n_y, n_x]);
        let rows = Rows::<L, R, P>::new(tile, &task);
        let mut u_prev = [[[[0.0; 2]; P]; R]; L];
        unrolled!(l in L => {
            unrolled!(r in R => {
                u_prev[l][r] = tile.load_from(task.u_prev, l, r);
                let u = tile.load_from(task.u, l, r);
                tile.write(l as i32, r as i32, &u);
                // The number of an empty inbox is 0.
                tile.send(l, r, &u, 1);
            });
        });
        thread::sync_threads();
        let value_at = |step: u32| match rows.have_source() && step < task.steps {
            true => *task.values.get_unchecked(step as usize),
            false => 0.0,
        };
        let mut value = value_at(0);
        let mut done = 0;
        while done < task.steps {
            let rows = rows.opaque();
            let next_value = value_at(done + 1);
            rows.tile.receive(done + 1);
            rows.advance(&mut u_prev, value, done + 2);
            // All have read the tile.
            thread::sync_threads();
            rows.swap(&mut u_prev);
            thread::sync_threads();
            value = next_value;
            done += 1;
        }
        unrolled!(l in L => {
            unrolled!(r in R => {
                tile.store_to(task.u_prev, l, r, &u_prev[l][r]);
                tile.store_to(task.u, l, r, &tile.load(l as i32, r as i32));
            });
        });
    }
}

/// The kernels, by the layers and rows of a warp and the pairs of a lane.
macro_rules! instances {
    ($($name:ident: $layers:literal, $rows:literal, $pairs:literal, $threads:literal;)*) => {
        /// The kernels, those for small boxes first.
        pub const INSTANCES: &[Instance] =
            &[$((stringify!($name), $layers, $rows, $pairs, $threads)),*];

        $(
        /// Advances both fields by `steps` timesteps.
        ///
        /// `ratio` is dt^2/dx^2, `source` the position of the source's site, `values` its value at
        /// each timestep. `inbox` has
        /// [`inbox_words`](kernels_gpu::boxes::Division::inbox_words) of 0.
        ///
        /// Block: 32 x warps along y x warps along x. Grid: boxes along y and x, with
        /// [`all_shared_mem_bytes`]. All blocks run at once.
        ///
        /// # Safety
        /// - `u_prev` and `u` point to the domain's values. Nothing else accesses them or the inbox
        ///   during the launch. `c2` has n_z elements, `d` n_x n_y, `values` one for each timestep.
        /// - The boxes cover the domain. n_x, n_y and n_z are at least 3. Rows of n_z sites need
        ///   all pairs of a lane, and no more.
        #[kernel(max_threads = $threads)]
        pub unsafe fn $name(
            u_prev: *mut f64,
            u: *mut f64,
            c2: &[f64],
            d: &[f64],
            inbox: *mut u64,
            n_x: u32,
            n_y: u32,
            n_z: u32,
            dt: f64,
            ratio: f64,
            source: u32,
            values: &[f64],
            steps: u32,
        ) {
            let task = Task {
                u_prev,
                u,
                c2,
                d,
                inbox,
                domain: Domain { n_x, n_y, n_z },
                scheme: Scheme { dt, ratio },
                source,
                values,
                steps,
            };
            // SAFETY: the caller's.
            unsafe { resident::<$layers, $rows, $pairs>(task) }
        }
        )*
    };
}

instances! {
    wave3d_resident_grid_l1_r1_p1: 1, 1, 1, 1024;
    wave3d_resident_grid_l2_r1_p1: 2, 1, 1, 1024;
    wave3d_resident_grid_l3_r2_p2: 3, 2, 2, 384;
    wave3d_resident_grid_l8_r1_p2: 8, 1, 2, 512;
}
