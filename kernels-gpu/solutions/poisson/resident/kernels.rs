//! All iterations in one launch of one cluster, for small cubes: the field stays in the blocks' registers and shared memory.
//!
//! The cluster's blocks share the cube out in slabs of layers. A thread owns some rows of all layers of its slab at one x, in
//! registers. Each block has two tiles in shared memory, its slab with a ring of halo around it: one with the last field, one for the next. They swap roles
//! with each iteration. A point's neighbours along z and y are the thread's own registers, but for its first and last; those along x are in the tile.
//!
//! A thread writes the values of the slab's first and last layer to the tiles of the blocks beside it too. These come first; then all arrive at the cluster's
//! barrier, compute the rest, which needs nothing of other blocks, and wait. So the barrier's time is hidden as far as there is a rest. Between two
//! barriers nothing goes to global memory, for which an arrival would wait.
//!
//! What is between two iterations: a barrier of the block, for the values that its threads write after they have arrived, and the cluster's. A
//! block writes to another's tile only after it has waited, so after all of the other's threads have read what is overwritten: it is
//! read before they arrive.
//!
//! Slabs are whole: they have all layers and rows that their threads have. Those beyond the cube keep their value as walls do, so that no thread asks
//! what it has.

use cuda_std::prelude::*;
use cuda_std::{UVec3, hint};

use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// Shared memory of a block whose slab has so many layers and rows, in a cube of `n`: two tiles.
pub const fn shared_mem_bytes(layers: u32, rows: u32, n: u32) -> usize {
    2 * size_of::<f64>() * (layers as usize + 2) * (rows as usize + 2) * (n as usize + 2)
}

/// The body for each of so many layers, or rows, written out: a long loop would stay one, and the fields be in local memory.
macro_rules! for_layers {
    ($layer:ident in $first:expr, $end:expr => $body:block) => {
        for_layers!(@ $layer $first, $end, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $layer:ident $first:expr, $end:expr, $body:block, $($number:literal)*) => {$(
        if $number >= $first && $number < $end {
            let $layer: usize = $number;
            $body
        }
    )*};
}
macro_rules! for_rows {
    ($row:ident in $end:expr => $body:block) => {
        for_layers!(@ $row 0, $end, $body, 0 1 2 3)
    };
}

/// One field of a thread's points: rows of layers at one x.
type Field<const LAYERS: usize, const ROWS: usize> = [[f64; ROWS]; LAYERS];

/// What a thread knows of its points.
#[derive(Clone, Copy)]
struct Points<const LAYERS: usize, const ROWS: usize> {
    /// Whether there are any.
    any: bool,
    /// Those inside the walls: point (layer, row) is bit layer * ROWS + row.
    inside: u32,
    /// Those that are heated.
    heated: u32,
    /// h^2 f of these.
    h2_source: f64,
    /// From a value of a tile to the next along z and y, and from one tile to the other.
    strides: [u32; 3],
    /// The first point's place in the first tile.
    place: *mut f64,
    /// Where the other blocks' first tiles have the values of the first point of the first and of the last layer; null if there is no such block.
    along_z: [*mut f64; 2],
}

impl<const LAYERS: usize, const ROWS: usize> Points<LAYERS, ROWS> {
    const LAST: usize = LAYERS - 1;

    /// One iteration: `next` becomes the next field, which goes to a tile too, the second if `ODD`.
    ///
    /// # Safety
    /// All threads of the cluster call together. The other tile has the last field with its halo, and nothing else accesses this one's places.
    #[inline(always)]
    unsafe fn iterate<const ODD: bool>(
        &self,
        next: &mut Field<LAYERS, ROWS>,
        u: &Field<LAYERS, ROWS>,
    ) {
        const { assert!(LAYERS <= 16 && ROWS <= 4 && LAYERS * ROWS <= 32) };
        // Or there would be an address for each point, all the time.
        let points = Self {
            strides: self.strides.map(hint::opaque),
            ..*self
        };
        // SAFETY: the caller's.
        unsafe {
            if points.any {
                points.layer::<ODD>(0, next, u);
                if LAYERS > 1 {
                    points.layer::<ODD>(Self::LAST, next, u);
                }
            }
            let arrival = cluster::arrive();
            if points.any {
                for_layers!(layer in 1, Self::LAST => {
                    points.layer::<ODD>(layer, next, u);
                });
            }
            thread::sync_threads();
            arrival.wait();
        }
    }

    /// One layer.
    ///
    /// # Safety
    /// As [`iterate`](Self::iterate).
    #[inline(always)]
    unsafe fn layer<const ODD: bool>(
        &self,
        layer: usize,
        next: &mut Field<LAYERS, ROWS>,
        u: &Field<LAYERS, ROWS>,
    ) {
        let [along_z, along_y, other] = self.strides.map(|stride| stride as usize);
        let (from, to) = if ODD { (0, other) } else { (other, 0) };
        let first = self.place.wrapping_add(layer * along_z);
        for row in 0..ROWS {
            let at = first.wrapping_add(from + row * along_y);
            let has = |mask: u32| mask >> (layer * ROWS + row) & 1 != 0;
            // SAFETY: the tile has all neighbours; the places that are written are the thread's own, and their images.
            unsafe {
                let around = Neighbours {
                    west: *at.sub(1),
                    east: *at.add(1),
                    south: if row == 0 {
                        *at.sub(along_y)
                    } else {
                        u[layer][row - 1]
                    },
                    north: if row == ROWS - 1 {
                        *at.add(along_y)
                    } else {
                        u[layer][row + 1]
                    },
                    below: if layer == 0 {
                        *at.sub(along_z)
                    } else {
                        u[layer - 1][row]
                    },
                    above: if layer == Self::LAST {
                        *at.add(along_z)
                    } else {
                        u[layer + 1][row]
                    },
                };
                let h2_f = if has(self.heated) {
                    self.h2_source
                } else {
                    0.0
                };
                let value = jacobi(around, h2_f);
                let value = if has(self.inside) {
                    value
                } else {
                    u[layer][row]
                };
                next[layer][row] = value;
                let there = to + row * along_y;
                *first.wrapping_add(there) = value;
                if layer == 0 && !self.along_z[0].is_null() {
                    *self.along_z[0].wrapping_add(there) = value;
                }
                if layer == Self::LAST && !self.along_z[1].is_null() {
                    *self.along_z[1].wrapping_add(there) = value;
                }
            }
        }
    }
}

/// # Safety
/// As [`poisson_resident_4x4`].
#[inline(always)]
unsafe fn resident<const LAYERS: usize, const ROWS: usize>(
    field: *mut f64,
    field_before: *mut f64,
    n: u32,
    h2: f64,
    iterations: u32,
    rows: u32,
) {
    let grid = Grid { n };
    let (rank, blocks) = (cluster::block_rank(), cluster::blocks());
    let first = rank * LAYERS as u32;
    let along_y = n + 2;
    let along_z = (rows + 2) * along_y;
    let cells = (LAYERS as u32 + 2) * along_z;
    let tiles = shared::dynamic_shared_mem::<f64>();
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());

    // SAFETY: for all that follows: the shared memory has room for two tiles. Each point is one thread's.
    unsafe {
        let mut cell = thread;
        while cell < cells {
            // Before the cube these wrap around.
            let z = (first + cell / along_z).wrapping_sub(1);
            let y = (cell % along_z / along_y).wrapping_sub(1);
            let x = (cell % along_y).wrapping_sub(1);
            let mut value = 0.0;
            if x < n && y < n && z < n {
                value = *field.add(grid.index(x, y, z));
            }
            *tiles.add(cell as usize) = value;
            *tiles.add((cells + cell) as usize) = 0.0;
            cell += threads;
        }

        // This thread's x, and its first row in the slab. The last threads may have none.
        let has_points = thread < rows / ROWS as u32 * n;
        let number = if has_points { thread } else { 0 };
        let (row, x) = (number / n * ROWS as u32, number % n);
        let mut points = Points::<LAYERS, ROWS> {
            any: has_points,
            inside: 0,
            heated: 0,
            h2_source: h2 * Grid::SOURCE,
            strides: [along_z, along_y, cells],
            place: tiles.add((along_z + (row + 1) * along_y + x + 1) as usize),
            along_z: [core::ptr::null_mut(); 2],
        };
        let (mut next, mut u) = ([[0.0; ROWS]; LAYERS], [[0.0; ROWS]; LAYERS]);
        for_layers!(layer in 0, LAYERS => {
            for_rows!(r in ROWS => {
                let (y, z) = (row + r as u32, first + layer as u32);
                if y < n && z < n {
                    let bit = 1 << (layer * ROWS + r);
                    u[layer][r] = *field.add(grid.index(x, y, z));
                    if !grid.is_wall(x, y, z) {
                        points.inside |= bit;
                    }
                    if grid.is_source_column(x, y) && grid.is_source_layer(z) {
                        points.heated |= bit;
                    }
                }
            });
        });
        // All tiles are filled, and nobody reads the field any more.
        cluster::sync();

        if has_points && rank > 0 {
            let to = points.place.add(LAYERS * along_z as usize);
            points.along_z[0] = cluster::map_shared(to, rank - 1);
        }
        if has_points && rank + 1 < blocks {
            // From the first layer's place: the last one's values go to the layer before the first.
            let to = points.place.sub(along_z as usize);
            points.along_z[1] = cluster::map_shared(to, rank + 1);
        }
        let mut done = 0;
        // Two at a time, so that the fields swap roles without being moved.
        while done < iterations {
            points.iterate::<true>(&mut next, &u);
            done += 1;
            if done == iterations {
                break;
            }
            points.iterate::<false>(&mut u, &next);
            done += 1;
        }

        if has_points {
            // After an odd number, the last field is where the one before was.
            let (to_next, to_u) = match iterations % 2 {
                0 => (field_before, field),
                _ => (field, field_before),
            };
            for_layers!(layer in 0, LAYERS => {
                for_rows!(r in ROWS => {
                    let (y, z) = (row + r as u32, first + layer as u32);
                    if y < n && z < n {
                        let i = grid.index(x, y, z);
                        *to_next.add(i) = next[layer][r];
                        *to_u.add(i) = u[layer][r];
                    }
                });
            });
        }
    }
}

/// The kernels, by the layers and rows of a thread.
macro_rules! instances {
    ($($name:ident: $layers:literal, $rows:literal, $threads:literal;)*) => {
        /// What kernels there are: name, layers and rows of a thread, the most threads of a block.
        pub const INSTANCES: &[(&str, u32, u32, u32)] =
            &[$((stringify!($name), $layers, $rows, $threads)),*];

        $(
        /// So many iterations, at least one, of `u`; `before` becomes the field before the last. The points on the walls keep their values.
        ///
        /// `h2` is the grid's. A slab has the layers of a thread, and `rows` rows.
        ///
        /// Block: along x a thread for each x, times the slab's rows by those of a thread. Grid: one cluster along x, of a block for each slab, with
        /// [`shared_mem_bytes`].
        ///
        /// # Safety
        /// - `u` and `before` point to n^3 values each, which nothing else accesses during the launch.
        /// - The slabs cover the cube; `rows` is at least n, and a multiple of the thread's.
        /// - n is at least 3.
        #[kernel(max_threads = $threads, capability = "9.0")]
        pub unsafe fn $name(
            u: *mut f64,
            before: *mut f64,
            n: u32,
            h2: f64,
            iterations: u32,
            rows: u32,
        ) {
            // SAFETY: the caller's.
            unsafe { resident::<$layers, $rows>(u, before, n, h2, iterations, rows) }
        }
        )*
    };
}

instances! {
    poisson_resident_4x4: 4, 4, 384;
    poisson_resident_4x2: 4, 2, 512;
    poisson_resident_2x4: 2, 4, 320;
    poisson_resident_8x2: 8, 2, 384;
}

/// One iteration in a cube that fits no cluster, from global memory: u to `u_next`, but for the walls, which it leaves alone.
///
/// `h2` is the grid's. Block: any shape, x along a warp. Grid: at least one thread for each point.
///
/// # Safety
/// `u` and `u_next` have n^3 elements, and nothing else accesses `u_next` during the launch; n is at least 3 and at most [`Grid::MAX_N`].
#[kernel]
pub unsafe fn poisson_resident_one_iteration(u: &[f64], u_next: *mut f64, n: u32, h2: f64) {
    let UVec3 { x, y, z } = thread::index_3d();
    let grid = Grid { n };
    if grid.is_wall(x, y, z) {
        return;
    }
    let i = grid.index(x, y, z);
    let (along_y, along_z) = (n as usize, (n * n) as usize);
    // SAFETY: a point inside the walls has all neighbours, and its element of u_next is this thread's alone.
    unsafe {
        let last = |i: usize| *u.get_unchecked(i);
        let around = Neighbours {
            west: last(i - 1),
            east: last(i + 1),
            south: last(i - along_y),
            north: last(i + along_y),
            below: last(i - along_z),
            above: last(i + along_z),
        };
        *u_next.add(i) = jacobi(around, h2 * grid.source(x, y, z));
    }
}
