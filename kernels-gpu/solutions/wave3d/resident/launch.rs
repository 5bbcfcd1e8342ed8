//! Many timesteps in each launch of one cluster, where the domain fits in its blocks; one launch a timestep, as `single`, where not.

use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, MOST_STEPS, largest, shared_mem_bytes};
use crate::solutions::wave3d::single;

/// The most shared memory of a block, on compute capability 9.0.
const MOST_SHARED_MEM_BYTES: usize = 227 << 10;

/// How the domain is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Boxes along x, y and z; each is a block of the cluster. More than 8 in all need a device that allows it.
    pub split: [u32; 3],
    /// Planes of a thread.
    pub planes: u32,
    /// Rows of a thread.
    pub rows: u32,
}

impl Shape {
    /// Slabs: least is computed between the values that others need and the barrier.
    pub const DEFAULT: Shape = Shape::new([8, 1, 1], 4, 4);

    /// What may be tried. A domain takes the first that it fits, but for those of more than 8 boxes.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new([4, 2, 1], 8, 2),
        Shape::new([2, 4, 1], 16, 1),
        Shape::new([2, 2, 2], 16, 1),
        Shape::new([8, 1, 1], 4, 1),
        Shape::new([8, 1, 1], 8, 4),
        Shape::new([4, 2, 1], 8, 4),
        Shape::new([16, 1, 1], 4, 4),
        Shape::new([8, 2, 1], 4, 4),
        Shape::new([4, 4, 1], 8, 2),
    ];

    const fn new(split: [u32; 3], planes: u32, rows: u32) -> Shape {
        Shape {
            split,
            planes,
            rows,
        }
    }

    /// The shape in a word: `8x1x1_p4_r4`.
    pub fn label(&self) -> String {
        let [x, y, z] = self.split;
        format!("{x}x{y}x{z}_p{}_r{}", self.planes, self.rows)
    }

    fn blocks(&self) -> u32 {
        self.split.iter().product()
    }

    /// The launch for a domain, if that fits.
    fn config(&self, n: [u32; 3]) -> Option<LaunchConfig> {
        let [_, _, most_threads] = INSTANCES
            .iter()
            .find(|&&[planes, rows, _]| [planes, rows] == [self.planes, self.rows])?;
        let largest = largest(n, self.split);
        let threads = u64::from(largest[1].div_ceil(self.rows)) * u64::from(largest[2]);
        let fits = (0..3).all(|axis| self.split[axis] <= n[axis])
            && largest[0] <= self.planes
            && threads <= u64::from(*most_threads)
            && shared_mem_bytes(largest) <= MOST_SHARED_MEM_BYTES;
        fits.then(|| {
            LaunchConfig::new(self.blocks(), (threads as u32).next_multiple_of(32))
                .with_shared_mem_bytes(shared_mem_bytes(largest) as u32)
                .with_non_portable_cluster(self.blocks())
        })
    }
}

/// The first shape of [`Shape::SPACE`] that every device with clusters has and the domain fits.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let n = [problem.n_x, problem.n_y, problem.n_z];
        let shapes = Shape::SPACE.iter();
        let mut shapes = shapes.filter(|shape| shape.blocks() <= 8);
        let shape = shapes.find(|shape| shape.config(n).is_some());
        shape
            .unwrap_or(&Shape::DEFAULT)
            .record(problem, buffers, plan)
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
        let Some(config) = self.config([n_x, n_y, n_z]) else {
            return single::launch::Submission.record(problem, buffers, plan);
        };
        let Buffers { u_prev, u, c2, d } = buffers;
        let [split_x, split_y, split_z] = self.split;
        let kernel = format!("wave3d_resident_{}x{}", self.planes, self.rows);
        for values in problem.source_values.chunks(MOST_STEPS) {
            let steps = values.len() as u32;
            let mut bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
            bytes.resize(8 * MOST_STEPS, 0);
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
                steps,
                split_x,
                split_y,
                split_z,
                bytes,
            ];
            plan.launch(&kernel, config, args)?;
        }
        Ok(Outputs { u_prev, u })
    }
}
