//! Several timesteps per launch, on tiles in registers, with shared memory between warps.
//!
//! A block loads a tile of [`TILE_X`] by [`TILE_Y`] cells and advances it by `steps` timesteps. A
//! cell at the tile's edge lacks a neighbour: each step makes one more ring of cells wrong. The
//! block writes the cells that are right after `steps` steps: the tile less `steps` cells on each
//! side. Tiles overlap so that these parts cover the domain (overlapped temporal blocking). Global
//! memory is read and written once in `steps` timesteps.
//!
//! Within the tile, a warp owns [`ROWS`] whole rows and a lane four neighbouring cells of each, all
//! in registers. Neighbours along y are in the lane's own registers, except at the first and the
//! last row. Warps exchange these rows through shared memory, with one barrier per step. Neighbours
//! along x are the lane's own too, except at the first and last cell: these come by shuffle.
//!
//! Blocks read each other's cells, so results go to other buffers than the inputs.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use kernels_gpu::wave2d::update::{self, Kind, Neighbours};
use kernels_gpu::wave2d::{AnyScene, Domain, Region, Scene};

/// Cells of a tile along x: four for each lane.
pub const TILE_X: u32 = 128;
/// Rows of a warp.
pub const ROWS: usize = 4;
/// Warps of a block.
pub const WARPS: u32 = 16;
/// Cells of a tile along y.
pub const TILE_Y: u32 = WARPS * ROWS as u32;
/// Threads of a block along x and y: a warp is one row of threads.
pub const BLOCK: [u32; 2] = [32, WARPS];
/// The largest number of timesteps of a launch: some cells of the tile must stay right.
pub const MAX_STEPS: u32 = TILE_Y / 2 - 1;

/// Floats of a tile's row.
const ROW: usize = TILE_X as usize;
/// Staging space: each warp's own rows. The same memory also holds the edges: two sets (even and
/// odd steps) of two rows for each warp.
const STAGING: usize = WARPS as usize * ROWS * ROW;
const _: () = assert!(
    ROWS >= 4,
    "two sets of two edges have room in a warp's staging space"
);

/// Cells of a tile.
const TILE: usize = (TILE_X * TILE_Y) as usize;

/// Dynamic shared memory of a block: staging space or edges, the cells' kinds, and the source's
/// values.
pub const SHARED_MEM_BYTES: u32 = 4 * (STAGING + TILE + MAX_STEPS as usize) as u32;

/// One field of a lane's cells: [row][four neighbouring cells].
type Cells = [[f32; 4]; ROWS];

/// The numbers of cells of each tile that are written along x and y, in a launch of `steps`
/// timesteps.
pub const fn written(steps: u32) -> [u32; 2] {
    [TILE_X - 2 * steps, TILE_Y - 2 * steps]
}

/// Computes timesteps `t` to `t + steps - 1`. `out0` is then the second-last field, `out1` the
/// last.
///
/// Block: [`BLOCK`], with [`SHARED_MEM_BYTES`] of dynamic shared memory. Grid: n_x and n_y /
/// [`written`], rounded up.
///
/// # Safety
/// - `u0` and `u1` have n_x * n_y elements; n_x * n_y fits in 32 bits; n_x and n_y are at least 2.
/// - `out0` and `out1` point to as many, which nothing else accesses during the launch.
/// - `steps` is 1 to [`MAX_STEPS`].
#[kernel(max_threads = 512, min_blocks = 2)]
pub unsafe fn wave2d_shmem(
    u0: &[f32],
    u1: &[f32],
    out0: *mut f32,
    out1: *mut f32,
    n_x: u32,
    n_y: u32,
    scene: u32,
    k: f32,
    t: u32,
    steps: u32,
) {
    let shared = shared::dynamic_shared_mem::<f32>();
    let domain = Domain { n_x, n_y };
    let scene = AnyScene::new(scene, domain);
    let [written_x, written_y] = written(steps);
    let tile = Tile {
        domain,
        lane: thread::thread_idx_x(),
        warp: thread::thread_idx_y(),
        // Left of and above the domain these numbers wrap around, and are outside it like those
        // beyond.
        x: (thread::block_idx_x() * written_x).wrapping_sub(steps),
        y: (thread::block_idx_y() * written_y).wrapping_sub(steps),
        shared,
        // SAFETY: the launch has room for STAGING + TILE + MAX_STEPS floats.
        kinds: unsafe { shared.add(STAGING) },
        // SAFETY: the launch has room for STAGING + TILE + MAX_STEPS floats.
        sources: unsafe { shared.add(STAGING + TILE) },
    };
    // SAFETY: the shared memory has the size that `Tile` needs, all threads of the block are here,
    // and the fields are as the caller promises.
    unsafe {
        let region = tile.region();
        if region.is_proper() && scene.is_plain(region) {
            tile.run::<true>(&scene, k, (u0, u1), (out0, out1), t, steps);
        } else {
            tile.run::<false>(&scene, k, (u0, u1), (out0, out1), t, steps);
        }
    }
}

/// A thread's view of its block's tile.
#[derive(Clone, Copy)]
struct Tile {
    domain: Domain,
    lane: u32,
    warp: u32,
    /// The tile's first cell.
    x: u32,
    y: u32,
    /// Staging space or edges: `STAGING` floats.
    shared: *mut f32,
    /// The cells' kinds, encoded by [`Kind::encode`]: `TILE` floats.
    kinds: *mut f32,
    /// The source's value at each step of the launch: `MAX_STEPS` floats.
    sources: *mut f32,
}

impl Tile {
    /// The tile's cells.
    #[inline(always)]
    fn region(&self) -> Region {
        Region {
            x_first: self.x,
            x_end: self.x.wrapping_add(TILE_X),
            y_first: self.y,
            y_end: self.y.wrapping_add(TILE_Y),
        }
    }

    /// The y of this warp's first row.
    #[inline(always)]
    fn first_row(&self) -> u32 {
        self.y.wrapping_add(self.warp * ROWS as u32)
    }

    /// The place of this lane's first column in this warp's row `row`, from the first cell of a
    /// field. Left of and above the domain this cell does not exist, but the columns right of it
    /// may.
    #[inline(always)]
    fn offset(&self, row: usize) -> isize {
        let y = self.first_row().wrapping_add(row as u32);
        let x = self.x.wrapping_add(self.lane) as i32;
        y as isize * self.domain.n_x as isize + x as isize
    }

    /// This warp's staging space: `ROWS` rows.
    #[inline(always)]
    fn staging(&self) -> *mut f32 {
        // SAFETY: the warps' parts make up `shared`: STAGING = WARPS * ROWS * ROW.
        unsafe { self.shared.add(self.warp as usize * ROWS * ROW) }
    }

    /// Loads the tile, advances it, and stores the cells that are right. With `PLAIN`, all of its
    /// cells are inside the border, free and undamped.
    ///
    /// # Safety
    /// As the kernel's; all threads of the block call together.
    #[inline(always)]
    unsafe fn run<const PLAIN: bool>(
        &self,
        scene: &impl Scene,
        k: f32,
        (u0, u1): (&[f32], &[f32]),
        (out0, out1): (*mut f32, *mut f32),
        t: u32,
        steps: u32,
    ) {
        // SAFETY: the caller's. The barriers separate the uses of shared memory: staging, edges,
        // staging.
        unsafe {
            // This comes first, while the lane keeps no cells: tests of the scene take registers.
            if !PLAIN {
                self.classify(scene, t, steps);
            }
            // Both fields' loads are in flight before the first wait.
            let (second_last, last) = (self.load::<PLAIN>(u0), self.load::<PLAIN>(u1));
            let fields = (self.hand_over(&second_last), self.hand_over(&last));
            thread::sync_threads();
            let (previous, last) = self.advance::<PLAIN>(k, fields, steps);
            thread::sync_threads();
            self.store::<PLAIN>(&previous, out0, steps);
            self.store::<PLAIN>(&last, out1, steps);
        }
    }

    /// Loads `field`, neighbouring lanes at neighbouring cells: each lane gets every 32nd cell of
    /// its warp's rows. Cells outside the domain are 0.
    ///
    /// # Safety
    /// `field` has as many elements as the domain. If `PLAIN`, all cells of the tile are among
    /// them.
    #[inline(always)]
    unsafe fn load<const PLAIN: bool>(&self, field: &[f32]) -> Cells {
        let Domain { n_x, n_y } = self.domain;
        let mut loaded: Cells = [[0.0; 4]; ROWS];
        for (row, cells) in loaded.iter_mut().enumerate() {
            let y = self.first_row().wrapping_add(row as u32);
            // Each row has one address: the columns are at constant distances from it.
            let first = field.as_ptr().wrapping_offset(self.offset(row));
            for (quarter, cell) in cells.iter_mut().enumerate() {
                let x = self.x.wrapping_add(self.lane + 32 * quarter as u32);
                if PLAIN || (x < n_x && y < n_y) {
                    // SAFETY: (x, y) is in the domain.
                    *cell = unsafe { *first.wrapping_add(32 * quarter) };
                }
            }
        }
        loaded
    }

    /// Exchanges the values that [`load`](Self::load) loaded through the warp's staging space, so
    /// that each lane gets four neighbours.
    ///
    /// # Safety
    /// All lanes of the warp call together, and no other warp uses this one's staging space.
    #[inline(always)]
    unsafe fn hand_over(&self, loaded: &Cells) -> Cells {
        let staging = self.staging();
        let lane = self.lane as usize;
        let mut own: Cells = [[0.0; 4]; ROWS];
        // SAFETY: `staging` has ROWS rows; the lanes' elements are disjoint between barriers.
        unsafe {
            for (row, cells) in loaded.iter().enumerate() {
                for (quarter, cell) in cells.iter().enumerate() {
                    *staging.add(row * ROW + lane + 32 * quarter) = *cell;
                }
            }
            warp::sync_warp(FULL_MASK);
            for (row, cells) in own.iter_mut().enumerate() {
                *cells = mem::load_vector(staging.add(row * ROW + 4 * lane));
            }
            warp::sync_warp(FULL_MASK);
        }
        own
    }

    /// Writes the part of this lane's cells that is right after `steps` timesteps. The exchange
    /// goes the other way round.
    ///
    /// # Safety
    /// As [`load`](Self::load) and [`hand_over`](Self::hand_over), and nothing else accesses
    /// `field`.
    #[inline(always)]
    unsafe fn store<const PLAIN: bool>(&self, own: &Cells, field: *mut f32, steps: u32) {
        let Domain { n_x, n_y } = self.domain;
        let [written_x, written_y] = written(steps);
        let staging = self.staging();
        let lane = self.lane as usize;
        // SAFETY: as in `hand_over`; a cell is written if it is in the domain and in the written
        // part of this tile, which no other tile shares.
        unsafe {
            for (row, cells) in own.iter().enumerate() {
                mem::store_vector(staging.add(row * ROW + 4 * lane), *cells);
            }
            warp::sync_warp(FULL_MASK);
            for row in 0..ROWS {
                let row_in_tile = self.warp * ROWS as u32 + row as u32;
                let y = self.y.wrapping_add(row_in_tile);
                if row_in_tile.wrapping_sub(steps) >= written_y || (!PLAIN && y >= n_y) {
                    continue;
                }
                let first = field.wrapping_offset(self.offset(row));
                for quarter in 0..4 {
                    let column = self.lane + 32 * quarter as u32;
                    let x = self.x.wrapping_add(column);
                    if column.wrapping_sub(steps) < written_x && (PLAIN || x < n_x) {
                        *first.wrapping_add(32 * quarter) =
                            *staging.add(row * ROW + column as usize);
                    }
                }
            }
            warp::sync_warp(FULL_MASK);
        }
    }

    /// Writes the scene's properties to shared memory: the kinds of this lane's cells, and the
    /// source's values at timesteps `t` to `t + steps - 1`.
    ///
    /// # Safety
    /// All threads of the block call together.
    #[inline(always)]
    unsafe fn classify<S: Scene>(&self, scene: &S, t: u32, steps: u32) {
        let step = 32 * self.warp + self.lane;
        if step < steps {
            // SAFETY: `steps` is at most MAX_STEPS, and each thread writes its own value.
            unsafe { *self.sources.add(step as usize) = scene.source_value(t.wrapping_add(step)) }
        }
        // This is one flat loop, which is too long to unroll because it contains all scenes.
        for cell in 0..4 * ROWS as u32 {
            let (row, i) = (cell / 4, cell % 4);
            let x = self.x.wrapping_add(4 * self.lane + i);
            let y = self.first_row().wrapping_add(row);
            let kind = update::kind(scene, self.domain, x, y);
            // SAFETY: the lanes' cells are disjoint.
            unsafe { *self.kinds(row as usize).add(i as usize) = kind.encode() }
        }
    }

    /// The place of the kinds of this lane's four cells of a row.
    #[inline(always)]
    fn kinds(&self, row: usize) -> *mut f32 {
        let row = self.warp as usize * ROWS + row;
        // SAFETY: row < TILE_Y and 4 * lane + 3 < TILE_X, so this is within `TILE` floats.
        unsafe { self.kinds.add(row * ROW + 4 * self.lane as usize) }
    }

    /// Advances the tile by `steps` timesteps: the second-last and last field before become those
    /// after. With `PLAIN`, all of its cells are free and undamped.
    ///
    /// # Safety
    /// All threads of the block call together, after a barrier that follows other uses of shared
    /// memory, and after [`classify`](Self::classify) if not `PLAIN`.
    #[inline(always)]
    unsafe fn advance<const PLAIN: bool>(
        &self,
        k: f32,
        (mut even, mut odd): (Cells, Cells),
        steps: u32,
    ) -> (Cells, Cells) {
        let source = |s: u32| {
            if PLAIN {
                0.0
            } else {
                // SAFETY: `classify` wrote it, before a barrier.
                unsafe { *self.sources.add(s as usize) }
            }
        };
        // Two steps at a time, so that the fields swap roles without being moved.
        let mut s = 0;
        // SAFETY: the caller's.
        unsafe {
            while s + 1 < steps {
                even = self.step::<PLAIN>(even, odd, 0, k, source(s));
                odd = self.step::<PLAIN>(odd, even, 1, k, source(s + 1));
                s += 2;
            }
            if s < steps {
                (odd, self.step::<PLAIN>(even, odd, 0, k, source(s)))
            } else {
                (even, odd)
            }
        }
    }

    /// Computes one timestep: the next field, from the second-last, `cells`, and the last.
    ///
    /// # Safety
    /// As [`advance`](Self::advance); `parity` differs from that of the step before.
    #[inline(always)]
    unsafe fn step<const PLAIN: bool>(
        &self,
        mut cells: Cells,
        last: Cells,
        parity: usize,
        k: f32,
        source: f32,
    ) -> Cells {
        // SAFETY: the caller's. The edges of one parity are written before the barrier and read
        // after it; they are written again two steps later, when every warp has passed the barrier
        // between.
        let (north_edge, south_edge) = unsafe { self.exchange_edges(&last, parity) };
        for row in 0..ROWS {
            let north = if row == 0 { north_edge } else { last[row - 1] };
            let south = if row == ROWS - 1 {
                south_edge
            } else {
                last[row + 1]
            };
            let own = last[row];
            // At the tile's edge a lane gets its own value back, which is wrong, like every
            // neighbour beyond the edge. SAFETY: all lanes of the warp are here.
            let (before, after) = unsafe {
                (
                    warp::warp_shuffle_up(FULL_MASK, own[3], 1, 32).0,
                    warp::warp_shuffle_down(FULL_MASK, own[0], 1, 32).0,
                )
            };
            let kinds: [f32; 4] = if PLAIN {
                [0.0; 4]
            } else {
                // SAFETY: `classify` wrote them; four floats from a multiple of four are aligned.
                unsafe { mem::load_vector(self.kinds(row)) }
            };
            for i in 0..4 {
                let around = Neighbours {
                    west: if i == 0 { before } else { own[i - 1] },
                    east: if i == 3 { after } else { own[i + 1] },
                    north: north[i],
                    south: south[i],
                };
                cells[row][i] = if PLAIN {
                    update::free_cell(cells[row][i], own[i], around, k, 0.0)
                } else {
                    // The free cell's value is computed for every kind of cell: a selection is
                    // cheaper than a branch.
                    let free = update::free_cell(cells[row][i], own[i], around, k, kinds[i]);
                    Kind::choose(kinds[i], free, source)
                };
            }
        }
        cells
    }

    /// Gives the neighbour warps this one's first and last row, and returns the rows above and
    /// below this warp's. The tile's outermost warps get zeros from beyond its edge.
    ///
    /// # Safety
    /// As [`step`](Self::step).
    #[inline(always)]
    unsafe fn exchange_edges(&self, cells: &Cells, parity: usize) -> ([f32; 4], [f32; 4]) {
        let edge = |warp: u32, last_row: usize| {
            let row = (parity * WARPS as usize + warp as usize) * 2 + last_row;
            // SAFETY: parity < 2 and warp < WARPS, so row < STAGING / ROW.
            unsafe { self.shared.add(row * ROW + 4 * self.lane as usize) }
        };
        // SAFETY: `edge` is within `shared`, aligned to 16 bytes; the barrier orders writes and
        // reads.
        unsafe {
            mem::store_vector(edge(self.warp, 0), cells[0]);
            mem::store_vector(edge(self.warp, 1), cells[ROWS - 1]);
            thread::sync_threads();
            let north = if self.warp == 0 {
                [0.0; 4]
            } else {
                mem::load_vector(edge(self.warp - 1, 1))
            };
            let south = if self.warp == WARPS - 1 {
                [0.0; 4]
            } else {
                mem::load_vector(edge(self.warp + 1, 0))
            };
            (north, south)
        }
    }
}
