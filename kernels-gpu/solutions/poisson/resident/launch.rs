//! All iterations in one launch of one cluster, where the cube fits in its blocks; one launch an iteration where not.

use kernels_gpu::poisson::Grid;
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, shared_mem_bytes};

/// The most shared memory of a block, on compute capability 9.0.
const MOST_SHARED_MEM_BYTES: usize = 227 << 10;

/// Blocks of the largest cluster that every device with clusters has, and that some have.
const MOST_BLOCKS: [u32; 2] = [8, 16];

/// How the cube is shared out in slabs, one a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Layers of a slab and of a thread.
    pub layers: u32,
    /// Rows of a thread.
    pub rows: u32,
}

impl Shape {
    /// Four layers: eight slabs for N = 32.
    pub const DEFAULT: Shape = Shape::new(4, 4);

    /// What may be tried. A cube takes the first that it fits in eight blocks.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new(4, 2),
        Shape::new(8, 2),
        Shape::new(2, 4),
    ];

    const fn new(layers: u32, rows: u32) -> Shape {
        Shape { layers, rows }
    }

    /// The shape in a word: `l4_r4`.
    pub fn label(&self) -> String {
        format!("l{}_r{}", self.layers, self.rows)
    }

    /// Kernel and launch for a cube, if it fits in so many blocks.
    fn launch(&self, n: u32, most_blocks: u32) -> Option<(&'static str, LaunchConfig)> {
        let kernel = |&&(_, layers, rows, _): &&(&str, u32, u32, u32)| {
            [layers, rows] == [self.layers, self.rows]
        };
        let (name, _, _, most_threads) = INSTANCES.iter().find(kernel)?;
        let blocks = n.div_ceil(self.layers);
        let rows = n.next_multiple_of(self.rows);
        let threads = u64::from(rows / self.rows) * u64::from(n);
        if blocks > most_blocks || threads > u64::from(*most_threads) {
            return None;
        }
        let bytes = shared_mem_bytes(self.layers, rows, n);
        let config = LaunchConfig::new(blocks, (threads as u32).next_multiple_of(32))
            .with_shared_mem_bytes(bytes as u32)
            .with_non_portable_cluster(blocks);
        (bytes <= MOST_SHARED_MEM_BYTES).then_some((name, config))
    }
}

/// The first shape of [`Shape::SPACE`] in which the cube fits eight blocks.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let fits = |shape: &&Shape| shape.launch(problem.n, MOST_BLOCKS[0]).is_some();
        match Shape::SPACE.iter().find(fits) {
            Some(shape) => shape.record(problem, buffers, plan),
            None => one_by_one(problem, buffers, plan),
        }
    }
}

impl Solution for Shape {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Problem { n, iterations } = *problem;
        let Some((kernel, config)) = self.launch(n, MOST_BLOCKS[1]) else {
            return one_by_one(problem, buffers, plan);
        };
        let Buffers { u } = buffers;
        if iterations > 0 {
            let rows = n.next_multiple_of(self.rows);
            let before = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
            let args = args![u, before, n, Grid { n }.h2(), iterations, rows];
            plan.launch(kernel, config, args)?;
        }
        Ok(Outputs { u })
    }
}

/// One launch an iteration, for cubes of any size.
fn one_by_one(problem: &Problem, buffers: Buffers, plan: &mut Plan) -> Result<Outputs, PlanError> {
    problem.at_most(Grid::MAX_N)?;
    let Problem { n, iterations } = *problem;
    let Buffers { mut u } = buffers;
    if iterations == 0 {
        return Ok(Outputs { u });
    }
    let mut u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
    // The kernel leaves the walls alone.
    plan.copy(u, u_next)?;
    let config = LaunchConfig::covering((n, n, n), (32, 4, 2))?;
    for _ in 0..iterations {
        let args = args![u.slice(), u_next, n, Grid { n }.h2()];
        plan.launch("poisson_resident_one_iteration", config, args)?;
        (u, u_next) = (u_next, u);
    }
    Ok(Outputs { u })
}
