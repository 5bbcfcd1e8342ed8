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

use std::collections::HashMap;
use std::ops::Range;

use kernels_gpu::blocks::{Along, BlockList, Group};
use kernels_gpu::poisson::Grid;
use kernels_gpu::poisson::ring::shared_mem_bytes;
use kernels_gpu::poisson::tile::{MARGIN, columns, tiles};
use plan::balance::{Blocks, Tiles, cut};
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
    /// The largest number of chunks of a tile's planes.
    pub chunks: u32,
}

impl Shape {
    /// The shape that GPUs with 99 KB of shared memory per block can run.
    pub const DEFAULT: Shape = Shape::new(3, 4, 8, 3);

    /// Every kernel.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new(2, 4, 8, 6),
        Shape::new(3, 4, 8, 6),
        Shape::new(3, 3, 12, 6),
        Shape::new(4, 3, 8, 6),
    ];

    const fn new(levels: u32, rows: u32, warps: u32, slots: u32) -> Shape {
        Shape {
            levels,
            rows,
            warps,
            slots,
            chunks: MAX_CHUNKS,
        }
    }

    /// The shape in a few letters.
    pub fn label(&self) -> String {
        let Shape {
            levels,
            rows,
            warps,
            slots,
            ..
        } = self;
        format!("t{levels}_r{rows}_w{warps}_s{slots}")
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

    /// The blocks of a launch that writes these planes of a cube, with which the multiprocessors
    /// finish first.
    pub fn blocks(&self, n: u32, planes: Range<u32>, multiprocessors: u32) -> BlockList {
        let [x, y] = self.tiles(n);
        let whole = Group {
            tiles: [x, y].map(|count| Along::from(0, count)),
            planes: [planes.start, planes.end],
            chunks: 1,
        };
        let has_source = |tile: [u32; 2]| {
            let right = [
                columns(n) - 2 * MARGIN,
                self.rows * self.warps - 2 * self.levels,
            ];
            Grid { n }.is_source_column(tile[0] * right[0], tile[1] * right[1])
        };
        // If any column of a tile is in the source, the one with the least x and y is: these tiles
        // are a rectangle at the cube's edge.
        let source_x = (0..x).filter(|&tile| has_source([tile, 0])).count() as u32;
        let source_y = (0..y).filter(|&tile| has_source([0, tile])).count() as u32;
        let kinds = [
            ([0..source_x, 0..source_y], SOURCE_COST),
            ([0..source_x, source_y..y], 100),
            ([source_x..x, 0..y], 100),
        ];
        let kinds = kinds.map(|(tiles, cost)| {
            let tiles = tiles.map(|along| Along::from(along.start, along.end - along.start));
            let group = Group { tiles, ..whole };
            (group, cost)
        });
        let costs = kinds.map(|(group, cost)| Tiles {
            tiles: group.tiles(),
            planes: group.len(),
            cost,
        });
        let blocks = Blocks {
            at_once: multiprocessors,
            extra: 2 * self.levels + BEGIN_AND_END,
            most: self.chunks,
            longest: LONGEST,
            shortest: 1,
        };
        let mut list = BlockList::EMPTY;
        for (group, chunks) in cut(&costs, blocks).of(whole, &kinds.map(|(group, _)| group)) {
            list.push(Group { chunks, ..group });
        }
        list
    }

    /// Records a launch of some `planes` of the cube. `fields` are u from T planes before them on,
    /// and these planes of u_next. Every other pass goes downwards.
    fn launch(
        &self,
        plan: &mut Plan,
        n: u32,
        [u, u_next]: [Arg; 2],
        planes: Range<u32>,
        blocks: &BlockList,
        (iterations, pass): (u32, u32),
    ) -> Result<(), PlanError> {
        let shared = shared_mem_bytes(self.levels, self.rows, self.warps, self.slots);
        let config =
            LaunchConfig::new(blocks.blocks(), [32, self.warps, 1]).with_shared_mem_bytes(shared);
        let kernel = format!("poisson_fast_{}", self.label());
        let h2_f = Grid { n }.h2() * Grid::SOURCE;
        let descends = pass % 2;
        let args = args![
            u,
            u_next,
            n,
            planes.start,
            planes.end - planes.start,
            iterations,
            descends,
            h2_f,
            blocks.to_bytes().to_vec(),
        ];
        plan.launch(&kernel, config, args)
    }
}

/// The time of a plane of a tile with the source, in percent of one without.
/// Of 100, 125, 140 and 160, this was the fastest on an H200 at 256^3: by 5, 8 and 16 %.
const SOURCE_COST: u32 = 125;

/// The planes in whose time a block begins and ends.
const BEGIN_AND_END: u32 = 2;

/// The largest number of planes of a chunk: blocks of longer ones drift apart, and share fewer
/// reads in L2. With two chunks of 255 planes, 512^3 takes 15 % longer than with five.
const LONGEST: u32 = 128;

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
        // Most launches have the planes of one before.
        let mut lists: HashMap<Range<u32>, BlockList> = HashMap::new();
        for (pass, iterations) in (0..).zip(self.passes(problem.iterations)) {
            slabs.step(plan, &[&u_next], |plan, device, written| {
                let around = written.start.saturating_sub(halo)..(written.end + halo).min(planes);
                let fields = [
                    u.read(device, around),
                    u_next.write(device, written.clone()),
                ];
                let written = written.start as u32..written.end as u32;
                let multiprocessors = plan.multiprocessors();
                let blocks = lists
                    .entry(written.clone())
                    .or_insert_with(|| self.blocks(n, written.clone(), multiprocessors));
                self.launch(plan, n, fields, written, blocks, (iterations, pass))
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
