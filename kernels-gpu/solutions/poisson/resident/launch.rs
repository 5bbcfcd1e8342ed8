//! All iterations in one launch of one cluster if the cube fits in its blocks; otherwise one launch
//! per iteration.

use kernels_gpu::poisson::Grid;
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, shared_mem_bytes};

/// The largest shared memory of a block on compute capability 9.0.
const MAX_SHARED_MEM_BYTES: usize = 227 << 10;

/// The division of the cube into boxes, one per block, and of a box among its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Layers and rows of a thread.
    pub layers: u32,
    pub rows: u32,
    /// The largest numbers of boxes along z and y. More than eight in all need a device that allows
    /// it.
    pub boxes: [u32; 2],
}

impl Shape {
    /// For N = 32, eight boxes of eight layers and 16 rows.
    pub const DEFAULT: Shape = Shape::new(4, 2, 4, 2);

    /// Shapes to try. A cube that does not fit a shape takes the first one of eight boxes that it
    /// fits.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new(4, 4, 4, 2),
        Shape::new(4, 4, 8, 1),
        Shape::new(2, 2, 4, 4),
        Shape::new(2, 1, 4, 4),
        Shape::new(4, 2, 4, 4),
        Shape::new(2, 2, 8, 2),
        Shape::new(2, 2, 16, 1),
    ];

    const fn new(layers: u32, rows: u32, boxes_z: u32, boxes_y: u32) -> Shape {
        Shape {
            layers,
            rows,
            boxes: [boxes_z, boxes_y],
        }
    }

    /// The shape in a word: `l4_r2_z4_y2`.
    pub fn label(&self) -> String {
        let [z, y] = self.boxes;
        format!("l{}_r{}_z{z}_y{y}", self.layers, self.rows)
    }

    /// Kernel, launch, and layers and rows of a box for a cube, if it fits.
    fn launch(&self, n: u32) -> Option<(&'static str, LaunchConfig, [u32; 2])> {
        let kernel = |&&(_, layers, rows, _): &&(&str, u32, u32, u32)| {
            [layers, rows] == [self.layers, self.rows]
        };
        let (name, _, _, most_threads) = INSTANCES.iter().find(kernel)?;
        let layers = n.div_ceil(self.boxes[0]).next_multiple_of(self.layers);
        let rows = n.div_ceil(self.boxes[1]).next_multiple_of(self.rows);
        let groups = u64::from(layers / self.layers) * u64::from(rows / self.rows);
        if groups * u64::from(n) > u64::from(*most_threads) {
            return None;
        }
        let threads = groups as u32 * n;
        let bytes = shared_mem_bytes(layers, rows, n);
        let blocks = n.div_ceil(layers) * n.div_ceil(rows);
        let config = LaunchConfig::new(blocks, threads.next_multiple_of(32))
            .with_shared_mem_bytes(bytes as u32)
            .with_non_portable_cluster(blocks);
        (bytes <= MAX_SHARED_MEM_BYTES).then_some((name, config, [layers, rows]))
    }

    /// Whether all iterations are one launch for this cube, in clusters of eight blocks at most.
    pub fn fits(&self, n: u32) -> bool {
        self.fitting(n).is_some()
    }

    /// The launch of this shape, or of the first shape of eight boxes that the cube fits.
    fn fitting(&self, n: u32) -> Option<(&'static str, LaunchConfig, [u32; 2])> {
        let portable = Self::SPACE.iter().filter(|s| s.boxes[0] * s.boxes[1] <= 8);
        [self].into_iter().chain(portable).find_map(|s| s.launch(n))
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
        let Problem { n, iterations } = *problem;
        let Some((kernel, config, [layers, rows])) = self.fitting(n) else {
            return one_by_one(problem, buffers, plan);
        };
        let Buffers { u } = buffers;
        if iterations > 0 {
            let before = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
            let args = args![u, before, n, Grid { n }.h2(), iterations, layers, rows];
            plan.launch(kernel, config, args)?;
        }
        Ok(Outputs { u })
    }
}

/// One launch per iteration, for cubes of any size.
fn one_by_one(problem: &Problem, buffers: Buffers, plan: &mut Plan) -> Result<Outputs, PlanError> {
    problem.at_most(Grid::MAX_N)?;
    let Problem { n, iterations } = *problem;
    let Buffers { mut u } = buffers;
    if iterations == 0 {
        return Ok(Outputs { u });
    }
    let mut u_next = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
    // The kernel does not write the walls.
    plan.copy(u, u_next)?;
    let config = LaunchConfig::covering((n, n, n), (32, 4, 2))?;
    for _ in 0..iterations {
        let args = args![u.slice(), u_next, n, Grid { n }.h2()];
        plan.launch("poisson_resident_one_iteration", config, args)?;
        (u, u_next) = (u_next, u);
    }
    Ok(Outputs { u })
}
