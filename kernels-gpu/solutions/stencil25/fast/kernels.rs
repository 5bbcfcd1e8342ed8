//! One launch per timestep. Blocks stream along x: planes of u come to shared memory by
//! asynchronous copies, one plane ahead of their use. A thread has four neighbouring points of a
//! plane, and the values behind them in registers.
//!
//! If a block's tile and planes have a point in the shell, the block runs code for the shell, with
//! eta in shared memory as well. Other blocks do not pay for it: the shell's code takes a fifth of
//! the time for a tenth of the points.

use cuda_std::prelude::*;

use kernels_gpu::stencil25::update::{self, Pairs};
use kernels_gpu::stencil25::{Grid, RADIUS, Region, Task};

/// Points of a tile along z and y.
pub const TILE: [u32; 2] = [64, 8];
/// Points of a thread, neighbours along z: one access moves them.
pub const POINTS: usize = 4;
/// Threads of a block along z and y.
pub const BLOCK: [u32; 3] = [TILE[0] / POINTS as u32, TILE[1], 1];
/// Shared memory of a block.
pub const SHARED_MEM_BYTES: u32 = 4 * (U.len() + ETA.len() + OWN * POINTS * THREADS) as u32;

/// A number of blocks that keeps any GPU busy to the end.
const ENOUGH_BLOCKS: u32 = 8192;
/// The least and the largest number of planes of a block. It reads eight planes before the first.
/// Fewer planes are done sooner, which keeps neighbouring blocks near each other.
const PLANES: [u32; 2] = [24, 48];
/// The least number of planes of a block where there are too few blocks to keep the GPU busy.
const FEWEST_PLANES: u32 = 12;
/// About the number of blocks that run at once. A band of rows of tiles has this number of blocks,
/// and goes through all planes before the next band starts. The planes that a block reads before
/// its first are still in L2, because the block before it has just used them.
const BAND: u32 = 640;

/// The grid of blocks for a task, and the number of planes of its region along x that a block
/// takes.
pub fn blocks(task: &Task) -> ([u32; 3], u32) {
    let Grid { n_y, n_z, .. } = task.grid;
    let [planes, ..] = task.region.shape();
    let tiles = [n_z.div_ceil(TILE[0]), n_y.div_ceil(TILE[1])];
    let of_plane = tiles[0].saturating_mul(tiles[1]);
    let parts = ENOUGH_BLOCKS.div_ceil(of_plane);
    // Small grids and thin slabs would leave multiprocessors idle.
    let blocks = of_plane.saturating_mul(planes.div_ceil(PLANES[0]));
    let least = match blocks < BAND * 2 / 3 {
        true => planes.div_ceil(BAND.div_ceil(of_plane)),
        false => PLANES[0],
    };
    let least = least.clamp(FEWEST_PLANES, PLANES[0]);
    let of_block = planes.div_ceil(parts).clamp(least, PLANES[1]);
    let parts = planes.div_ceil(of_block);
    // The parts are equal: none is much shorter than the others.
    let of_block = planes.div_ceil(parts.max(1)).max(1);
    let bands = of_plane.saturating_add(BAND / 2) / BAND;
    let rows = tiles[1].div_ceil(bands.max(1));
    let parts = planes.div_ceil(of_block) + 2;
    ([tiles[0] * rows, parts, tiles[1].div_ceil(rows)], of_block)
}

const THREADS: usize = (BLOCK[0] * BLOCK[1]) as usize;
const HALO: usize = RADIUS as usize;

/// A ring of planes in shared memory, each with the tile and the values around it.
struct Ring {
    planes: usize,
    /// Rows before and after the tile's.
    halo: usize,
}

/// The plane of the points, the four ahead of it, one in flight.
const U: Ring = Ring {
    planes: HALO + 2,
    halo: HALO,
};
/// The plane behind, that of the points, the one ahead of it, one in flight.
const ETA: Ring = Ring { planes: 4, halo: 1 };

impl Ring {
    /// Values of a row. Accesses are whole, so the row has four values on either side of the tile.
    const ROW: usize = TILE[0] as usize + 2 * POINTS;

    const fn rows(&self) -> usize {
        TILE[1] as usize + 2 * self.halo
    }

    /// Values of a plane.
    const fn plane(&self) -> usize {
        self.rows() * Ring::ROW
    }

    const fn len(&self) -> usize {
        self.planes * self.plane()
    }

    /// The largest number of copies of 16 bytes that a thread makes for a plane.
    const fn copies(&self) -> usize {
        (self.plane() / POINTS).div_ceil(THREADS)
    }

    /// The place of the plane that is `planes` after the one at `place`. It has 32 bits, which take
    /// half the instructions.
    #[inline(always)]
    const fn next(&self, place: u32, planes: usize) -> u32 {
        let (place, len) = (place + (planes * self.plane()) as u32, self.len() as u32);
        if place >= len { place - len } else { place }
    }
}

/// In the shell's code, a thread's own values of the next plane of these arrays come to shared
/// memory as well: v, vp and phi.
const OWN: usize = 3;

/// An access that a thread does not make.
const NONE: u32 = u32::MAX;

/// The places of the groups of four values of a plane in global memory that this thread copies,
/// counted from the plane's first row of halo. It copies the needed positions (y, z).
#[inline(always)]
fn copies<const N: usize>(
    ring: &Ring,
    task: &Task,
    first: [u32; 2],
    is_needed: impl Fn(u32, u32, usize, usize) -> bool,
) -> [u32; N] {
    let mut copies = [NONE; N];
    let mut number = thread_number();
    for copy in &mut copies {
        let (row, four) = (number / (Ring::ROW / POINTS), number % (Ring::ROW / POINTS));
        // Positions count from the halo's first row, and from the four values before the row's
        // first point.
        let y = first[0] + row as u32 + (HALO - ring.halo) as u32;
        let z = first[1] + (four * POINTS) as u32;
        if row < ring.rows() && is_needed(y, z, row, four) {
            *copy = (y * task.grid.pitch + z).wrapping_sub(POINTS as u32);
        }
        number += THREADS;
    }
    copies
}

#[inline(always)]
fn thread_number() -> usize {
    (thread::thread_idx_y() * BLOCK[0] + thread::thread_idx_x()) as usize
}

/// Starts this thread's copies of a plane.
///
/// # Safety
/// `plane` points to a plane's values, beginning with its first row of halo. `place` is a plane of
/// the ring in shared memory, which no thread reads any more.
#[inline(always)]
unsafe fn fetch<const N: usize>(place: *mut f32, plane: *const f32, copies: &[u32; N]) {
    let mut to = POINTS * thread_number();
    for &copy in copies {
        if copy != NONE {
            // SAFETY: the value is in the plane, and aligned because rows and tiles are. No other
            // copy has its place.
            unsafe { async_copy::copy_16_at(place.add(to), plane, copy) }
        }
        to += POINTS * THREADS;
    }
}

type Four = [f32; POINTS];

/// # Safety
/// `pointer` is aligned to 16 bytes, and points to four values.
#[inline(always)]
unsafe fn load(pointer: *const f32) -> Four {
    // SAFETY: the caller's.
    unsafe { mem::load_vector(pointer) }
}

/// The arrays of a timestep. v and phi may have only the planes of points: their pointers are then
/// before the memory.
struct Arrays {
    u: *const f32,
    v: *mut f32,
    vp: *const f32,
    eta: *const f32,
    phi: *mut f32,
}

/// Advances the tile whose first point is (y, z) = `first`, from plane `x` to `end`, if there are
/// any. With `SHELL`, points may be in the shell; without, none is.
///
/// # Safety
/// As [`stencil25_fast`]; no other block has these points, and `shared` has [`SHARED_MEM_BYTES`],
/// aligned to 16.
#[inline(always)]
unsafe fn stream<const SHELL: bool>(
    arrays: &Arrays,
    task: &Task,
    value: f32,
    shared: *mut f32,
    first: [u32; 2],
    [mut x, end]: [u32; 2],
) {
    if x >= end {
        return;
    }
    let Task { grid, region, .. } = *task;
    let [n_y, n_z] = [grid.n_y, grid.n_z];
    let [low, high] = [region.low, region.high];
    let stride = grid.stride_x() as usize;
    let y = first[0] + thread::thread_idx_y();
    let z = first[1] + thread::thread_idx_x() * POINTS as u32;
    let has_points = y < n_y && z < n_z;
    let index = grid.index(x, y, z);

    let is_corner = |row: usize, four: usize| {
        (row < HALO || row >= HALO + TILE[1] as usize)
            && (four == 0 || four == Ring::ROW / POINTS - 1)
    };
    // y and z count from the first of the halo.
    let of_u: [u32; U.copies()] = copies(&U, task, first, |y, z, row, four| {
        y < n_y + 2 * RADIUS && z < n_z + 2 * RADIUS && !is_corner(row, four)
    });
    let is_middle = x >= low[0] && end <= high[0];
    let of_eta: [u32; ETA.copies()] = copies(&ETA, task, first, |y, z, _, _| {
        let is_inner = is_middle
            && y > low[1] + RADIUS
            && y + 1 < high[1] + RADIUS
            && z >= low[2] + RADIUS + POINTS as u32
            && z + 2 * POINTS as u32 <= high[2] + RADIUS;
        y < n_y + RADIUS + 1 && z < n_z + 2 * RADIUS && !is_inner
    });
    let (u_ring, eta_ring) = (shared, shared.wrapping_add(U.len()));
    let own_place = eta_ring.wrapping_add(ETA.len() + POINTS * thread_number());
    let own_place = |array: usize| own_place.wrapping_add(array * POINTS * THREADS);
    // This is the same for all planes of this call: whether all four points are inside the shell.
    let is_inside =
        z >= low[2] && z + POINTS as u32 <= high[2] && y >= low[1] && y < high[1] && is_middle;
    let has_shell = SHELL && has_points && !is_inside;
    // Starts the copies of this thread's own values.
    let fetch_own = |from: usize| {
        // SAFETY: these are a thread's own elements, which it writes only after it has read them.
        // No other thread has its places.
        unsafe {
            if has_points {
                async_copy::copy_16(own_place(0), arrays.v.wrapping_add(from).cast_const());
                async_copy::copy_16(own_place(1), arrays.vp.add(from));
            }
            if has_shell {
                async_copy::copy_16(own_place(2), arrays.phi.wrapping_add(from).cast_const());
            }
        }
    };
    // The place in an array where a plane begins, by the plane's number from the halo's first.
    let plane = |number: u32| number as usize * stride;

    // SAFETY: this holds for the whole block: planes from 4 before x to 4 after end - 1 are in the
    // arrays. A thread accesses its own elements of v and phi: four of them begin at `index`.
    // Elements from n_z on are halo, which it does not change.
    unsafe {
        for ahead in 0..HALO + 1 {
            let next = x + ahead as u32;
            fetch(
                u_ring.add(ahead * U.plane()),
                arrays.u.add(plane(next + RADIUS)),
                &of_u,
            );
            // The planes of eta, from the one behind x on, start only when the first plane needs
            // them.
            if SHELL && ahead >= 2 {
                let eta = arrays.eta.add(plane(next + RADIUS - 3));
                fetch(eta_ring.add((ahead - 2) * ETA.plane()), eta, &of_eta);
            }
            if SHELL && ahead == HALO {
                fetch_own(index as usize);
            }
            async_copy::commit();
        }
        let (mut u_place, mut eta_place) = (0_u32, 0_u32);
        let mut own = index as usize;
        // u at the four planes behind that of the points.
        let mut behind = [[0.0; POINTS]; HALO];
        let (mut next_v, mut next_vp) = ([0.0; POINTS], [0.0; POINTS]);
        if has_points {
            let mut from = own - HALO * stride;
            for behind in &mut behind {
                *behind = load(arrays.u.add(from));
                from += stride;
            }
            if !SHELL {
                (next_v, next_vp) = (load(arrays.v.wrapping_add(own)), load(arrays.vp.add(own)));
            }
        }
        let in_tile = |halo: usize| {
            (thread::thread_idx_y() as usize + halo) * Ring::ROW
                + (thread::thread_idx_x() as usize + 1) * POINTS
        };
        let (u_tile, eta_tile) = (u_ring.add(in_tile(HALO)), eta_ring.add(in_tile(1)));

        while x < end {
            async_copy::wait::<0>();
            let (mut v, mut vp, mut phi) = (next_v, next_vp, [0.0; POINTS]);
            if SHELL && has_points {
                (v, vp) = (load(own_place(0)), load(own_place(1)));
            }
            if has_shell {
                phi = load(own_place(2));
            }
            thread::sync_threads();
            // The place of the plane behind, which no thread needs any more.
            let free = U.next(u_place, HALO + 1);
            if x + 1 < end {
                fetch(
                    u_ring.add(free as usize),
                    arrays.u.add(plane(x + 1 + 2 * RADIUS)),
                    &of_u,
                );
                if SHELL {
                    let free = ETA.next(eta_place, 3);
                    fetch(
                        eta_ring.add(free as usize),
                        arrays.eta.add(plane(x + 2 + RADIUS)),
                        &of_eta,
                    );
                    fetch_own(own + stride);
                }
            }
            async_copy::commit();

            let here = u_tile.add(u_place as usize);
            let u = if has_points {
                load(here)
            } else {
                [0.0; POINTS]
            };
            if !SHELL && has_points && x + 1 < end {
                next_v = load(arrays.v.wrapping_add(own + stride));
                next_vp = load(arrays.vp.add(own + stride));
            }
            if has_points {
                let mut ahead = [[0.0; POINTS]; HALO];
                for (r, ahead) in ahead.iter_mut().enumerate() {
                    *ahead = load(u_tile.add(U.next(u_place, r + 1) as usize));
                }
                let mut rows = [[[0.0; POINTS]; 2]; HALO];
                for (r, rows) in rows.iter_mut().enumerate() {
                    let distance = (r + 1) * Ring::ROW;
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
                        pairs.x[r] = ahead[r][k] + behind[HALO - 1 - r][k];
                        pairs.y[r] = rows[r][1][k] + rows[r][0][k];
                        pairs.z[r] = line[POINTS + k + r + 1] + line[POINTS + k - r - 1];
                    }
                    laplacians[k] = update::laplacian(&task.coefficients, u[k], pairs);
                    next[k] = update::inner(u[k], v[k], vp[k], laplacians[k]);
                }

                if has_shell {
                    let at = eta_tile.add(ETA.next(eta_place, 1) as usize);
                    let eta = load(at);
                    let planes: [Four; 2] = [
                        load(eta_tile.add(eta_place as usize)),
                        load(eta_tile.add(ETA.next(eta_place, 2) as usize)),
                    ];
                    let eta_rows: [Four; 2] = [load(at.sub(Ring::ROW)), load(at.add(Ring::ROW))];
                    let mut eta_line = [0.0; POINTS + 2];
                    (eta_line[0], eta_line[POINTS + 1]) = (*at.sub(1), *at.add(POINTS));
                    eta_line[1..=POINTS].copy_from_slice(&eta);
                    for k in 0..POINTS {
                        let eta_change = [
                            planes[1][k] - planes[0][k],
                            eta_rows[1][k] - eta_rows[0][k],
                            eta_line[k + 2] - eta_line[k],
                        ];
                        let u_change = [
                            ahead[0][k] - behind[HALO - 1][k],
                            rows[0][1][k] - rows[0][0][k],
                            line[POINTS + k + 1] - line[POINTS + k - 1],
                        ];
                        let c = &task.coefficients;
                        let of_shell =
                            update::shell(u[k], v[k], vp[k], laplacians[k], eta[k], phi[k]);
                        let next_phi = update::phi(c, phi[k], eta[k], eta_change, u_change);
                        if !region.contains(x, y, z + k as u32) {
                            (next[k], phi[k]) = (of_shell, next_phi);
                        }
                    }
                }
                if task.source.wrapping_sub(own as u32) < POINTS as u32 {
                    for (k, next) in (0..).zip(&mut next) {
                        *next = task.with_source(own as u32 + k, *next, value);
                    }
                }
                if !SHELL || z + POINTS as u32 <= n_z {
                    mem::store_vector(arrays.v.wrapping_add(own), next);
                    if has_shell {
                        mem::store_vector(arrays.phi.wrapping_add(own), phi);
                    }
                } else {
                    for k in 0..POINTS {
                        if z + (k as u32) < n_z {
                            *arrays.v.wrapping_add(own + k) = next[k];
                            *arrays.phi.wrapping_add(own + k) = phi[k];
                        }
                    }
                }
            }

            for r in 0..HALO - 1 {
                behind[r] = behind[r + 1];
            }
            behind[HALO - 1] = u;
            own += stride;
            u_place = U.next(u_place, 1);
            eta_place = ETA.next(eta_place, 1);
            x += 1;
        }
    }
}

/// Advances all points, in tiles that stream along x.
///
/// v of each point becomes its next value, and so does phi of each point of the shell. At the
/// source, `value` is added to v. The points inside the shell are `task.region`. The arrays may
/// hold some planes of a larger grid: the kernel needs no others.
///
/// Block: [`BLOCK`], with [`SHARED_MEM_BYTES`]. Grid: along x a block for each [`TILE`] of a band
/// of rows of tiles, row by row. Along y one block is for the shell's planes before `task.region`,
/// one for each `planes` planes of it, and one for the shell's planes after it. Along z a block for
/// each band.
///
/// # Safety
/// - `u`, `vp` and `eta` have the values of `task.grid`, whose rows are aligned to 16 bytes.
/// - `v` and `phi` point to the values of the planes of points, without the halo's planes before
///   and after them. Nothing else accesses them during the launch.
#[kernel(max_threads = 128, min_blocks = 5, capability = "8.0")]
pub unsafe fn stencil25_fast(
    u: &[f32],
    v: *mut f32,
    vp: &[f32],
    eta: &[f32],
    phi: *mut f32,
    task: Task,
    value: f32,
    planes: u32,
) {
    let Region { low, high } = task.region;
    let tiles_z = task.grid.n_z.div_ceil(TILE[0]);
    let (tile, rows) = (thread::block_idx_x(), thread::grid_dim_x() / tiles_z);
    let row = thread::block_idx_z() * rows + tile / tiles_z;
    let [y, z] = [row * TILE[1], tile % tiles_z * TILE[0]];
    let (part, last) = (thread::block_idx_y(), thread::grid_dim_y() - 1);
    let [x, end] = if part == 0 {
        [0, low[0]]
    } else if part < last {
        let x = low[0] + (part - 1) * planes;
        [x, (x + planes).min(high[0])]
    } else {
        [high[0], task.grid.n_x]
    };
    if x >= end || y >= task.grid.n_y {
        return;
    }
    // The halo's planes before the first point.
    let before = HALO * task.grid.stride_x() as usize;
    let arrays = Arrays {
        u: u.as_ptr(),
        v: v.wrapping_sub(before),
        vp: vp.as_ptr(),
        eta: eta.as_ptr(),
        phi: phi.wrapping_sub(before),
    };
    let shared = shared::dynamic_shared_mem();
    let is_inner = x >= low[0]
        && end <= high[0]
        && y >= low[1]
        && y + TILE[1] <= high[1]
        && z >= low[2]
        && z + TILE[0] <= high[2];
    // SAFETY: each point is in one block's tile and planes.
    unsafe {
        if is_inner {
            stream::<false>(&arrays, &task, value, shared, [y, z], [x, end]);
        } else {
            stream::<true>(&arrays, &task, value, shared, [y, z], [x, end]);
        }
    }
}
