//! Several iterations per launch: a launch reads u and writes u_next once for T of them. 16 bytes
//! per point move in T iterations.
//!
//! A block owns a [tile](kernels_gpu::poisson::tile) of 64 points along x and W R rows along y, and
//! streams through a chunk of planes along z. When plane p arrives, level s of the iteration is at
//! plane p - s: it needs that plane and the two beside it of level s - 1.
//!
//! - A warp owns R rows of the tile, and a lane two neighbouring points of each. For each level
//!   except the last, a lane keeps two planes in registers and computes a third. The loop over
//!   planes is unrolled by three: no register is moved.
//! - Neighbours along y are in the lane's own registers, except at a warp's first and last row.
//!   Warps write these rows to shared memory when they compute them, one plane before they are
//!   needed: one barrier per plane is enough for all levels.
//! - Neighbours along x come by shuffle.
//! - Planes of u come to a ring in shared memory by asynchronous copies, ahead of their use. The
//!   ring has S slots, three or twice three: places in it are constants, except the order of the
//!   halves. Three slots fit GPUs with 99 KB of shared memory per block.
//! - Tiles without a wall and without the source run code for neither, and tiles without the source
//!   run code without it. The first and the last planes along z, and launches of fewer iterations
//!   than levels, have separate code, for all tiles.
//! - If n is odd, every other row begins at an odd element: see
//!   [`ring`](kernels_gpu::poisson::ring). The tile's last column is missing.
//!
//! Launches take the chunks upwards and downwards in turns. A launch thus begins with the planes
//! that the one before wrote last, which are in L2.
//!
//! [`poisson_fast_at_once`] takes all passes in one launch per device. Blocks store the planes at a
//! seam in the neighbour's memory too, and between passes they wait for the blocks beside them, on
//! their device and on both neighbours.

use cuda_std::hint;
use cuda_std::prelude::*;

use kernels_gpu::blocks::BlockList;
use kernels_gpu::meet::meet;
use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::ring::edge;
use kernels_gpu::poisson::tile::{
    ANY, COLUMNS, INNER, MARGIN, PLAIN, Pair, Points, ROW, SECOND, SOURCE, SOURCE_ROW, Task, WALL,
    WALLED, WRITTEN, columns, warps_beside,
};

/// Defines a kernel of T levels, R rows per warp, W warps, S slots, and a number of threads per
/// block.
macro_rules! fast {
    ($name:ident, $t:literal, $r:literal, $w:literal, $s:literal, $threads:literal) => {
        /// Computes `iterations` iterations in `planes` planes along z from `first_z` on: u to the
        /// points of u_next inside the walls (and on the walls at either end of x). See the module.
        ///
        /// `u` begins T planes before `first_z`, or with plane 0; `u_next` begins with `first_z`.
        ///
        /// Block: 32 x W. Grid: the blocks of the list `blocks`, of tiles along x and y and chunks
        /// of these planes. Tiles are `tiles` of `columns` with `MARGIN`, and those of W R rows
        /// with T (see [`tile`](kernels_gpu::poisson::tile)). Dynamic shared memory:
        /// `shared_mem_bytes` of [`ring`](kernels_gpu::poisson::ring). `descends` is 1 to take the
        /// planes from the last to the first, or 0; `h2_f` is the grid's h^2 f in the source.
        ///
        /// # Safety
        /// - n is 3 to [`Grid::MAX_N_IN_LAYERS`]; the planes are from 1 to n - 2; `iterations` is 1
        ///   to T.
        /// - `u` has the planes as far as T after those that are written, or as the last one. They
        ///   are in an allocation that is aligned to 16 bytes. If n is even, they begin at a
        ///   multiple of 16 bytes.
        /// - `u_next` points to the planes, which nothing else accesses during the launch. If n is
        ///   even, they begin at a multiple of 16 bytes.
        #[kernel(max_threads = $threads, capability = "8.0")]
        pub unsafe fn $name(
            u: &[f64],
            u_next: *mut f64,
            n: u32,
            first_z: u32,
            planes: u32,
            iterations: u32,
            descends: u32,
            h2_f: f64,
            blocks: BlockList,
        ) {
            let before = |planes: u32| (u64::from(planes * n) * u64::from(n)) as usize;
            let place = blocks.find(thread::block_idx_x());
            let [from, to] = place.planes;
            let mirrored = 2 * first_z + planes;
            let written = match descends {
                0 => [from, to],
                _ => [mirrored - to, mirrored - from],
            };
            let task = Task {
                u: u.as_ptr().wrapping_sub(before(first_z.saturating_sub($t))),
                u_next: u_next.wrapping_sub(before(first_z)),
                n,
                written,
                iterations,
                descends: descends != 0,
                h2_f,
                neighbours: [u_next; 2],
                seams: [0, u32::MAX],
            };
            // SAFETY: the caller's.
            unsafe {
                match n % 2 {
                    0 => run::<$t, $r, $w, $s, false, false>(&task, place.tile),
                    _ => run::<$t, $r, $w, $s, true, false>(&task, place.tile),
                }
            }
        }
    };
}

fast!(poisson_fast_t3_r4_w8_s3, 3, 4, 8, 3, 256);
fast!(poisson_fast_t2_r4_w8_s6, 2, 4, 8, 6, 256);
fast!(poisson_fast_t3_r4_w8_s6, 3, 4, 8, 6, 256);
fast!(poisson_fast_t3_r3_w12_s6, 3, 3, 12, 6, 384);
fast!(poisson_fast_t4_r3_w8_s6, 4, 3, 8, 6, 256);

/// T of [`poisson_fast_at_once`].
pub const LEVELS_AT_ONCE: u32 = 3;

/// Computes `iterations` iterations, one or more, in `planes` planes along z from `first_z` on,
/// together with launches on other devices that do so in the planes before and after. See the
/// module. Passes of T iterations come first, then one of the rest but one, then one of one.
///
/// `u` begins T planes before `first_z`, or with plane 0, as does `u_next`. They change places
/// after each pass. `below` and `above` are those of the neighbours, which begin with planes
/// `below_z` and `above_z`; `beside` has bit 0 if there is a neighbour below, and bit 1 if above.
///
/// `own`, `tell_below` and `tell_above` are for [`meet`](mod@kernels_gpu::meet).
///
/// Block and shared memory: as [`poisson_fast_t3_r4_w8_s6`]. Grid: tiles as there, and chunks of
/// planes; if there are several, each has T or more. All blocks run at once.
///
/// # Safety
/// - n is 3 to [`Grid::MAX_N_IN_LAYERS`]; the planes are from 1 to n - 2, T or more if there is a
///   neighbour.
/// - Fields have the planes as far as T after those that are written, or as the last one, at
///   multiples of 16 bytes. Both have the same walls. Only launches of this run access them.
/// - [`meet`]'s, for `own` and the places to tell.
#[kernel(max_threads = 256, capability = "8.0")]
pub unsafe fn poisson_fast_at_once(
    u: *mut f64,
    u_next: *mut f64,
    below: *mut f64,
    below_next: *mut f64,
    above: *mut f64,
    above_next: *mut f64,
    own: *mut u32,
    tell_below: *mut u32,
    tell_above: *mut u32,
    n: u32,
    first_z: u32,
    planes: u32,
    below_z: u32,
    above_z: u32,
    beside: u32,
    iterations: u32,
    h2_f: f64,
) {
    let plane = |z: u32| (u64::from(z * n) * u64::from(n)) as usize;
    let first = plane(first_z.saturating_sub(LEVELS_AT_ONCE));
    let halves = [[u, below, above], [u_next, below_next, above_next]];
    let mut fields = halves.map(|[own, below, above]| {
        [
            own.wrapping_sub(first),
            below.wrapping_sub(plane(below_z)),
            above.wrapping_sub(plane(above_z)),
        ]
    });
    let is_beside = [beside & 1 != 0, beside & 2 != 0];
    let end = first_z + planes;
    // Chunks differ by a plane at most.
    let chunk = |z: u32| first_z + planes * z / thread::grid_dim_z();
    let tile = [thread::block_idx_x(), thread::block_idx_y()];
    let z = thread::block_idx_z();
    let written = [chunk(z), chunk(z + 1)];
    let (mut left, mut pass) = (iterations, 0);
    loop {
        let [[u, ..], [u_next, below, above]] = fields;
        let iterations = (left.max(2) - 1).min(LEVELS_AT_ONCE);
        // After the last pass, nothing reads a halo.
        let sends = is_beside.map(|is| is && left > iterations);
        let task = Task {
            u,
            u_next,
            n,
            written,
            iterations,
            descends: pass % 2 == 1,
            h2_f,
            neighbours: [below, above],
            seams: [
                match sends[0] {
                    true => first_z + LEVELS_AT_ONCE,
                    false => 0,
                },
                match sends[1] {
                    true => end - LEVELS_AT_ONCE,
                    false => u32::MAX,
                },
            ],
        };
        // SAFETY: the caller's. A block reads planes of the blocks beside it, and writes their
        // halos. All of these have ended the pass before.
        unsafe {
            match n % 2 {
                0 => run::<{ LEVELS_AT_ONCE as usize }, 4, 8, 6, false, true>(&task, tile),
                _ => run::<{ LEVELS_AT_ONCE as usize }, 4, 8, 6, true, true>(&task, tile),
            }
            left -= iterations;
            pass += 1;
            if left == 0 {
                return;
            }
            meet(own, [tell_below, tell_above], is_beside, pass);
        }
        fields.swap(0, 1);
    }
}

/// # Safety
/// As the kernels'. n is odd if `ODD`.
#[inline(always)]
unsafe fn run<
    const T: usize,
    const R: usize,
    const W: usize,
    const S: usize,
    const ODD: bool,
    const HAS_NEIGHBOURS: bool,
>(
    task: &Task,
    tile: [u32; 2],
) {
    let mut stream = Stream::<T, R, W, S, ODD, HAS_NEIGHBOURS>::new(task, tile);
    // SAFETY: the caller's.
    unsafe {
        for after in 0..Stream::<T, R, W, S, ODD, HAS_NEIGHBOURS>::AHEAD {
            stream.fetch(S - 1, after);
        }
        stream.first_plane();
        // Each iteration takes three planes; those after the last have no effect. Each kind has its
        // own loop: registers move where kinds meet.
        while stream.p <= stream.last {
            match stream.points.tile {
                PLAIN => stream.inner_planes::<PLAIN>(),
                WALLED => stream.inner_planes::<WALLED>(),
                _ => stream.inner_planes::<INNER>(),
            }
            if stream.p <= stream.last {
                stream.planes::<ANY>();
            }
        }
    }
}

/// A block's tile and chunk of planes, as one of its threads sees it.
struct Stream<
    'a,
    const T: usize,
    const R: usize,
    const W: usize,
    const S: usize,
    const ODD: bool,
    const HAS_NEIGHBOURS: bool,
> {
    points: Points<'a, R>,
    /// The last plane of level 0.
    last: u32,
    /// Planes to write.
    written: u32,
    /// The number of [inner](INNER) planes that have two more after them.
    inner: u32,
    /// The plane of level 0.
    p: u32,
    /// The place of this lane's part of its warp's first row, in elements of shared memory. The
    /// first is in the slot of the next of three planes, the second in that of the plane three
    /// later, if the ring has six slots.
    halves: [u32; 2],
    /// The address of shared memory.
    shared: u32,
    /// The distances in bytes from its warp's first row to the row before it, and to the row after
    /// its last one.
    beside: [isize; 2],
    /// This thread's points of the last two planes of each level except the last, and room for the
    /// next one.
    planes: [[[Pair; R]; 3]; T],
}

impl<
    'a,
    const T: usize,
    const R: usize,
    const W: usize,
    const S: usize,
    const ODD: bool,
    const HAS_NEIGHBOURS: bool,
> Stream<'a, T, R, W, S, ODD, HAS_NEIGHBOURS>
{
    /// Points of a plane of the tile.
    const PLANE: usize = W * R * ROW;
    /// Planes in flight while a plane is computed. The other two slots hold that plane, and the one
    /// before, whose rows level 1 still reads.
    const AHEAD: u32 = S as u32 - 2;

    #[inline(always)]
    fn new(task: &'a Task, tile: [u32; 2]) -> Self {
        let n = task.n;
        let grid = Grid { n };
        let (rows, levels) = ((W * R) as u32, T as u32);
        let first = [
            tile[0] * (columns(n) - 2 * MARGIN),
            tile[1] * (rows - 2 * levels),
        ];
        // If any column is in the source, the one with the least x and y is.
        let has_source = grid.is_source_column(first[0], first[1]);
        let has_wall =
            first[0] == 0 || first[1] == 0 || first[0] + COLUMNS >= n || first[1] + rows >= n;
        let tile = match (has_source, has_wall) {
            (true, _) => INNER,
            (false, true) => WALLED,
            (false, false) => PLAIN,
        };

        let (in_tile_x, in_tile_y) = (
            2 * thread::thread_idx_x(),
            thread::thread_idx_y() * R as u32,
        );
        let [x, y] = [first[0] + in_tile_x, first[1] + in_tile_y];
        // The first and the last tile have no margin where the walls are.
        let is_right = |i: u32, extent: u32, margin: u32, first: u32| {
            (i >= margin || first == 0) && (i < extent - margin || first + extent >= n)
        };
        let is_written_x =
            |e: u32| x + e < n && is_right(in_tile_x + e, columns(n), MARGIN, first[0]);
        let [before, after] = warps_beside::<W>();
        let row = |row: usize| (row as isize - in_tile_y as isize) * 8 * ROW as isize;
        let mut flags = u32::from(is_written_x(1)) * SECOND;
        let mut copied = [0; R];
        // Points beyond the cube read its last points. If n is odd, copies may begin one point
        // early, and the first and the last point of a plane lack the one beside them in memory:
        // these two are at edges of the cube, and have another's value, without effect.
        let copied_x = |y: u32| x.min(if ODD && y < n - 1 { n } else { n - 2 });
        for r in 0..R as u32 {
            let row = in_tile_y + r;
            let is_written =
                (y + r).wrapping_sub(1) < n - 2 && is_right(row, rows, levels, first[1]);
            flags |= (u32::from(is_written && is_written_x(0)) * WRITTEN) << r;
            copied[r as usize] = (y + r).min(n - 1) * n + copied_x(y + r);
            for e in 0..2 {
                flags |= (u32::from(grid.is_wall(x + e, y + r, 1)) * WALL) << (2 * r + e);
            }
            flags |= (u32::from(grid.is_source_column(first[0], y + r)) * SOURCE_ROW) << r;
        }
        for e in 0..2 {
            flags |= (u32::from(grid.is_source_column(x + e, 0)) * SOURCE) << e;
        }

        let own = in_tile_y * COLUMNS + in_tile_x;
        let [begin, end] = match task.descends {
            false => task.written,
            true => [n - task.written[1], n - task.written[0]],
        };
        let last = end - 1 + levels;
        let p = begin.saturating_sub(levels);
        // Inner planes are T + 1, when level T has plane 1, to n - 1, when level 1 has plane n - 2.
        let inner = match task.iterations == levels {
            true => n.saturating_sub(levels + 3),
            false => 0,
        };
        Stream {
            last,
            written: end - begin,
            inner,
            p,
            halves: [own, own + 3 * Self::PLANE as u32],
            // SAFETY: it is the beginning of shared memory.
            shared: unsafe { shared::address(shared::dynamic_shared_mem::<f64>()) },
            beside: [row(before * R + R - 1), row(after * R)],
            points: Points {
                task,
                flags,
                tile,
                copied,
                shift: task.element().wrapping_add(x + y) & 1,
            },
            planes: [[[[0.0; 2]; R]; 3]; T],
        }
    }

    /// The place of this lane's part of its warp's first row, in elements of shared memory. The
    /// slot is that of the plane that is `q` after the next of three; `q` counts modulo S.
    #[inline(always)]
    fn in_ring(&self, q: usize) -> u32 {
        let q = q % S;
        self.halves[q / 3] + (q % 3 * Self::PLANE) as u32
    }

    /// Starts the copies of plane p + `after`. After the last plane it copies the last one again,
    /// without effect.
    ///
    /// # Safety
    /// No thread reads the plane's place in the ring any more.
    #[inline(always)]
    unsafe fn fetch(&mut self, q: usize, after: u32) {
        let n = self.points.task.n;
        let plane = (self.p + after).min(self.last.min(n - 1));
        let source = self.points.task.u.wrapping_add(self.points.first_of(plane));
        // That of the element of memory where the plane begins: n * n is odd, if n is.
        let parity = self
            .points
            .task
            .element()
            .wrapping_add(self.points.z(plane));
        let to = self.shared + 8 * self.in_ring(q + after as usize);
        for (r, &from) in self.points.copied.iter().enumerate() {
            let to = to + 8 * (r * ROW) as u32;
            let from = hint::opaque(from);
            let early = match ODD {
                true => parity.wrapping_add(from) & 1,
                false => 0,
            };
            let from = source.wrapping_add(from.abs_diff(early) as usize);
            // SAFETY: the points are in the plane, which is in u; the caller's.
            unsafe { async_copy::copy_16_to(to, from) };
        }
        async_copy::commit();
    }

    /// Waits for plane p, makes room, and returns this thread's points of plane p.
    ///
    /// # Safety
    /// All threads of the block call together.
    #[inline(always)]
    unsafe fn arrive(&mut self, q: usize) -> [Pair; R] {
        let own = shared::dynamic_shared_mem::<f64>().wrapping_add(self.in_ring(q) as usize);
        let mut plane = [[0.0; 2]; R];
        // SAFETY: a slot is copied to after the barrier that follows its last use, and read after
        // the one that follows the copies' arrival.
        unsafe {
            // Waits for all planes except the `AHEAD` - 1 after this one.
            match S {
                3 => async_copy::wait::<0>(),
                _ => async_copy::wait::<3>(),
            }
            thread::sync_threads();
            self.fetch(q, Self::AHEAD);
            for (r, pair) in plane.iter_mut().enumerate() {
                *pair = self
                    .points
                    .load::<ODD>(own.wrapping_add(r * ROW), self.p, r);
            }
        }
        plane
    }

    /// Begins with the first plane of level 0. The planes of the other levels may hold any value,
    /// because they are not needed.
    ///
    /// # Safety
    /// All threads of the block call together.
    #[inline(always)]
    unsafe fn first_plane(&mut self) {
        // SAFETY: the caller's; the places are this lane's.
        unsafe {
            self.planes[0][2] = self.arrive(S - 1);
            let warp = thread::thread_idx_y() as usize;
            for s in 1..T {
                mem::store_vector(edge::<R, W, S>(s, 2, 2 * warp), [0.0; 2]);
                mem::store_vector(edge::<R, W, S>(s, 2, 2 * warp + 1), [0.0; 2]);
            }
        }
        self.p += 1;
    }

    /// Advances every level while three inner planes follow, and the first is needed.
    ///
    /// # Safety
    /// All threads of the block call together; the tile's planes are of `PLANES`.
    #[inline(always)]
    unsafe fn inner_planes<const PLANES: u32>(&mut self) {
        while self.p.wrapping_sub(T as u32 + 1) < self.inner && self.p <= self.last {
            // SAFETY: the caller's.
            unsafe { self.planes::<PLANES>() }
        }
    }

    /// Advances every level by three planes.
    ///
    /// # Safety
    /// All threads of the block call together; the planes are of `PLANES`.
    #[inline(always)]
    unsafe fn planes<const PLANES: u32>(&mut self) {
        // SAFETY: the caller's.
        unsafe {
            self.plane::<PLANES>(0);
            self.plane::<PLANES>(1);
            self.plane::<PLANES>(2);
        }
        if S > 3 {
            self.halves.swap(0, 1);
        }
    }

    /// Advances every level by a plane, which has number `q` of three.
    ///
    /// # Safety
    /// All threads of the block call together; the plane is one of `PLANES`.
    #[inline(always)]
    unsafe fn plane<const PLANES: u32>(&mut self, q: usize) {
        // SAFETY: the caller's.
        unsafe {
            let mut above = self.arrive(q);
            above = self.level::<PLANES>(1, q, above);
            if T > 1 {
                above = self.level::<PLANES>(2, q, above);
            }
            if T > 2 {
                above = self.level::<PLANES>(3, q, above);
            }
            if T > 3 {
                above = self.level::<PLANES>(4, q, above);
            }
            self.store(&above);
        }
        self.p += 1;
    }

    /// Computes plane p - s of level s, and keeps `above`, which is plane p - s + 1 of level s - 1.
    ///
    /// # Safety
    /// As [`plane`](Self::plane).
    #[inline(always)]
    unsafe fn level<const PLANES: u32>(
        &mut self,
        s: usize,
        q: usize,
        above: [Pair; R],
    ) -> [Pair; R] {
        let last = (q + 2) % 3;
        let [below, here] = [self.planes[s - 1][(q + 1) % 3], self.planes[s - 1][last]];
        let plane = self.p.wrapping_sub(s as u32);
        // Walls keep their values, and so do all points in levels beyond the iterations.
        let is_computed = PLANES != ANY
            || s as u32 <= self.points.task.iterations
                && plane.wrapping_sub(1) < self.points.task.n - 2;
        let kept = if is_computed {
            self.points.flags
        } else {
            u32::MAX
        };
        // SAFETY: these rows were written before the last barrier.
        let beside = unsafe {
            if s == 1 {
                let own = self.in_ring(q + S - 1) as usize;
                let own = shared::dynamic_shared_mem::<f64>().wrapping_add(own);
                let [before, after] = self.beside.map(|to| own.wrapping_byte_offset(to));
                // The row before has the parity of the one after this warp's first.
                [
                    self.points.load::<ODD>(before, plane, 1),
                    self.points.load::<ODD>(after, plane, R),
                ]
            } else {
                let [before, after] = warps_beside::<W>();
                [
                    mem::load_vector(edge::<R, W, S>(s - 1, last, 2 * before + 1)),
                    mem::load_vector(edge::<R, W, S>(s - 1, last, 2 * after)),
                ]
            }
        };
        // SAFETY: the caller's.
        let next = unsafe {
            let z = self.points.z(plane);
            self.points
                .advance::<PLANES>([&below, &here, &above], beside, kept, z)
        };
        self.planes[s - 1][q] = above;
        if s < T {
            let warp = thread::thread_idx_y() as usize;
            // SAFETY: nothing reads this set before the next barrier, and the places are this
            // lane's.
            unsafe {
                mem::store_vector(edge::<R, W, S>(s, q, 2 * warp), next[0]);
                mem::store_vector(edge::<R, W, S>(s, q, 2 * warp + 1), next[R - 1]);
            }
        }
        next
    }

    /// Writes this thread's points of plane p - T, if the plane is in the chunk and the points are
    /// right.
    ///
    /// # Safety
    /// As the kernels'.
    #[inline(always)]
    unsafe fn store(&self, plane: &[Pair; R]) {
        // The chunk's last plane is written with plane `last`.
        let is_written = self.last.wrapping_sub(self.p) < self.written;
        let flags = if is_written { self.points.flags } else { 0 };
        let at = self.p.wrapping_sub(T as u32);
        // `opaque` makes the values be computed before the branches below, not in them.
        let plane = plane.map(|pair| pair.map(hint::opaque));
        // SAFETY: the caller's.
        unsafe {
            self.points
                .store::<ODD>(self.points.task.u_next, flags, at, &plane);
            if HAS_NEIGHBOURS {
                let (z, [low, high]) = (self.points.z(at), self.points.task.seams);
                // Slabs of fewer than 2 T planes have some that are halo of both neighbours.
                let [below, above] = self.points.task.neighbours;
                if z < low {
                    self.points.store::<ODD>(below, flags, at, &plane);
                }
                if z >= high {
                    self.points.store::<ODD>(above, flags, at, &plane);
                }
            }
        }
    }
}
