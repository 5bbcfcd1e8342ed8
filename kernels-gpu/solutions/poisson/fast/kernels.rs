//! Several iterations a launch: u is read and u_next written once for T of them, 16 bytes a point in T iterations.
//!
//! A block owns a tile of 64 points along x and W R rows along y, and streams through a chunk of planes along z. Level s of the
//! iteration is at plane p - s when plane p arrives: it needs that plane and the two beside it of level s - 1. A point at the tile's edge
//! lacks a neighbour, so each level makes one more ring of points wrong; what is right after T levels is written, and tiles overlap.
//!
//! - A warp owns R rows of the tile, and a lane two neighbouring points of each. For each level but the last a lane keeps two planes in
//!   registers. The loop over planes is unrolled by two, so that what was the plane behind becomes the plane ahead, and nothing is moved.
//! - Neighbours along y are the lane's own registers, but for a warp's first and last row: warps leave these in shared memory when they
//!   compute them, one plane before they are needed. So there is one barrier a plane for all levels.
//! - Neighbours along x come by shuffle.
//! - Planes of u come to a ring in shared memory by asynchronous copies, some planes ahead of their use.
//! - Tiles without a wall and without the source run code that knows neither.
//!
//! Launches take the chunks upwards and downwards in turns: a launch begins with the planes that the one before wrote last, which
//! are in L2.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::update::{Neighbours, jacobi};

/// Points of a tile along x: two for each lane.
pub const COLUMNS: u32 = 64;
/// Columns at either side of a tile that are not written, of at most so many levels: what is written begins at a sector.
pub const MARGIN: u32 = 4;

const ROW: usize = COLUMNS as usize;

/// Bytes of shared memory of a block: `ahead` + 2 planes of u, and two sets of each warp's first and last row for each level
/// between the first and the last.
pub const fn shared_mem_bytes(levels: u32, rows: u32, warps: u32, ahead: u32) -> u32 {
    8 * COLUMNS * warps * ((ahead + 2) * rows + 4 * (levels - 1))
}

/// Tiles along an axis of n points, of so many points each, of which `margin` at either side overlap.
pub const fn tiles(n: u32, points: u32, margin: u32) -> u32 {
    let tiles = n.saturating_sub(2 * margin).div_ceil(points - 2 * margin);
    if tiles == 0 { 1 } else { tiles }
}

/// What a launch computes.
#[derive(Clone, Copy)]
struct Task {
    u: *const f64,
    u_next: *mut f64,
    n: u32,
    /// Iterations: at most T.
    iterations: u32,
    /// Planes that a block computes.
    chunk: u32,
    /// Planes are numbered from the last.
    descends: bool,
    h2: f64,
}

/// A lane's two points of a row.
type Pair = [f64; 2];

/// Defines a kernel of T levels, R rows a warp, W warps, and copies of one plane more than so many ahead.
macro_rules! fast {
    ($name:ident, $t:literal, $r:literal, $w:literal, $pending:literal, threads = $threads:literal, blocks = $blocks:literal) => {
        /// `iterations` iterations: u to the points of u_next inside the walls (and on the walls at either end of x). See the module.
        ///
        /// Block: 32 x W. Grid: [`tiles`] of [`COLUMNS`] with [`MARGIN`], those of W R rows with T, and n - 2 / `chunk`, rounded up.
        /// Dynamic shared memory: [`shared_mem_bytes`]. `descends` is 1 to take the planes from the last to the first, or 0.
        ///
        /// # Safety
        /// - n is 3 to [`Grid::MAX_N`]; `iterations` 1 to T; chunk at least 1; `h2` is the grid's.
        /// - `u` has n^3 elements, and begins at a multiple of 16 bytes.
        /// - `u_next` points to as many, likewise, which nothing else accesses during the launch.
        #[kernel(max_threads = $threads, min_blocks = $blocks)]
        pub unsafe fn $name(
            u: &[f64],
            u_next: *mut f64,
            n: u32,
            iterations: u32,
            chunk: u32,
            descends: u32,
            h2: f64,
        ) {
            let task = Task {
                u: u.as_ptr(),
                u_next,
                n,
                iterations,
                chunk,
                descends: descends != 0,
                h2,
            };
            // SAFETY: the caller's.
            unsafe { run::<$t, $r, $w, $pending>(&task) }
        }
    };
}

fast!(poisson_fast_t2_r4_w8, 2, 4, 8, 1, threads = 256, blocks = 2);
fast!(poisson_fast_t3_r4_w8, 3, 4, 8, 1, threads = 256, blocks = 1);

/// # Safety
/// As the kernels'.
#[inline(always)]
unsafe fn run<const T: usize, const R: usize, const W: usize, const PENDING: u32>(task: &Task) {
    let first = [
        thread::block_idx_x() * (COLUMNS - 2 * MARGIN),
        thread::block_idx_y() * ((W * R) as u32 - 2 * T as u32),
    ];
    let grid = Grid { n: task.n };
    // Neither walls nor points beyond them, and no column of the source: if any is, the one with the least x and y.
    let is_plain = first[0] > 0
        && first[1] > 0
        && first[0] + COLUMNS < task.n
        && first[1] + ((W * R) as u32) < task.n
        && !grid.is_source_column(first[0], first[1]);
    // SAFETY: the caller's.
    unsafe {
        if is_plain {
            Stream::<T, R, W, PENDING, true>::new(task, first).run();
        } else {
            Stream::<T, R, W, PENDING, false>::new(task, first).run();
        }
    }
}

/// A block's tile and chunk of planes, as one of its threads sees it. Planes count from 0 in the direction of the stream.
///
/// `PLAIN`: the tile has no wall and no column of the source.
struct Stream<
    'a,
    const T: usize,
    const R: usize,
    const W: usize,
    const PENDING: u32,
    const PLAIN: bool,
> {
    task: &'a Task,
    /// x of this lane's first point and y of this warp's first row.
    place: [u32; 2],
    /// Bit r: this thread writes its points in its row r.
    written: u32,
    /// Elements from a plane to the next.
    stride: isize,
    /// The first plane that is computed, and one past the last.
    chunk: [u32; 2],
    /// The plane of level 0.
    p: u32,
    /// A plane's place in the ring for each of the planes p and p - 1.
    slots: [usize; 2],
    /// The next plane to be copied, where it is in u, and its place in the ring.
    next: u32,
    source: *const f64,
    next_slot: usize,
    /// Where this thread's first point of plane p - T is in u_next, if it is in the cube.
    target: *mut f64,
    /// This thread's points in a plane of u, in row r: the first, and how far the second is from it.
    copied: [u32; R],
    second: u32,
    /// This thread's points of the last two planes of each level but the last.
    planes: [[[Pair; R]; 2]; T],
}

impl<'a, const T: usize, const R: usize, const W: usize, const PENDING: u32, const PLAIN: bool>
    Stream<'a, T, R, W, PENDING, PLAIN>
{
    /// Points of a plane of the tile.
    const PLANE: usize = W * R * ROW;
    /// Planes under way while a plane is computed.
    const AHEAD: usize = PENDING as usize + 1;
    /// Places of the ring: these, the plane of level 0, and the one before, whose rows level 1 still reads.
    const SLOTS: usize = Self::AHEAD + 2;

    #[inline(always)]
    fn new(task: &'a Task, first: [u32; 2]) -> Self {
        let n = task.n;
        let (rows, levels) = ((W * R) as u32, T as u32);
        let (in_tile_x, in_tile_y) = (
            2 * thread::thread_idx_x(),
            thread::thread_idx_y() * R as u32,
        );
        let [x, y] = [first[0] + in_tile_x, first[1] + in_tile_y];

        // The first and the last tile have no margin where the walls are.
        let is_right = |i: u32, extent: u32, margin: u32, tile: u32, tiles: u32| {
            (i >= margin || tile == 0) && (i < extent - margin || tile + 1 == tiles)
        };
        let (tile, tiles) = (thread::block_idx_x(), thread::grid_dim_x());
        let is_written_x = x < n && is_right(in_tile_x, COLUMNS, MARGIN, tile, tiles);
        let (tile, tiles) = (thread::block_idx_y(), thread::grid_dim_y());
        let mut written = 0;
        let mut copied = [0; R];
        // Of an odd row no two points are aligned, and the second may be beyond it. What is beyond the cube is as its last points.
        let copied_x = x.min(n - 2 + n % 2);
        for r in 0..R as u32 {
            let is_inside = (y + r).wrapping_sub(1) < n - 2;
            let is_written = is_inside && is_right(in_tile_y + r, rows, levels, tile, tiles);
            written |= u32::from(is_written && is_written_x) << r;
            copied[r as usize] = (y + r).min(n - 1) * n + copied_x;
        }

        let from = 1 + thread::block_idx_z() * task.chunk;
        let end = (from + task.chunk).min(n - 1);
        let p = from.saturating_sub(levels);
        let layer = n as usize * n as usize;
        let z = if task.descends { n - 1 - p } else { p };
        let before = z as usize * layer;
        let stride = if task.descends {
            (layer as isize).wrapping_neg()
        } else {
            layer as isize
        };
        let target = task.u_next.wrapping_add(before + (y * n + x) as usize);
        Stream {
            task,
            place: [x, y],
            written,
            stride,
            chunk: [from, end],
            p,
            slots: [0, 0],
            next: p,
            source: task.u.wrapping_add(before),
            next_slot: 0,
            target: target.wrapping_offset(-(T as isize) * stride),
            copied,
            second: (copied_x + 1).min(n - 1) - copied_x,
            planes: [[[[0.0; 2]; R]; 2]; T],
        }
    }

    /// # Safety
    /// As the kernels'; all threads of the block call together.
    #[inline(always)]
    unsafe fn run(mut self) {
        // SAFETY: the caller's.
        unsafe {
            for _ in 0..Self::AHEAD {
                self.fetch();
            }
            while !self.plane(0) && !self.plane(1) {}
        }
    }

    /// The plane after the last that is computed.
    #[inline(always)]
    fn last(&self) -> u32 {
        self.chunk[1] - 1 + T as u32
    }

    /// Whether pairs of points are aligned in global memory.
    #[inline(always)]
    fn is_aligned(&self) -> bool {
        self.task.n % 2 == 0
    }

    /// This lane's place in row `row` of the ring's place `slot`.
    #[inline(always)]
    fn in_ring(&self, slot: usize, row: usize) -> *mut f64 {
        let lane = 2 * thread::thread_idx_x() as usize;
        let place = slot * Self::PLANE + row * ROW + lane;
        shared::dynamic_shared_mem::<f64>().wrapping_add(place)
    }

    /// This lane's place in an edge: warp w's first row is edge 2 w, its last one 2 w + 1. Two sets for each level, for even and odd planes.
    #[inline(always)]
    fn in_edges(&self, level: usize, q: usize, edge: usize) -> *mut f64 {
        let lane = 2 * thread::thread_idx_x() as usize;
        let set = 2 * (level - 1) + q;
        let place = Self::SLOTS * Self::PLANE + (set * 2 * W + edge) * ROW + lane;
        shared::dynamic_shared_mem::<f64>().wrapping_add(place)
    }

    /// Starts the copies of the next plane, if one is needed.
    ///
    /// # Safety
    /// No thread reads the plane's place in the ring any more.
    #[inline(always)]
    unsafe fn fetch(&mut self) {
        let warp = thread::thread_idx_y() as usize;
        if self.next <= self.last() {
            let to = self.in_ring(self.next_slot, warp * R);
            for (r, &from) in self.copied.iter().enumerate() {
                let to = to.wrapping_add(r * ROW);
                // SAFETY: the points are in the plane, which is in u; the caller's.
                unsafe {
                    if self.is_aligned() {
                        async_copy::copy_16_at(to, self.source, from);
                    } else {
                        async_copy::copy_8_at(to, self.source, from);
                        async_copy::copy_8_at(to.add(1), self.source, from + self.second);
                    }
                }
            }
        }
        async_copy::commit();
        // After the last plane, that one again: nothing comes of it.
        if self.next < self.task.n - 1 {
            self.source = self.source.wrapping_offset(self.stride);
        }
        self.next += 1;
        self.next_slot = Self::after(self.next_slot);
    }

    #[inline(always)]
    fn after(slot: usize) -> usize {
        if slot == Self::SLOTS - 1 { 0 } else { slot + 1 }
    }

    /// Advances every level by a plane, an even one (`q` is 0) or an odd one of the stream. Returns whether that was the last.
    ///
    /// # Safety
    /// All threads of the block call together.
    #[inline(always)]
    unsafe fn plane(&mut self, q: usize) -> bool {
        // SAFETY: a slot is copied to after the barrier that follows its last use, and read after the one that follows the copies' arrival.
        unsafe {
            async_copy::wait::<PENDING>();
            thread::sync_threads();
            self.fetch();
            let own = self.in_ring(self.slots[0], thread::thread_idx_y() as usize * R);
            let mut above = [[0.0; 2]; R];
            for (r, above) in above.iter_mut().enumerate() {
                *above = mem::load_vector(own.wrapping_add(r * ROW));
            }
            above = self.level(1, q, above);
            if T > 1 {
                above = self.level(2, q, above);
            }
            if T > 2 {
                above = self.level(3, q, above);
            }
            if T > 3 {
                above = self.level(4, q, above);
            }
            self.store(&above);
        }
        let is_last = self.p == self.last();
        self.p += 1;
        self.target = self.target.wrapping_offset(self.stride);
        self.slots = [Self::after(self.slots[0]), self.slots[0]];
        is_last
    }

    /// Computes plane p - s of level s, where `above` is plane p - s + 1 of level s - 1, and keeps that.
    ///
    /// # Safety
    /// As [`plane`](Self::plane).
    #[inline(always)]
    unsafe fn level(&mut self, s: usize, q: usize, above: [Pair; R]) -> [Pair; R] {
        let [below, here] = [self.planes[s - 1][q], self.planes[s - 1][1 - q]];
        let n = self.task.n;
        let plane = self.p.wrapping_sub(s as u32);
        // From the first plane that the chunk needs of this level, to the last before the wall. Other planes, and those of more iterations
        // than there are, stay as they are.
        let needed = (self.chunk[0] + s as u32).saturating_sub(T as u32).max(1);
        let mut next = here;
        if s as u32 <= self.task.iterations && plane.wrapping_sub(needed) < n - 1 - needed {
            let warp = thread::thread_idx_y() as usize;
            // Where there is no warp before or after, own rows stand for its: what comes of them is wrong, and not written.
            let (before, after) = (warp.max(1), warp.min(W - 2) + 1);
            let beside = if s == 1 {
                let slot = self.slots[1];
                [
                    self.in_ring(slot, before * R - 1),
                    self.in_ring(slot, after * R),
                ]
            } else {
                [
                    self.in_edges(s - 1, 1 - q, 2 * before - 1),
                    self.in_edges(s - 1, 1 - q, 2 * after),
                ]
            };
            // SAFETY: these rows were written before the last barrier.
            let beside = beside.map(|row| unsafe { mem::load_vector(row) });
            let z = if self.task.descends {
                n - 1 - plane
            } else {
                plane
            };
            // SAFETY: the condition is the same for all threads of the block.
            next = unsafe { self.advance(&below, &here, &above, beside, z) };
        }
        self.planes[s - 1][q] = above;
        if s < T {
            let warp = thread::thread_idx_y() as usize;
            // SAFETY: nothing reads this set before the next barrier, and the places are this lane's.
            unsafe {
                mem::store_vector(self.in_edges(s, q, 2 * warp), next[0]);
                mem::store_vector(self.in_edges(s, q, 2 * warp + 1), next[R - 1]);
            }
        }
        next
    }

    /// The next values of this thread's points in a plane. `beside` are the points before and after them along y.
    ///
    /// # Safety
    /// All lanes of the warp call together.
    #[inline(always)]
    unsafe fn advance(
        &self,
        below: &[Pair; R],
        here: &[Pair; R],
        above: &[Pair; R],
        beside: [Pair; 2],
        z: u32,
    ) -> [Pair; R] {
        let n = self.task.n;
        let grid = Grid { n };
        let [x, y] = self.place;
        let mut next = *here;
        for r in 0..R {
            // SAFETY: all lanes are here.
            let (west, east) = unsafe {
                (
                    warp::warp_shuffle_up(FULL_MASK, here[r][1], 1, 32).0,
                    warp::warp_shuffle_down(FULL_MASK, here[r][0], 1, 32).0,
                )
            };
            let south = if r == 0 { beside[0] } else { here[r - 1] };
            let north = if r == R - 1 { beside[1] } else { here[r + 1] };
            for e in 0..2 {
                let around = Neighbours {
                    west: if e == 0 { west } else { here[r][0] },
                    east: if e == 0 { here[r][1] } else { east },
                    south: south[e],
                    north: north[e],
                    below: below[r][e],
                    above: above[r][e],
                };
                let [x, y] = [x + e as u32, y + r as u32];
                let is_source = !PLAIN && grid.is_source_layer(z) && grid.is_source_column(x, y);
                let h2_f = if is_source {
                    self.task.h2 * Grid::SOURCE
                } else {
                    0.0
                };
                let value = jacobi(around, h2_f);
                // A wall keeps its value.
                next[r][e] = if !PLAIN && grid.is_wall(x, y, 1) {
                    here[r][e]
                } else {
                    value
                };
            }
        }
        next
    }

    /// Writes this thread's points of plane p - T, if the chunk has it and the tile has them right.
    ///
    /// # Safety
    /// As the kernels'.
    #[inline(always)]
    unsafe fn store(&self, plane: &[Pair; R]) {
        let [from, end] = self.chunk;
        if self.p.wrapping_sub(T as u32).wrapping_sub(from) >= end - from {
            return;
        }
        for (r, &[first, second]) in plane.iter().enumerate() {
            if self.written >> r & 1 == 0 {
                continue;
            }
            let to = self.target.wrapping_add(r * self.task.n as usize);
            // SAFETY: the points are in the cube, and no other thread's.
            unsafe {
                if self.is_aligned() {
                    mem::store_vector(to, [first, second]);
                } else {
                    *to = first;
                    if self.place[0] + 1 < self.task.n {
                        *to.add(1) = second;
                    }
                }
            }
        }
    }
}
