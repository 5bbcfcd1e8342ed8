//! All iterations in one launch of as many blocks as the GPU has multiprocessors: the field stays
//! in their registers and shared memory.
//!
//! A warp has R rows of L layers of its block's [box](kernels_gpu::boxes), a lane P pairs of points
//! of each row in registers. Neighbours along z and y are in the lane's own registers, except at
//! the warp's outermost rows. These come from the block's tile in shared memory. Neighbours along x
//! come by shuffle.
//!
//! A warp sends the rows that another block needs as soon as it has computed them. It puts those
//! that it receives into the tile. The block waits twice per iteration: until all warps have read
//! the tile, and until all have written it.
//!
//! The field before the last iteration is stored too.

use cuda_std::hint;
use cuda_std::prelude::*;

use kernels_gpu::boxes::{Instance, Row, Tile, beyond, is_uniformly};
use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, sixth};
use kernels_gpu::unrolled;

/// A bit of a warp's knowledge: whether row 0 is inside the walls along y and z; the next bits are
/// for the other rows. Row r of layer l is row l R + r.
const INSIDE: u32 = 1;
/// Whether the row has the source.
const HEATED: u32 = 1 << 16;
/// A bit of a lane's knowledge: whether point 0 is inside the walls along x; the next bits are for
/// its other points. Point e of pair j is point 2 j + e.
const INSIDE_X: u32 = 1;
/// Whether the point's x is in the source.
const HEATED_X: u32 = 1 << 16;

/// A warp's knowledge of its rows.
#[derive(Clone, Copy)]
struct Rows<const L: usize, const R: usize, const P: usize> {
    tile: Tile<L, R, P>,
    /// The bits of rows, and of the points of a row.
    rows: u32,
    points: u32,
    h2: f64,
}

impl<const L: usize, const R: usize, const P: usize> Rows<L, R, P> {
    #[inline(always)]
    fn new(tile: Tile<L, R, P>, grid: Grid, h2: f64) -> Self {
        let (mut rows, mut points) = (0, 0);
        unrolled!(l in L => {
            unrolled!(r in R => {
                let [y, z] = tile.row(l, r);
                let is_heated = grid.is_source_column(0, y) && grid.is_source_layer(z);
                rows |= (u32::from(!grid.is_wall(1, y, z)) * INSIDE) << (l * R + r);
                rows |= (u32::from(is_heated) * HEATED) << (l * R + r);
            });
        });
        unrolled!(j in P => {
            unrolled!(e in 2 => {
                let x = tile.x(j) + e as u32;
                points |= (u32::from(!grid.is_wall(x, 1, 1)) * INSIDE_X) << (2 * j + e);
                points |= (u32::from(grid.is_source_column(x, 0)) * HEATED_X) << (2 * j + e);
            });
        });
        Self {
            tile,
            rows,
            points,
            h2,
        }
    }

    /// Hides the rows from the compiler: it would keep each bit in a register of its own.
    #[inline(always)]
    fn opaque(self) -> Self {
        Self {
            tile: self.tile.opaque(),
            rows: hint::opaque(self.rows),
            points: hint::opaque(self.points),
            h2: self.h2,
        }
    }

    /// Replaces `u` by its next values, and sends them, before the iteration of this number.
    ///
    /// # Safety
    /// All lanes of the warp call together. The tile has the last values, and no thread writes it.
    #[inline(always)]
    unsafe fn advance(&self, u: &mut [[Row<P>; R]; L], number: u32) {
        // SAFETY: the tile has the rows around this warp's.
        let load = |l: i32, r: i32| unsafe { self.tile.load(l, r) };
        let mut below: [Row<P>; R] = core::array::from_fn(|r| load(-1, r as i32));
        unrolled!(l in L => {
            let here = u[l];
            let beside = [load(l as i32, -1), load(l as i32, R as i32)];
            unrolled!(r in R => {
                let around = [
                    if r == 0 { beside[0] } else { here[r - 1] },
                    if r == R - 1 { beside[1] } else { here[r + 1] },
                    below[r],
                    if l == L - 1 { load(L as i32, r as i32) } else { u[l + 1][r] },
                ];
                // SAFETY: all lanes are here, and other blocks receive the row.
                unsafe {
                    if is_uniformly(self.is(INSIDE, l * R + r)) {
                        u[l][r] = self.next(&here[r], around, l * R + r);
                    }
                    self.tile.send(l, r, &u[l][r], number);
                }
            });
            below = here;
        });
        let _ = below;
    }

    /// Whether a row has this bit.
    #[inline(always)]
    fn is(&self, bit: u32, row: usize) -> bool {
        self.rows & bit << row != 0
    }

    /// The next values of a row inside the walls along y and z, from its last ones and from the
    /// rows before and after it along y and z.
    ///
    /// # Safety
    /// All lanes of the warp call together.
    #[inline(always)]
    unsafe fn next(
        &self,
        here: &Row<P>,
        [south, north, below, above]: [Row<P>; 4],
        row: usize,
    ) -> Row<P> {
        // SAFETY: the caller's.
        let ([west, east], is_heated) =
            unsafe { (beyond(here), is_uniformly(self.is(HEATED, row))) };
        let is = |bit: u32, j: usize, e: usize| self.points & bit << (2 * j + e) != 0;
        let mut sums = *here;
        unrolled!(j in P => {
            unrolled!(e in 2 => {
                let around = Neighbours {
                    west: if e == 0 { west[j] } else { here[j][0] },
                    east: if e == 0 { here[j][1] } else { east[j] },
                    south: south[j][e],
                    north: north[j][e],
                    below: below[j][e],
                    above: above[j][e],
                };
                sums[j][e] = hint::opaque(around.sum());
            });
        });
        if is_heated {
            let h2_source = hint::opaque(self.h2) * Grid::SOURCE;
            unrolled!(j in P => {
                unrolled!(e in 2 => {
                    // Elsewhere 0 is added. That changes only -0, to +0, which `sixth` does as
                    // well.
                    sums[j][e] += if is(HEATED_X, j, e) { h2_source } else { 0.0 };
                });
            });
        }
        let mut next = *here;
        unrolled!(j in P => {
            unrolled!(e in 2 => {
                // The walls are in the first pair and in the last one. Points beyond the cube may
                // have any values.
                let may_be_wall = j == P - 1 || j == 0 && e == 0;
                let value = hint::opaque(sixth(sums[j][e]));
                next[j][e] = match !may_be_wall || is(INSIDE_X, j, e) {
                    true => value,
                    false => here[j][e],
                };
            });
        });
        next
    }

    /// Writes the warp's outer rows to the tile.
    ///
    /// # Safety
    /// No other thread accesses them.
    #[inline(always)]
    unsafe fn publish(&self, u: &[[Row<P>; R]; L]) {
        unrolled!(l in L => {
            unrolled!(r in R => {
                if r == 0 || r == R - 1 || l == 0 || l == L - 1 {
                    // SAFETY: the caller's.
                    unsafe { self.tile.write(l as i32, r as i32, &u[l][r]) };
                }
            });
        });
    }

    /// Stores the rows to a field.
    ///
    /// # Safety
    /// Nothing else accesses them.
    #[inline(always)]
    unsafe fn store(&self, field: *mut f64, u: &[[Row<P>; R]; L]) {
        unrolled!(l in L => {
            unrolled!(r in R => {
                // SAFETY: the caller's.
                unsafe { self.tile.store_to(field, l, r, &u[l][r]) };
            });
        });
    }
}

/// # Safety
/// As the kernels'.
#[inline(always)]
unsafe fn resident<const L: usize, const R: usize, const P: usize>(
    [u_out, previous]: [*mut f64; 2],
    inbox: *mut u64,
    n: u32,
    h2: f64,
    iterations: u32,
) {
    // SAFETY: each point of the field belongs to one lane, and each row of the tile to one warp.
    // All threads come to each barrier. Warps of all blocks send and receive the same iterations.
    unsafe {
        let tile = Tile::new(inbox, [n; 3]);
        let rows = Rows::<L, R, P>::new(tile, Grid { n }, h2);
        let mut u = [[[[0.0; 2]; P]; R]; L];
        unrolled!(l in L => {
            unrolled!(r in R => {
                u[l][r] = tile.load_from(u_out, l, r);
                // The number of an empty inbox is 0.
                tile.send(l, r, &u[l][r], 1);
            });
        });
        rows.publish(&u);
        thread::sync_threads();
        let mut done = 0;
        while done < iterations {
            let rows = rows.opaque();
            if done + 1 == iterations {
                rows.store(previous, &u);
            }
            rows.tile.receive(done + 1);
            rows.advance(&mut u, done + 2);
            // All have read the tile.
            thread::sync_threads();
            rows.publish(&u);
            thread::sync_threads();
            done += 1;
        }
        rows.store(u_out, &u);
    }
}

/// The kernels, by the layers and rows of a warp and the pairs of a lane.
macro_rules! instances {
    ($($name:ident: $layers:literal, $rows:literal, $pairs:literal, $threads:literal;)*) => {
        /// The kernels, those for small boxes first.
        pub const INSTANCES: &[Instance] =
            &[$((stringify!($name), $layers, $rows, $pairs, $threads)),*];

        $(
        /// Computes `iterations` iterations, at least one, of `u`; `before` becomes the field
        /// before the last. The points on the walls keep their values.
        ///
        /// `h2` is the grid's. `inbox` has
        /// [`inbox_words`](kernels_gpu::boxes::Division::inbox_words) of 0.
        ///
        /// Block: 32 x warps along y x warps along z. Grid: boxes along y and z, with
        /// [`shared_mem_bytes`](kernels_gpu::boxes::shared_mem_bytes). All blocks run at once.
        ///
        /// # Safety
        /// - `u` and `before` point to n^3 values each. Nothing else accesses them or the inbox
        ///   during the launch.
        /// - The boxes cover the cube. n is at least 3. Rows of n points need all pairs of a lane,
        ///   and no more.
        #[kernel(max_threads = $threads)]
        pub unsafe fn $name(
            u: *mut f64,
            before: *mut f64,
            inbox: *mut u64,
            n: u32,
            h2: f64,
            iterations: u32,
        ) {
            // SAFETY: the caller's.
            unsafe { resident::<$layers, $rows, $pairs>([u, before], inbox, n, h2, iterations) }
        }
        )*
    };
}

instances! {
    poisson_resident_grid_l1_r1_p1: 1, 1, 1, 1024;
    poisson_resident_grid_l2_r1_p1: 2, 1, 1, 1024;
    poisson_resident_grid_l2_r2_p2: 2, 2, 2, 640;
    poisson_resident_grid_l4_r2_p2: 4, 2, 2, 512;
}
