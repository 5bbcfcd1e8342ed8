//! Two timesteps per pass, on tiles that stream along x: each field is read and written once in
//! two timesteps.
//!
//! When plane x of u arrives, the first timestep computes plane x - 4, and the second plane x - 8.
//! A thread has four neighbouring points along z. Their neighbours along y and z are in shared
//! memory: u comes there by asynchronous copies, some planes ahead of their use, and the first
//! timestep's planes by stores. One barrier per plane serves both timesteps.
//!
//! Neighbours along x are values that the thread itself has had before: registers keep them. v and
//! vp of its points come to shared memory as u does, and vp stays there for the second timestep.
//!
//! The second timestep needs the first one at four points around the tile, which the block computes
//! too. Each of these points is some other block's own, so the results go to other arrays. Device
//! memory bounds the kernel. What neighbouring tiles both read comes from it once if their blocks
//! are near each other in time, as those of a cluster are.
//!
//! A launch advances the points of a box. Kernels are of two kinds. Those for points deep inside
//! have no code for the shell, the source or the grid's ends, and nine planes follow each other in
//! their loop: with each, values move on by a place of the column, which costs nothing there. The
//! others can advance any points.
//!
//! Beyond the points, all values are 0. They are not copied: their places in shared memory are set
//! to 0 at the start.
//!
//! A thread with points in the shell runs further code for it, with eta in shared memory as well.
//! eta comes only for the tiles and planes that touch the shell. phi between the timesteps is in
//! the array for its result: the thread that wrote it reads it, four planes later.

use cuda_std::prelude::*;

use kernels_gpu::stencil25::boxes::{reaches, tiles};
use kernels_gpu::stencil25::four::{COLUMN, Column, POINTS, Points, load, load_if};
use kernels_gpu::stencil25::ring::{Copies, Ring};
use kernels_gpu::stencil25::{Grid, RADIUS, Region, Task};

const HALO: usize = RADIUS as usize;
/// The largest number of copies of 16 bytes that a thread makes for a plane.
const COPIES: usize = 2;

/// A kernel for tiles of one shape.
#[derive(Debug, Clone, Copy)]
pub struct Instance {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Points of a tile along y and z.
    pub tile: [u32; 2],
    /// Planes that copies are ahead of their use.
    pub ahead: u32,
    /// Whether the kernel is for any points. Otherwise it is for those deep inside.
    pub has_shell: bool,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks of a multiprocessor at once, where shared memory is that of compute capability 9.0.
    pub blocks: u32,
    /// Shared memory of a block.
    pub shared_mem_bytes: u32,
}

/// The arrays of a launch.
#[derive(Clone, Copy)]
struct Arrays {
    u: *const f32,
    v: *const f32,
    vp: *const f32,
    eta: *const f32,
    phi: *const f32,
    first: *mut f32,
    second: *mut f32,
    next_phi: *mut f32,
}

/// Waits for all groups of copies except the latest `AHEAD` - 1.
#[inline(always)]
fn wait<const AHEAD: usize>() {
    match AHEAD {
        1 => async_copy::wait::<0>(),
        _ => async_copy::wait::<1>(),
    }
}

/// A thread of a block that takes a tile of `Y` x `Z` points through the planes from `start` to
/// `end`, and through those around that it needs. Copies are `AHEAD` planes ahead of their use. In
/// shared memory are rings of planes; a plane has the tile and the values around it. Without
/// `SHELL`, see `deep`.
struct Stream<'a, const Y: usize, const Z: usize, const AHEAD: usize, const SHELL: bool> {
    arrays: Arrays,
    task: &'a Task,
    values: [f32; 2],
    is_two: bool,
    start: u32,
    end: u32,
    /// The first plane that the block does not need, and those that the first timestep computes.
    x_end: u32,
    firsts_from: u32,
    firsts_to: u32,
    /// This thread's points: their position, and element in a plane.
    y: u32,
    z: u32,
    in_plane: u32,
    /// Whether the points belong to the first timestep, and whether they are the block's own.
    has_first: bool,
    has_own: bool,
    /// Whether they are in rows inside the shell, and whether some of the tile are not.
    is_inside: bool,
    has_sides: bool,
    /// This thread's copies: those of u, those of eta, and those of eta for planes inside the
    /// shell.
    of_u: Copies<COPIES>,
    of_eta: Copies<COPIES>,
    of_sides: Copies<COPIES>,
    /// The points' places in the rings' first planes.
    u_own: *mut f32,
    first_own: *mut f32,
    v_own: *mut f32,
    vp_own: *mut f32,
    eta_own: *mut f32,
    /// The newest plane, and its place in each ring.
    x: u32,
    u_place: u32,
    first_place: u32,
    v_place: u32,
    vp_place: u32,
    eta_place: u32,
    /// Values along x of the two timesteps.
    column: Column,
    firsts: Column,
}

impl<'a, const Y: usize, const Z: usize, const AHEAD: usize, const SHELL: bool>
    Stream<'a, Y, Z, AHEAD, SHELL>
{
    /// From the plane whose neighbours are needed to the newest, and those in flight.
    const U: Ring = Ring {
        planes: HALO + 1 + AHEAD,
        rows: Y + 4 * HALO,
        row: Z + 4 * HALO,
    };
    /// Planes of the first timestep: from the one whose neighbours are needed to the newest.
    const FIRST: Ring = Ring {
        planes: HALO + 1,
        rows: Y + 2 * HALO,
        row: Z + 2 * HALO,
    };
    /// The plane of the first timestep, and those in flight.
    const V: Ring = Ring {
        planes: 1 + AHEAD,
        ..Self::FIRST
    };
    /// From the plane of the second timestep to that of the first, and those in flight.
    const VP: Ring = Ring {
        planes: HALO + 1 + AHEAD,
        ..Self::FIRST
    };
    /// From the plane behind that of the second timestep to the one ahead of that of the first, and
    /// those in flight.
    const ETA: Ring = Ring {
        planes: HALO + 3 + AHEAD,
        rows: Self::FIRST.rows + 2,
        row: Self::U.row,
    };
    /// Groups of four points of a row of the first timestep.
    const FOURS: usize = Self::FIRST.row / POINTS;
    const THREADS: usize = (Self::FIRST.rows * Self::FOURS).next_multiple_of(32);

    /// Where the rings begin in shared memory: those of u, the first timestep, v, vp and eta. Then
    /// where they end.
    const RINGS: [usize; 6] = {
        let firsts = Self::U.values();
        let v = firsts + Self::FIRST.values();
        let vp = v + Self::V.values();
        let eta = vp + Self::VP.values();
        [0, firsts, v, vp, eta, eta + Self::ETA.values()]
    };

    const SHARED_MEM_BYTES: usize = 4 * Self::RINGS[if SHELL { 5 } else { 4 }];

    const FITS: () = assert!(
        Z.is_multiple_of(POINTS)
            && (AHEAD == 1 || AHEAD == 2)
            && Self::U.plane() / POINTS <= COPIES * Self::THREADS
            && Self::ETA.plane() / POINTS <= COPIES * Self::THREADS
    );

    /// The thread before its first plane.
    #[inline(always)]
    fn new(
        arrays: Arrays,
        task: &'a Task,
        area: &Region,
        values: [f32; 2],
        steps: u32,
        tile: [u32; 2],
        [start, end]: [u32; 2],
    ) -> Self {
        const { Self::FITS };
        let Task { grid, region, .. } = *task;
        let [low, high] = [region.low, region.high];
        let [n_y, n_z] = [grid.n_y, grid.n_z].map(|n| n as i32);
        let halo = HALO as i32;
        let tile = tile.map(|at| at as i32);
        // Threads beyond the last are where it is, in a corner: they only copy.
        let last = Self::FIRST.rows * Self::FOURS - 1;
        let number = (thread::thread_idx_x() as usize).min(last);
        let (row, four) = (number / Self::FOURS, number % Self::FOURS);
        let y = tile[0] + row as i32 - halo;
        let z = tile[1] + (four * POINTS) as i32 - halo;
        let is_middle_row = row.wrapping_sub(HALO) < Y;
        let is_middle_four = (four * POINTS).wrapping_sub(HALO) < Z;
        let is_own =
            is_middle_row && is_middle_four && y < area.high[1] as i32 && z < area.high[2] as i32;
        let are_points = (0..n_y).contains(&y) && (0..n_z).contains(&z);
        let is_two = !SHELL || steps == 2;
        let has_first = are_points && (is_own || is_two && (is_middle_row || is_middle_four));
        let in_plane = grid.in_plane(y, z);
        let (y, z) = (y as u32, z as u32);
        let is_inside =
            z >= low[2] && z + POINTS as u32 <= high[2] && y >= low[1] && y < high[1] && has_first;

        let around = [tile[0] - 2 * halo, tile[1] - 2 * halo];
        let of_u = Copies::new(Self::U, Self::THREADS, grid, around, |y, z| {
            (0..n_y).contains(&y) && (0..n_z).contains(&z)
        });
        let around = [tile[0] - halo - 1, tile[1] - 2 * halo];
        let is_near = |y: i32, z: i32| (-1..=n_y).contains(&y) && z >= -halo && z < n_z + halo;
        let of_eta = Copies::new(Self::ETA, Self::THREADS, grid, around, is_near);
        // Where a plane is not in the shell, only the values at these points and next to them.
        let lows = low.map(|at| at as i32);
        let highs = high.map(|at| at as i32);
        let of_sides = Copies::new(Self::ETA, Self::THREADS, grid, around, |y, z| {
            let is_inner = y > lows[1]
                && y + 1 < highs[1]
                && z >= lows[2] + POINTS as i32
                && z + 2 * POINTS as i32 <= highs[2];
            is_near(y, z) && !is_inner
        });
        let has_sides = tile[0] < lows[1] + halo
            || tile[0] + Y as i32 + halo > highs[1]
            || tile[1] < lows[2] + halo
            || tile[1] + Z as i32 + halo > highs[2];

        let firsts_around = if is_two { RADIUS } else { 0 };
        let shared = shared::dynamic_shared_mem::<f32>();
        let [u, firsts, v, vp, eta, _] = Self::RINGS.map(|ring| shared.wrapping_add(ring));
        let in_first = row * Self::FIRST.row + four * POINTS;
        Stream {
            arrays,
            task,
            values,
            is_two,
            start,
            end,
            x_end: end + if is_two { 2 * RADIUS } else { RADIUS },
            firsts_from: start.saturating_sub(firsts_around),
            firsts_to: (end + firsts_around).min(grid.n_x),
            y,
            z,
            in_plane,
            has_first,
            has_own: are_points && is_own,
            is_inside,
            has_sides,
            of_u,
            of_eta,
            of_sides,
            u_own: u.wrapping_add((row + HALO) * Self::U.row + (four + 1) * POINTS),
            first_own: firsts.wrapping_add(in_first),
            v_own: v.wrapping_add(in_first),
            vp_own: vp.wrapping_add(in_first),
            eta_own: eta.wrapping_add((row + 1) * Self::ETA.row + (four + 1) * POINTS),
            x: start.saturating_sub(2 * RADIUS),
            u_place: 0,
            first_place: 0,
            v_place: 0,
            vp_place: 0,
            eta_place: 0,
            column: [[0.0; POINTS]; COLUMN],
            firsts: [[0.0; POINTS]; COLUMN],
        }
    }

    /// Starts the copies of plane x of u, of plane x - 3 of eta, and of this thread's points in
    /// plane x - 4 of v and vp. `places` are in the rings of u, v, vp and eta.
    ///
    /// # Safety
    /// No thread accesses these places.
    #[inline(always)]
    unsafe fn fetch(&self, x: u32, places: [u32; 4]) {
        let Task { grid, region, .. } = *self.task;
        let [u_place, v_place, vp_place, eta_place] = places.map(|place| place as usize);
        let stride = grid.stride_x() as usize;
        let shared = shared::dynamic_shared_mem::<f32>();
        // SAFETY: the caller's; the planes exist.
        unsafe {
            if !SHELL || x < grid.n_x {
                let u = self.arrays.u.wrapping_add((x + RADIUS) as usize * stride);
                self.of_u
                    .start(shared.wrapping_add(u_place), u, Self::THREADS);
            }
            if self.is_first(x.wrapping_sub(RADIUS)) {
                let element = self.element(x);
                async_copy::copy_16_at(self.v_own.add(v_place), self.arrays.v, element);
                async_copy::copy_16_at(self.vp_own.add(vp_place), self.arrays.vp, element);
            }
            if !SHELL {
                return;
            }
            // Planes count from the halo's first.
            let number = x + RADIUS - 3;
            if number + 1 >= RADIUS && number <= grid.n_x + RADIUS {
                let is_end =
                    number <= region.low[0] + RADIUS || number + 1 >= region.high[0] + RADIUS;
                let eta = self.arrays.eta.wrapping_add(number as usize * stride);
                let to = shared.wrapping_add(Self::RINGS[4] + eta_place);
                // Not one call with chosen copies: these would be in local memory.
                if is_end {
                    self.of_eta.start(to, eta, Self::THREADS);
                } else if self.has_sides {
                    self.of_sides.start(to, eta, Self::THREADS);
                }
            }
        }
    }

    /// Goes through all planes.
    ///
    /// # Safety
    /// As the kernels; no other block has these points. All threads of the block call it.
    #[inline(always)]
    unsafe fn run(mut self) {
        // SAFETY: the caller's. The places are this block's, and no copies are under way.
        unsafe {
            let shared = shared::dynamic_shared_mem::<f32>();
            // Places that are never copied to are 0.
            let mut at = POINTS * thread::thread_idx_x() as usize;
            while at < Self::RINGS[4] {
                mem::store_vector(shared.add(at), [0.0_f32; POINTS]);
                at += POINTS * Self::THREADS;
            }
            thread::sync_threads();
            for ahead in 0..AHEAD {
                let rings = [Self::U, Self::V, Self::VP, Self::ETA];
                let places = rings.map(|ring| (ahead * ring.plane()) as u32);
                self.fetch(self.x + ahead as u32, places);
                async_copy::commit();
            }
            if SHELL {
                while self.plane() {}
            } else {
                while self.plane()
                    && self.plane()
                    && self.plane()
                    && self.plane()
                    && self.plane()
                    && self.plane()
                    && self.plane()
                    && self.plane()
                    && self.plane()
                {}
            }
        }
    }

    /// Whether the first timestep computes this thread's points of plane `p`.
    #[inline(always)]
    fn is_first(&self, p: u32) -> bool {
        self.has_first && p.wrapping_sub(self.firsts_from) < self.firsts_to - self.firsts_from
    }

    /// This thread's first element of plane x - 4.
    #[inline(always)]
    fn element(&self, x: u32) -> u32 {
        (x * self.task.grid.stride_x()).wrapping_add(self.in_plane)
    }

    /// Whether plane x has points in the shell among the thread's.
    #[inline(always)]
    fn has_shell(&self, x: u32) -> bool {
        let Region { low, high } = self.task.region;
        SHELL && !(self.is_inside && x.wrapping_sub(low[0]) < high[0] - low[0])
    }

    /// The places of eta for plane x - 3 - `planes` and those around it.
    #[inline(always)]
    fn etas(&self, planes: usize) -> [*const f32; 3] {
        [planes + 1, planes, planes - 1].map(|planes| {
            let place = Self::ETA.before(self.eta_place, planes);
            self.eta_own.wrapping_add(place as usize).cast_const()
        })
    }

    /// Takes plane x into the columns, and computes a plane of each timestep. Returns whether
    /// another plane follows.
    ///
    /// # Safety
    /// As `run`, which has started the copies of the first planes.
    #[inline(always)]
    unsafe fn plane(&mut self) -> bool {
        let Arrays {
            phi,
            first,
            second,
            next_phi,
            ..
        } = self.arrays;
        let Grid { n_x, .. } = self.task.grid;
        let zero = [0.0; POINTS];
        // The planes of the two timesteps, and this thread's elements of them.
        let (p, q) = (self.x.wrapping_sub(RADIUS), self.x.wrapping_sub(2 * RADIUS));
        let element = self.element(self.x);
        let second_element = self.element(self.x.wrapping_sub(RADIUS));
        let planes = self.end - self.start;
        let is_first = self.is_first(p);
        let is_written = self.has_own && p.wrapping_sub(self.start) < planes;
        let is_second = self.has_own && self.is_two && q.wrapping_sub(self.start) < planes;
        let [first_shell, second_shell] = [p, q].map(|plane| self.has_shell(plane));
        // SAFETY: this holds for the whole block: the shared memory has the rings. Planes come to
        // places that no thread reads any more: the barrier separates the last reads from the
        // copies. A thread reads only its own elements of v, phi and next_phi, its own places of
        // vp's ring, and writes its own elements.
        unsafe {
            let mut new_phi = load_if(is_first && first_shell, phi, element);
            let mut last_phi = load_if(is_second && second_shell, next_phi, second_element);
            wait::<AHEAD>();
            thread::sync_threads();
            if self.x + (AHEAD as u32) < self.x_end {
                let free = [
                    Self::U.before(self.u_place, HALO + 1),
                    Self::V.before(self.v_place, 1),
                    Self::VP.before(self.vp_place, HALO + 1),
                    Self::ETA.before(self.eta_place, Self::ETA.planes - AHEAD),
                ];
                self.fetch(self.x + AHEAD as u32, free);
            }
            async_copy::commit();

            for r in 0..COLUMN - 1 {
                (self.column[r], self.firsts[r]) = (self.column[r + 1], self.firsts[r + 1]);
            }
            // Chosen by value, as the copies of eta.
            let newest = load(self.u_own.add(self.u_place as usize));
            let has_u = !SHELL || self.x < n_x;
            self.column[COLUMN - 1] = if has_u { newest } else { zero };
            let mut next = zero;
            if !SHELL || is_first {
                let points = Points {
                    task: self.task,
                    position: [p, self.y, self.z],
                    element,
                    value: self.values[0],
                    v: load(self.v_own.add(self.v_place as usize)),
                    vp: load(self.vp_own.add(self.vp_place as usize)),
                    has_shell: first_shell,
                };
                let here = self.u_own.add(Self::U.before(self.u_place, HALO) as usize);
                let etas = (|| self.etas(1), Self::ETA.row);
                next = points.next::<SHELL>(&self.column, (here, Self::U.row), etas, &mut new_phi);
                if is_written {
                    mem::store_vector(first.add(element as usize), next);
                    if first_shell {
                        mem::store_vector(next_phi.add(element as usize), new_phi);
                    }
                }
            }
            if self.has_first {
                mem::store_vector(self.first_own.add(self.first_place as usize), next);
            }
            self.firsts[COLUMN - 1] = next;
            if is_second {
                let place = Self::FIRST.before(self.first_place, HALO);
                let here = self.first_own.add(place as usize).cast_const();
                let vp_place = Self::VP.before(self.vp_place, HALO);
                let points = Points {
                    task: self.task,
                    position: [q, self.y, self.z],
                    element: second_element,
                    value: self.values[1],
                    v: self.column[0],
                    vp: load(self.vp_own.add(vp_place as usize)),
                    has_shell: second_shell,
                };
                let etas = (|| self.etas(5), Self::ETA.row);
                let next = points.next::<SHELL>(
                    &self.firsts,
                    (here, Self::FIRST.row),
                    etas,
                    &mut last_phi,
                );
                mem::store_vector(second.add(second_element as usize), next);
                if second_shell {
                    mem::store_vector(next_phi.add(second_element as usize), last_phi);
                }
            }
        }
        self.u_place = Self::U.next(self.u_place);
        self.first_place = Self::FIRST.next(self.first_place);
        self.v_place = Self::V.next(self.v_place);
        self.vp_place = Self::VP.next(self.vp_place);
        self.eta_place = Self::ETA.next(self.eta_place);
        self.x += 1;
        self.x < self.x_end
    }
}

/// The kernels, by their tiles and the planes that copies are ahead.
macro_rules! instances {
    ($($name:ident: $y:literal x $z:literal, ahead $ahead:literal, shell $shell:literal, $threads:literal x $blocks:literal;)*) => {
        /// The kernels.
        pub const INSTANCES: &[Instance] = &[$(Instance {
            kernel: stringify!($name),
            tile: [$y, $z],
            ahead: $ahead,
            has_shell: $shell,
            threads: $threads,
            blocks: $blocks,
            shared_mem_bytes: Stream::<$y, $z, $ahead, $shell>::SHARED_MEM_BYTES as u32,
        }),*];

        $(
        const _: () = assert!(Stream::<$y, $z, $ahead, $shell>::THREADS == $threads);

        /// Advances the points of `area` by `steps` timesteps, 1 or 2, from the fields `u`, `v` and
        /// `phi`.
        ///
        /// The values after one timestep go to `first`, those after two to `second`, and phi after
        /// all of them to `next_phi`. With one timestep, `first` may be `v`, and `next_phi` may be
        /// `phi`. The source's values at these timesteps are `value_1` and `value_2`. The points
        /// inside the shell are `task.region`.
        ///
        /// Block and grid: see [`Instance`] and [`tiles`]. `group` blocks, which may be a cluster,
        /// take as many tiles along y. Each group of tiles has `chunks` groups of blocks, which
        /// share its planes.
        ///
        /// # Safety
        /// - The arrays have the values of `task.grid`, whose rows are aligned to 16 bytes. The
        ///   values of `first`, `second` and `next_phi` may be undefined.
        /// - Along z, `area` begins at a multiple of four. It ends at one or with the grid.
        /// - Without a shell, `steps` is 2, and `area` is in `deep`. Tiles that the source
        ///   [`reaches`] are left out.
        /// - Nothing else accesses the elements of `first`, `second` and `next_phi` in `area`
        ///   during the launch. With two timesteps, they are not arrays that are read.
        #[kernel(max_threads = $threads, min_blocks = $blocks, capability = "8.0")]
        pub unsafe fn $name(
            u: &[f32],
            v: *const f32,
            vp: &[f32],
            eta: &[f32],
            phi: *const f32,
            first: *mut f32,
            second: *mut f32,
            next_phi: *mut f32,
            task: Task,
            area: Region,
            value_1: f32,
            value_2: f32,
            steps: u32,
            group: u32,
            chunks: u32,
        ) {
            let (u, vp, eta) = (u.as_ptr(), vp.as_ptr(), eta.as_ptr());
            let arrays = Arrays { u, v, vp, eta, phi, first, second, next_phi };
            let [block, rank] = [thread::block_idx_x() / group, thread::block_idx_x() % group];
            let [number, chunk] = [block / chunks, block % chunks];
            let [_, along_z] = tiles(area, [$y, $z]);
            let y = area.low[1] + (number / along_z * group + rank) * $y;
            let z = area.low[2] + number % along_z * $z;
            let planes = (area.high[0] - area.low[0]).div_ceil(chunks);
            let start = area.low[0] + chunk * planes;
            let end = (start + planes).min(area.high[0]);
            if y >= area.high[1] || start >= end || !$shell && reaches(&task, [y, z], [$y, $z]) {
                return;
            }
            // SAFETY: the caller's. Each point is in one block's tile and planes.
            unsafe {
                Stream::<$y, $z, $ahead, $shell>::new(
                    arrays, &task, &area, [value_1, value_2], steps, [y, z], [start, end],
                ).run();
            }
        }
    )*};
}

instances! {
    stencil25_two_steps_any_y8_z32: 8 x 32, ahead 1, shell true, 160 x 2;
    stencil25_two_steps_any_y24_z40: 24 x 40, ahead 2, shell true, 384 x 1;
    stencil25_two_steps_any_y40_z24: 40 x 24, ahead 2, shell true, 384 x 1;
    stencil25_two_steps_y8_z32_a1: 8 x 32, ahead 1, shell false, 160 x 2;
    stencil25_two_steps_y24_z40_a2: 24 x 40, ahead 2, shell false, 384 x 1;
    stencil25_two_steps_y24_z56_a2: 24 x 56, ahead 2, shell false, 512 x 1;
    stencil25_two_steps_y20_z64_a2: 20 x 64, ahead 2, shell false, 512 x 1;
}
