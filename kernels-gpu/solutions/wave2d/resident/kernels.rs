//! All timesteps in one launch of one cluster, for small domains: the fields stay in the blocks'
//! registers and shared memory.
//!
//! The cluster's blocks divide the domain into slabs of rows. A thread owns some neighbouring rows
//! at one x, with their last two values and their kinds in registers. Each block has two tiles in
//! shared memory, its slab with a ring of halo around it: one with the last field, one for the
//! next. They swap roles with each timestep. A cell's neighbours along y are in the thread's own
//! registers, except at its first and last cell; neighbours along x are in the tile.
//!
//! A thread sends the values of the slab's first and last row to the tiles of the blocks beside it
//! ([`Inboxes`]). Between two timesteps is a barrier of the block. The threads of these rows also
//! wait for the values from the blocks beside. The cluster's barrier would wait for all values that
//! a thread has sent, and for the slowest block.
//!
//! No value is overwritten that a thread still needs. Threads read the block's own values before
//! its barrier, and overwrite them after it. The threads that read a halo send to the block that
//! the halo comes from. That block sends again when it has received all values that they computed
//! from the halo.
//!
//! Slabs are whole: they have all rows of their threads. Cells beyond the domain are 0, as on its
//! border: a thread need not test which cells it has.

use cuda_std::prelude::*;
use cuda_std::{UVec2, hint};

use kernels_gpu::inbox::{Beside, Inboxes};
use kernels_gpu::wave2d::update::{self, Kind, Neighbours};
use kernels_gpu::wave2d::{AnyScene, Domain, Scene};

/// Shared memory of a block whose slab has `rows` rows of `n_x` cells: the inboxes, and two tiles.
pub const fn shared_mem_bytes(rows: u32, n_x: u32) -> usize {
    Inboxes::BYTES + 2 * size_of::<f32>() * (rows as usize + 2) * (n_x as usize + 2)
}

/// Writes the body out for each row. LLVM would not unroll a long loop, and the fields would be in
/// local memory.
macro_rules! for_rows {
    ($row:ident in $end:expr => $body:block) => {
        for_rows!(@ $row $end, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12)
    };
    (@ $row:ident $end:expr, $body:block, $($number:literal)*) => {$(
        if $number < $end {
            let $row: usize = $number;
            $body
        }
    )*};
}

/// A thread's knowledge of its cells.
#[derive(Clone, Copy)]
struct Cells<const ROWS: usize> {
    /// Whether the thread has cells.
    any: bool,
    k: f32,
    /// The cells' kinds, encoded by [`Kind::encode`].
    kinds: [f32; ROWS],
    /// The distance from a row of a tile to the next, and below, from one tile to the other.
    stride: u32,
    other: usize,
    /// The first cell's place in the first tile.
    place: *mut f32,
    /// The blocks that need the first row's value, and the last one's.
    beside: [Beside<f32>; 2],
    /// Whether another block needs values.
    has_others: bool,
    inboxes: Inboxes,
}

impl<const ROWS: usize> Cells<ROWS> {
    /// Computes one timestep: u0 becomes the next field, which also goes to a tile, the second if
    /// `ODD`. `number` counts the steps of this kind.
    ///
    /// # Safety
    /// All threads of the cluster call together. The other tile has the last field with its halo,
    /// and nothing else accesses this one's places.
    #[inline(always)]
    unsafe fn step<const ODD: bool>(
        &self,
        u0: &mut [f32; ROWS],
        u1: &[f32; ROWS],
        source: f32,
        number: u32,
    ) {
        const { assert!(2 <= ROWS && ROWS <= 13) };
        // Otherwise LLVM would keep an address for each row in registers.
        let cells = Self {
            stride: hint::opaque(self.stride),
            ..*self
        };
        // SAFETY: the caller's. The inboxes expect a value of each outer cell. The block's first
        // thread waits for each turn; others wait where they read a halo.
        unsafe {
            if self.any {
                // First the values that other blocks wait for.
                cells.row::<ODD>(0, u0, u1, source);
                cells.row::<ODD>(ROWS - 1, u0, u1, source);
                if self.has_others {
                    self.send::<ODD>(0, u0[0]);
                    self.send::<ODD>(1, u0[ROWS - 1]);
                }
                for_rows!(row in ROWS => {
                    if row != 0 && row != ROWS - 1 {
                        cells.row::<ODD>(row, u0, u1, source);
                    }
                });
            }
            thread::sync_threads();
            if self.has_others || thread::thread_idx_x() == 0 {
                self.inboxes.wait(ODD, number);
            }
        }
    }

    /// Sends a value to the block on this side, if there is one.
    ///
    /// # Safety
    /// As [`step`](Self::step).
    #[inline(always)]
    unsafe fn send<const ODD: bool>(&self, side: usize, value: f32) {
        let beside = self.beside[side];
        if beside.is_there() {
            let Beside { rank, place } = beside.opaque();
            let place = place.wrapping_add(self.tile::<ODD>());
            // SAFETY: the caller's.
            unsafe { self.inboxes.send(rank, ODD, place, value) }
        }
    }

    /// The distance of the written tile from the first.
    #[inline(always)]
    fn tile<const ODD: bool>(&self) -> usize {
        if ODD { self.other } else { 0 }
    }

    /// Computes the cell of one row.
    ///
    /// # Safety
    /// As [`step`](Self::step).
    #[inline(always)]
    unsafe fn row<const ODD: bool>(
        &self,
        row: usize,
        u0: &mut [f32; ROWS],
        u1: &[f32; ROWS],
        source: f32,
    ) {
        let from = self.other - self.tile::<ODD>();
        let stride = self.stride as usize;
        let first = self.place.wrapping_add(row * stride);
        let at = first.wrapping_add(from);
        // SAFETY: the tile has all neighbours; the written place is the thread's own.
        unsafe {
            let around = Neighbours {
                west: *at.sub(1),
                east: *at.add(1),
                north: if row == 0 {
                    *at.sub(stride)
                } else {
                    u1[row - 1]
                },
                south: if row == ROWS - 1 {
                    *at.add(stride)
                } else {
                    u1[row + 1]
                },
            };
            let kind = self.kinds[row];
            let free = update::free_cell(u0[row], u1[row], around, self.k, kind);
            let value = Kind::choose(kind, free, source);
            u0[row] = value;
            *first.wrapping_add(self.tile::<ODD>()) = value;
        }
    }
}

/// # Safety
/// As [`wave2d_resident_13`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn resident<const ROWS: usize>(
    u0: *mut f32,
    u1: *mut f32,
    domain: Domain,
    scene: u32,
    k: f32,
    t: u32,
    steps: u32,
    rows: u32,
) {
    let Domain { n_x, n_y } = domain;
    let scene = AnyScene::new(scene, domain);
    let (rank, blocks) = (cluster::block_rank(), cluster::blocks());
    let first_y = rank * rows;
    let stride = n_x + 2;
    let len = (rows + 2) * stride;
    let memory = shared::dynamic_shared_mem::<f32>();
    let tiles = memory.wrapping_add(Inboxes::BYTES / size_of::<f32>());
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());

    // SAFETY: this holds for the whole block: the shared memory has room for inboxes and two tiles.
    // Each cell belongs to one thread.
    unsafe {
        let neighbours = u32::from(rank > 0) + u32::from(rank + 1 < blocks);
        let inboxes = Inboxes::new(memory.cast(), neighbours * n_x * size_of::<f32>() as u32);
        let mut place = thread;
        while place < len {
            // Before the domain these wrap around.
            let y = (first_y + place / stride).wrapping_sub(1);
            let x = (place % stride).wrapping_sub(1);
            let mut value = 0.0;
            if x < n_x && y < n_y {
                value = *u1.add((y * n_x + x) as usize);
            }
            *tiles.add(place as usize) = value;
            *tiles.add((len + place) as usize) = 0.0;
            place += threads;
        }
        // All zeros are written before kinds replace some of them.
        thread::sync_threads();

        // This thread's x, and its first row in the slab. The last threads may have no cells.
        let any = thread < rows / ROWS as u32 * n_x;
        let number = if any { thread } else { 0 };
        let (row, x) = (number / n_x * ROWS as u32, number % n_x);
        let mut cells = Cells::<ROWS> {
            any,
            k,
            kinds: [Kind::Zero.encode(); ROWS],
            stride,
            other: len as usize,
            place: tiles.add(((row + 1) * stride + x + 1) as usize),
            beside: [Beside::NOBODY; 2],
            has_others: false,
            inboxes,
        };
        let (mut before, mut last) = ([0.0; ROWS], [0.0; ROWS]);
        // This is one loop, which is too long to unroll because it contains all scenes. The kinds
        // come through the tile that is not in use yet.
        let mut r = 0;
        while r < ROWS as u32 {
            let y = first_y + row + r;
            let mut kind = Kind::Zero;
            if y < n_y {
                kind = update::kind(&scene, domain, x, y);
            }
            if any {
                *cells.place.add((len + r * stride) as usize) = kind.encode();
            }
            r += 1;
        }
        for_rows!(r in ROWS => {
            let y = first_y + row + r as u32;
            let kind = cells.place.add((len + r as u32 * stride) as usize);
            if any {
                cells.kinds[r] = *kind;
                *kind = 0.0;
            }
            if y < n_y {
                let i = (y * n_x + x) as usize;
                (before[r], last[r]) = (*u0.add(i), *u1.add(i));
            }
        });
        // All tiles are filled, and no thread reads the fields any more.
        cluster::sync();

        if any && rank > 0 && row == 0 {
            let place = cells.place.add((rows * stride) as usize);
            let rank = rank - 1;
            cells.beside[0] = Beside { rank, place };
            cells.has_others = true;
        }
        if any && rank + 1 < blocks && row + ROWS as u32 == rows {
            // The last row's value goes to the row before the first.
            let place = cells.place.sub(((row + 1) * stride) as usize);
            let rank = rank + 1;
            cells.beside[1] = Beside { rank, place };
            cells.has_others = true;
        }
        let mut step = 0;
        // Two steps at a time: the fields swap roles without moves.
        while step < steps {
            let source = scene.source_value(t.wrapping_add(step));
            cells.step::<true>(&mut before, &last, source, step / 2);
            step += 1;
            if step == steps {
                break;
            }
            let source = scene.source_value(t.wrapping_add(step));
            cells.step::<false>(&mut last, &before, source, step / 2);
            step += 1;
        }

        if any {
            // After an odd number of steps, the last field is in the registers of the second-last.
            let (to_u0, to_u1) = if steps.is_multiple_of(2) {
                (u0, u1)
            } else {
                (u1, u0)
            };
            for_rows!(r in ROWS => {
                let y = first_y + row + r as u32;
                if y < n_y {
                    let i = (y * n_x + x) as usize;
                    (*to_u0.add(i), *to_u1.add(i)) = (before[r], last[r]);
                }
            });
        }
    }
}

/// The kernels, by the rows of a thread.
macro_rules! instances {
    ($($name:ident: $rows:literal, $threads:literal;)*) => {
        /// The kernels: name, rows of a thread, the largest number of threads of a block.
        pub const INSTANCES: &[(&str, u32, u32)] = &[$((stringify!($name), $rows, $threads)),*];

        $(
        /// Computes timesteps `t` to `t + steps - 1`: both fields are replaced. A slab has `rows`
        /// rows.
        ///
        /// Block: along x, n_x * (`rows` / a thread's rows) threads. Grid: one cluster along x,
        /// with a block for each slab, with [`shared_mem_bytes`].
        ///
        /// # Safety
        /// - `u0` and `u1` point to n_x * n_y values, which nothing else accesses during the
        ///   launch; n_x and n_y are at least 2.
        /// - The slabs cover the domain; `rows` is a multiple of the thread's.
        #[kernel(max_threads = $threads, capability = "9.0")]
        pub unsafe fn $name(
            u0: *mut f32,
            u1: *mut f32,
            n_x: u32,
            n_y: u32,
            scene: u32,
            k: f32,
            t: u32,
            steps: u32,
            rows: u32,
        ) {
            // SAFETY: the caller's.
            unsafe { resident::<$rows>(u0, u1, Domain { n_x, n_y }, scene, k, t, steps, rows) }
        }
        )*
    };
}

instances! {
    wave2d_resident_13: 13, 512;
    wave2d_resident_7: 7, 832;
    wave2d_resident_5: 5, 832;
    wave2d_resident_4: 4, 1024;
}

/// Computes timestep `t` of a domain that does not fit a cluster, from global memory: the new field
/// replaces `u0`.
///
/// Block: any 2D shape, x along a warp. Grid: at least one thread for each cell.
///
/// # Safety
/// - `u0` points to n_x * n_y initialised values that nothing else accesses during the launch.
/// - `u1` has n_x * n_y elements; n_x * n_y fits in 32 bits; n_x and n_y are at least 2.
#[kernel]
pub unsafe fn wave2d_resident_one_step(
    u0: *mut f32,
    u1: &[f32],
    n_x: u32,
    n_y: u32,
    scene: u32,
    k: f32,
    t: u32,
) {
    let UVec2 { x, y } = thread::index_2d();
    if x >= n_x || y >= n_y {
        return;
    }
    let domain = Domain { n_x, n_y };
    let scene = AnyScene::new(scene, domain);
    let i = (y * n_x + x) as usize;
    // SAFETY: the cell is in the domain, and only this thread accesses its element of u0. A free
    // cell is inside the border, so it has all four neighbours.
    unsafe {
        let last = |i: usize| *u1.get_unchecked(i);
        let cell = u0.add(i);
        *cell = match update::kind(&scene, domain, x, y) {
            Kind::Zero => 0.0,
            Kind::Source => scene.source_value(t),
            Kind::Free { damping } => {
                let around = Neighbours {
                    west: last(i - 1),
                    east: last(i + 1),
                    north: last(i - n_x as usize),
                    south: last(i + n_x as usize),
                };
                update::free_cell(*cell, last(i), around, k, damping)
            }
        };
    }
}
