//! Two timesteps per pass, on tiles that stream along x: each field is read and written once in
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

use kernels_gpu::stencil25::update::{self, Pairs};
use kernels_gpu::stencil25::{Grid, RADIUS, Region, Task};

/// Points of a thread, neighbours along z: one access moves them.
pub const POINTS: usize = 4;

const HALO: usize = RADIUS as usize;
/// Values along x that a timestep of a point needs.
const COLUMN: usize = 2 * HALO + 1;
/// The largest number of copies of 16 bytes that a thread makes for a plane.
const COPIES: usize = 2;
/// Values of a sector of 32 bytes: device memory is read and written by sectors.
const SECTOR: u32 = 8;
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

    const fn shared_mem_bytes(has_shell: bool) -> usize {
        let eta = if has_shell { Self::ETA.len() } else { 0 };
        4 * (Self::U.len() + Self::FIRST.len() + eta)
    }

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
    /// Whether the second timestep's values ahead of the points come from shared memory again.
    pub reloads: bool,
    /// Whether the kernel is for any points: else see [`deep`].
    pub has_shell: bool,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks of a multiprocessor at once, where shared memory is that of compute capability 9.0.
    pub blocks: u32,
    /// Shared memory of a block.
    pub shared_mem_bytes: u32,
}

/// The number of tiles along y and z in a box.
pub const fn tiles(area: Region, [y, z]: [u32; 2]) -> [u32; 2] {
    let [_, n_y, n_z] = area.shape();
    [n_y.div_ceil(y), n_z.div_ceil(z)]
}

/// The points that kernels without a shell may advance, except those near the source: eight points
/// around each exist, and four around each are not in a shell of this width. Along z, the box
/// begins and ends with a sector. None if the grid has none.
pub fn deep(grid: Grid, shell: u32) -> Option<Region> {
    let margin = shell.max(RADIUS) + RADIUS;
    let low = [margin, margin, margin.next_multiple_of(SECTOR)];
    let [n_x, n_y, n_z] = grid.shape().map(|n| n.saturating_sub(margin));
    let high = [n_x, n_y, n_z / SECTOR * SECTOR];
    let has_points = (0..3).all(|axis| low[axis] < high[axis]);
    has_points.then_some(Region { low, high })
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
    /// Their next values, and those of phi where they are in the shell. Without `SHELL`, all points
    /// exist, none is in the shell, and none is the source's. `here` and `eta` are their places in
    /// shared memory: those of eta for the plane behind, their own, and the one ahead. Rows have
    /// `ROW` values, those of eta `ETA_ROW`.
    ///
    /// # Safety
    /// The values around the points are at these places.
    #[inline(always)]
    unsafe fn next<const ROW: usize, const ETA_ROW: usize, const SHELL: bool>(
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
            if !SHELL {
                return next;
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

/// Whether the source is in a tile that begins at (y, z) = `tile`, or at most four points beside
/// it.
pub const fn reaches(task: &Task, tile: [u32; 2], [y, z]: [u32; 2]) -> bool {
    let Task { grid, source, .. } = *task;
    // Rows count from the halo's first.
    let row = source / grid.pitch % (grid.n_y + 2 * RADIUS);
    let column = source % grid.pitch + RADIUS;
    source != u32::MAX
        && row.wrapping_sub(tile[0]) < y + 2 * RADIUS
        && column.wrapping_sub(tile[1]) < z + 2 * RADIUS
}

/// A thread of a block that takes a tile through the planes from `start` to `end`, and through
/// those around that it needs. With `RELOADS`, the second timestep's values ahead come from shared
/// memory again. Without `SHELL`, see [`deep`].
struct Stream<
    'a,
    const Y: usize,
    const Z: usize,
    const AHEAD: usize,
    const FIRST_ROW: usize,
    const U_ROW: usize,
    const RELOADS: bool,
    const SHELL: bool,
> {
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
    /// The element of the tile's first point: loaded where a value is not needed.
    spare: u32,
    /// Whether the points belong to the first timestep, and whether they are the block's own.
    has_first: bool,
    has_own: bool,
    /// Whether they are in rows inside the shell, and whether some of the tile are not.
    is_inside: bool,
    has_sides: bool,
    /// This thread's copies: those of u, those of eta, and those of eta for planes inside the
    /// shell.
    of_u: [u32; COPIES],
    of_eta: [u32; COPIES],
    of_sides: [u32; COPIES],
    /// The points' places in the rings' first planes.
    u_own: *mut f32,
    first_own: *mut f32,
    eta_own: *mut f32,
    /// The newest plane, and its place in each ring.
    x: u32,
    u_place: u32,
    first_place: u32,
    eta_place: u32,
    /// Values along x of the two timesteps.
    column: Column,
    firsts: Column,
}

impl<
    'a,
    const Y: usize,
    const Z: usize,
    const AHEAD: usize,
    const FIRST_ROW: usize,
    const U_ROW: usize,
    const RELOADS: bool,
    const SHELL: bool,
> Stream<'a, Y, Z, AHEAD, FIRST_ROW, U_ROW, RELOADS, SHELL>
{
    const U: Ring = Tile::<Y, Z, AHEAD>::U;
    const FIRST: Ring = Tile::<Y, Z, AHEAD>::FIRST;
    const ETA: Ring = Tile::<Y, Z, AHEAD>::ETA;
    const FOURS: usize = Tile::<Y, Z, AHEAD>::FOURS;
    const THREADS: usize = Tile::<Y, Z, AHEAD>::THREADS;
    const FITS: () = {
        assert!(FIRST_ROW == Self::FIRST.row && U_ROW == Self::U.row);
        // Every thread has places in the rings.
        assert!(Self::THREADS == Self::FIRST.rows * Self::FOURS);
        Tile::<Y, Z, AHEAD>::FITS
    };

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
        let number = thread::thread_idx_x() as usize;
        let (row, four) = (number / Self::FOURS, number % Self::FOURS);
        let y = tile[0] + row as i32 - halo;
        let z = tile[1] + (four * POINTS) as i32 - halo;
        let is_middle_row = row.wrapping_sub(HALO) < Y;
        let is_middle_four = (four * POINTS).wrapping_sub(HALO) < Z;
        let is_own =
            is_middle_row && is_middle_four && y < area.high[1] as i32 && z < area.high[2] as i32;
        let are_points = row < Self::FIRST.rows && (0..n_y).contains(&y) && (0..n_z).contains(&z);
        let is_two = !SHELL || steps == 2;
        let has_first = are_points && (is_own || is_two && (is_middle_row || is_middle_four));
        let in_plane = in_plane(grid, y, z);
        let spare = (start + RADIUS) * grid.stride_x() + self::in_plane(grid, tile[0], tile[1]);
        let (y, z) = (y as u32, z as u32);
        let is_inside =
            z >= low[2] && z + POINTS as u32 <= high[2] && y >= low[1] && y < high[1] && has_first;

        let around = [tile[0] - 2 * halo, tile[1] - 2 * halo];
        let of_u = copies(Self::U, Self::THREADS, grid, around, |y, z| {
            (0..n_y).contains(&y) && (0..n_z).contains(&z)
        });
        let around = [tile[0] - halo - 1, tile[1] - 2 * halo];
        let is_near = |y: i32, z: i32| (-1..=n_y).contains(&y) && z >= -halo && z < n_z + halo;
        let of_eta = copies(Self::ETA, Self::THREADS, grid, around, is_near);
        // Where a plane is not in the shell, only the values at these points and next to them.
        let lows = low.map(|at| at as i32);
        let highs = high.map(|at| at as i32);
        let of_sides = copies(Self::ETA, Self::THREADS, grid, around, |y, z| {
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
        let firsts = shared.wrapping_add(Self::U.len());
        let etas = firsts.wrapping_add(Self::FIRST.len());
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
            spare,
            has_first,
            has_own: are_points && is_own,
            is_inside,
            has_sides,
            of_u,
            of_eta,
            of_sides,
            u_own: shared.wrapping_add((row + HALO) * U_ROW + (four + 1) * POINTS),
            first_own: firsts.wrapping_add(row * FIRST_ROW + four * POINTS),
            eta_own: etas.wrapping_add((row + 1) * U_ROW + (four + 1) * POINTS),
            x: start.saturating_sub(2 * RADIUS),
            u_place: 0,
            first_place: 0,
            eta_place: 0,
            column: [[0.0; POINTS]; COLUMN],
            firsts: [[0.0; POINTS]; COLUMN],
        }
    }

    /// Starts the copies of plane x of an array, counted from the halo's first, to a place in
    /// shared memory.
    ///
    /// # Safety
    /// The values are in the plane, and no thread accesses the place.
    #[inline(always)]
    unsafe fn copy(&self, to: usize, array: *const f32, plane: u32, copies: &[u32; COPIES]) {
        let stride = self.task.grid.stride_x() as usize;
        let plane = array.wrapping_add(plane as usize * stride);
        let to = shared::dynamic_shared_mem::<f32>().wrapping_add(to);
        let mut place = POINTS * thread::thread_idx_x() as usize;
        for &copy in copies {
            if copy != NONE {
                // SAFETY: the caller's. Both are aligned because rows and tiles are. No other copy
                // has this place.
                unsafe { async_copy::copy_16_at(to.wrapping_add(place), plane, copy) }
            }
            place += POINTS * Self::THREADS;
        }
    }

    /// Starts the copies of plane x of u, and of plane x - 3 of eta.
    ///
    /// # Safety
    /// No thread accesses these places of the rings.
    #[inline(always)]
    unsafe fn fetch(&self, x: u32, u_place: u32, eta_place: u32) {
        let Task { grid, region, .. } = *self.task;
        // SAFETY: the caller's; the planes exist.
        unsafe {
            if !SHELL || x < grid.n_x {
                self.copy(u_place as usize, self.arrays.u, x + RADIUS, &self.of_u);
            }
            if !SHELL {
                return;
            }
            // Planes count from the halo's first.
            let number = x + RADIUS - 3;
            if number + 1 >= RADIUS && number <= grid.n_x + RADIUS {
                let to = Self::U.len() + Self::FIRST.len() + eta_place as usize;
                let is_end =
                    number <= region.low[0] + RADIUS || number + 1 >= region.high[0] + RADIUS;
                if is_end || self.has_sides {
                    // Chosen by value: between arrays by address, they would be in local memory.
                    let ([all, all_2], [side, side_2]) = (self.of_eta, self.of_sides);
                    let copies = match is_end {
                        true => [all, all_2],
                        false => [side, side_2],
                    };
                    self.copy(to, self.arrays.eta, number, &copies);
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
            while at < Self::U.len() + Self::FIRST.len() {
                mem::store_vector(shared.add(at), [0.0_f32; POINTS]);
                at += POINTS * Self::THREADS;
            }
            thread::sync_threads();
            for ahead in 0..AHEAD {
                let [u, eta] = [Self::U, Self::ETA].map(|ring| (ahead * ring.plane()) as u32);
                self.fetch(self.x + ahead as u32, u, eta);
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
            v,
            vp,
            phi,
            first,
            second,
            next_phi,
            ..
        } = self.arrays;
        let Grid { n_x, .. } = self.task.grid;
        let stride = self.task.grid.stride_x();
        let zero = [0.0; POINTS];
        // The planes of the two timesteps, and this thread's elements of them.
        let (p, q) = (self.x.wrapping_sub(RADIUS), self.x.wrapping_sub(2 * RADIUS));
        let element = (self.x * stride).wrapping_add(self.in_plane);
        let second_element = element.wrapping_sub(RADIUS * stride);
        let planes = self.end - self.start;
        let is_first =
            self.has_first && p.wrapping_sub(self.firsts_from) < self.firsts_to - self.firsts_from;
        let is_written = self.has_own && p.wrapping_sub(self.start) < planes;
        let is_second = self.has_own && self.is_two && q.wrapping_sub(self.start) < planes;
        let [first_shell, second_shell] = [p, q].map(|plane| self.has_shell(plane));
        // SAFETY: this holds for the whole block: the shared memory has the rings. Planes come to
        // places that no thread reads any more: the barrier separates the last reads from the
        // copies. A thread reads only its own elements of v, phi and next_phi, and writes its own
        // elements. Where it loads the tile's first point instead, no thread writes that array.
        unsafe {
            // These loads stay before the barrier: ordinary ones of a `&[f32]` would move down to
            // their use, which would wait for them. They stay in their branch, too: ordinary ones
            // would become loads from a chosen address, of four values or of a local `zero`.
            let global = |from: *const f32, element: usize| -> Four {
                mem::load_early(from.add(element).cast())
            };
            let load_if = |has: bool, from: *const f32, element: u32| match has {
                true => global(from, element as usize),
                false => zero,
            };
            let at = |has: bool, element: u32| if has { element } else { self.spare } as usize;
            let [first_v, first_vp, second_vp] = match SHELL {
                true => [
                    load_if(is_first, v, element),
                    load_if(is_first, vp, element),
                    load_if(is_second, vp, second_element),
                ],
                false => [
                    global(v, at(is_first, element)),
                    global(vp, at(is_first, element)),
                    global(vp, at(is_second, second_element)),
                ],
            };
            let mut new_phi = load_if(is_first && first_shell, phi, element);
            let mut last_phi = load_if(is_second && second_shell, next_phi, second_element);
            wait::<AHEAD>();
            thread::sync_threads();
            let eta_next = Self::ETA.before(self.eta_place, Self::ETA.planes - AHEAD);
            if self.x + (AHEAD as u32) < self.x_end {
                let free = Self::U.before(self.u_place, HALO + 1);
                self.fetch(self.x + AHEAD as u32, free, eta_next);
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
                    v: first_v,
                    vp: first_vp,
                    has_shell: first_shell,
                };
                let here = self.u_own.add(Self::U.before(self.u_place, HALO) as usize);
                let etas = || self.etas(1);
                next = points.next::<U_ROW, U_ROW, SHELL>(&self.column, here, etas, &mut new_phi);
                if is_written {
                    mem::store_vector(first.add(element as usize), next);
                    if first_shell {
                        mem::store_vector(next_phi.add(element as usize), new_phi);
                    }
                }
            }
            if !SHELL || self.has_first {
                mem::store_vector(self.first_own.add(self.first_place as usize), next);
            }
            if RELOADS {
                let reloaded = [4, 3, 2, 1].map(|planes| {
                    let place = Self::FIRST.before(self.first_place, planes);
                    load(self.first_own.add(place as usize))
                });
                self.firsts[HALO..COLUMN - 1].copy_from_slice(&reloaded);
            }
            self.firsts[COLUMN - 1] = next;
            if is_second {
                let points = Points {
                    task: self.task,
                    position: [q, self.y, self.z],
                    element: second_element,
                    value: self.values[1],
                    v: self.column[0],
                    vp: second_vp,
                    has_shell: second_shell,
                };
                let place = Self::FIRST.before(self.first_place, HALO);
                let here = self.first_own.add(place as usize);
                let etas = || self.etas(5);
                let next =
                    points.next::<FIRST_ROW, U_ROW, SHELL>(&self.firsts, here, etas, &mut last_phi);
                mem::store_vector(second.add(second_element as usize), next);
                if second_shell {
                    mem::store_vector(next_phi.add(second_element as usize), last_phi);
                }
            }
        }
        self.u_place = Self::U.next(self.u_place);
        self.first_place = Self::FIRST.next(self.first_place);
        self.eta_place = Self::ETA.next(self.eta_place);
        self.x += 1;
        self.x < self.x_end
    }
}

/// The kernels, by their tiles, the planes that copies are ahead, and whether values are reloaded.
macro_rules! instances {
    ($($name:ident: $y:literal x $z:literal, ahead $ahead:literal, reloads $reloads:literal, shell $shell:literal, $threads:literal x $blocks:literal;)*) => {
        /// The kernels.
        pub const INSTANCES: &[Instance] = &[$(Instance {
            kernel: stringify!($name),
            tile: [$y, $z],
            ahead: $ahead,
            reloads: $reloads,
            has_shell: $shell,
            threads: $threads,
            blocks: $blocks,
            shared_mem_bytes: Tile::<$y, $z, $ahead>::shared_mem_bytes($shell) as u32,
        }),*];

        $(
        const _: () = assert!(Tile::<$y, $z, $ahead>::THREADS == $threads);

        /// Advances the points of `area` by `steps` timesteps, 1 or 2, from the fields `u`, `v` and
        /// `phi`.
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
        /// - Along z, `area` begins at a multiple of four. It ends at one or with the grid.
        /// - Without a shell, `steps` is 2, and `area` is in [`deep`]. Tiles that the source
        ///   [`reaches`] are left out.
        /// - Nothing else accesses the elements of `first`, `second` and `next_phi` in `area`
        ///   during the launch. With two timesteps, they are not arrays that are read.
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
            area: Region,
            value_1: f32,
            value_2: f32,
            steps: u32,
            whole: u32,
            parts: u32,
        ) {
            let (u, vp, eta) = (u.as_ptr(), vp.as_ptr(), eta.as_ptr());
            let arrays = Arrays { u, v, vp, eta, phi, first, second, next_phi };
            let [along_y, along_z] = tiles(area, [$y, $z]);
            let block = thread::block_idx_x();
            let [number, part, parts] = match block < whole {
                true => [block, 0, 1],
                false => [whole + (block - whole) / parts, (block - whole) % parts, parts],
            };
            let planes = (area.high[0] - area.low[0]).div_ceil(parts);
            let start = area.low[0] + part * planes;
            let end = (start + planes).min(area.high[0]);
            if number >= along_y * along_z || start >= end {
                return;
            }
            let tile = [
                area.low[1] + number / along_z * $y,
                area.low[2] + number % along_z * $z,
            ];
            if !$shell && reaches(&task, tile, [$y, $z]) {
                return;
            }
            // SAFETY: the caller's. Each point is in one block's tile and planes.
            unsafe {
                Stream::<$y, $z, $ahead, { $z + 2 * HALO }, { $z + 4 * HALO }, $reloads, $shell>::new(
                    arrays, &task, &area, [value_1, value_2], steps, tile, [start, end],
                ).run();
            }
        }
    )*};
}

instances! {
    stencil25_two_steps_any_y8_z40: 8 x 40, ahead 1, reloads false, shell true, 192 x 2;
    stencil25_two_steps_any_y24_z40: 24 x 40, ahead 2, reloads false, shell true, 384 x 1;
    stencil25_two_steps_any_y40_z24: 40 x 24, ahead 2, reloads false, shell true, 384 x 1;
    stencil25_two_steps_y8_z40_a1_r0: 8 x 40, ahead 1, reloads false, shell false, 192 x 2;
    stencil25_two_steps_y24_z40_a2_r0: 24 x 40, ahead 2, reloads false, shell false, 384 x 1;
    stencil25_two_steps_y24_z56_a2_r0: 24 x 56, ahead 2, reloads false, shell false, 512 x 1;
    stencil25_two_steps_y24_z56_a3_r0: 24 x 56, ahead 3, reloads false, shell false, 512 x 1;
    stencil25_two_steps_y24_z56_a2_r1: 24 x 56, ahead 2, reloads true, shell false, 512 x 1;
    stencil25_two_steps_y32_z56_a2_r1: 32 x 56, ahead 2, reloads true, shell false, 640 x 1;
}
