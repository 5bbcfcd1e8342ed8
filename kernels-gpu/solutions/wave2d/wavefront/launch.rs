//! A launch of all passes of 16 or 12 timesteps, then one of passes of four and one of passes of
//! single timesteps for the rest. Before them, one launch pads the fields and three prepare tables
//! for all; after them, one removes the padding.

use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{Arg, BufferId, Element, LaunchConfig, Plan, PlanError, args};

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
        let run = Run::new(*self, problem, plan);
        run.prepare(plan, [u0, u1])?;
        // The last field is in the first plane of these.
        let mut first = 0;
        let mut t = problem.first_step;
        for (steps, passes) in self.passes(problem.steps) {
            let mut left = passes;
            while left > 0 {
                let passes = left.min(run.most_passes);
                run.launch(plan, (steps, passes), t, first)?;
                if passes % 2 == 1 {
                    first = 2 - first;
                }
                t = t.wrapping_add(passes.wrapping_mul(steps));
                left -= passes;
            }
        }
        run.finish(plan, [u0, u1], first)?;
        Ok(Outputs { u0, u1 })
    }
}

/// The buffers of a run, and what all of its launches share.
struct Run<'p> {
    shape: Shape,
    problem: &'p Problem,
    layout: Layout,
    /// The largest number of passes of a launch.
    most_passes: u32,
    /// Two planes of the fields, two of the results, and the table of kinds. The kernels count up
    /// to 2^34 floats; no GPU has that memory.
    fields: BufferId,
    rough: BufferId,
    paths: BufferId,
    table: BufferId,
    warps: BufferId,
    /// The progress of each strip, and of one on each side, in each pass and in one before the
    /// first.
    progress: BufferId,
    counter: BufferId,
}

impl Run<'_> {
    fn new<'p>(shape: Shape, problem: &'p Problem, plan: &mut Plan) -> Run<'p> {
        let (n_x, n_y, halo) = (problem.n_x, problem.n_y, HALO);
        let layout = Layout { n_x, n_y, halo };
        let (strips, rows) = (layout.strips(), layout.rows());
        let passes = shape.passes(problem.steps).map(|(_, passes)| passes);
        let longest = passes.into_iter().max();
        // With few rows, passes would only wait for one another.
        let most = if n_y < 4 * PASS_ROWS { 1 } else { shape.passes };
        let of_pass = strips + 2;
        let room = (MAX_NUMBERS / of_pass).max(2) - 1;
        let most_passes = longest.unwrap_or(0).min(most).min(room);
        let fields = plan.scratch("fields", Element::F32, 5 * layout.plane());
        let mut numbers = |name, count: u32| plan.scratch(name, Element::U32, count as usize);
        Run {
            shape,
            problem,
            layout,
            most_passes,
            fields,
            rough: numbers("rough", rows * strips),
            paths: numbers("paths", rows.div_ceil(INTERVAL) * strips),
            table: numbers("table", NUMBERS * strips),
            warps: numbers("warps", NUMBERS * 2 * (strips + 1)),
            progress: numbers("progress", of_pass * (most_passes + 1)),
            counter: numbers("counter", 1),
        }
    }

    /// Some planes of the fields.
    fn planes(&self, first: usize, count: usize) -> Arg {
        let plane = self.layout.plane();
        self.fields
            .slice_at((first * plane) as u64, (count * plane) as u64)
    }

    /// Whether cells that stay zero are skipped. They are zero in both fields after two timesteps;
    /// nothing else need be done there.
    fn skips(&self) -> u32 {
        u32::from(self.problem.steps >= 2)
    }

    /// Whether each strip has a warp without work beside it.
    fn is_apart(&self) -> bool {
        self.shape.block_warps == 8
    }

    /// Pads the fields, and makes the tables of all passes.
    fn prepare(&self, plan: &mut Plan, [u0, u1]: [BufferId; 2]) -> Result<(), PlanError> {
        let Layout { n_x, n_y, halo } = self.layout;
        let (strips, rows) = (self.layout.strips(), self.layout.rows());
        // Kernels read padding, but do not use values computed from it: zeros suffice.
        plan.fill(self.fields, 0)?;
        plan.launch(
            "wave2d_wavefront_pad",
            threads(n_x * n_y),
            args![u0.slice(), u1.slice(), self.fields, n_x, n_y, halo],
        )?;
        plan.launch(
            "wave2d_wavefront_kinds",
            LaunchConfig::new((strips, rows.div_ceil(8)), (32, 8)),
            args![
                self.fields.at(4 * self.layout.plane() as u64),
                self.rough,
                n_x,
                n_y,
                self.problem.scene,
                halo,
                u32::from(self.shape.exact)
            ],
        )?;
        plan.launch(
            "wave2d_wavefront_paths",
            LaunchConfig::new(strips, 32),
            args![
                self.rough.slice(),
                self.paths,
                self.table,
                n_y,
                self.skips()
            ],
        )?;
        plan.launch(
            "wave2d_wavefront_warps",
            LaunchConfig::new(1, 32),
            args![
                self.table.slice(),
                self.warps,
                strips,
                u32::from(self.is_apart())
            ],
        )
    }

    /// Records a launch of some passes of `steps` timesteps, from timestep `t` on. The last field
    /// is in plane `first`.
    fn launch(
        &self,
        plan: &mut Plan,
        (steps, passes): (u32, u32),
        t: u32,
        first: usize,
    ) -> Result<(), PlanError> {
        let Layout { n_x, n_y, .. } = self.layout;
        let (strips, block_warps) = (self.layout.strips(), self.shape.block_warps);
        plan.launch(
            "wave2d_wavefront_start",
            threads((passes + 1) * (strips + 2)),
            args![
                self.table.slice(),
                self.progress,
                self.counter,
                strips,
                passes
            ],
        )?;
        // The largest possible number: each strip is slow, with a warp without work beside it.
        let in_pass = if self.is_apart() { 2 * strips } else { strips };
        let together = passes.min(n_y / PASS_ROWS + 2);
        let blocks = (together * in_pass).div_ceil(block_warps);
        let config = LaunchConfig::new(blocks, (32, block_warps))
            .with_shared_mem_bytes(4 * WARP_FLOATS * block_warps);
        let by_fours = |floats: usize| (floats / 4) as u32;
        let plane = self.layout.plane();
        let args = args![
            self.fields,
            self.paths.slice(),
            self.warps.slice(),
            self.progress,
            self.counter,
            n_x,
            n_y,
            by_fours(self.layout.pitch() as usize),
            by_fours(plane),
            self.problem.scene,
            self.problem.k,
            t,
            by_fours(first * plane),
            passes,
        ];
        let exact = if self.shape.exact { "exact_" } else { "" };
        plan.launch(&format!("wave2d_wavefront_{exact}t{steps}"), config, args)
    }

    /// Removes the padding. The last field is in plane `first`.
    fn finish(
        &self,
        plan: &mut Plan,
        [u0, u1]: [BufferId; 2],
        first: usize,
    ) -> Result<(), PlanError> {
        let Layout { n_x, n_y, halo } = self.layout;
        plan.launch(
            "wave2d_wavefront_unpad",
            threads(n_x * n_y),
            args![
                self.planes(first, 2),
                self.planes(4, 1),
                u0,
                u1,
                n_x,
                n_y,
                halo,
                self.skips()
            ],
        )
    }
}

/// A launch of this number of threads, or a few more.
fn threads(count: u32) -> LaunchConfig {
    LaunchConfig::new(count.div_ceil(256), 256)
}
