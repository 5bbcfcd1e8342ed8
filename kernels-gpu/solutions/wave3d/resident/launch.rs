//! All timesteps in one launch of one cluster if the domain fits in its blocks; otherwise one
//! launch per timestep.

use kernels_gpu::wave3d::source::VALUES;
use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, shared_mem_bytes};

/// The largest shared memory of a block on compute capability 9.0.
const MAX_SHARED_MEM_BYTES: usize = 227 << 10;

/// The division of the domain into boxes, one per block, and of a box among its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Planes and rows of a thread.
    pub planes: u32,
    pub rows: u32,
    /// The largest numbers of boxes along x and y. More than eight in all need a device that allows
    /// it.
    pub boxes: [u32; 2],
}

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
        Shape {
            planes,
            rows,
            boxes: [boxes_x, boxes_y],
        }
    }

    /// The shape in a word: `p4_r2_x4_y2`.
    pub fn label(&self) -> String {
        let [x, y] = self.boxes;
        format!("p{}_r{}_x{x}_y{y}", self.planes, self.rows)
    }

    /// Kernel, launch, and planes and rows of a box for a domain, if it fits.
    fn launch(&self, n: [u32; 3]) -> Option<(&'static str, LaunchConfig, [u32; 2])> {
        let kernel = |&&(_, planes, rows, _): &&(&str, u32, u32, u32)| {
            [planes, rows] == [self.planes, self.rows]
        };
        let (name, _, _, most_threads) = INSTANCES.iter().find(kernel)?;
        let planes = n[0].div_ceil(self.boxes[0]).next_multiple_of(self.planes);
        let rows = n[1].div_ceil(self.boxes[1]).next_multiple_of(self.rows);
        let groups = u64::from(planes / self.planes) * u64::from(rows / self.rows);
        if groups * u64::from(n[2]) > u64::from(*most_threads) {
            return None;
        }
        let threads = groups as u32 * n[2];
        let bytes = shared_mem_bytes([planes, rows, n[2]]);
        let blocks = n[0].div_ceil(planes) * n[1].div_ceil(rows);
        let config = LaunchConfig::new(blocks, threads.next_multiple_of(32))
            .with_shared_mem_bytes(bytes as u32)
            .with_non_portable_cluster(blocks);
        (bytes <= MAX_SHARED_MEM_BYTES).then_some((name, config, [planes, rows]))
    }

    /// Whether all timesteps are one launch for this domain, in clusters of eight blocks at most.
    pub fn fits(&self, n: [u32; 3]) -> bool {
        self.fitting(n).is_some()
    }

    /// The launch of this shape, or of the first shape of eight boxes that the domain fits.
    fn fitting(&self, n: [u32; 3]) -> Option<(&'static str, LaunchConfig, [u32; 2])> {
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
        let Problem { n_x, n_y, n_z, .. } = *problem;
        let Some((kernel, config, [planes, rows])) = self.fitting([n_x, n_y, n_z]) else {
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
            planes,
            rows,
        ];
        plan.launch(kernel, config, args)?;
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
