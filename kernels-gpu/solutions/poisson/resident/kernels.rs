//! All iterations in one launch of one cluster, for small cubes: the field stays in the blocks'
//! registers and shared memory.
//!
//! The cluster's blocks divide the cube into boxes of layers and rows. A thread owns some rows of
//! some layers of its box at one x, in registers. Each block has two tiles in shared memory, its
//! box with a ring of halo around it: one with the last field, one for the next. They swap roles
//! with each iteration. A point's neighbours along z and y are in the thread's own registers,
//! except at its outermost points; neighbours along x are in the tile.
//!
//! A thread sends a value that another block needs to that block's tile ([`Inboxes`]). Between two
//! iterations is a barrier of the block. Threads whose points have neighbours in other blocks also
//! wait for the values from these blocks. The cluster's barrier would wait for all values that a
//! thread has sent, and for the slowest block.
//!
//! No value is overwritten that a thread still needs. Threads read the block's own values before
//! its barrier, and overwrite them after it. The threads that read a halo send to the block that
//! the halo comes from. That block sends again when it has received all values that they computed
//! from the halo.
//!
//! Boxes are whole: they have all layers and rows of their threads. Points beyond the cube keep
//! their value as walls do: a thread need not test which points it has.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use kernels_gpu::inbox::{Beside, Inboxes, Instance, Tiles};
use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};
use kernels_gpu::unrolled;

/// Shared memory of a block whose box has this number of layers and rows, in a cube of `n`: the
/// inboxes, and two tiles.
pub const fn shared_mem_bytes([layers, rows, n]: [u32; 3]) -> usize {
    Inboxes::BYTES
        + 2 * size_of::<f64>() * (layers as usize + 2) * (rows as usize + 2) * (n as usize + 2)
}

/// One field of a thread's points: rows of layers at one x.
type Field<const LAYERS: usize, const ROWS: usize> = [[f64; ROWS]; LAYERS];

/// A thread's knowledge of its points.
#[derive(Clone, Copy)]
struct Points<const LAYERS: usize, const ROWS: usize> {
    /// Whether the thread has points.
    any: bool,
    /// The points inside the walls: point (layer, row) is bit layer * ROWS + row.
    inside: u32,
    /// The points in the source.
    heated: u32,
    /// h^2 f of the points in the source.
    h2_source: f64,
    tiles: Tiles,
}

impl<const LAYERS: usize, const ROWS: usize> Points<LAYERS, ROWS> {
    /// Computes one iteration: `next` becomes the next field, which also goes to a tile, the second
    /// if `ODD`. `number` counts the iterations of this kind.
    ///
    /// # Safety
    /// All threads of the cluster call together. The other tile has the last field with its halo,
    /// and nothing else accesses this one's places.
    #[inline(always)]
    unsafe fn iterate<const ODD: bool>(
        &self,
        next: &mut Field<LAYERS, ROWS>,
        u: &Field<LAYERS, ROWS>,
        number: u32,
    ) {
        const { assert!(LAYERS * ROWS <= 32) };
        let points = Self {
            tiles: self.tiles.opaque(),
            ..*self
        };
        // SAFETY: the caller's. The block's first thread waits for each turn; others wait where
        // they read a halo.
        unsafe {
            if self.any {
                points.compute::<ODD>(next, u);
                points.tiles.publish::<ODD, _, _>(next);
            }
            thread::sync_threads();
            if self.tiles.has_others || thread::thread_idx_x() == 0 {
                self.tiles.inboxes.wait(ODD, number);
            }
        }
    }

    /// Computes the next field.
    ///
    /// # Safety
    /// As [`iterate`](Self::iterate).
    #[inline(always)]
    unsafe fn compute<const ODD: bool>(
        &self,
        next: &mut Field<LAYERS, ROWS>,
        u: &Field<LAYERS, ROWS>,
    ) {
        let [along_z, along_y, other] = self.tiles.strides.map(|stride| stride as usize);
        let from = if ODD { 0 } else { other };
        unrolled!(layer in LAYERS => {
            unrolled!(row in ROWS => {
                let at = self.tiles.place.wrapping_add(from + layer * along_z + row * along_y);
                let has = |mask: u32| mask >> (layer * ROWS + row) & 1 != 0;
                // SAFETY: the tile has all neighbours.
                let around = unsafe {
                    Neighbours {
                        west: *at.sub(1),
                        east: *at.add(1),
                        south: if row == 0 { *at.sub(along_y) } else { u[layer][row - 1] },
                        north: if row == ROWS - 1 { *at.add(along_y) } else { u[layer][row + 1] },
                        below: if layer == 0 { *at.sub(along_z) } else { u[layer - 1][row] },
                        above: if layer == LAYERS - 1 { *at.add(along_z) } else { u[layer + 1][row] },
                    }
                };
                let h2_f = if has(self.heated) { self.h2_source } else { 0.0 };
                let value = jacobi(around, h2_f);
                next[layer][row] = if has(self.inside) { value } else { u[layer][row] };
            });
        });
    }
}

/// # Safety
/// As [`poisson_resident_2x2`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn resident<const LAYERS: usize, const ROWS: usize>(
    field: *mut f64,
    field_before: *mut f64,
    n: u32,
    h2: f64,
    iterations: u32,
    layers: u32,
    rows: u32,
) {
    let grid = Grid { n };
    let rank = cluster::block_rank();
    let (boxes_z, boxes_y) = (n.div_ceil(layers), n.div_ceil(rows));
    let number = [rank / boxes_y, rank % boxes_y];
    let first = [number[0] * layers, number[1] * rows];
    let along_y = n + 2;
    let along_z = (rows + 2) * along_y;
    let cells = (layers + 2) * along_z;
    // The blocks beside this one: before and after it along the layers, and along the rows.
    let others = [
        [number[0] > 0, number[0] + 1 < boxes_z],
        [number[1] > 0, number[1] + 1 < boxes_y],
    ];
    let memory = shared::dynamic_shared_mem::<f64>();
    let tiles = memory.wrapping_add(Inboxes::BYTES / size_of::<f64>());
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());

    // SAFETY: this holds for the whole block: the shared memory has room for inboxes and two tiles.
    // Each point belongs to one thread.
    unsafe {
        let sides = |there: [bool; 2]| u32::from(there[0]) + u32::from(there[1]);
        let values = (sides(others[0]) * rows + sides(others[1]) * layers) * n;
        let inboxes = Inboxes::new(memory.cast(), values * size_of::<f64>() as u32);
        let mut cell = thread;
        while cell < cells {
            // Before the cube these wrap around.
            let z = (first[0] + cell / along_z).wrapping_sub(1);
            let y = (first[1] + cell % along_z / along_y).wrapping_sub(1);
            let x = (cell % along_y).wrapping_sub(1);
            let mut value = 0.0;
            if x < n && y < n && z < n {
                value = *field.add(grid.index(x, y, z));
            }
            *tiles.add(cell as usize) = value;
            *tiles.add((cells + cell) as usize) = 0.0;
            cell += threads;
        }

        // This thread's x, and its first layer and row in the box. The last threads may have no
        // points.
        let rows_of_threads = rows / ROWS as u32;
        let has_points = thread < layers / LAYERS as u32 * rows_of_threads * n;
        let group = if has_points { thread / n } else { 0 };
        let x = thread % n;
        let layer = group / rows_of_threads * LAYERS as u32;
        let row = group % rows_of_threads * ROWS as u32;
        let (first_z, first_y) = (first[0] + layer, first[1] + row);
        let place = (layer + 1) * along_z + (row + 1) * along_y + x + 1;
        let mut points = Points::<LAYERS, ROWS> {
            any: has_points,
            inside: 0,
            heated: 0,
            h2_source: h2 * Grid::SOURCE,
            tiles: Tiles {
                strides: [along_z, along_y, cells],
                place: tiles.add(place as usize),
                along_planes: [Beside::NOBODY; 2],
                along_rows: [Beside::NOBODY; 2],
                has_others: false,
                inboxes,
            },
        };
        let (mut next, mut u) = ([[0.0; ROWS]; LAYERS], [[0.0; ROWS]; LAYERS]);
        unrolled!(l in LAYERS => {
            unrolled!(r in ROWS => {
                let (y, z) = (first_y + r as u32, first_z + l as u32);
                if y < n && z < n {
                    let bit = 1 << (l * ROWS + r);
                    u[l][r] = *field.add(grid.index(x, y, z));
                    if !grid.is_wall(x, y, z) {
                        points.inside |= bit;
                    }
                    if grid.is_source_column(x, y) && grid.is_source_layer(z) {
                        points.heated |= bit;
                    }
                }
            });
        });
        // All tiles are filled, and no thread reads the field any more.
        cluster::sync();

        if has_points {
            let beside = |place: *mut f64, rank: u32| Beside { rank, place };
            // The distances are from the first point's place. A first layer goes behind the last
            // one of the block before, a last layer before the first one of the block after.
            let before =
                |extent: u32, stride: u32| points.tiles.place.add((extent * stride) as usize);
            let after =
                |last: u32, stride: u32| points.tiles.place.sub(((last + 1) * stride) as usize);
            if others[0][0] && layer == 0 {
                points.tiles.along_planes[0] = beside(before(layers, along_z), rank - boxes_y);
            }
            if others[0][1] && layer + LAYERS as u32 == layers {
                points.tiles.along_planes[1] = beside(after(layer, along_z), rank + boxes_y);
            }
            if others[1][0] && row == 0 {
                points.tiles.along_rows[0] = beside(before(rows, along_y), rank - 1);
            }
            if others[1][1] && row + ROWS as u32 == rows {
                points.tiles.along_rows[1] = beside(after(row, along_y), rank + 1);
            }
            points.tiles.has_others = [points.tiles.along_planes, points.tiles.along_rows]
                .as_flattened()
                .iter()
                .any(Beside::is_there);
        }
        let mut done = 0;
        // Two iterations at a time: the fields swap roles without moves.
        while done < iterations {
            points.iterate::<true>(&mut next, &u, done / 2);
            done += 1;
            if done == iterations {
                break;
            }
            points.iterate::<false>(&mut u, &next, done / 2);
            done += 1;
        }

        if has_points {
            // After an odd number of iterations, the last field is in the registers of the one
            // before.
            let (to_next, to_u) = match iterations % 2 {
                0 => (field_before, field),
                _ => (field, field_before),
            };
            unrolled!(l in LAYERS => {
                unrolled!(r in ROWS => {
                    let (y, z) = (first_y + r as u32, first_z + l as u32);
                    if y < n && z < n {
                        let i = grid.index(x, y, z);
                        *to_next.add(i) = next[l][r];
                        *to_u.add(i) = u[l][r];
                    }
                });
            });
        }
    }
}

/// The kernels, by the layers and rows of a thread.
macro_rules! instances {
    ($($name:ident: $layers:literal, $rows:literal, $threads:literal;)*) => {
        /// The kernels: name, layers and rows of a thread, the largest number of threads of a
        /// block.
        pub const INSTANCES: &[Instance] = &[$((stringify!($name), $layers, $rows, $threads)),*];

        $(
        /// Computes `iterations` iterations, at least one, of `u`; `before` becomes the field
        /// before the last. The points on the walls keep their values.
        ///
        /// `h2` is the grid's. A box has `layers` layers of `rows` whole rows.
        ///
        /// Block: along x, n * (`layers` / a thread's layers) * (`rows` / a thread's rows) threads.
        /// Grid: one cluster along x, with a block for each box, those along y first, with
        /// [`shared_mem_bytes`].
        ///
        /// # Safety
        /// - `u` and `before` point to n^3 values each, which nothing else accesses during the
        ///   launch.
        /// - `layers` and `rows` are multiples of the thread's.
        /// - n is at least 3.
        #[kernel(max_threads = $threads, capability = "9.0")]
        pub unsafe fn $name(
            u: *mut f64,
            before: *mut f64,
            n: u32,
            h2: f64,
            iterations: u32,
            layers: u32,
            rows: u32,
        ) {
            // SAFETY: the caller's.
            unsafe { resident::<$layers, $rows>(u, before, n, h2, iterations, layers, rows) }
        }
        )*
    };
}

instances! {
    poisson_resident_2x1: 2, 1, 1024;
    poisson_resident_2x2: 2, 2, 640;
    poisson_resident_4x2: 4, 2, 512;
    poisson_resident_4x4: 4, 4, 384;
}

/// Computes one iteration of a cube that does not fit a cluster, from global memory: u to `u_next`.
/// It does not write the walls.
///
/// `h2` is the grid's. Block: any shape, x along a warp. Grid: at least one thread for each point.
///
/// # Safety
/// `u` and `u_next` have n^3 elements, and nothing else accesses `u_next` during the launch; n is
/// at least 3 and at most [`Grid::MAX_N`].
#[kernel]
pub unsafe fn poisson_resident_one_iteration(u: &[f64], u_next: *mut f64, n: u32, h2: f64) {
    let UVec3 { x, y, z } = thread::index_3d();
    let grid = Grid { n };
    if grid.is_wall(x, y, z) {
        return;
    }
    let i = grid.index(x, y, z);
    let (along_y, along_z) = (n as usize, (n * n) as usize);
    // SAFETY: a point inside the walls has all neighbours, and only this thread writes its element
    // of u_next.
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
