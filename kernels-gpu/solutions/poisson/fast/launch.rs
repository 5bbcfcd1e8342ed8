//! Passes of T iterations, on tiles in chunks of planes. Another pass computes the rest of the
//! iterations except one, and the last pass computes that one. The fields of the last two
//! iterations thus exist at the end, and their difference can be computed.
//!
//! On several devices, each has a slab of planes, and T planes of each neighbour. A pass computes
//! the planes at each seam first, and sends T of them while it computes the others. A block reads
//! 2 T planes more than it writes, so that seams of T planes would cost as much as seams of 3 T.
//! They are a fifth of the slab where tiles fill the GPU, and of T planes elsewhere.
//!
//! [`AtOnce`] has a launch per device for all passes, which exchange planes by themselves.

use std::ops::Range;

use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::ring::shared_mem_bytes;
use kernels_gpu::poisson::tile::{MARGIN, columns, tiles};
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::slabs::{Field, Slabs};
use plan::{Arg, BufferId, Element, LaunchConfig, Plan, PlanError, Target, args};

use super::kernels::LEVELS_AT_ONCE;

/// The choice of a kernel, and the parameters that it was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// T: iterations of a launch.
    pub levels: u32,
    /// Rows of a warp.
    pub rows: u32,
    /// Warps of a block.
    pub warps: u32,
    /// Planes of u in shared memory: 3 or 6.
    pub slots: u32,
    /// Planes that a block computes. `None` means as few as fill the GPU with blocks.
    pub planes: Option<u32>,
}

impl Shape {
    /// The shape that GPUs with 99 KB of shared memory per block can run.
    pub const DEFAULT: Shape = Shape::new(3, 4, 8, 3);

    /// Every kernel, and chunks of other lengths than those that fill the GPU.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new(2, 4, 8, 6),
        Shape::new(3, 4, 8, 6),
        Shape::new(3, 3, 12, 6),
        Shape::new(4, 3, 8, 6),
        Shape::new(3, 4, 8, 6).with_planes(102),
        Shape::new(3, 4, 8, 6).with_planes(170),
        Shape::new(3, 3, 12, 6).with_planes(64),
    ];

    const fn new(levels: u32, rows: u32, warps: u32, slots: u32) -> Shape {
        Shape {
            levels,
            rows,
            warps,
            slots,
            planes: None,
        }
    }

    /// The shape with chunks of `planes` planes.
    pub const fn with_planes(self, planes: u32) -> Shape {
        Shape {
            planes: Some(planes),
            ..self
        }
    }

    /// The shape in a few letters.
    pub fn label(&self) -> String {
        let planes = self.planes.map(|planes| format!("_p{planes}"));
        format!("{}{}", self.kernel(), planes.unwrap_or_default())
    }

    /// The kernel's name.
    fn kernel(&self) -> String {
        format!(
            "t{}_r{}_w{}_s{}",
            self.levels, self.rows, self.warps, self.slots
        )
    }

    /// The number of passes that `iterations` iterations take.
    pub fn launches(&self, iterations: u32) -> u32 {
        match iterations {
            0 => 0,
            _ => (iterations - 1).div_ceil(self.levels) + 1,
        }
    }

    /// The iterations of each pass. The last pass has one.
    pub fn passes(self, iterations: u32) -> impl Iterator<Item = u32> {
        (0..self.launches(iterations)).map(move |pass| {
            let before = (pass * self.levels).min(iterations - 1);
            (iterations - 1 - before).clamp(1, self.levels)
        })
    }

    /// The tiles of a plane, along each axis.
    fn tiles(&self, n: u32) -> [u32; 2] {
        let rows = self.rows * self.warps;
        [tiles(n, columns(n), MARGIN), tiles(n, rows, self.levels)]
    }

    /// The grid of blocks for this number of planes of a cube, and the planes of each block, which
    /// fill this number of multiprocessors.
    pub fn blocks(&self, n: u32, planes: u32, multiprocessors: u32) -> ([u32; 3], u32) {
        let [x, y] = self.tiles(n);
        if let Some(chunk) = self.planes {
            return ([x, y, planes.div_ceil(chunk.max(1))], chunk.max(1));
        }
        // The cost is the number of waves of blocks, the mean of whole ones and of fractions, plus
        // a half: tiles with walls or the source take longer. It is multiplied by the time of a
        // block in planes: those of the chunk, those before it, and the time to begin and end. The
        // constants predict which number of chunks is the fastest on an H100 at N = 256 and 512.
        let cost = |chunks: u32| {
            let blocks = x * y * chunks;
            let waves = blocks + multiprocessors * (blocks.div_ceil(multiprocessors) + 1);
            u64::from(waves) * u64::from(planes.div_ceil(chunks) + 2 * self.levels + 8)
        };
        let chunks = (1..=planes.min(MAX_CHUNKS)).min_by_key(|&chunks| cost(chunks));
        let chunk = planes.div_ceil(chunks.unwrap_or(1));
        ([x, y, planes.div_ceil(chunk)], chunk)
    }

    /// Records a launch of some `planes` of the cube. `fields` are u from T planes before them on,
    /// and these planes of u_next. Every other pass goes downwards.
    fn launch(
        &self,
        plan: &mut Plan,
        n: u32,
        [u, u_next]: [Arg; 2],
        planes: Range<u64>,
        (iterations, pass): (u32, u32),
    ) -> Result<(), PlanError> {
        let (first_z, planes) = (planes.start as u32, (planes.end - planes.start) as u32);
        let (blocks, chunk) = self.blocks(n, planes, plan.multiprocessors());
        let shared = shared_mem_bytes(self.levels, self.rows, self.warps, self.slots);
        let config = LaunchConfig::new(blocks, [32, self.warps, 1]).with_shared_mem_bytes(shared);
        let kernel = format!("poisson_fast_{}", self.kernel());
        let h2_f = Grid { n }.h2() * Grid::SOURCE;
        let descends = pass % 2;
        let args = args![
            u, u_next, n, first_z, planes, iterations, chunk, descends, h2_f
        ];
        plan.launch(&kernel, config, args)
    }
}

/// The largest number of chunks. In shorter ones, blocks would spend most of their time on the
/// beginning.
const MAX_CHUNKS: u32 = 64;

/// The default shape.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        Shape::DEFAULT.record(problem, buffers, plan)
    }
}

impl Solution for Shape {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        if problem.iterations == 0 {
            return Ok(Outputs { u: buffers.u });
        }
        let (n, planes, halo) = (problem.n, u64::from(problem.n), u64::from(self.levels));
        let devices = plan.available_devices();
        let slabs = Slabs::new(devices, planes, 1..planes - 1, halo, "between the walls")?;
        // Tiles that leave multiprocessors free have room for the seam of T planes beside the rest.
        let tiles = self.tiles(n);
        let slabs = if tiles[0] * tiles[1] < plan.multiprocessors() {
            slabs
        } else {
            slabs.with_long_seams()
        };
        let u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        let mut u = slabs.scatter(plan, buffers.u)?;
        let mut u_next = slabs.scatter(plan, u_next)?;
        // The kernel writes no walls except those at either end of x.
        for device in slabs.devices() {
            plan.copy(u.part(device), u_next.part(device))?;
        }
        for (pass, iterations) in (0..).zip(self.passes(problem.iterations)) {
            slabs.step(plan, &[&u_next], |plan, device, written| {
                let around = written.start.saturating_sub(halo)..(written.end + halo).min(planes);
                let fields = [
                    u.read(device, around),
                    u_next.write(device, written.clone()),
                ];
                self.launch(plan, n, fields, written, (iterations, pass))
            })?;
            (u, u_next) = (u_next, u);
        }
        Ok(Outputs { u: u.whole() })
    }
}

/// All passes in one launch per device, where all blocks of the launch run at once.
pub struct AtOnce;

impl AtOnce {
    /// The shape that the kernel is of.
    const SHAPE: Shape = Shape::new(LEVELS_AT_ONCE, 4, 8, 6);

    /// The grid of a cube's slab on each of these devices, if its blocks run at once on this number
    /// of multiprocessors. Slabs and chunks are as thick as a block reaches, if there are several:
    /// they are the halo of no others but those beside them.
    fn blocks(n: u32, devices: u32, multiprocessors: u32) -> Option<[u32; 3]> {
        let [x, y] = Self::SHAPE.tiles(n);
        let thick = n.saturating_sub(2) / devices / LEVELS_AT_ONCE;
        let chunks = (multiprocessors / (x * y)).min(thick.max(1));
        (chunks > 0 && (devices == 1 || thick > 0)).then_some([x, y, chunks])
    }

    /// The longest chunk with which it is faster than a launch per pass: planes are computed again
    /// in both, and here no exchange is waited for.
    const LONGEST_WINNING: u32 = 32;

    /// Whether it is faster on these devices than a launch per pass, as far as that is known.
    pub fn wins(n: u32, target: Target) -> bool {
        let planes = n.saturating_sub(2) / target.devices;
        let is_short = |[_, _, chunks]: [u32; 3]| planes.div_ceil(chunks) <= Self::LONGEST_WINNING;
        target.devices > 1
            && target.shares_memory
            && Self::blocks(n, target.devices, target.multiprocessors).is_some_and(is_short)
    }

    /// Records the launches on all devices.
    fn record_launches(
        problem: &Problem,
        plan: &mut Plan,
        slabs: &Slabs,
        fields: [&Field; 2],
        grid: [u32; 3],
    ) -> Result<(), PlanError> {
        let Problem { n, iterations } = *problem;
        let Shape {
            levels,
            rows,
            warps,
            slots,
            ..
        } = Self::SHAPE;
        let shared = shared_mem_bytes(levels, rows, warps, slots);
        let config = LaunchConfig::new(grid, [32, warps, 1]).with_shared_mem_bytes(shared);
        let [x, y, chunks] = grid.map(u64::from);
        let (row, rows) = (x * y, chunks + 2);
        let numbers: Vec<BufferId> = slabs
            .devices()
            .map(|device| {
                let name = format!("passes.{device}");
                plan.scratch_on(device, name, Element::U32, (rows * row) as usize)
            })
            .collect();
        for &numbers in &numbers {
            plan.fill(numbers, 0)?;
        }
        let last = slabs.devices().end - 1;
        plan.independent(|plan| {
            for device in slabs.devices() {
                // A device without a neighbour names itself, which the kernel does not use.
                let [below, above] = [device.saturating_sub(1), (device + 1).min(last)];
                let place = |at: u32| numbers[at as usize];
                let beside = u32::from(below != device) | u32::from(above != device) << 1;
                let share = slabs.share(device);
                let part = |field: usize, device: u32| fields[field].part(device);
                let args = args![
                    part(0, device),
                    part(1, device),
                    part(0, below),
                    part(1, below),
                    part(0, above),
                    part(1, above),
                    place(device),
                    // To the one below, this device is above, and the other way round.
                    place(below).range((rows - 1) * row, row),
                    place(above).range(0, row),
                    n,
                    share.start as u32,
                    (share.end - share.start) as u32,
                    slabs.held(below).start as u32,
                    slabs.held(above).start as u32,
                    beside,
                    iterations,
                    Grid { n }.h2() * Grid::SOURCE
                ];
                plan.launch("poisson_fast_at_once", config, args)?;
            }
            Ok(())
        })
    }
}

impl Solution for AtOnce {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let devices = plan.available_devices();
        let Some(grid) = Self::blocks(problem.n, devices, plan.multiprocessors()) else {
            return Self::SHAPE.record(problem, buffers, plan);
        };
        if problem.iterations == 0 {
            return Ok(Outputs { u: buffers.u });
        }
        let (n, halo) = (u64::from(problem.n), u64::from(LEVELS_AT_ONCE));
        let slabs = Slabs::new(devices, n, 1..n - 1, halo, "between the walls")?;
        let u_next = plan.scratch("u_next", Element::F64, (problem.n as usize).pow(3));
        let u = slabs.scatter(plan, buffers.u)?;
        let u_next = slabs.scatter(plan, u_next)?;
        for device in slabs.devices() {
            plan.copy(u.part(device), u_next.part(device))?;
        }
        Self::record_launches(problem, plan, &slabs, [&u, &u_next], grid)?;
        let results = [u, u_next];
        let passes = Self::SHAPE.launches(problem.iterations);
        Ok(Outputs {
            u: results[passes as usize % 2].whole(),
        })
    }
}
