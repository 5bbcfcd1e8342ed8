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
    /// h^2 f in the source.
    h2_f: f64,
}

/// A lane's two points of a row.
type Pair = [f64; 2];

/// Defines a kernel of T levels, R rows a warp, W warps, and one plane more than so many under way; with so many threads a block, and blocks
/// a multiprocessor.
macro_rules! fast {
    ($name:ident, $t:literal, $r:literal, $w:literal, $pending:literal, $threads:literal, $blocks:literal) => {
        /// `iterations` iterations: u to the points of u_next inside the walls (and on the walls at either end of x). See the module.
        ///
        /// Block: 32 x W. Grid: [`tiles`] of [`COLUMNS`] with [`MARGIN`], those of W R rows with T, and (n - 2) / `chunk`, rounded
        /// up. Dynamic shared memory: [`shared_mem_bytes`]. `descends` is 1 to take the planes from the last to the first, or 0; `h2_f` is
        /// the grid's h^2 f in the source.
        ///
        /// # Safety
        /// - n is 3 to [`Grid::MAX_N`]; `iterations` 1 to T; chunk at least 1.
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
            h2_f: f64,
        ) {
            let task = Task {
                u: u.as_ptr(),
                u_next,
                n,
                iterations,
                chunk,
                descends: descends != 0,
                h2_f,
            };
            // SAFETY: the caller's.
            unsafe { run::<$t, $r, $w, $pending>(&task) }
        }
    };
}

fast!(poisson_fast_t2_r4_w8, 2, 4, 8, 1, 256, 1);
fast!(poisson_fast_t2_r2_w16, 2, 2, 16, 1, 512, 1);
fast!(poisson_fast_t2_r2_w8, 2, 2, 8, 1, 256, 2);
fast!(poisson_fast_t3_r4_w8, 3, 4, 8, 1, 256, 1);
fast!(poisson_fast_t3_r2_w12, 3, 2, 12, 1, 384, 1);
fast!(poisson_fast_t4_r2_w12, 4, 2, 12, 1, 384, 1);

/// # Safety
/// As the kernels'.
#[inline(always)]
unsafe fn run<const T: usize, const R: usize, const W: usize, const PENDING: u32>(task: &Task) {
    let mut stream = Stream::<T, R, W, PENDING>::new(task);
    // SAFETY: the caller's.
    unsafe {
        for after in 0..Stream::<T, R, W, PENDING>::AHEAD {
            stream.fetch::<false>(after);
        }
        stream.first_plane();
        // Two planes each time; after an odd number of them one more, of which nothing comes.
        while stream.p <= stream.last {
            if stream.p.wrapping_sub(stream.written_from) < stream.plain {
                stream.plane::<true>(0);
                stream.plane::<true>(1);
            } else {
                stream.plane::<false>(0);
                stream.plane::<false>(1);
            }
        }
    }
}

/// Flags of a thread. Whether the second point of a row is in the cube, if the first is.
const SECOND: u32 = 1;
/// Whether it writes its points in row 0; in the next bits, in the rows after.
const WRITTEN: u32 = 1 << 8;
/// Whether the first point of row 0 is on a wall along x or y; in the next bits, the second, and those of the rows after.
const WALL: u32 = 1 << 16;
/// Whether x and y of these points are the source's.
const SOURCE: u32 = 1 << 24;

/// A block's tile and chunk of planes, as one of its threads sees it. Planes count from 0 in the direction of the stream.
///
/// A plane is plain if every level computes one inside the walls, one is written, and one is copied; if the tile has no wall and no
/// column of the source; and n is even. Functions with `PLAIN` are for these planes alone, or for any.
struct Stream<'a, const T: usize, const R: usize, const W: usize, const PENDING: u32> {
    task: &'a Task,
    /// What is asked of this thread's points, a bit for each answer: one register holds all.
    flags: u32,
    /// The last plane of level 0.
    last: u32,
    /// The first plane of level 0 with which there is one to write.
    written_from: u32,
    /// From there on, how many planes are plain and have one after them that is, too.
    plain: u32,
    /// The plane of level 0.
    p: u32,
    /// Plane p's place in the ring.
    slot: u32,
    /// This thread's first point of each row, in a plane of u.
    copied: [u32; R],
    /// This thread's points of the last two planes of each level but the last.
    planes: [[[Pair; R]; 2]; T],
}

impl<'a, const T: usize, const R: usize, const W: usize, const PENDING: u32>
    Stream<'a, T, R, W, PENDING>
{
    /// Points of a plane of the tile.
    const PLANE: usize = W * R * ROW;
    /// Planes under way while a plane is computed.
    const AHEAD: u32 = PENDING + 1;
    /// Places of the ring: these, the plane of level 0, and the one before, whose rows level 1 still reads.
    const SLOTS: u32 = Self::AHEAD + 2;

    #[inline(always)]
    fn new(task: &'a Task) -> Self {
        let n = task.n;
        let grid = Grid { n };
        let (rows, levels) = ((W * R) as u32, T as u32);
        let (tile_x, tile_y) = (thread::block_idx_x(), thread::block_idx_y());
        let first = [
            tile_x * (COLUMNS - 2 * MARGIN),
            tile_y * (rows - 2 * levels),
        ];
        // Neither walls nor points beyond them; and if any column is the source's, the one with the least x and y is.
        let is_plain = first[0] > 0
            && first[1] > 0
            && first[0] + COLUMNS < n
            && first[1] + rows < n
            && !grid.is_source_column(first[0], first[1]);

        let (in_tile_x, in_tile_y) = (
            2 * thread::thread_idx_x(),
            thread::thread_idx_y() * R as u32,
        );
        let [x, y] = [first[0] + in_tile_x, first[1] + in_tile_y];
        // The first and the last tile have no margin where the walls are.
        let is_right = |i: u32, extent: u32, margin: u32, tile: u32, tiles: u32| {
            (i >= margin || tile == 0) && (i < extent - margin || tile + 1 == tiles)
        };
        let is_written_x =
            x < n && is_right(in_tile_x, COLUMNS, MARGIN, tile_x, thread::grid_dim_x());
        let mut flags = u32::from(x + 1 < n) * SECOND;
        let mut copied = [0; R];
        // Of an odd row no two points are aligned, and the second may be beyond it. What is beyond the cube is as its last points.
        let copied_x = x.min(n - 2 + n % 2);
        for r in 0..R as u32 {
            let row = in_tile_y + r;
            let is_written = (y + r).wrapping_sub(1) < n - 2
                && is_right(row, rows, levels, tile_y, thread::grid_dim_y());
            flags |= (u32::from(is_written && is_written_x) * WRITTEN) << r;
            copied[r as usize] = (y + r).min(n - 1) * n + copied_x;
            for e in 0..2 {
                flags |= (u32::from(grid.is_wall(x + e, y + r, 1)) * WALL) << (2 * r + e);
                flags |= (u32::from(grid.is_source_column(x + e, y + r)) * SOURCE) << (2 * r + e);
            }
        }

        let from = 1 + thread::block_idx_z() * task.chunk;
        let end = (from + task.chunk).min(n - 1);
        let last = end - 1 + levels;
        let p = from.saturating_sub(levels);
        let written_from = from + levels;
        // One past the last p of which level 1 is inside the walls and another plane is to be copied.
        let plain_end = match is_plain && task.iterations == levels && n.is_multiple_of(2) {
            true => (last.min(n - 1) + 1).saturating_sub(Self::AHEAD),
            false => 0,
        };
        Stream {
            task,
            flags,
            last,
            written_from,
            plain: plain_end.saturating_sub(written_from + 1),
            p,
            slot: 0,
            copied,
            planes: [[[[0.0; 2]; R]; 2]; T],
        }
    }

    /// This lane's place in row `row` of the ring's place `slot`.
    #[inline(always)]
    fn in_ring(&self, slot: u32, row: usize) -> *mut f64 {
        let lane = 2 * thread::thread_idx_x() as usize;
        let place = slot as usize * Self::PLANE + row * ROW + lane;
        shared::dynamic_shared_mem::<f64>().wrapping_add(place)
    }

    /// This lane's place in an edge: warp w's first row is edge 2 w, its last one 2 w + 1. There are two sets for each level, for even and
    /// for odd planes.
    #[inline(always)]
    fn in_edges(&self, level: usize, q: usize, edge: usize) -> *mut f64 {
        let lane = 2 * thread::thread_idx_x() as usize;
        let set = 2 * (level - 1) + q;
        let place = Self::SLOTS as usize * Self::PLANE + (set * 2 * W + edge) * ROW + lane;
        shared::dynamic_shared_mem::<f64>().wrapping_add(place)
    }

    /// The ring's place so many after that of plane p.
    #[inline(always)]
    fn slot(&self, after: u32) -> u32 {
        let slot = self.slot + after;
        if slot >= Self::SLOTS {
            slot - Self::SLOTS
        } else {
            slot
        }
    }

    /// A plane's z.
    #[inline(always)]
    fn z(&self, plane: u32) -> u32 {
        match self.task.descends {
            true => self.task.n - 1 - plane,
            false => plane,
        }
    }

    /// A plane's first element. As a product, not by adding: LLVM would make pointers of their own of all that is at a fixed distance from
    /// what the loop adds to.
    #[inline(always)]
    fn first_of(&self, plane: u32) -> usize {
        let n = self.task.n;
        (u64::from(self.z(plane) * n) * u64::from(n)) as usize
    }

    /// Starts the copies of plane p + `after`, if it is needed.
    ///
    /// # Safety
    /// No thread reads the plane's place in the ring any more.
    #[inline(always)]
    unsafe fn fetch<const PLAIN: bool>(&mut self, after: u32) {
        let warp = thread::thread_idx_y() as usize;
        let n = self.task.n;
        let plane = self.p + after;
        if PLAIN || plane <= self.last {
            // After the last plane, that one again: nothing comes of it.
            let plane = if !PLAIN { plane.min(n - 1) } else { plane };
            let source = self.task.u.wrapping_add(self.first_of(plane));
            let to = self.in_ring(self.slot(after), warp * R);
            for (r, &from) in self.copied.iter().enumerate() {
                let to = to.wrapping_add(r * ROW);
                // SAFETY: the points are in the plane, which is in u; the caller's.
                unsafe {
                    if PLAIN || n.is_multiple_of(2) {
                        async_copy::copy_16_at(to, source, from);
                    } else {
                        async_copy::copy_8_at(to, source, from);
                        // Without a second, the first.
                        let second = source.wrapping_add((self.flags & SECOND) as usize);
                        async_copy::copy_8_at(to.add(1), second, from);
                    }
                }
            }
        }
        async_copy::commit();
    }

    /// Waits for plane p, makes room, and returns this thread's points of plane p.
    ///
    /// # Safety
    /// All threads of the block call together; the plane after is `PLAIN`.
    #[inline(always)]
    unsafe fn arrive<const PLAIN: bool>(&mut self) -> [Pair; R] {
        let own = self.in_ring(self.slot, thread::thread_idx_y() as usize * R);
        let mut plane = [[0.0; 2]; R];
        // SAFETY: a slot is copied to after the barrier that follows its last use, and read after the one that follows the copies' arrival.
        unsafe {
            async_copy::wait::<PENDING>();
            thread::sync_threads();
            self.fetch::<PLAIN>(Self::AHEAD);
            for (r, pair) in plane.iter_mut().enumerate() {
                *pair = mem::load_vector(own.wrapping_add(r * ROW));
            }
        }
        plane
    }

    /// Begins with the first plane of level 0. Those of the other levels are not needed: anything will do.
    ///
    /// # Safety
    /// All threads of the block call together.
    #[inline(always)]
    unsafe fn first_plane(&mut self) {
        // SAFETY: the caller's; the places are this lane's.
        unsafe {
            self.planes[0][1] = self.arrive::<false>();
            let warp = thread::thread_idx_y() as usize;
            for s in 1..T {
                mem::store_vector(self.in_edges(s, 1, 2 * warp), [0.0; 2]);
                mem::store_vector(self.in_edges(s, 1, 2 * warp + 1), [0.0; 2]);
            }
        }
        self.p += 1;
        self.slot = self.slot(1);
    }

    /// Advances every level by a plane, an even one of the stream (`q` is 0) or an odd one.
    ///
    /// # Safety
    /// All threads of the block call together; the plane is `PLAIN`.
    #[inline(always)]
    unsafe fn plane<const PLAIN: bool>(&mut self, q: usize) {
        // SAFETY: the caller's.
        unsafe {
            let mut above = self.arrive::<PLAIN>();
            above = self.level::<PLAIN>(1, q, above);
            if T > 1 {
                above = self.level::<PLAIN>(2, q, above);
            }
            if T > 2 {
                above = self.level::<PLAIN>(3, q, above);
            }
            if T > 3 {
                above = self.level::<PLAIN>(4, q, above);
            }
            self.store::<PLAIN>(&above);
        }
        self.p += 1;
        self.slot = self.slot(1);
    }

    /// Computes plane p - s of level s, where `above` is plane p - s + 1 of level s - 1, and keeps that.
    ///
    /// # Safety
    /// As [`plane`](Self::plane).
    #[inline(always)]
    unsafe fn level<const PLAIN: bool>(
        &mut self,
        s: usize,
        q: usize,
        above: [Pair; R],
    ) -> [Pair; R] {
        let [below, here] = [self.planes[s - 1][q], self.planes[s - 1][1 - q]];
        let plane = self.p.wrapping_sub(s as u32);
        // Walls stay as they are, and so does all in levels beyond the iterations.
        let is_computed =
            s as u32 <= self.task.iterations && plane.wrapping_sub(1) < self.task.n - 2;
        let kept = if is_computed { self.flags } else { u32::MAX };
        let warp = thread::thread_idx_y() as usize;
        // Where there is no warp before or after, own rows stand for its: what comes of them is wrong, and not written.
        let (before, after) = (warp.max(1), warp.min(W - 2) + 1);
        let beside = if s == 1 {
            let slot = self.slot(Self::SLOTS - 1);
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
        // SAFETY: the caller's.
        let next =
            unsafe { self.advance::<PLAIN>([&below, &here, &above], beside, kept, self.z(plane)) };
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

    /// The next values of this thread's points in plane z. `beside` are the points before and after them along y, `kept` has the [`WALL`]s.
    ///
    /// # Safety
    /// All lanes of the warp call together.
    #[inline(always)]
    unsafe fn advance<const PLAIN: bool>(
        &self,
        [below, here, above]: [&[Pair; R]; 3],
        beside: [Pair; 2],
        kept: u32,
        z: u32,
    ) -> [Pair; R] {
        let is_source_layer = Grid { n: self.task.n }.is_source_layer(z);
        let source = if is_source_layer { SOURCE } else { 0 };
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
                let is = |flags: u32, flag: u32| !PLAIN && flags & flag << (2 * r + e) != 0;
                let h2_f = if is(self.flags, source) {
                    self.task.h2_f
                } else {
                    0.0
                };
                let value = jacobi(around, h2_f);
                // A wall keeps its value.
                next[r][e] = if is(kept, WALL) { here[r][e] } else { value };
            }
        }
        next
    }

    /// Writes this thread's points of plane p - T, if the chunk has it and the tile has them right.
    ///
    /// # Safety
    /// As the kernels'.
    #[inline(always)]
    unsafe fn store<const PLAIN: bool>(&self, plane: &[Pair; R]) {
        if !PLAIN && (self.p < self.written_from || self.p > self.last) {
            return;
        }
        let first = self.first_of(self.p.wrapping_sub(T as u32));
        let target = self.task.u_next.wrapping_add(first);
        // Its first point is the one that it copies: if that is clamped, it writes none.
        let target = target.wrapping_add(self.copied[0] as usize);
        for (r, &[first, second]) in plane.iter().enumerate() {
            if self.flags & WRITTEN << r == 0 {
                continue;
            }
            let to = target.wrapping_add(r * self.task.n as usize);
            // SAFETY: the points are in the cube, and no other thread's.
            unsafe {
                if PLAIN || self.task.n.is_multiple_of(2) {
                    mem::store_vector(to, [first, second]);
                } else {
                    *to = first;
                    if self.flags & SECOND != 0 {
                        *to.add(1) = second;
                    }
                }
            }
        }
    }
}
