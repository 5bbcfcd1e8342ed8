//! Two timesteps per launch, from two fields to two others. The number of these launches is even,
//! so that the results are in the buffers of the first fields, whose halos are 0. The other
//! timesteps, up to three, come first, in a launch each.

use kernels_gpu::stencil25::{Coefficients, Grid, Task};
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
use plan::{BufferId, Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, Instance, tiles};

/// The number of multiprocessors that tiles are cut for. With other numbers the results are the
/// same.
const MULTIPROCESSORS: u64 = 132;
/// The least number of planes of a part of a tile, if the grid has as many. A part needs 16 more.
const FEWEST_PLANES: u64 = 8;

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Points of a tile along y and z.
    pub tile: [u32; 2],
    /// Planes that copies are ahead of their use.
    pub ahead: u32,
    /// Timesteps whose values ahead of the points come from shared memory again: 0 to 2.
    pub reloaded: u32,
}

impl Shape {
    /// The shape whose shared memory every GPU has. GPUs of compute capability 9.0 have room for
    /// larger tiles.
    pub const DEFAULT: Shape = Shape::new([8, 40], 1, 0);

    /// Shapes to try.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new([24, 24], 1, 1),
        Shape::new([24, 40], 2, 0),
        Shape::new([24, 56], 2, 0),
        Shape::new([24, 56], 1, 1),
        Shape::new([24, 56], 2, 1),
        Shape::new([24, 56], 3, 1),
        Shape::new([24, 56], 2, 2),
        Shape::new([20, 64], 2, 1),
        Shape::new([32, 56], 1, 2),
    ];

    const fn new(tile: [u32; 2], ahead: u32, reloaded: u32) -> Shape {
        Shape {
            tile,
            ahead,
            reloaded,
        }
    }

    /// The shape in a word: `y24_z56_a2_r1`.
    pub fn label(&self) -> String {
        let Shape {
            tile: [y, z],
            ahead,
            reloaded,
        } = self;
        format!("y{y}_z{z}_a{ahead}_r{reloaded}")
    }

    fn instance(&self) -> Instance {
        let mut instances = INSTANCES.iter();
        let of = |instance: &Instance| Shape::new(instance.tile, instance.ahead, instance.reloaded);
        let is_own = |instance: &&Instance| of(instance) == *self;
        *instances.find(is_own).expect("every shape has a kernel")
    }

    /// The number of tiles that a block each takes whole, and the number of parts of each of the
    /// others, with which the multiprocessors finish first.
    fn cut(&self, grid: Grid) -> [u32; 2] {
        let [along_y, along_z] = tiles(grid, self.tile).map(u64::from);
        let tiles = along_y * along_z;
        let planes = u64::from(grid.n_x);
        let at_once = MULTIPROCESSORS * u64::from(self.instance().blocks);
        let rounds = tiles / at_once;
        // The least rounds of whole tiles that may pay: beyond, parts only add planes.
        let wholes = rounds.saturating_sub(2)..=rounds;
        let cuts = wholes.flat_map(|rounds| {
            (1..=planes.div_ceil(FEWEST_PLANES)).map(move |parts| [rounds, parts])
        });
        // A block loads eight planes before its first, and eight after its last. Beyond the points
        // it loads none, but takes the time of four.
        let time = |&[rounds, parts]: &[u64; 2]| {
            let blocks = (tiles - rounds * at_once) * parts;
            let of_block = planes.div_ceil(parts) + 16;
            rounds * (planes + 8) + blocks.div_ceil(at_once) * of_block
        };
        let [rounds, parts] = cuts.min_by_key(time).expect("there are some");
        [(rounds * at_once) as u32, parts as u32]
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
            mut u,
            mut v,
            vp,
            eta,
            mut phi,
        } = buffers;
        let Problem { n_x, n_y, n_z, .. } = *problem;
        let grid = Grid::new([n_x, n_y, n_z]);
        let task = Task {
            grid,
            region: grid.inner(problem.shell),
            coefficients: Coefficients::new([problem.dx, problem.dy, problem.dz]),
            source: problem.source,
        };
        let instance = self.instance();
        let [whole, parts] = self.cut(grid);
        let [along_y, along_z] = tiles(grid, self.tile);
        let blocks = whole + (along_y * along_z - whole) * parts;
        let config = LaunchConfig::new(blocks, instance.threads)
            .with_shared_mem_bytes(instance.shared_mem_bytes);
        let launch = |plan: &mut Plan, from: [BufferId; 3], to: [BufferId; 3], values: &[f32]| {
            let ([u, v, phi], [first, second, next_phi]) = (from, to);
            let value = |step: usize| values.get(step).copied().unwrap_or(0.0);
            let args = args![
                u.slice(),
                v,
                vp.slice(),
                eta.slice(),
                phi,
                first,
                second,
                next_phi,
                task.to_bytes().to_vec(),
                value(0),
                value(1),
                values.len() as u32,
                whole,
                parts
            ];
            plan.launch(instance.kernel, config, args)
        };
        let (single, double) = problem
            .source_values
            .split_at(problem.source_values.len() % 4);
        for value in single.chunks(1) {
            launch(plan, [u, v, phi], [v, v, phi], value)?;
            (u, v) = (v, u);
        }
        if double.is_empty() {
            return Ok(Outputs { u, v, phi });
        }
        let len = problem.len() as usize;
        let mut first = plan.scratch("first", Element::F32, len);
        let mut second = plan.scratch("second", Element::F32, len);
        let mut next_phi = plan.scratch("next_phi", Element::F32, len);
        for values in double.chunks(2) {
            launch(plan, [u, v, phi], [first, second, next_phi], values)?;
            (u, second, v, first) = (second, u, first, v);
            (phi, next_phi) = (next_phi, phi);
        }
        Ok(Outputs { u, v, phi })
    }
}
