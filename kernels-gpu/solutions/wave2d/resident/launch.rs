//! All timesteps in one launch of one cluster if the domain fits in its blocks; otherwise one
//! launch per timestep.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, shared_mem_bytes};

/// The largest shared memory of a block on compute capability 9.0.
const MAX_SHARED_MEM_BYTES: usize = 227 << 10;

/// The division of the domain into slabs, one per block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of a thread.
    pub rows: u32,
    /// The largest number of blocks. More than 8 need a device that allows it.
    pub blocks: u32,
}

impl Shape {
    /// 201 rows take eight slabs of two times 13 rows, with 7 unused rows.
    pub const DEFAULT: Shape = Shape::new(13, 8);

    /// Shapes to try. A domain that does not fit a shape takes the first one of eight blocks that
    /// it fits.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new(7, 8),
        Shape::new(4, 8),
        Shape::new(7, 16),
        Shape::new(5, 16),
        Shape::new(4, 16),
        Shape::new(13, 16),
    ];

    const fn new(rows: u32, blocks: u32) -> Shape {
        Shape { rows, blocks }
    }

    /// The shape in a word: `r13_b8`.
    pub fn label(&self) -> String {
        format!("r{}_b{}", self.rows, self.blocks)
    }

    /// Kernel, launch and rows of a slab for a domain, if it fits.
    fn launch(&self, n_x: u32, n_y: u32) -> Option<(&'static str, LaunchConfig, u32)> {
        let (name, _, most_threads) = INSTANCES.iter().find(|(_, rows, _)| *rows == self.rows)?;
        let groups = n_y.div_ceil(self.blocks * self.rows);
        let threads = u64::from(groups) * u64::from(n_x);
        if threads > u64::from(*most_threads) {
            return None;
        }
        let rows = groups * self.rows;
        let bytes = shared_mem_bytes(rows, n_x);
        let blocks = n_y.div_ceil(rows);
        let config = LaunchConfig::new(blocks, (threads as u32).next_multiple_of(32))
            .with_shared_mem_bytes(bytes as u32)
            .with_non_portable_cluster(blocks);
        (bytes <= MAX_SHARED_MEM_BYTES).then_some((*name, config, rows))
    }

    /// Whether all timesteps are one launch for this domain, in clusters of eight blocks at most.
    pub fn fits(&self, n_x: u32, n_y: u32) -> bool {
        self.fitting(n_x, n_y).is_some()
    }

    /// The launch of this shape, or of the first shape of eight blocks that the domain fits.
    fn fitting(&self, n_x: u32, n_y: u32) -> Option<(&'static str, LaunchConfig, u32)> {
        let portable = Self::SPACE.iter().filter(|shape| shape.blocks <= 8);
        let mut shapes = [self].into_iter().chain(portable);
        shapes.find_map(|shape| shape.launch(n_x, n_y))
    }
}

/// [`Shape::DEFAULT`].
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
        let Problem {
            n_x, n_y, steps, ..
        } = *problem;
        let Some((kernel, config, rows)) = self.fitting(n_x, n_y) else {
            return step_by_step(problem, buffers, plan);
        };
        let Buffers { u0, u1 } = buffers;
        if steps > 0 {
            let args = args![
                u0,
                u1,
                n_x,
                n_y,
                problem.scene,
                problem.k,
                problem.first_step,
                steps,
                rows,
            ];
            plan.launch(kernel, config, args)?;
        }
        Ok(Outputs { u0, u1 })
    }
}

/// One launch per timestep, for domains of any size.
fn step_by_step(
    problem: &Problem,
    buffers: Buffers,
    plan: &mut Plan,
) -> Result<Outputs, PlanError> {
    let Problem {
        n_x, n_y, scene, k, ..
    } = *problem;
    let Buffers { mut u0, mut u1 } = buffers;
    let config = LaunchConfig::covering((n_x, n_y), (32, 8))?;
    for step in 0..problem.steps {
        let t = problem.first_step.wrapping_add(step);
        let args = args![u0, u1.slice(), n_x, n_y, scene, k, t];
        plan.launch("wave2d_resident_one_step", config, args)?;
        (u0, u1) = (u1, u0);
    }
    Ok(Outputs { u0, u1 })
}
