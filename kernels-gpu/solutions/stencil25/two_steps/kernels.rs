//! Two timesteps per launch, on tiles that stream along x: each field is read and written once in
//! two timesteps.
//!
//! When plane x of u arrives, the first timestep computes plane x - 4, and the second plane x - 8.
//! A thread has four neighbouring points along z. Their neighbours along y and z are in shared
//! memory: u comes there by asynchronous copies, some planes ahead of their use, and the first
//! timestep's planes by stores. One barrier per plane serves both timesteps.
//!
//! Neighbours along x are values that the thread itself has had before. Registers keep those behind
//! the point, and those ahead of it if there are enough registers.
//!
//! The second timestep needs the first one at four points around the tile, which the block computes
//! too. Each of these points is some other block's own, so the results go to other arrays.
//!
//! Beyond the points, all values are 0. They are not copied: their places in shared memory are set
//! to 0 at the start.
//!
//! A thread with points in the shell runs further code for it, with eta in shared memory as well.
//! eta comes only for the tiles and planes that touch the shell. phi between the timesteps is in
//! the array for its result: the thread that wrote it reads it, four planes later.

use cuda_std::prelude::*;

use kernels_gpu::stencil25::update::{self, Pairs};
use kernels_gpu::stencil25::{Grid, RADIUS, Task};

/// Points of a thread, neighbours along z: one access moves them.
pub const POINTS: usize = 4;

const HALO: usize = RADIUS as usize;
/// Values along x that a timestep of a point needs.
const COLUMN: usize = 2 * HALO + 1;
/// The largest number of copies of 16 bytes that a thread makes for a plane.
const COPIES: usize = 2;
/// A copy that a thread does not make.
const NONE: u32 = u32::MAX;

type Four = [f32; POINTS];
type Column = [Four; COLUMN];

/// A tile of `Y` x `Z` points, whose copies are `AHEAD` planes ahead of their use. In shared memory
/// are rings of planes. A plane has the tile and the values around it.
struct Tile<const Y: usize, const Z: usize, const AHEAD: usize>;

/// A ring of planes in shared memory.
#[derive(Clone, Copy)]
struct Ring {
    planes: usize,
    rows: usize,
    /// Values of a row.
    row: usize,
}

impl Ring {
    const fn plane(self) -> usize {
        self.rows * self.row
    }

    const fn len(self) -> usize {
        self.planes * self.plane()
    }

    /// The place of the plane that is `planes` before the one at `place`.
    #[inline(always)]
    const fn before(self, place: u32, planes: usize) -> u32 {
        let back = (planes * self.plane()) as u32;
        if place >= back {
            place - back
        } else {
            place + self.len() as u32 - back
        }
    }

    /// The place of the next plane.
    #[inline(always)]
    const fn next(self, place: u32) -> u32 {
        self.before(place, self.planes - 1)
    }
}

impl<const Y: usize, const Z: usize, const AHEAD: usize> Tile<Y, Z, AHEAD> {
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
    const SHARED_MEM_BYTES: usize = 4 * (Self::U.len() + Self::FIRST.len() + Self::ETA.len());

    const FITS: () = assert!(
        Z.is_multiple_of(POINTS)
            && Self::U.plane() / POINTS <= COPIES * Self::THREADS
            && Self::ETA.plane() / POINTS <= COPIES * Self::THREADS
    );
}

/// A kernel for tiles of one shape.
#[derive(Debug, Clone, Copy)]
pub struct Instance {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Points of a tile along y and z.
    pub tile: [u32; 2],
    /// Planes that copies are ahead of their use.
    pub ahead: u32,
    /// The number of timesteps whose values ahead of the points come from shared memory again.
    pub reloaded: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks of a multiprocessor at once, where shared memory is that of compute capability 9.0.
    pub blocks: u32,
    /// Shared memory of a block.
    pub shared_mem_bytes: u32,
}

/// The number of tiles along y and z.
pub const fn tiles(grid: Grid, [y, z]: [u32; 2]) -> [u32; 2] {
    [grid.n_y.div_ceil(y), grid.n_z.div_ceil(z)]
}

/// Positions along y and z of a tile, by its number. The tiles at both ends of the rows come first:
/// all of their planes touch the shell, so that they take longer than the others.
#[inline(always)]
fn position(number: u32, [along_y, along_z]: [u32; 2]) -> [u32; 2] {
    let ends = along_z.min(2);
    if number < ends * along_y {
        let end = number / along_y;
        [number % along_y, end * (along_z - 1)]
    } else {
        let others = number - ends * along_y;
        let width = along_z - ends;
        [others / width, 1 + others % width]
    }
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

/// # Safety
/// `pointer` is aligned to 16 bytes, and points to four values.
#[inline(always)]
unsafe fn load(pointer: *const f32) -> Four {
    // SAFETY: the caller's.
    unsafe { mem::load_vector(pointer) }
}

/// The groups of four values of a plane in global memory that this thread copies, for a ring whose
/// planes begin at (y, z) = `first`: those with `is_needed`.
#[inline(always)]
fn copies(
    ring: Ring,
    threads: usize,
    grid: Grid,
    first: [i32; 2],
    is_needed: impl Fn(i32, i32) -> bool,
) -> [u32; COPIES] {
    let mut copies = [NONE; COPIES];
    let mut number = thread::thread_idx_x() as usize;
    for copy in &mut copies {
        let (row, four) = (number / (ring.row / POINTS), number % (ring.row / POINTS));
        let (y, z) = (first[0] + row as i32, first[1] + (four * POINTS) as i32);
        if row < ring.rows && is_needed(y, z) {
            *copy = in_plane(grid, y, z);
        }
        number += threads;
    }
    copies
}

/// The place of a point in a plane of an array.
#[inline(always)]
fn in_plane(grid: Grid, y: i32, z: i32) -> u32 {
    ((y + HALO as i32) as u32 * grid.pitch).wrapping_add(z as u32)
}

/// Waits for all groups of copies but the latest `AHEAD` - 1.
#[inline(always)]
fn wait<const AHEAD: usize>() {
    match AHEAD {
        1 => async_copy::wait::<0>(),
        2 => async_copy::wait::<1>(),
        _ => async_copy::wait::<2>(),
    }
}

/// Four points of a timestep.
struct Points<'a> {
    task: &'a Task,
    /// The position of the first.
    position: [u32; 3],
    /// Its element.
    element: u32,
    /// The source's value.
    value: f32,
    v: Four,
    vp: Four,
    /// Whether some are in the shell.
    has_shell: bool,
}

impl Points<'_> {
    /// Their next values, and those of phi where they are in the shell. `here` and `eta` are their
    /// places in shared memory: those of eta for the plane behind, their own, and the one ahead.
    /// Rows have `ROW` values, those of eta `ETA_ROW`.
    ///
    /// # Safety
    /// The values around the points are at these places.
    #[inline(always)]
    unsafe fn next<const ROW: usize, const ETA_ROW: usize>(
        &self,
        column: &Column,
        here: *const f32,
        eta: impl Fn() -> [*const f32; 3],
        phi: &mut Four,
    ) -> Four {
        let c = &self.task.coefficients;
        let u = column[HALO];
        // SAFETY: the caller's.
        unsafe {
            let mut rows = [[[0.0; POINTS]; 2]; HALO];
            for (r, rows) in rows.iter_mut().enumerate() {
                let distance = (r + 1) * ROW;
                *rows = [load(here.sub(distance)), load(here.add(distance))];
            }
            let (before, after) = (load(here.sub(POINTS)), load(here.add(POINTS)));
            let mut line = [0.0; 3 * POINTS];
            for k in 0..POINTS {
                (line[k], line[POINTS + k], line[2 * POINTS + k]) = (before[k], u[k], after[k]);
            }
            let mut next = [0.0; POINTS];
            let mut laplacians = [0.0; POINTS];
            for k in 0..POINTS {
                let mut pairs = Pairs {
                    x: [0.0; HALO],
                    y: [0.0; HALO],
                    z: [0.0; HALO],
                };
                for r in 0..HALO {
                    pairs.x[r] = column[HALO + 1 + r][k] + column[HALO - 1 - r][k];
                    pairs.y[r] = rows[r][1][k] + rows[r][0][k];
                    pairs.z[r] = line[POINTS + k + r + 1] + line[POINTS + k - r - 1];
                }
                laplacians[k] = update::laplacian(c, u[k], pairs);
                next[k] = update::inner(u[k], self.v[k], self.vp[k], laplacians[k]);
            }
            let [x, y, z] = self.position;
            if self.has_shell {
                let [behind, at, ahead] = eta();
                let own = load(at);
                let planes = [load(behind), load(ahead)];
                let eta_rows = [load(at.sub(ETA_ROW)), load(at.add(ETA_ROW))];
                let mut eta_line = [0.0; POINTS + 2];
                (eta_line[0], eta_line[POINTS + 1]) = (*at.sub(1), *at.add(POINTS));
                eta_line[1..=POINTS].copy_from_slice(&own);
                for k in 0..POINTS {
                    let eta_change = [
                        planes[1][k] - planes[0][k],
                        eta_rows[1][k] - eta_rows[0][k],
                        eta_line[k + 2] - eta_line[k],
                    ];
                    let u_change = [
                        column[HALO + 1][k] - column[HALO - 1][k],
                        rows[0][1][k] - rows[0][0][k],
                        line[POINTS + k + 1] - line[POINTS + k - 1],
                    ];
                    let (v, vp) = (self.v[k], self.vp[k]);
                    let of_shell = update::shell(u[k], v, vp, laplacians[k], own[k], phi[k]);
                    let next_phi = update::phi(c, phi[k], own[k], eta_change, u_change);
                    let z = z + k as u32;
                    if z < self.task.grid.n_z && !self.task.region.contains(x, y, z) {
                        (next[k], phi[k]) = (of_shell, next_phi);
                    }
                }
            }
            if self.task.source.wrapping_sub(self.element) < POINTS as u32 {
                for (k, next) in (0..).zip(&mut next) {
                    *next = self.task.with_source(self.element + k, *next, self.value);
                }
            }
            if z + POINTS as u32 > self.task.grid.n_z {
                for (z, next) in (z..).zip(&mut next) {
                    if z >= self.task.grid.n_z {
                        *next = 0.0;
                    }
                }
            }
            next
        }
    }
}

/// Takes the tile whose first point is (y, z) = `tile` through the planes from `start` to `end`,
/// and through those around that it needs. With `RELOADED` above 0, the second timestep's values
/// ahead come from shared memory again; above 1, those of the first timestep too.
///
/// # Safety
/// As the kernels; no other block has these points. The block has `Tile::SHARED_MEM_BYTES`.
#[inline(always)]
unsafe fn stream<
    const Y: usize,
    const Z: usize,
    const AHEAD: usize,
    const FIRST_ROW: usize,
    const U_ROW: usize,
    const RELOADED: usize,
>(
    arrays: Arrays,
    task: &Task,
    values: [f32; 2],
    steps: u32,
    tile: [u32; 2],
    [start, end]: [u32; 2],
) {
    let u_ring = const { Tile::<Y, Z, AHEAD>::U };
    let first_ring = const { Tile::<Y, Z, AHEAD>::FIRST };
    let eta_ring = const { Tile::<Y, Z, AHEAD>::ETA };
    let fours = const { Tile::<Y, Z, AHEAD>::FOURS };
    let threads = const { Tile::<Y, Z, AHEAD>::THREADS };
    const {
        assert!(FIRST_ROW == Tile::<Y, Z, AHEAD>::FIRST.row);
        assert!(U_ROW == Tile::<Y, Z, AHEAD>::U.row);
        Tile::<Y, Z, AHEAD>::FITS
    };
    let Task { grid, region, .. } = *task;
    let [low, high] = [region.low, region.high];
    let [n_y, n_z] = [grid.n_y, grid.n_z].map(|n| n as i32);
    let halo = HALO as i32;
    let stride = grid.stride_x();
    let tile = tile.map(|at| at as i32);

    // This thread's points.
    let number = thread::thread_idx_x() as usize;
    let (row, four) = (number / fours, number % fours);
    let y = tile[0] + row as i32 - halo;
    let z = tile[1] + (four * POINTS) as i32 - halo;
    let is_middle_row = row.wrapping_sub(HALO) < Y;
    let is_middle_four = (four * POINTS).wrapping_sub(HALO) < Z;
    let is_own = is_middle_row && is_middle_four;
    let are_points = row < first_ring.rows && (0..n_y).contains(&y) && (0..n_z).contains(&z);
    let is_two = steps == 2;
    let has_first = are_points && (is_own || is_two && (is_middle_row || is_middle_four));
    let has_own = are_points && is_own;
    let (y, z) = (y as u32, z as u32);
    let in_plane = self::in_plane(grid, y as i32, z as i32);
    let is_inside =
        z >= low[2] && z + POINTS as u32 <= high[2] && y >= low[1] && y < high[1] && has_first;

    // This thread's copies.
    let around = [tile[0] - 2 * halo, tile[1] - 2 * halo];
    let of_u = copies(u_ring, threads, grid, around, |y, z| {
        (0..n_y).contains(&y) && (0..n_z).contains(&z)
    });
    let around = [tile[0] - halo - 1, tile[1] - 2 * halo];
    let is_near = |y: i32, z: i32| (-1..=n_y).contains(&y) && z >= -halo && z < n_z + halo;
    let of_eta = copies(eta_ring, threads, grid, around, is_near);
    // Where a plane is not in the shell, only the values at these points and next to them.
    let lows = low.map(|at| at as i32);
    let highs = high.map(|at| at as i32);
    let of_sides = copies(eta_ring, threads, grid, around, |y, z| {
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

    let shared = shared::dynamic_shared_mem::<f32>();
    let eta_places = shared.wrapping_add(u_ring.len() + first_ring.len());
    // The planes x at which the block begins and ends; those that the first timestep computes.
    let mut x = start.saturating_sub(2 * RADIUS);
    let x_end = end + steps * RADIUS;
    let [first_from, first_to] = match is_two {
        true => [start.saturating_sub(RADIUS), (end + RADIUS).min(grid.n_x)],
        false => [start, end],
    };

    let u_own = shared.wrapping_add((row + HALO) * U_ROW + (four + 1) * POINTS);
    // Starts the copies of plane x of u, and of plane x - 3 of eta.
    let fetch = |x: u32, u_place: u32, eta_place: u32| {
        let copy = |to: *mut f32, plane: *const f32, copies: &[u32; COPIES]| {
            let mut place = POINTS * thread::thread_idx_x() as usize;
            for &copy in copies {
                if copy != NONE {
                    // SAFETY: the value is in the plane, and aligned because rows and tiles are. No
                    // other copy has its place.
                    unsafe { async_copy::copy_16_at(to.wrapping_add(place), plane, copy) }
                }
                place += POINTS * threads;
            }
        };
        let plane =
            |array: *const f32, plane: u32| array.wrapping_add(plane as usize * stride as usize);
        if x < grid.n_x {
            let to = shared.wrapping_add(u_place as usize);
            copy(to, plane(arrays.u, x + RADIUS), &of_u);
        } else if RELOADED > 1 && has_first {
            // SAFETY: the place is this thread's.
            unsafe { mem::store_vector(u_own.wrapping_add(u_place as usize), [0.0; POINTS]) }
        }
        // Planes count from the halo's first.
        let number = x + RADIUS - 3;
        if number + 1 >= RADIUS && number <= grid.n_x + RADIUS {
            let to = eta_places.wrapping_add(eta_place as usize);
            if number <= low[0] + RADIUS || number + 1 >= high[0] + RADIUS {
                copy(to, plane(arrays.eta, number), &of_eta);
            } else if has_sides {
                copy(to, plane(arrays.eta, number), &of_sides);
            }
        }
    };

    // SAFETY: this holds for the whole block: the shared memory has the rings. Planes come to
    // places that no thread reads any more: the barrier separates the last reads from the copies.
    // A thread reads only its own elements of v, phi and next_phi, and writes its own elements.
    unsafe {
        // Places that are never copied to are 0.
        let mut at = POINTS * number;
        while at < u_ring.len() + first_ring.len() {
            mem::store_vector(shared.add(at), [0.0_f32; POINTS]);
            at += POINTS * threads;
        }
        thread::sync_threads();
        let (mut u_place, mut eta_place) = (0_u32, 0_u32);
        for ahead in 0..AHEAD {
            let (u, eta) = (ahead * u_ring.plane(), ahead * eta_ring.plane());
            fetch(x + ahead as u32, u as u32, eta as u32);
            async_copy::commit();
        }
        let mut first_place = 0_u32;
        let mut column: Column = [[0.0; POINTS]; COLUMN];
        let mut firsts: Column = [[0.0; POINTS]; COLUMN];
        let first_own = shared.wrapping_add(u_ring.len() + row * FIRST_ROW + four * POINTS);
        let eta_own = eta_places.wrapping_add((row + 1) * U_ROW + (four + 1) * POINTS);

        while x < x_end {
            // The planes of the two timesteps, and this thread's elements of them.
            let (p, q) = (x.wrapping_sub(RADIUS), x.wrapping_sub(2 * RADIUS));
            let element = (x * stride).wrapping_add(in_plane);
            let second_element = element.wrapping_sub(RADIUS * stride);
            let is_first = has_first && p.wrapping_sub(first_from) < first_to - first_from;
            let is_written = has_own && p.wrapping_sub(start) < end - start;
            let is_second = has_own && is_two && q.wrapping_sub(start) < end - start;
            let has_shell =
                |plane: u32| !(is_inside && plane.wrapping_sub(low[0]) < high[0] - low[0]);
            let zero = [0.0; POINTS];
            let (mut v, mut vp, mut phi) = (zero, zero, zero);
            let (mut second_vp, mut second_phi) = (zero, zero);
            if is_first {
                v = load(arrays.v.add(element as usize));
                vp = load(arrays.vp.add(element as usize));
                if has_shell(p) {
                    phi = load(arrays.phi.add(element as usize));
                }
            }
            if is_second {
                second_vp = load(arrays.vp.add(second_element as usize));
                if has_shell(q) {
                    second_phi = load(arrays.next_phi.add(second_element as usize));
                }
            }
            wait::<AHEAD>();
            thread::sync_threads();
            let eta_next = eta_ring.before(eta_place, eta_ring.planes - AHEAD);
            if x + (AHEAD as u32) < x_end {
                let free = u_ring.before(u_place, HALO + 1);
                fetch(x + AHEAD as u32, free, eta_next);
            }
            async_copy::commit();

            for r in 0..COLUMN - 1 {
                (column[r], firsts[r]) = (column[r + 1], firsts[r + 1]);
            }
            let load_if = |has: bool, own: *mut f32, place: u32| match has {
                true => load(own.add(place as usize)),
                false => zero,
            };
            if RELOADED > 1 {
                let ahead = [4, 3, 2, 1, 0]
                    .map(|planes| load_if(has_first, u_own, u_ring.before(u_place, planes)));
                [column[4], column[5], column[6], column[7], column[8]] = ahead;
            } else {
                column[COLUMN - 1] = load_if(has_first && x < grid.n_x, u_own, u_place);
            }
            // The places of eta for plane x - 3 - `planes` and those around it.
            let etas = |planes: usize| {
                [planes + 1, planes, planes - 1].map(|planes| {
                    let place = eta_ring.before(eta_place, planes);
                    eta_own.wrapping_add(place as usize).cast_const()
                })
            };
            let mut next = zero;
            if is_first {
                let points = Points {
                    task,
                    position: [p, y, z],
                    element,
                    value: values[0],
                    v,
                    vp,
                    has_shell: has_shell(p),
                };
                let here = u_own.add(u_ring.before(u_place, HALO) as usize);
                next = points.next::<U_ROW, U_ROW>(&column, here, || etas(1), &mut phi);
                if is_written {
                    mem::store_vector(arrays.first.add(element as usize), next);
                    if has_shell(p) {
                        mem::store_vector(arrays.next_phi.add(element as usize), phi);
                    }
                }
            }
            if has_first {
                mem::store_vector(first_own.add(first_place as usize), next);
            }
            if RELOADED > 0 {
                let ahead = [4, 3, 2, 1].map(|planes| {
                    load_if(has_own, first_own, first_ring.before(first_place, planes))
                });
                [firsts[4], firsts[5], firsts[6], firsts[7]] = ahead;
            }
            firsts[COLUMN - 1] = next;
            if is_second {
                let points = Points {
                    task,
                    position: [q, y, z],
                    element: second_element,
                    value: values[1],
                    v: column[0],
                    vp: second_vp,
                    has_shell: has_shell(q),
                };
                let here = first_own.add(first_ring.before(first_place, HALO) as usize);
                let next =
                    points.next::<FIRST_ROW, U_ROW>(&firsts, here, || etas(5), &mut second_phi);
                mem::store_vector(arrays.second.add(second_element as usize), next);
                if has_shell(q) {
                    mem::store_vector(arrays.next_phi.add(second_element as usize), second_phi);
                }
            }
            u_place = u_ring.next(u_place);
            first_place = first_ring.next(first_place);
            eta_place = eta_ring.next(eta_place);
            x += 1;
        }
    }
}

/// The kernels, by their tiles the planes that copies are ahead, and the reloaded timesteps.
macro_rules! instances {
    ($($name:ident: $y:literal x $z:literal, ahead $ahead:literal, reloaded $reloaded:literal, $threads:literal x $blocks:literal;)*) => {
        /// The kernels.
        pub const INSTANCES: &[Instance] = &[$(Instance {
            kernel: stringify!($name),
            tile: [$y, $z],
            ahead: $ahead,
            reloaded: $reloaded,
            threads: $threads,
            blocks: $blocks,
            shared_mem_bytes: Tile::<$y, $z, $ahead>::SHARED_MEM_BYTES as u32,
        }),*];

        $(
        const _: () = assert!(Tile::<$y, $z, $ahead>::THREADS == $threads);

        /// Advances all points by `steps` timesteps, 1 or 2, from the fields `u`, `v` and `phi`.
        ///
        /// The values after one timestep go to `first`, those after two to `second`, and phi after
        /// all of them to `next_phi`. With one timestep, `first` may be `v`, and `next_phi` may be
        /// `phi`. The source's values at these timesteps are `value_1` and `value_2`. The points
        /// inside the shell are `task.region`.
        ///
        /// Block and grid: see [`Instance`] and [`tiles`]. A block each takes the first `whole`
        /// tiles, and `parts` blocks share the planes of each of the others.
        ///
        /// # Safety
        /// - The arrays have the values of `task.grid`, whose rows are aligned to 16 bytes. The
        ///   values of `first`, `second` and `next_phi` may be undefined.
        /// - Nothing else accesses `first`, `second` and `next_phi` during the launch. With two
        ///   timesteps, they are not arrays that are read.
        #[kernel(max_threads = $threads, min_blocks = $blocks)]
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
            value_1: f32,
            value_2: f32,
            steps: u32,
            whole: u32,
            parts: u32,
        ) {
            let (u, vp, eta) = (u.as_ptr(), vp.as_ptr(), eta.as_ptr());
            let arrays = Arrays { u, v, vp, eta, phi, first, second, next_phi };
            let tiles = tiles(task.grid, [$y, $z]);
            let block = thread::block_idx_x();
            let [number, part, parts] = match block < whole {
                true => [block, 0, 1],
                false => [whole + (block - whole) / parts, (block - whole) % parts, parts],
            };
            let planes = task.grid.n_x.div_ceil(parts);
            let start = part * planes;
            let end = (start + planes).min(task.grid.n_x);
            if number >= tiles[0] * tiles[1] || start >= end {
                return;
            }
            let [y, z] = position(number, tiles);
            // SAFETY: the caller's. Each point is in one block's tile and planes.
            unsafe {
                stream::<$y, $z, $ahead, { $z + 2 * HALO }, { $z + 4 * HALO }, $reloaded>(
                    arrays, &task, [value_1, value_2], steps, [y * $y, z * $z], [start, end],
                );
            }
        }
    )*};
}

instances! {
    stencil25_two_steps_y8_z40_a1_r0: 8 x 40, ahead 1, reloaded 0, 192 x 2;
    stencil25_two_steps_y24_z24_a1_r1: 24 x 24, ahead 1, reloaded 1, 256 x 2;
    stencil25_two_steps_y24_z40_a2_r0: 24 x 40, ahead 2, reloaded 0, 384 x 1;
    stencil25_two_steps_y24_z56_a2_r0: 24 x 56, ahead 2, reloaded 0, 512 x 1;
    stencil25_two_steps_y24_z56_a1_r1: 24 x 56, ahead 1, reloaded 1, 512 x 1;
    stencil25_two_steps_y24_z56_a2_r1: 24 x 56, ahead 2, reloaded 1, 512 x 1;
    stencil25_two_steps_y24_z56_a3_r1: 24 x 56, ahead 3, reloaded 1, 512 x 1;
    stencil25_two_steps_y24_z56_a2_r2: 24 x 56, ahead 2, reloaded 2, 512 x 1;
    stencil25_two_steps_y20_z64_a2_r1: 20 x 64, ahead 2, reloaded 1, 512 x 1;
    stencil25_two_steps_y32_z56_a1_r2: 32 x 56, ahead 1, reloaded 2, 640 x 1;
}
