//! All timesteps in one launch of one cluster, where the domain fits in its blocks; one launch a timestep where not.

use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, VALUES, shared_mem_bytes};

/// The most shared memory of a block, on compute capability 9.0.
const MOST_SHARED_MEM_BYTES: usize = 227 << 10;

/// Blocks of the largest cluster that every device with clusters has, and that some have.
const MOST_BLOCKS: [u32; 2] = [8, 16];

/// How the domain is shared out in boxes, one a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Planes of a box and of a thread.
    pub planes: u32,
    /// Rows of a thread.
    pub rows: u32,
    /// Boxes side by side along y.
    pub boxes_y: u32,
}

impl Shape {
    /// Slabs of four planes: eight for 32^3.
    pub const DEFAULT: Shape = Shape::new(4, 4, 1);

    /// What may be tried. A domain takes the first that it fits in eight blocks.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new(4, 2, 1),
        Shape::new(8, 2, 2),
        Shape::new(8, 2, 1),
        Shape::new(8, 2, 4),
        Shape::new(2, 4, 1),
    ];

    const fn new(planes: u32, rows: u32, boxes_y: u32) -> Shape {
        Shape {
            planes,
            rows,
            boxes_y,
        }
    }

    /// The shape in a word: `p4_r4_y1`.
    pub fn label(&self) -> String {
        format!("p{}_r{}_y{}", self.planes, self.rows, self.boxes_y)
    }

    /// Rows of a box.
    fn rows_of_box(&self, n_y: u32) -> u32 {
        n_y.div_ceil(self.boxes_y).next_multiple_of(self.rows)
    }

    /// Kernel and launch for a domain, if it fits in so many blocks.
    fn launch(&self, n: [u32; 3], most_blocks: u32) -> Option<(&'static str, LaunchConfig)> {
        let kernel = |&&(_, planes, rows, sides, _): &&(&str, u32, u32, bool, u32)| {
            [planes, rows] == [self.planes, self.rows] && sides == (self.boxes_y > 1)
        };
        let (name, _, _, _, most_threads) = INSTANCES.iter().find(kernel)?;
        let blocks = n[0].div_ceil(self.planes).checked_mul(self.boxes_y)?;
        let rows = self.rows_of_box(n[1]);
        let threads = u64::from(rows / self.rows) * u64::from(n[2]);
        if blocks > most_blocks || threads > u64::from(*most_threads) {
            return None;
        }
        let bytes = shared_mem_bytes([self.planes, rows, n[2]]);
        let config = LaunchConfig::new(blocks, (threads as u32).next_multiple_of(32))
            .with_shared_mem_bytes(bytes as u32)
            .with_non_portable_cluster(blocks);
        (bytes <= MOST_SHARED_MEM_BYTES).then_some((name, config))
    }
}

/// The first shape of [`Shape::SPACE`] in which the domain fits eight blocks.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let n = [problem.n_x, problem.n_y, problem.n_z];
        let fits = |shape: &&Shape| shape.launch(n, MOST_BLOCKS[0]).is_some();
        match Shape::SPACE.iter().find(fits) {
            Some(shape) => shape.record(problem, buffers, plan),
            None => step_by_step(problem, buffers, plan),
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
        let Problem { n_x, n_y, n_z, .. } = *problem;
        let Some((kernel, config)) = self.launch([n_x, n_y, n_z], MOST_BLOCKS[1]) else {
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
            self.rows_of_box(n_y),
            self.boxes_y,
        ];
        plan.launch(kernel, config, args)?;
        Ok(Outputs { u_prev, u })
    }
}

/// One launch a timestep, for domains of any size.
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
