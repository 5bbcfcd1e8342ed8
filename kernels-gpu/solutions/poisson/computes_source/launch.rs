//! Each iteration is one launch, with a thread for each column of some layers.

use kernels_gpu::poisson::Grid;
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{BLOCK, LAYERS};

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Layers of points that a thread computes, one above the other.
    pub layers: u32,
}

impl Shape {
    /// The best shape of those tried; docs/log/poisson.md has the reasons.
    pub const DEFAULT: Shape = Shape {
        block: BLOCK,
        layers: LAYERS,
    };

    /// The shapes that `harness tune` tries: each of these blocks with each of these numbers of
    /// layers.
    pub const SPACE: &[Shape] = &{
        const BLOCKS: [[u32; 3]; 8] = [
            [32, 4, 1],
            [32, 8, 1],
            [32, 16, 1],
            [64, 4, 1],
            [64, 8, 1],
            [128, 2, 1],
            [256, 1, 1],
            [32, 4, 4],
        ];
        const LAYERS: [u32; 4] = [8, 16, 32, 64];
        let mut space = [Shape::DEFAULT; BLOCKS.len() * LAYERS.len()];
        let mut i = 0;
        while i < space.len() {
            space[i] = Shape {
                block: BLOCKS[i / LAYERS.len()],
                layers: LAYERS[i % LAYERS.len()],
            };
            i += 1;
        }
        space
    };

    /// `32x8x1-32`: threads of a block, and layers.
    pub fn label(&self) -> String {
        let [x, y, z] = self.block;
        format!("{x}x{y}x{z}-{}", self.layers)
    }
}

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
        let (inside, layer) = (n - 2, u64::from(n).pow(2));
        let mut u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
        // The kernel writes no walls except those at either end of x.
        plan.copy(u, u_next)?;
        let threads = (n, inside, inside.div_ceil(self.layers.max(1)));
        let config = LaunchConfig::covering(threads, self.block)?;
        let h2 = Grid { n }.h2();
        for _ in 0..problem.iterations {
            let written = u_next.range(layer, u64::from(inside) * layer);
            let args = args![u.slice(), written, n, 1u32, inside, self.layers, h2];
            plan.launch("poisson_computes_source", config, args)?;
            (u, u_next) = (u_next, u);
        }
        Ok(Outputs { u })
    }
}
