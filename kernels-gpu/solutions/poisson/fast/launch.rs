//! One launch for every T iterations, on tiles in chunks of planes. Another launch computes the
//! rest of the iterations except one, and the last launch computes that one. The fields of the last
//! two iterations thus exist at the end, and their difference can be computed.

use kernels_gpu::poisson::Grid;
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{COLUMNS, MARGIN, shared_mem_bytes, tiles};

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
    /// Planes that a block computes. `None` means as few as fill an H100 with blocks.
    pub planes: Option<u32>,
}

impl Shape {
    /// The shape that GPUs with 99 KB of shared memory per block can run.
    pub const DEFAULT: Shape = Shape::new(3, 4, 8, 3);

    /// Every kernel, and chunks of other lengths than those that fill an H100.
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

    /// The number of launches that `iterations` iterations take.
    pub fn launches(&self, iterations: u32) -> u32 {
        match iterations {
            0 => 0,
            _ => (iterations - 1).div_ceil(self.levels) + 1,
        }
    }

    /// The grid of blocks, and the planes of each.
    pub fn blocks(&self, n: u32) -> ([u32; 3], u32) {
        let rows = self.rows * self.warps;
        let [x, y] = [tiles(n, COLUMNS, MARGIN), tiles(n, rows, self.levels)];
        let planes = n - 2;
        if let Some(chunk) = self.planes {
            return ([x, y, planes.div_ceil(chunk.max(1))], chunk.max(1));
        }
        // The cost is the number of waves of blocks, plus most of one more: tiles with walls or the
        // source take longer, and some of them are last. It is multiplied by the time of a block in
        // planes: those of the chunk, those before it, and the time to begin and end.
        let cost = |chunks: u32| {
            let tenths = 10 * (x * y * chunks).div_ceil(MULTIPROCESSORS) + 7;
            tenths * (planes.div_ceil(chunks) + 2 * self.levels + 2)
        };
        let chunks = (1..=planes.min(MAX_CHUNKS)).min_by_key(|&chunks| cost(chunks));
        let chunk = planes.div_ceil(chunks.unwrap_or(1));
        ([x, y, planes.div_ceil(chunk)], chunk)
    }
}

/// The number of an H100, which the chunks should fill.
const MULTIPROCESSORS: u32 = 132;
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
        problem.at_most(Grid::MAX_N)?;
        let mut u = buffers.u;
        if problem.iterations == 0 {
            return Ok(Outputs { u });
        }
        let n = problem.n;
        let mut u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        // The kernel writes no walls except those at either end of x.
        plan.copy(u, u_next)?;
        let (blocks, chunk) = self.blocks(n);
        let shared = shared_mem_bytes(self.levels, self.rows, self.warps, self.slots);
        let config = LaunchConfig::new(blocks, [32, self.warps, 1]).with_shared_mem_bytes(shared);
        let kernel = format!("poisson_fast_{}", self.kernel());
        let h2_f = Grid { n }.h2() * Grid::SOURCE;
        let mut left = problem.iterations;
        for launch in 0..self.launches(problem.iterations) {
            let iterations = left.saturating_sub(1).clamp(1, self.levels);
            let descends = launch % 2;
            let args = args![u.slice(), u_next, n, iterations, chunk, descends, h2_f];
            plan.launch(&kernel, config, args)?;
            (u, u_next) = (u_next, u);
            left -= iterations;
        }
        Ok(Outputs { u })
    }
}
