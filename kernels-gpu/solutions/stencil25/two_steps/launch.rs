//! Two timesteps per pass, from two fields to two others. The number of these passes is even, so
//! that the results are in the buffers of the first fields, whose halos are 0. The other timesteps,
//! up to three, come first, in a launch each.
//!
//! A pass is a launch for the points deep inside, and launches for boxes around them and for the
//! tiles near the source. Each writes its own points, and reads what none writes.

use kernels_gpu::stencil25::{Coefficients, Grid, Region, Task};
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
use plan::{BufferId, Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{INSTANCES, Instance, deep, reaches, tiles};

/// The least number of planes of a part of a tile, if the grid has as many. A part needs 16 more.
const FEWEST_PLANES: u32 = 8;

/// The shape of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Points of a tile deep inside, along y and z.
    pub tile: [u32; 2],
    /// Planes that copies are ahead of their use.
    pub ahead: u32,
    /// Blocks of a cluster. More than one need compute capability 9.0.
    pub cluster: u32,
    /// Whether the launch for the points deep inside runs alone. Otherwise blocks of others run on
    /// multiprocessors that it leaves idle, but a cluster waits until all of its blocks have room.
    pub is_alone: bool,
}

impl Shape {
    /// The shape whose shared memory every GPU has. GPUs of compute capability 9.0 have room for
    /// larger tiles.
    pub const DEFAULT: Shape = Shape::new([8, 32], 1, 1);

    /// Shapes to try.
    pub const SPACE: &[Shape] = &[
        Shape::DEFAULT,
        Shape::new([24, 40], 2, 1),
        Shape::new([24, 56], 2, 1),
        Shape::new([24, 56], 2, 2),
        Shape::new([20, 64], 2, 1),
        Shape::new([20, 64], 2, 2),
        Shape::new([20, 64], 2, 4),
        Shape::new([20, 64], 2, 4).alone(),
    ];

    const fn new(tile: [u32; 2], ahead: u32, cluster: u32) -> Shape {
        Shape {
            tile,
            ahead,
            cluster,
            is_alone: false,
        }
    }

    const fn alone(self) -> Shape {
        Shape {
            is_alone: true,
            ..self
        }
    }

    /// The shape in a word: `y20_z64_a2_c4`, or `y20_z64_a2_c4_alone`.
    pub fn label(&self) -> String {
        let Shape {
            tile: [y, z],
            ahead,
            cluster,
            is_alone,
        } = *self;
        let alone = if is_alone { "_alone" } else { "" };
        format!("y{y}_z{z}_a{ahead}_c{cluster}{alone}")
    }

    /// The kernel for points deep inside.
    fn deep(&self) -> Instance {
        instance(|instance| {
            let shape = (instance.tile, instance.ahead);
            !instance.has_shell && shape == (self.tile, self.ahead)
        })
    }

    /// The launches of a pass: of each the kernel, and the planes of tiles that a multiprocessor
    /// takes one after another.
    pub fn rounds(
        &self,
        problem: &Problem,
        multiprocessors: u32,
    ) -> impl Iterator<Item = (Instance, u64)> {
        let parts = self.parts(&task(problem), problem.shell).into_iter();
        parts.map(move |part| {
            (
                part.instance,
                part.rounds(part.cut(multiprocessors), multiprocessors),
            )
        })
    }

    /// The launches of a pass. That of the points deep inside, if there are any, comes first. Those
    /// whose blocks are done soonest come last.
    fn parts(&self, task: &Task, shell: u32) -> Vec<Part> {
        let all = task.grid.all();
        let Some(area) = deep(task.grid, shell) else {
            return vec![Part::new(self.any(false), all)];
        };
        let [front, back, top, bottom, left, right] = around(all, area);
        let inside = Part {
            cluster: self.cluster,
            ..Part::new(self.deep(), area)
        };
        let mut parts = vec![
            inside,
            Part::new(self.any(true), front),
            Part::new(self.any(true), back),
            Part::new(self.any(false), top),
            Part::new(self.any(false), bottom),
        ];
        let near = near_source(task, area, self.tile);
        parts.extend(near.map(|near| Part::new(self.any(false), near)));
        parts.extend([left, right].map(|ends| Part::new(self.any(false), ends)));
        parts
    }

    /// The kernel for other points: for boxes that are thin along z, or other ones.
    fn any(&self, is_thin: bool) -> Instance {
        let tile = match (*self == Shape::DEFAULT, is_thin) {
            (true, _) => [8, 32],
            (false, true) => [40, 24],
            (false, false) => [24, 40],
        };
        instance(|instance| instance.has_shell && instance.tile == tile)
    }
}

fn task(problem: &Problem) -> Task {
    let grid = Grid::new([problem.n_x, problem.n_y, problem.n_z]);
    Task {
        grid,
        region: grid.inner(problem.shell),
        coefficients: Coefficients::new([problem.dx, problem.dy, problem.dz]),
        source: problem.source,
    }
}

fn instance(is_right: impl Fn(&Instance) -> bool) -> Instance {
    let mut instances = INSTANCES.iter().copied();
    let found = instances.find(|instance| is_right(instance));
    found.expect("every shape has its kernels")
}

/// The points of `all` outside `inner`, in boxes: those along z with all of their points, those
/// along y between these, those along x between both.
fn around(all: Region, inner: Region) -> [Region; 6] {
    let [low, high] = [inner.low, inner.high];
    let mut left = all;
    let mut boxes = [all; 6];
    for (axis, pair) in [2, 1, 0].into_iter().zip(boxes.chunks_exact_mut(2)) {
        pair.fill(left);
        pair[0].high[axis] = low[axis];
        pair[1].low[axis] = high[axis];
        (left.low[axis], left.high[axis]) = (low[axis], high[axis]);
    }
    boxes
}

/// The tiles that the source reaches, as a box.
fn near_source(task: &Task, area: Region, tile: [u32; 2]) -> Option<Region> {
    let [along_y, along_z] = tiles(area, tile);
    let begins = |number: u32| {
        let [y, z] = [number / along_z, number % along_z];
        [area.low[1] + y * tile[0], area.low[2] + z * tile[1]]
    };
    let mut near = (0..along_y * along_z)
        .map(begins)
        .filter(|&at| reaches(task, at, tile));
    let first = near.next()?;
    let last = near.next_back().unwrap_or(first);
    let end = |axis: usize| (last[axis] + tile[axis]).min(area.high[axis + 1]);
    Some(Region {
        low: [area.low[0], first[0], first[1]],
        high: [area.high[0], end(0), end(1)],
    })
}

/// A launch of a pass: its kernel, its points, and the blocks of a cluster.
#[derive(Clone, Copy)]
struct Part {
    instance: Instance,
    area: Region,
    cluster: u32,
}

impl Part {
    fn new(instance: Instance, area: Region) -> Part {
        Part {
            instance,
            area,
            cluster: 1,
        }
    }

    /// Groups of tiles along y, each for a cluster.
    fn groups(&self) -> u32 {
        let [along_y, along_z] = tiles(self.area, self.instance.tile);
        along_y.div_ceil(self.cluster) * along_z
    }

    /// The number of groups that a cluster each takes whole, and the number of parts of each of the
    /// others, with which the multiprocessors finish first.
    fn cut(&self, multiprocessors: u32) -> [u32; 2] {
        let at_once = self.at_once(multiprocessors);
        let rounds = u64::from(self.groups()) / at_once;
        let [planes, ..] = self.area.shape();
        // The least rounds of whole tiles that may pay: beyond, parts only add planes.
        let wholes = rounds.saturating_sub(2)..=rounds;
        let cuts = wholes.flat_map(|rounds| {
            (1..=planes.div_ceil(FEWEST_PLANES))
                .map(move |parts| [(rounds * at_once) as u32, parts])
        });
        let cut = cuts.min_by_key(|&cut| self.rounds(cut, multiprocessors));
        cut.expect("there are some")
    }

    /// The planes that a multiprocessor takes one after another. A block loads eight planes before
    /// its first, and eight after its last. Beyond the points it loads none, but takes the time of
    /// four.
    fn rounds(&self, [whole, parts]: [u32; 2], multiprocessors: u32) -> u64 {
        let at_once = self.at_once(multiprocessors);
        let (whole, parts) = (u64::from(whole), u64::from(parts));
        let planes = u64::from(self.area.shape()[0]);
        let clusters = (u64::from(self.groups()) - whole) * parts;
        whole / at_once * (planes + 8) + clusters.div_ceil(at_once) * (planes.div_ceil(parts) + 16)
    }

    /// Clusters that run at once. A cluster runs in one part of the GPU, and four blocks do not
    /// divide each part's number of multiprocessors: of an H100's 132, they use 120.
    fn at_once(&self, multiprocessors: u32) -> u64 {
        let used = match self.cluster {
            1 | 2 => multiprocessors,
            _ => 10 * multiprocessors / 11,
        };
        u64::from(used / self.cluster) * u64::from(self.instance.blocks)
    }
}

/// The arguments that all launches of a plan have in common.
struct Fixed {
    task: Task,
    vp: BufferId,
    eta: BufferId,
}

impl Fixed {
    /// Records a launch that advances fields and phi by as many timesteps as the source has values.
    fn launch(
        &self,
        plan: &mut Plan,
        part: Part,
        [u, v, phi]: [BufferId; 3],
        [first, second, next_phi]: [BufferId; 3],
        values: &[f32],
    ) -> Result<(), PlanError> {
        let Part {
            instance,
            area,
            cluster,
        } = part;
        let [whole, parts] = part.cut(plan.multiprocessors());
        let clusters = whole + (part.groups() - whole) * parts;
        let config = LaunchConfig::new(clusters * cluster, instance.threads)
            .with_shared_mem_bytes(instance.shared_mem_bytes)
            .with_cluster([cluster, 1, 1]);
        let value = |step: usize| values.get(step).copied().unwrap_or(0.0);
        let args = args![
            u.slice(),
            v,
            self.vp.slice(),
            self.eta.slice(),
            phi,
            first,
            second,
            next_phi,
            self.task.to_bytes().to_vec(),
            area.to_bytes().to_vec(),
            value(0),
            value(1),
            values.len() as u32,
            cluster,
            whole,
            parts
        ];
        plan.launch(instance.kernel, config, args)
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
        let task = task(problem);
        let grid = task.grid;
        let all = Part::new(self.any(false), grid.all());
        let parts = self.parts(&task, problem.shell);
        let fixed = Fixed { task, vp, eta };
        let (single, double) = problem
            .source_values
            .split_at(problem.source_values.len() % 4);
        for value in single.chunks(1) {
            fixed.launch(plan, all, [u, v, phi], [v, v, phi], value)?;
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
            let (from, to) = ([u, v, phi], [first, second, next_phi]);
            let alone = if self.is_alone { 1 } else { 0 };
            for parts in [&parts[..alone], &parts[alone..]] {
                plan.independent(|plan| {
                    let mut parts = parts.iter();
                    parts.try_for_each(|&part| fixed.launch(plan, part, from, to, values))
                })?;
            }
            (u, second, v, first) = (second, u, first, v);
            (phi, next_phi) = (next_phi, phi);
        }
        Ok(Outputs { u, v, phi })
    }
}
