//! All timesteps in one launch of one cluster if the domain fits in its blocks; otherwise one
//! launch per timestep.

use kernels_gpu::inbox::{Boxes, Division};
use kernels_gpu::wave3d::source::VALUES;
use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, shared_mem_bytes};

/// The division of the domain into boxes of planes and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape(Division);

impl Shape {
    /// For 32^3, eight boxes of eight planes and 16 rows.
    pub const DEFAULT: Shape = Shape::new(4, 2, 4, 2);

    /// Shapes to try. A domain that does not fit a shape takes the first one of eight boxes that it
    /// fits.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new(4, 4, 8, 1),
        Shape::new(4, 4, 4, 2),
        Shape::new(2, 2, 4, 4),
        Shape::new(2, 1, 4, 4),
        Shape::new(4, 2, 4, 4),
        Shape::new(2, 2, 8, 2),
        Shape::new(2, 2, 16, 1),
    ];

    const fn new(planes: u32, rows: u32, boxes_x: u32, boxes_y: u32) -> Shape {
        Shape(Division {
            planes,
            rows,
            boxes: [boxes_x, boxes_y],
        })
    }

    /// The shape in a word: `p4_r2_x4_y2`.
    pub fn label(&self) -> String {
        let Division {
            planes,
            rows,
            boxes: [x, y],
        } = self.0;
        format!("p{planes}_r{rows}_x{x}_y{y}")
    }

    /// Whether all timesteps are one launch for this domain, in clusters of eight blocks at most.
    pub fn fits(&self, n: [u32; 3]) -> bool {
        self.fitting(n).is_some()
    }

    /// The launch of this shape, or of the first shape of eight boxes that the domain fits.
    fn fitting(&self, n: [u32; 3]) -> Option<Boxes> {
        let space = Self::SPACE.iter().map(|shape| shape.0);
        self.0.or_portable(space, INSTANCES, n, shared_mem_bytes)
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
        let Problem { n_x, n_y, n_z, .. } = *problem;
        let Some(boxes) = self.fitting([n_x, n_y, n_z]) else {
            return step_by_step(problem, buffers, plan);
        };
        let Buffers { u_prev, u, c2, d } = buffers;
        if problem.steps == 0 {
            return Ok(Outputs { u_prev, u });
        }
        let chunks = problem.source_values.chunks(VALUES);
        let values = plan.scratch("source_values", Element::F64, chunks.len() * VALUES);
        for (chunk, of_chunk) in chunks.enumerate() {
            let mut bytes: Vec<u8> = of_chunk
                .iter()
                .flat_map(|value| value.to_ne_bytes())
                .collect();
            bytes.resize(size_of::<f64>() * VALUES, 0);
            let out = values.range((chunk * VALUES) as u64, VALUES as u64);
            plan.launch(
                "wave3d_resident_values",
                LaunchConfig::new(1, 1),
                args![out, bytes],
            )?;
        }
        let [planes, rows] = boxes.extents;
        let config = LaunchConfig::new(boxes.blocks, boxes.threads)
            .with_shared_mem_bytes(boxes.shared_mem_bytes)
            .with_non_portable_cluster(boxes.blocks);
        let args = args![
            u_prev,
            u,
            c2.slice(),
            d.slice(),
            n_x,
            n_y,
            n_z,
            problem.dt,
            problem.ratio,
            problem.source,
            values.slice(),
            problem.steps,
            planes,
            rows,
        ];
        plan.launch(boxes.kernel, config, args)?;
        Ok(Outputs { u_prev, u })
    }
}

/// One launch per timestep, for domains of any size.
fn step_by_step(
    problem: &Problem,
    buffers: Buffers,
    plan: &mut Plan,
) -> Result<Outputs, PlanError> {
    let Buffers {
        mut u_prev,
        mut u,
        c2,
        d,
    } = buffers;
    let Problem { n_x, n_y, n_z, .. } = *problem;
    let config = LaunchConfig::covering((n_z, n_y, n_x), (32, 4, 2))?;
    for &value in &problem.source_values {
        let args = args![
            u_prev,
            u.slice(),
            c2.slice(),
            d.slice(),
            n_x,
            n_y,
            n_z,
            problem.dt,
            problem.ratio,
            problem.source,
            value,
        ];
        plan.launch("wave3d_resident_one_step", config, args)?;
        (u_prev, u) = (u, u_prev);
    }
    Ok(Outputs { u_prev, u })
}
