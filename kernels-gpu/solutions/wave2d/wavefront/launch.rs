//! A launch of all passes of 16 or 12 timesteps, then one of passes of four and one of passes of
//! single timesteps for the rest. Before them, one launch pads the fields and three prepare tables
//! for all; after them, one removes the padding.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use kernels_gpu::wave2d::levels::{self, WARP_FLOATS};
use kernels_gpu::wave2d::padded::Layout;
use kernels_gpu::wave2d::strips::{INTERVAL, NUMBERS};

use super::kernels::HALO;

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

/// The least number of rows that a pass is behind the one before: the rows that the pipeline holds.
const PASS_ROWS: u32 = 2 * HALO;
/// The largest number of progress numbers, 64 MiB, unless one pass needs more.
const MAX_NUMBERS: u32 = 1 << 24;

/// Parameters that do not change the results, except `exact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Warps of a block: 4 or 8. In blocks of eight, each slow warp has a scheduler for itself.
    pub block_warps: u32,
    /// The largest number of passes of a launch.
    pub passes: u32,
    /// Whether the order of operations is that of `free_cell`, not of `fused_cell`.
    pub exact: bool,
}

impl Shape {
    /// A shape in blocks whose shared memory every GPU has.
    pub const DEFAULT: Shape = Shape::of(4, false);

    /// The shape for results that equal `free_cell`'s.
    pub const EXACT: Shape = Shape::of(4, true);

    /// Shapes that are worth a try.
    pub const SPACE: &[Shape] = &[Shape::DEFAULT, Shape::of(8, false)];

    /// Shapes for exact results that are worth a try.
    pub const EXACT_SPACE: &[Shape] = &[Shape::EXACT, Shape::of(8, true)];

    const fn of(block_warps: u32, exact: bool) -> Shape {
        Shape {
            block_warps,
            passes: 4096,
            exact,
        }
    }

    /// A label with the warps of a block.
    pub fn label(&self) -> String {
        format!("w{}", self.block_warps)
    }

    /// Timesteps of a pass of each kernel, and the number of these passes, for `steps` in all.
    pub fn passes(&self, steps: u32) -> [(u32, u32); 3] {
        levels::divide(steps, if self.exact { 12 } else { 16 })
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
        let (n_x, n_y) = (problem.n_x, problem.n_y);
        let halo = HALO;
        let layout = Layout { n_x, n_y, halo };
        let (strips, rows) = (layout.strips(), layout.rows());
        let intervals = rows.div_ceil(INTERVAL);
        let all_passes = self.passes(problem.steps);
        let longest = all_passes.iter().map(|&(_, passes)| passes).max();
        // With few rows, passes would only wait for one another.
        let most = if n_y < 4 * PASS_ROWS { 1 } else { self.passes };
        // The progress of each strip, and of one on each side, in each pass and in one before the
        // first.
        let of_pass = strips + 2;
        let room = (MAX_NUMBERS / of_pass).max(2) - 1;
        let most_passes = longest.unwrap_or(0).min(most).min(room);
        let plane = layout.plane();
        // Two planes of the fields, two of the results, and the table of kinds. The kernels count
        // up to 2^34 floats; no GPU has that memory.
        let fields = plan.scratch("fields", Element::F32, 5 * plane);
        let planes = |first: usize, count: usize| {
            fields.slice_at((first * plane) as u64, (count * plane) as u64)
        };
        let mut numbers = |name, count: u32| plan.scratch(name, Element::U32, count as usize);
        let rough = numbers("rough", rows * strips);
        let paths = numbers("paths", intervals * strips);
        let table = numbers("table", NUMBERS * strips);
        let warps = numbers("warps", NUMBERS * 2 * (strips + 1));
        let progress = numbers("progress", of_pass * (most_passes + 1));
        let counter = numbers("counter", 1);
        // Kernels read padding, but do not use values computed from it: zeros suffice.
        plan.fill(fields, 0)?;
        let threads = |count: u32| LaunchConfig::new(count.div_ceil(256), 256);
        plan.launch(
            "wave2d_wavefront_pad",
            threads(n_x * n_y),
            args![u0.slice(), u1.slice(), fields, n_x, n_y, halo],
        )?;
        plan.launch(
            "wave2d_wavefront_kinds",
            LaunchConfig::new((strips, rows.div_ceil(8)), (32, 8)),
            args![
                fields.at(4 * plane as u64),
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
        plan.launch(
            "wave2d_wavefront_paths",
            LaunchConfig::new(strips, 32),
            args![rough.slice(), paths, table, n_y, skips],
        )?;
        let apart = u32::from(self.block_warps == 8);
        plan.launch(
            "wave2d_wavefront_warps",
            LaunchConfig::new(1, 32),
            args![table.slice(), warps, strips, apart],
        )?;

        let exact = if self.exact { "exact_" } else { "" };
        // The last field is in the first plane of these.
        let mut first = 0;
        let mut t = problem.first_step;
        for (steps, passes) in all_passes {
            let mut left = passes;
            while left > 0 {
                let passes = left.min(most_passes);
                plan.launch(
                    "wave2d_wavefront_start",
                    threads((passes + 1) * (strips + 2)),
                    args![table.slice(), progress, counter, strips, passes],
                )?;
                // The largest possible number: each strip is slow, with a warp without work beside
                // it.
                let in_pass = if apart == 1 { 2 * strips } else { strips };
                let together = passes.min(n_y / PASS_ROWS + 2);
                let blocks = (together * in_pass).div_ceil(self.block_warps);
                let config = LaunchConfig::new(blocks, (32, self.block_warps))
                    .with_shared_mem_bytes(4 * WARP_FLOATS * self.block_warps);
                let by_fours = |floats: usize| (floats / 4) as u32;
                let args = args![
                    fields,
                    paths.slice(),
                    warps.slice(),
                    progress,
                    counter,
                    n_x,
                    n_y,
                    by_fours(layout.pitch() as usize),
                    by_fours(plane),
                    problem.scene,
                    problem.k,
                    t,
                    by_fours(first * plane),
                    passes,
                ];
                plan.launch(&format!("wave2d_wavefront_{exact}t{steps}"), config, args)?;
                if passes % 2 == 1 {
                    first = 2 - first;
                }
                t = t.wrapping_add(passes.wrapping_mul(steps));
                left -= passes;
            }
        }
        plan.launch(
            "wave2d_wavefront_unpad",
            threads(n_x * n_y),
            args![
                planes(first, 2),
                planes(4, 1),
                u0,
                u1,
                n_x,
                n_y,
                halo,
                skips
            ],
        )?;
        Ok(Outputs { u0, u1 })
    }
}
