//! Launches of many timesteps, then of four and of one for the rest. Before them, one launch pads
//! the fields and three prepare tables for all; after them, one removes the padding.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use kernels_gpu::wave2d::chunks;
use kernels_gpu::wave2d::levels::{self, WARP_FLOATS};
use kernels_gpu::wave2d::padded::Layout;

/// The shape that equals the course's reference to the last bit, as its rule requires. Where a
/// course allows fused arithmetic, [`Shape::DEFAULT`] is faster.
pub struct Submission;

impl Solution for Submission {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        Shape::EXACT.record(problem, buffers, plan)
    }
}

/// Parameters that do not change the results, except `exact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The largest number of timesteps of a launch, a multiple of 4. Fused kernels exist for 16,
    /// exact ones for 12.
    pub steps: u32,
    /// Warps of a block, 1 to 8. They do not share data.
    pub block_warps: u32,
    /// Warps of a launch: the number that the device runs at once.
    pub warps: u32,
    /// The cost of a row near rough ones, in hundredths of a plain row's.
    pub rough: u32,
    /// Whether the order of operations is that of `free_cell`, not of `fused_cell`.
    pub exact: bool,
}

/// Warps that run at once on an H100 or H200: 8 on each of 132 multiprocessors, where a lane has
/// more than 168 registers.
const RESIDENT: u32 = 132 * 8;

/// The least number of rows of a chunk, except the domain's last. With fewer, a chunk would repeat
/// more rows than it has.
const FEWEST_ROWS: u32 = 8;

impl Shape {
    /// The fastest known shape in blocks whose shared memory every GPU has.
    pub const DEFAULT: Shape = Shape::fused(16, 4, 200);

    /// The shape for results that equal `free_cell`'s.
    pub const EXACT: Shape = Shape::fused(12, 4, 200).exact();

    /// Shapes that are worth a try.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::fused(16, 8, 170),
        Shape::fused(16, 8, 180),
        Shape::fused(16, 8, 190),
        Shape::fused(16, 8, 200),
    ];

    /// Variations of [`EXACT`](Self::EXACT) that are worth a try.
    pub const EXACT_SPACE: &[Shape] = &[
        Shape::EXACT,
        Shape::fused(12, 8, 170).exact(),
        Shape::fused(12, 8, 180).exact(),
        Shape::fused(12, 8, 190).exact(),
        Shape::fused(12, 8, 200).exact(),
    ];

    const fn fused(steps: u32, block_warps: u32, rough: u32) -> Shape {
        Shape {
            steps,
            block_warps,
            warps: RESIDENT,
            rough,
            exact: false,
        }
    }

    const fn exact(self) -> Shape {
        Shape {
            exact: true,
            ..self
        }
    }

    /// A label with the timesteps of a launch, the warps of a block, and the cost of a rough row.
    pub fn label(&self) -> String {
        format!("t{}_w{}_{}", self.steps, self.block_warps, self.rough)
    }

    /// The timesteps of each launch, for `steps` in all.
    pub fn launches(&self, steps: u32) -> impl Iterator<Item = u32> {
        let kernels = levels::divide(steps, self.steps).into_iter();
        kernels.flat_map(|(of_kernel, count)| (0..count).map(move |_| of_kernel))
    }
}

impl Solution for Shape {
    fn record(
        &self,
        problem: &Problem,
        buffers: Buffers,
        plan: &mut Plan,
    ) -> Result<Outputs, PlanError> {
        let Buffers { u0, u1 } = buffers;
        if problem.steps == 0 {
            return Ok(Outputs { u0, u1 });
        }
        let (n_x, n_y, halo) = (problem.n_x, problem.n_y, self.steps);
        let layout = Layout { n_x, n_y, halo };
        let (strips, rows) = (layout.strips(), layout.rows());
        let most_chunks = strips * n_y.div_ceil(FEWEST_ROWS);
        // At least one chunk for each strip, and the empty places between chunks with rough rows
        // and others.
        let least_chunks = strips + self.block_warps - 1;
        let most_chunks = most_chunks.min(self.warps).max(least_chunks);
        // Five planes in all. The kernels count up to 2^34 floats; no GPU has memory for five
        // planes of that size.
        let mut fields = plan.scratch("fields", Element::F32, 2 * layout.plane());
        let mut out = plan.scratch("out", Element::F32, 2 * layout.plane());
        let kinds = plan.scratch("kinds", Element::F32, layout.plane());
        let rough = plan.scratch("rough", Element::U32, rows as usize * strips as usize);
        let flags = plan.scratch("flags", Element::U32, rows as usize * strips as usize);
        let before = plan.scratch(
            "before",
            Element::U32,
            2 * (n_y as usize + 1) * strips as usize,
        );
        let counts = plan.scratch("counts", Element::U32, 2 * strips as usize);
        let chunk_table = plan.scratch(
            "chunks",
            Element::U32,
            (chunks::NUMBERS * most_chunks) as usize,
        );
        // Kernels read padding, but do not use values computed from it: zeros suffice.
        for padded in [fields, out, kinds] {
            plan.fill(padded, 0)?;
        }
        let of_cells = LaunchConfig::new((n_x * n_y).div_ceil(256), 256);
        plan.launch(
            "wave2d_fast_pad",
            of_cells,
            args![u0.slice(), u1.slice(), fields, n_x, n_y, halo],
        )?;
        plan.launch(
            "wave2d_fast_kinds",
            LaunchConfig::new((strips, rows.div_ceil(8)), (32, 8)),
            args![
                kinds,
                rough,
                n_x,
                n_y,
                problem.scene,
                halo,
                u32::from(self.exact)
            ],
        )?;
        // Cells that stay zero are zero in both fields after two timesteps. Nothing else need be
        // done there.
        let skips = u32::from(problem.steps >= 2);
        // A group of two steps computes cells of T + 2 rows: this is their largest distance from
        // the group's last row.
        let reach = self.steps + 2;
        plan.launch(
            "wave2d_fast_flags",
            LaunchConfig::new(strips, 32),
            args![rough.slice(), flags, before, n_y, reach, skips],
        )?;
        plan.launch(
            "wave2d_fast_chunks",
            LaunchConfig::new(1, chunks::THREADS),
            args![
                before.slice(),
                counts,
                chunk_table,
                strips,
                n_y,
                most_chunks,
                self.steps,
                self.rough,
                self.block_warps
            ],
        )?;

        let config = LaunchConfig::new(
            most_chunks.div_ceil(self.block_warps),
            (32, self.block_warps),
        )
        .with_shared_mem_bytes(4 * WARP_FLOATS * self.block_warps);
        let exact = if self.exact { "exact_" } else { "" };
        let mut t = problem.first_step;
        for steps in self.launches(problem.steps) {
            let kernel = format!("wave2d_fast_{exact}t{steps}");
            let args = args![
                fields.slice(),
                out,
                kinds.slice(),
                flags.slice(),
                chunk_table.slice(),
                n_x,
                n_y,
                halo,
                problem.scene,
                problem.k,
                t,
            ];
            plan.launch(&kernel, config, args)?;
            (fields, out) = (out, fields);
            t = t.wrapping_add(steps);
        }
        plan.launch(
            "wave2d_fast_unpad",
            of_cells,
            args![fields.slice(), kinds.slice(), u0, u1, n_x, n_y, halo, skips],
        )?;
        Ok(Outputs { u0, u1 })
    }
}
