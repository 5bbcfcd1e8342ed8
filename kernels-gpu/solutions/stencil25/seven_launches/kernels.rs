//! Seven launches per timestep: one for the points inside, one for each of the shell's six boxes.
//!
//! One launch writes each point, and no launch reads values that another of the same timestep
//! writes: their order is free. Threads lie along z, y and x; z is contiguous. Rows of points begin
//! with a cache line, and so do the threads of a row. A warp's loads of one array are whole lines,
//! and its loads of neighbours along z touch at most two.

use cuda_std::UVec3;
use cuda_std::prelude::*;

use kernels_gpu::stencil25::update::{self, Pairs};
use kernels_gpu::stencil25::{RADIUS, Region, Task};

/// Threads of a block of [`stencil25_gmem`] and, where a box is wide along z, of
/// [`stencil25_shell`], along z, y and x.
pub const BLOCK: [u32; 3] = [32, 4, 2];

/// Threads of a block of [`stencil25_shell`] for a thin box, which has at most this number of
/// points along z.
pub const THIN_BLOCK: [u32; 3] = [16, 4, 4];

/// An array around one of its elements.
#[derive(Clone, Copy)]
struct Around {
    own: *const f32,
}

impl Around {
    /// The array `values` around its element `index`.
    ///
    /// # Safety
    /// The array has that element.
    #[inline(always)]
    unsafe fn new(values: *const f32, index: u32) -> Around {
        // SAFETY: the caller's.
        let own = unsafe { values.add(index as usize) };
        Around { own }
    }

    /// The values at distance `r` before and after along an axis with this stride.
    ///
    /// # Safety
    /// The array has them.
    #[inline(always)]
    unsafe fn both(self, r: u32, stride: u32) -> [f32; 2] {
        let distance = (r * stride) as usize;
        // SAFETY: the caller's.
        unsafe { [*self.own.sub(distance), *self.own.add(distance)] }
    }

    /// Sums of the values at distance 1 to 4 along an axis with this stride.
    ///
    /// # Safety
    /// The array has them.
    #[inline(always)]
    unsafe fn pairs(self, stride: u32) -> [f32; 4] {
        [1, 2, 3, 4].map(|r| {
            // SAFETY: the caller's.
            let [before, after] = unsafe { self.both(r, stride) };
            after + before
        })
    }

    /// Differences of the values at distance 1 along axes with these strides.
    ///
    /// # Safety
    /// The array has them.
    #[inline(always)]
    unsafe fn changes(self, strides: [u32; 3]) -> [f32; 3] {
        strides.map(|stride| {
            // SAFETY: the caller's.
            let [before, after] = unsafe { self.both(1, stride) };
            after - before
        })
    }
}

/// This thread's point: positions along x, y and z, the first thread of a row where the cache line
/// begins.
#[inline(always)]
fn point_of_thread(region: Region) -> [u32; 3] {
    let UVec3 { x: z, y, z: x } = thread::index_3d();
    [region.low[0] + x, region.low[1] + y, region.line_z() + z]
}

/// Advances the points inside the shell, all from global memory, one point per thread.
///
/// v of each point of `task.region` becomes its next value; at the source, `value` is added to it.
///
/// Block: [`BLOCK`], z along x, y along y, x along z. Grid: at least one thread for each point of
/// the region, from [`Region::line_z`] on along z.
///
/// # Safety
/// - `u` and `vp` have the values of `task.grid`.
/// - `v` points to as many values. Nothing else accesses those of the region during the launch.
#[kernel(max_threads = 256)]
pub unsafe fn stencil25_gmem(u: &[f32], v: *mut f32, vp: &[f32], task: Task, value: f32) {
    let Task { grid, region, .. } = task;
    let [x, y, z] = point_of_thread(region);
    if !region.contains(x, y, z) {
        return;
    }
    let index = grid.index(x, y, z);
    // SAFETY: the point is in the grid, and only this thread writes its element of v.
    unsafe {
        let u = Around::new(u.as_ptr(), index);
        let v = v.add(index as usize);
        let vp = *vp.get_unchecked(index as usize);
        let (before, own) = (*v, *u.own);
        let pairs = Pairs {
            x: u.pairs(grid.stride_x()),
            y: u.pairs(grid.stride_y()),
            z: u.pairs(1),
        };
        let laplacian = update::laplacian(&task.coefficients, own, pairs);
        let next = update::inner(own, before, vp, laplacian);
        *v = task.with_source(index, next, value);
    }
}

/// Advances the points of a box of the shell, all from global memory, one point per thread.
///
/// v and phi of each point of `task.region` become their next values; at the source, `value` is
/// added to it.
///
/// Block: [`BLOCK`] or [`THIN_BLOCK`]. Grid: as [`stencil25_gmem`].
///
/// # Safety
/// As [`stencil25_gmem`]; `eta` is as `vp`, and `phi` as `v`.
#[kernel(max_threads = 256)]
pub unsafe fn stencil25_shell(
    u: &[f32],
    v: *mut f32,
    vp: &[f32],
    eta: &[f32],
    phi: *mut f32,
    task: Task,
    value: f32,
) {
    let Task { grid, region, .. } = task;
    let [x, y, z] = point_of_thread(region);
    if !region.contains(x, y, z) {
        return;
    }
    let index = grid.index(x, y, z);
    // SAFETY: the point is in the grid, and only this thread writes its elements of v and phi.
    unsafe {
        let u = Around::new(u.as_ptr(), index);
        let eta = Around::new(eta.as_ptr(), index);
        let (v, phi) = (v.add(index as usize), phi.add(index as usize));
        let (vp, before, old) = (*vp.get_unchecked(index as usize), *v, *phi);
        let (own, absorption) = (*u.own, *eta.own);
        let strides = [grid.stride_x(), grid.stride_y(), 1];
        let [x, y, z] = strides.map(|stride| u.pairs(stride));
        let c = &task.coefficients;
        let laplacian = update::laplacian(c, own, Pairs { x, y, z });
        let next = update::shell(own, before, vp, laplacian, absorption, old);
        *v = task.with_source(index, next, value);
        *phi = update::phi(c, old, absorption, eta.changes(strides), u.changes(strides));
    }
}

/// Threads of a block of [`stencil25_smem`] along z, y and x, one for each point of its tile.
pub const TILE_BLOCK: [u32; 3] = [32, 8, 4];

/// The extents of a tile with its halo, along z, y and x.
const TILE: [usize; 3] = [32 + 2 * HALO, 8 + 2 * HALO, 4 + 2 * HALO];
const HALO: usize = RADIUS as usize;

/// Advances the points inside the shell, one per thread. A block's points and their halo come to
/// shared memory first.
///
/// Parameters, grid and safety: as [`stencil25_gmem`]. Block: [`TILE_BLOCK`].
///
/// # Safety
/// As [`stencil25_gmem`].
#[kernel(max_threads = 1024)]
pub unsafe fn stencil25_smem(u: &[f32], v: *mut f32, vp: &[f32], task: Task, value: f32) {
    const ROW: usize = TILE[0];
    const PLANE: usize = TILE[0] * TILE[1];
    const { assert!(PLANE * TILE[2] == 7680) };
    let tile = shared_array![f32; 7680];
    let local = thread::thread_idx();
    let Task { grid, region, .. } = task;
    let [x, y, z] = point_of_thread(region);
    let index = grid.index(x, y, z);
    let t = (local.z as usize + HALO) * PLANE
        + (local.y as usize + HALO) * ROW
        + local.x as usize
        + HALO;

    // Values are needed up to the region's halo. Beyond it, the array may have none. Each thread
    // loads its own value; threads at the block's faces also load the halo's values on both sides.
    // A halo has no edges or corners.
    let is_needed = |position: u32, axis: usize| position < region.high[axis] + RADIUS;
    if is_needed(x, 0) && is_needed(y, 1) && is_needed(z, 2) {
        let load = |from: u32, to: usize| {
            // SAFETY: the value is in the array, and each element of the tile has one writer.
            unsafe { *tile.add(to) = *u.get_unchecked(from as usize) }
        };
        load(index, t);
        let halo = |local: u32, position: u32, axis: usize, stride: u32, in_tile: usize| {
            let width = TILE_BLOCK[2 - axis];
            if local < RADIUS {
                load(index - RADIUS * stride, t - HALO * in_tile);
                if is_needed(position + width, axis) {
                    load(index + width * stride, t + width as usize * in_tile);
                }
            }
        };
        halo(local.z, x, 0, grid.stride_x(), PLANE);
        halo(local.y, y, 1, grid.stride_y(), ROW);
        halo(local.x, z, 2, 1, 1);
    }
    thread::sync_threads();
    if !region.contains(x, y, z) {
        return;
    }
    // SAFETY: the point is in the grid, only this thread writes its element of v, and its
    // neighbours are in the tile or its halo.
    unsafe {
        let u = Around::new(tile, t as u32);
        let v = v.add(index as usize);
        let vp = *vp.get_unchecked(index as usize);
        let (before, own) = (*v, *u.own);
        let pairs = Pairs {
            x: u.pairs(PLANE as u32),
            y: u.pairs(ROW as u32),
            z: u.pairs(1),
        };
        let laplacian = update::laplacian(&task.coefficients, own, pairs);
        let next = update::inner(own, before, vp, laplacian);
        *v = task.with_source(index, next, value);
    }
}

/// Threads along z and y of a block that streams along x. Each thread has a column of points, and a
/// warp has a row of the plane.
pub const PLANE_BLOCK: [u32; 3] = [32, 16, 1];

/// The extents of a plane of points with its halo, along z and y.
const PLANE: [usize; 2] = [32 + 2 * HALO, 16 + 2 * HALO];

/// The planes of `region` along x that this block takes: the first, and one past the last. The
/// grid's blocks along z take equal parts. A block without a column of the region takes none.
#[inline(always)]
fn planes_of_block(region: Region) -> [u32; 2] {
    let Region { low, high } = region;
    let y = low[1] + thread::block_idx_y() * PLANE_BLOCK[1];
    let z = region.line_z() + thread::block_idx_x() * PLANE_BLOCK[0];
    if y >= high[1] || z >= high[2] {
        return [0; 2];
    }
    let planes = (high[0] - low[0]).div_ceil(thread::grid_dim_z());
    let first = low[0] + thread::block_idx_z() * planes;
    [first, (first + planes).min(high[0])]
}

/// A column of points along x, and the block's position in it. A block has a plane of columns.
struct Column<'a> {
    u: &'a [f32],
    v: *mut f32,
    vp: &'a [f32],
    task: Task,
    value: f32,
    /// The column's element in the plane where the block is.
    index: u32,
    /// Whether its points are in the region.
    is_inside: bool,
    /// The element of the halo of the block's plane that this thread loads, if any.
    halo_index: u32,
    has_halo: bool,
    /// This thread's elements of the plane in shared memory that is filled next: its point's, and
    /// below, its halo's.
    own: *mut f32,
    halo: *mut f32,
    /// The distance to the other plane in shared memory.
    to_other: isize,
}

impl<'a> Column<'a> {
    /// This thread's column, before plane `x`. `planes` has the values of two planes. They are
    /// filled in turn: one barrier per plane is enough.
    ///
    /// # Safety
    /// As [`stencil25_gmem`]; `planes` is in shared memory.
    #[inline(always)]
    unsafe fn new(
        planes: *mut f32,
        x: u32,
        (u, v, vp): (&'a [f32], *mut f32, &'a [f32]),
        task: Task,
        value: f32,
    ) -> Column<'a> {
        let Task { grid, region, .. } = task;
        const HALOS: u32 = 2 * RADIUS;
        let [width, height, _] = PLANE_BLOCK;
        let (lane, warp) = (thread::thread_idx_x(), thread::thread_idx_y());
        let first_y = region.low[1] + thread::block_idx_y() * height;
        let first_z = region.line_z() + thread::block_idx_x() * width;
        // Eight warps load a row of the halo each; four warps load the columns beside four rows
        // each. Row and column count from the halo's first.
        let (row, column) = if warp < HALOS {
            let before = if warp < RADIUS { 0 } else { height };
            (before + warp, lane + RADIUS)
        } else {
            let number = (warp - HALOS) * width + lane;
            let (row, column) = (number / HALOS, number % HALOS);
            let before = if column < RADIUS { 0 } else { width };
            (row + RADIUS, before + column)
        };
        // Beyond the last row of a plane is the halo before the next plane's first row. No point in
        // the region needs it.
        let last_row = grid.n_y + HALOS - 1;
        let index = |row: u32, column: u32| {
            let row = (first_y + row).min(last_row);
            grid.index(x, 0, 0) + row * grid.pitch - RADIUS * grid.pitch + first_z + column - RADIUS
        };
        let place =
            |row: u32, column: u32| planes.wrapping_add(row as usize * PLANE[0] + column as usize);
        Column {
            u,
            v,
            vp,
            task,
            value,
            index: index(warp + RADIUS, lane + RADIUS),
            is_inside: region.contains(region.low[0], first_y + warp, first_z + lane),
            halo_index: index(row, column),
            has_halo: warp < HALOS + height * HALOS / width,
            own: place(warp + RADIUS, lane + RADIUS),
            halo: place(row, column),
            to_other: (PLANE[0] * PLANE[1]) as isize,
        }
    }

    /// u, `ahead` planes from here.
    ///
    /// # Safety
    /// The array has that plane.
    #[inline(always)]
    unsafe fn u(&self, ahead: i32) -> f32 {
        // SAFETY: the row is one of the plane's, and the array has what follows it.
        unsafe { *self.u.get_unchecked(self.ahead(self.index, ahead) as usize) }
    }

    /// This thread's part of the halo, `ahead` planes from here; 0 if it has none.
    ///
    /// # Safety
    /// As [`Column::u`].
    #[inline(always)]
    unsafe fn halo(&self, ahead: i32) -> f32 {
        let index = self.ahead(self.halo_index, ahead) as usize;
        match self.has_halo {
            // SAFETY: as there.
            true => unsafe { *self.u.get_unchecked(index) },
            false => 0.0,
        }
    }

    /// v and vp, `ahead` planes from here; 0 unless the block has that plane and the column is in
    /// the region. Elsewhere other threads may be writing v, and a load of vp would be useless: at
    /// 1000^3 for 6 % of the threads.
    ///
    /// # Safety
    /// The array has that plane. If `has_plane`, the block does, and has not written it yet.
    #[inline(always)]
    unsafe fn v_and_vp(&self, ahead: i32, has_plane: bool) -> [f32; 2] {
        let index = self.ahead(self.index, ahead) as usize;
        // SAFETY: in the region, only this thread writes the element of v.
        unsafe {
            match self.is_inside && has_plane {
                true => [*self.v.add(index), *self.vp.get_unchecked(index)],
                false => [0.0; 2],
            }
        }
    }

    /// Writes the next v, `ahead` planes from here, if the column is in the region.
    ///
    /// # Safety
    /// As [`Column::v_and_vp`].
    #[inline(always)]
    unsafe fn write(&self, ahead: i32, next: f32) {
        if self.is_inside {
            let index = self.ahead(self.index, ahead);
            let next = self.task.with_source(index, next, self.value);
            // SAFETY: as there.
            unsafe { *self.v.add(index as usize) = next }
        }
    }

    #[inline(always)]
    fn ahead(&self, index: u32, planes: i32) -> u32 {
        index.wrapping_add_signed(planes.wrapping_mul(self.task.grid.stride_x() as i32))
    }

    /// Fills a plane in shared memory with u of the block's plane, waits until all threads have,
    /// and returns the array around this thread's point.
    ///
    /// # Safety
    /// All threads of the block call it.
    #[inline(always)]
    unsafe fn share(&mut self, own: f32, halo: f32) -> Around {
        // SAFETY: each element has one writer. The old values were last read before the barrier
        // after which the other plane was read.
        unsafe {
            *self.own = own;
            if self.has_halo {
                *self.halo = halo;
            }
        }
        thread::sync_threads();
        let around = Around { own: self.own };
        self.own = self.own.wrapping_offset(self.to_other);
        self.halo = self.halo.wrapping_offset(self.to_other);
        self.to_other = -self.to_other;
        around
    }

    /// Goes to the next plane.
    #[inline(always)]
    fn advance(&mut self) {
        self.index = self.ahead(self.index, 1);
        self.halo_index = self.ahead(self.halo_index, 1);
    }
}

/// A column with u in fixed registers: each value stays in one register from the first plane that
/// needs it to the last, nine planes later. Nine consecutive planes therefore have nine different
/// pieces of code.
struct Fixed<'a> {
    column: Column<'a>,
    /// The number of planes left, including the block's plane.
    left: u32,
    /// u of nine planes. In phase p, the fourth plane before the block's has number p, and the
    /// others follow in turn.
    u: [f32; 9],
    /// The values for the next plane, in flight since this one's barrier.
    halo: f32,
    v_and_vp: [f32; 2],
}

impl Fixed<'_> {
    /// Advances the point of this plane and goes to the next. Returns whether there is one.
    ///
    /// # Safety
    /// As the column's functions; all threads of the block call it.
    #[inline(always)]
    unsafe fn step<const PHASE: usize>(&mut self) -> bool {
        let u = |plane: usize| self.u[(PHASE + plane) % 9];
        let own = u(4);
        // SAFETY: the block has this plane and, if one is left, the next; u has a halo of four
        // more.
        unsafe {
            let around = self.column.share(own, self.halo);
            let [v, vp] = self.v_and_vp;
            let is_last = self.left == 1;
            self.halo = self.column.halo(1);
            self.v_and_vp = self.column.v_and_vp(1, !is_last);
            let ahead = self.column.u(5);
            let pairs = Pairs {
                x: [1, 2, 3, 4].map(|r| u(4 + r) + u(4 - r)),
                y: around.pairs(PLANE[0] as u32),
                z: around.pairs(1),
            };
            let laplacian = update::laplacian(&self.column.task.coefficients, own, pairs);
            self.column.write(0, update::inner(own, v, vp, laplacian));
            self.u[PHASE] = ahead;
            self.column.advance();
            self.left -= 1;
            !is_last
        }
    }
}

/// Advances the points inside the shell: blocks stream along x. A thread has its column's u in
/// fixed registers, and shares the block's plane.
///
/// Parameters and safety: as [`stencil25_gmem`]. Block: [`PLANE_BLOCK`]. Grid: along x and y as
/// there; along z any number of blocks, which take equal parts of the planes.
///
/// # Safety
/// As [`stencil25_gmem`].
#[kernel(max_threads = 512, min_blocks = 2)]
pub unsafe fn stencil25_st_reg_fixed(u: &[f32], v: *mut f32, vp: &[f32], task: Task, value: f32) {
    const { assert!(2 * PLANE[0] * PLANE[1] == 1920) };
    let planes = shared_array![f32; 1920];
    let [first, end] = planes_of_block(task.region);
    if first >= end {
        return;
    }
    // SAFETY: the caller's; the block has at least one plane.
    unsafe {
        let column = Column::new(planes, first, (u, v, vp), task, value);
        let mut column = Fixed {
            u: [-4, -3, -2, -1, 0, 1, 2, 3, 4].map(|plane| column.u(plane)),
            halo: column.halo(0),
            v_and_vp: column.v_and_vp(0, true),
            left: end - first,
            column,
        };
        while column.step::<0>()
            && column.step::<1>()
            && column.step::<2>()
            && column.step::<3>()
            && column.step::<4>()
            && column.step::<5>()
            && column.step::<6>()
            && column.step::<7>()
            && column.step::<8>()
        {}
    }
}

/// A column with partial sums in registers. A plane's u is added to the sums of the four planes
/// before it, and to its own sum, which four more planes complete.
struct Semi<'a> {
    column: Column<'a>,
    /// The number of planes that have had their forward phase, and below, the number of all planes.
    done: u32,
    planes: u32,
    /// u of the four planes before the block's. In phase p, the fourth before has number p, and the
    /// others follow in turn.
    u: [f32; 4],
    /// The partial Laplacians of these planes.
    sums: [f32; 4],
    /// The values for the next plane, in flight since this one's barrier: u, its halo, and the
    /// values for the point that is complete then.
    own: f32,
    halo: f32,
    v_and_vp: [f32; 2],
}

impl Semi<'_> {
    /// Adds this plane to sums, advances the point four planes before, and goes to the next plane.
    /// Returns whether there is one.
    ///
    /// # Safety
    /// As the column's functions; all threads of the block call it.
    #[inline(always)]
    unsafe fn step<const PHASE: usize>(&mut self) -> bool {
        let before = |planes: usize| (PHASE + 4 - planes) % 4;
        let c = self.column.task.coefficients;
        let own = self.own;
        let [v, vp] = self.v_and_vp;
        let (has_forward, has_backward) = (self.done < self.planes, self.done >= 4);
        let is_last = self.done + 1 == self.planes + 4;
        // SAFETY: u has four planes more than the block on either side. Only points in the block's
        // planes advance.
        unsafe {
            // Forward: the sum of this plane's point begins with the known values.
            let mut sum = 0.0;
            if has_forward {
                let around = self.column.share(own, self.halo);
                sum = c.centre * own;
                let (y, z) = (around.pairs(PLANE[0] as u32), around.pairs(1));
                for r in 0..4 {
                    sum = c.y[r].mul_add(y[r], sum);
                    sum = c.z[r].mul_add(z[r], sum);
                }
            }
            if self.done + 1 < self.planes {
                self.halo = self.column.halo(1);
            }
            self.own = self.column.u(1);
            self.v_and_vp = self.column.v_and_vp(-3, self.done >= 3 && !is_last);
            for r in 0..4 {
                sum = c.x[r].mul_add(self.u[before(r + 1)], sum);
            }
            // Backward: this plane completes the sum of the fourth plane before, and is added to
            // the three between.
            for r in 0..4 {
                let sum = &mut self.sums[before(r + 1)];
                *sum = c.x[r].mul_add(own, *sum);
            }
            if has_backward {
                let next = update::inner(self.u[PHASE], v, vp, self.sums[PHASE]);
                self.column.write(-4, next);
            }
            self.u[PHASE] = own;
            self.sums[PHASE] = sum;
        }
        self.column.advance();
        self.done += 1;
        !is_last
    }
}

/// Advances the points inside the shell: blocks stream along x. As soon as a plane's u has arrived,
/// it is added to the sums of all planes that need it (a semi-stencil: de la Cruz and Araya-Polo,
/// "Algorithm 942: Semi-stencil", ACM Transactions on Mathematical Software 40(3), 2014). u is thus
/// read once and not kept for four planes, and the sums have another order than the scheme's.
///
/// Parameters, block, grid and safety: as [`stencil25_st_reg_fixed`].
///
/// # Safety
/// As [`stencil25_gmem`].
#[kernel(max_threads = 512, min_blocks = 2)]
pub unsafe fn stencil25_st_semi(u: &[f32], v: *mut f32, vp: &[f32], task: Task, value: f32) {
    let planes = shared_array![f32; 1920];
    let [first, end] = planes_of_block(task.region);
    if first >= end {
        return;
    }
    // SAFETY: the caller's; the block has at least one plane.
    unsafe {
        let column = Column::new(planes, first, (u, v, vp), task, value);
        let mut column = Semi {
            u: [-4, -3, -2, -1].map(|plane| column.u(plane)),
            sums: [0.0; 4],
            own: column.u(0),
            halo: column.halo(0),
            v_and_vp: [0.0; 2],
            done: 0,
            planes: end - first,
            column,
        };
        while column.step::<0>() && column.step::<1>() && column.step::<2>() && column.step::<3>() {
        }
    }
}
