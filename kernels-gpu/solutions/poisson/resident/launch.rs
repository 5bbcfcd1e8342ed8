//! All iterations in one launch of one cluster if the cube fits in its blocks; otherwise one launch
//! per iteration.

use kernels_gpu::inbox::{Boxes, Division};
use kernels_gpu::poisson::Grid;
use plan::poisson::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, shared_mem_bytes};

/// The division of the cube into boxes of layers and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape(Division);

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
        Shape(Division {
            planes: layers,
            rows,
            boxes: [boxes_z, boxes_y],
        })
    }

    /// The shape in a word: `l4_r2_z4_y2`.
    pub fn label(&self) -> String {
        let Division {
            planes,
            rows,
            boxes: [z, y],
        } = self.0;
        format!("l{planes}_r{rows}_z{z}_y{y}")
    }

    /// Whether all iterations are one launch for this cube, in clusters of eight blocks at most.
    pub fn fits(&self, n: u32) -> bool {
        self.fitting(n).is_some()
    }

    /// The launch of this shape, or of the first shape of eight boxes that the cube fits.
    fn fitting(&self, n: u32) -> Option<Boxes> {
        let space = Self::SPACE.iter().map(|shape| shape.0);
        self.0
            .or_portable(space, INSTANCES, [n; 3], shared_mem_bytes)
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
        let Some(boxes) = self.fitting(n) else {
            return one_by_one(problem, buffers, plan);
        };
        let Buffers { u } = buffers;
        if iterations > 0 {
            let before = plan.scratch("u_next", Element::F64, (n as usize).pow(3));
            let [layers, rows] = boxes.extents;
            let config = LaunchConfig::new(boxes.blocks, boxes.threads)
                .with_shared_mem_bytes(boxes.shared_mem_bytes)
                .with_non_portable_cluster(boxes.blocks);
            let args = args![u, before, n, Grid { n }.h2(), iterations, layers, rows];
            plan.launch(boxes.kernel, config, args)?;
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
