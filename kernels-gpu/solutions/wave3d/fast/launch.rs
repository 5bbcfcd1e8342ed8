//! Several timesteps per launch, from two fields to two others.

use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{FACTORS, INSTANCES, MARGIN, MAX_DEPTH, WIDTH, shared_mem_bytes, tiles};

/// The number of multiprocessors that the chunks are made for. Each runs one block at a time. With
/// other numbers the results are the same.
const MULTIPROCESSORS: u64 = 132;

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Timesteps of a launch: 1 to 4. The last launch of a run may take fewer.
    pub depth: u32,
    /// Rows of a thread.
    pub rows: u32,
    /// Threads of a block along j.
    pub threads: u32,
    /// The largest number of chunks along i.
    pub chunks: u32,
}

impl Shape {
    /// The largest shape whose shared memory every GPU has. GPUs of compute capability 9.0 have
    /// room for twice as many timesteps.
    pub const DEFAULT: Shape = Shape::new(2, 2, 10, 16);

    /// Shapes to try.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new(4, 4, 8, 16),
        Shape::new(3, 4, 8, 16),
        Shape::new(3, 4, 6, 16),
        Shape::new(3, 6, 6, 16),
        Shape::new(3, 8, 4, 16),
        Shape::new(3, 2, 16, 16),
        Shape::new(4, 4, 6, 16),
        Shape::new(4, 8, 4, 16),
    ];

    const fn new(depth: u32, rows: u32, threads: u32, chunks: u32) -> Shape {
        Shape {
            depth,
            rows,
            threads,
            chunks,
        }
    }

    /// The shape in a word: `t4_r4_y8_c16`.
    pub fn label(&self) -> String {
        let Shape {
            depth,
            rows,
            threads,
            chunks,
        } = self;
        format!("t{depth}_r{rows}_y{threads}_c{chunks}")
    }

    /// The kernel for `depth` timesteps, its threads' rows, and the block's threads along j. It is
    /// this shape's or, for the rest of a run, the smallest.
    fn kernel(&self, depth: u32) -> (&'static str, [u32; 2]) {
        let of_depth = || INSTANCES.iter().filter(|&&(_, steps, ..)| steps == depth);
        let is_own = |&&(_, _, rows, threads): &&(&str, u32, u32, u32)| {
            [rows, threads] == [self.rows, self.threads]
        };
        let kernel = of_depth().find(is_own).or(of_depth().next());
        let &(name, _, rows, threads) = kernel.expect("every depth has a kernel");
        (name, [rows, threads])
    }

    /// The numbers of tiles along k and j for `depth` timesteps and tiles of `tile_rows` rows.
    fn tiles([_, n_y, n_z]: [u32; 3], depth: u32, tile_rows: u32) -> [u32; 2] {
        [tiles(n_z, WIDTH, MARGIN), tiles(n_y, tile_rows, depth)]
    }

    /// The number of planes of a chunk with which the multiprocessors finish first. Each takes one
    /// block after another, and a block takes `depth` planes more on each side than it writes.
    fn planes(&self, n: [u32; 3], depth: u32, tile_rows: u32) -> u32 {
        let [along_k, along_j] = Shape::tiles(n, depth, tile_rows).map(u64::from);
        let time = |planes: u32| {
            let blocks = along_k * along_j * u64::from(n[0].div_ceil(planes));
            blocks.div_ceil(MULTIPROCESSORS) * u64::from(planes + 2 * depth)
        };
        let planes = (1..=self.chunks.clamp(1, 65_535)).map(|chunks| n[0].div_ceil(chunks));
        planes.min_by_key(|&planes| time(planes)).unwrap_or(n[0])
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
        let Buffers {
            mut u_prev,
            mut u,
            c2,
            d,
        } = buffers;
        if problem.steps == 0 {
            return Ok(Outputs { u_prev, u });
        }
        let Problem { n_x, n_y, n_z, .. } = *problem;
        let columns = n_x as usize * n_y as usize;
        let sites = columns * n_z as usize;
        let mut out_prev = plan.scratch("out_prev", Element::F64, sites);
        let mut out = plan.scratch("out", Element::F64, sites);
        let factors = plan.scratch("factors", Element::F64, FACTORS as usize * columns);
        let config = LaunchConfig::covering(columns as u32, 256)?;
        let of_columns = args![d.slice(), factors, n_y, problem.dt];
        plan.launch("wave3d_fast_factors", config, of_columns)?;
        for values in problem
            .source_values
            .chunks(self.depth.clamp(1, MAX_DEPTH) as usize)
        {
            let depth = values.len() as u32;
            let value = |step: usize| values.get(step).copied().unwrap_or(0.0);
            let n = [n_x, n_y, n_z];
            let (kernel, [rows, threads]) = self.kernel(depth);
            let tile_rows = rows * threads;
            let planes = self.planes(n, depth, tile_rows);
            let [along_k, along_j] = Shape::tiles(n, depth, tile_rows);
            let grid = (along_k, along_j, n_x.div_ceil(planes));
            let config = LaunchConfig::new(grid, (WIDTH, threads))
                .with_shared_mem_bytes(shared_mem_bytes(depth, tile_rows));
            let args = args![
                u_prev.slice(),
                u.slice(),
                out_prev,
                out,
                c2.slice(),
                factors.slice(),
                n_x,
                n_y,
                n_z,
                problem.ratio,
                problem.source,
                value(0),
                value(1),
                value(2),
                value(3),
                planes,
            ];
            plan.launch(kernel, config, args)?;
            (u_prev, u, out_prev, out) = (out_prev, out, u_prev, u);
        }
        Ok(Outputs { u_prev, u })
    }
}
