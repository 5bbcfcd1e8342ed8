//! Two timesteps per pass, from two fields to two others. The number of these passes is even, so
//! that the results are in the buffers of the first fields, whose halos are 0. The other timesteps,
//! up to three, come first, in a launch each.
//!
//! A pass is a launch for the points deep inside, and launches for boxes around them and for the
//! tiles near the source. Each writes its own points, and reads what none writes.
//!
//! On several devices, each has a slab of planes along x, eight planes of each neighbour's u, and
//! four of v and phi. A pass has such launches for the eight planes at each seam first. It sends
//! them while it computes the others. A device's arrays are a grid to the kernels, which begins
//! with the slab's halo or with the problem's points.

use std::collections::HashMap;
use std::ops::Range;

use kernels_gpu::stencil25::boxes::{around, deep, near_source, tiles};
use kernels_gpu::stencil25::{Coefficients, Grid, RADIUS, Region, Task};
use plan::balance::{Blocks, Tiles, side_by_side};
use plan::slabs::{Field, Slabs};
use plan::stencil25::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, View, args};

use super::kernels::{INSTANCES, Instance};

/// The largest number of chunks of a tile, and the least number of planes of a chunk.
const MOST_CHUNKS: u32 = 16;
const FEWEST_PLANES: u32 = 8;

/// The planes before and after the written ones that a pass reads of u.
const REACH: u64 = 2 * RADIUS as u64;
/// Those that it reads of v and phi; and the planes of a grid's halo, before its points.
const HALO: u64 = RADIUS as u64;

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

    /// The launches of a pass: of each the kernel, and the planes that its blocks stream in all.
    pub fn streamed(
        &self,
        problem: &Problem,
        multiprocessors: u32,
    ) -> impl Iterator<Item = (Instance, u64)> {
        let all = Stretch::all(problem);
        let sets = self.sets(&all, &all.task(problem), problem.shell, multiprocessors);
        let launches = sets.into_iter().flatten();
        launches.map(|part| (part.instance, part.streamed()))
    }

    /// The launches of a pass over some planes, in the order in which they are to start: those of a
    /// set run side by side, and what one leaves idle at its end, the next one fills.
    fn sets(
        &self,
        planes: &Stretch,
        task: &Task,
        shell: u32,
        multiprocessors: u32,
    ) -> Vec<Vec<Part>> {
        let parts = self.parts(planes, task, shell);
        let (alone, others) = parts.split_at(usize::from(self.is_alone));
        let sets = [alone, others].map(|set| cut(set, multiprocessors));
        sets.into_iter().filter(|set| !set.is_empty()).collect()
    }

    /// The launches of a pass over some planes, tiles uncut. That of the points deep inside, if
    /// there are any, comes first.
    fn parts(&self, planes: &Stretch, task: &Task, shell: u32) -> Vec<Part> {
        let all = planes.points();
        let Some(area) = deep(planes.whole, shell).and_then(|area| planes.of(area)) else {
            return vec![Part::new(self.any(false), all, THIN_ALONG_Y)];
        };
        let [front, back, top, bottom, left, right] = around(all, area);
        let inside = Part {
            cluster: self.cluster,
            ..Part::new(self.deep(), area, DEEP)
        };
        let mut parts = vec![
            inside,
            Part::new(self.any(true), front, THIN_ALONG_Z),
            Part::new(self.any(true), back, THIN_ALONG_Z),
            Part::new(self.any(false), top, THIN_ALONG_Y),
            Part::new(self.any(false), bottom, THIN_ALONG_Y),
        ];
        let near = near_source(task, area, self.tile);
        parts.extend(near.map(|near| Part::new(self.any(false), near, NEAR_SOURCE)));
        // Planes between the grid's ends have no points there.
        let ends = [left, right].into_iter().filter(|ends| ends.shape()[0] > 0);
        parts.extend(ends.map(|ends| Part::new(self.any(false), ends, THIN_ALONG_X)));
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

/// Some planes of points, in arrays that hold some of the problem's.
struct Stretch {
    whole: Grid,
    /// The number of the problem's planes before the arrays' first.
    first: u32,
    /// The planes of points, by their number in the arrays' grid.
    planes: Range<u32>,
}

impl Stretch {
    /// All points, in arrays of all.
    fn all(problem: &Problem) -> Stretch {
        let whole = Grid::new([problem.n_x, problem.n_y, problem.n_z]);
        Stretch {
            whole,
            first: 0,
            planes: 0..problem.n_x,
        }
    }

    /// These of a field's planes, which a device computes.
    fn of_device(problem: &Problem, slabs: &Slabs, device: u32, planes: &Range<u64>) -> Stretch {
        let first = slabs.held(device).start;
        let number = |plane: u64| (plane - first) as u32 - RADIUS;
        Stretch {
            first: first as u32,
            planes: number(planes.start)..number(planes.end),
            ..Stretch::all(problem)
        }
    }

    /// The arrays' grid, up to the problem's end: kernels take planes behind it for 0, and read
    /// none that the arrays lack.
    fn grid(&self) -> Grid {
        Grid {
            n_x: self.whole.n_x - self.first,
            ..self.whole
        }
    }

    /// All points of these planes.
    fn points(&self) -> Region {
        let mut points = self.grid().all();
        (points.low[0], points.high[0]) = (self.planes.start, self.planes.end);
        points
    }

    /// A region of the problem's points, as far as it does not lie before the arrays.
    fn moved(&self, mut region: Region) -> Region {
        for end in [&mut region.low, &mut region.high] {
            end[0] = end[0].saturating_sub(self.first);
        }
        region
    }

    /// The points of such a region that are in these planes, if there are any.
    fn of(&self, region: Region) -> Option<Region> {
        let mut region = self.moved(region);
        region.low[0] = region.low[0].max(self.planes.start);
        region.high[0] = region.high[0].min(self.planes.end);
        (region.low[0] < region.high[0]).then_some(region)
    }

    /// The task of these planes. It has the source if a timestep computes the source's plane.
    fn task(&self, problem: &Problem) -> Task {
        let stride = self.whole.stride_x();
        // Planes count from the halo's first.
        let [low, high] = [self.planes.start, self.planes.end].map(|x| x + self.first + RADIUS);
        let computed = low - RADIUS..high + RADIUS;
        let has_source =
            problem.source != u32::MAX && computed.contains(&(problem.source / stride));
        Task {
            grid: self.grid(),
            region: self.moved(self.whole.inner(problem.shell)),
            coefficients: Coefficients::new([problem.dx, problem.dy, problem.dz]),
            source: if has_source {
                problem.source - self.first * stride
            } else {
                u32::MAX
            },
        }
    }
}

fn instance(is_right: impl Fn(&Instance) -> bool) -> Instance {
    let mut instances = INSTANCES.iter().copied();
    let found = instances.find(|instance| is_right(instance));
    found.expect("every shape has its kernels")
}

/// The times of a plane of a block, in tens of nanoseconds, as blocks took them on an H200: of a
/// tile deep inside, those that are thin along z, along y and along x, and one near the source.
const DEEP: u32 = 122;
const THIN_ALONG_Z: u32 = 235;
const THIN_ALONG_Y: u32 = 200;
const THIN_ALONG_X: u32 = 155;
const NEAR_SOURCE: u32 = 145;

/// The planes that a block streams beside those that it writes: eight before its first, and eight
/// after its last.
const STREAMED_MORE: u32 = 2 * 2 * RADIUS;

/// A launch of a pass: its kernel, its points, the blocks of a cluster, the chunks of a tile, which
/// are blocks of their own, and what these cost.
#[derive(Clone, Copy)]
struct Part {
    instance: Instance,
    area: Region,
    cluster: u32,
    chunks: u32,
    /// The time of a plane of a block.
    cost: u32,
}

impl Part {
    fn new(instance: Instance, area: Region, cost: u32) -> Part {
        Part {
            instance,
            area,
            cluster: 1,
            chunks: 1,
            cost,
        }
    }

    /// Its tiles as those of a cluster are: along y, their number is a multiple of its blocks.
    fn tiles(&self) -> u32 {
        let [along_y, along_z] = tiles(self.area, self.instance.tile);
        along_y.next_multiple_of(self.cluster) * along_z
    }

    fn blocks(&self) -> u32 {
        self.tiles() * self.chunks
    }

    fn as_tiles(&self) -> Tiles {
        Tiles {
            tiles: self.tiles(),
            planes: self.area.shape()[0],
            cost: self.cost,
        }
    }

    /// The planes that its blocks stream in all.
    fn streamed(&self) -> u64 {
        let [planes, ..] = self.area.shape();
        let of_tile = u64::from(planes) + u64::from(self.chunks) * u64::from(STREAMED_MORE);
        u64::from(self.tiles()) * of_tile
    }

    /// Blocks that run at once. A cluster runs in one part of the GPU, and four blocks do not
    /// divide each part's number of multiprocessors: of an H100's 132, they use 120.
    fn at_once(&self, multiprocessors: u32) -> u32 {
        let used = match self.cluster {
            1 | 2 => multiprocessors,
            _ => 10 * multiprocessors / 11,
        };
        used / self.cluster * self.cluster * self.instance.blocks
    }
}

/// Launches that run side by side, their tiles cut so that all of them are finished first.
fn cut(set: &[Part], multiprocessors: u32) -> Vec<Part> {
    let tiles: Vec<Tiles> = set.iter().map(Part::as_tiles).collect();
    let blocks = Blocks {
        at_once: set.first().map_or(1, |part| part.at_once(multiprocessors)),
        extra: STREAMED_MORE,
        most: MOST_CHUNKS,
        longest: u32::MAX,
        shortest: FEWEST_PLANES,
    };
    let cut = side_by_side(&tiles, blocks).into_iter();
    let cut = cut.map(|(number, chunks)| Part {
        chunks,
        ..set[number]
    });
    cut.collect()
}

/// The launches of a pass over planes of a device, by the device, these planes, and whether it has
/// one timestep. Most passes have those of one before.
type Passes = HashMap<(u32, Range<u64>, bool), Vec<Vec<Part>>>;

/// The data that all launches of a plan share.
struct Run<'r> {
    shape: Shape,
    problem: &'r Problem,
    slabs: &'r Slabs,
    vp: Field,
    eta: Field,
}

/// Two fields and phi.
type Fields<'f> = [&'f Field; 3];

impl Run<'_> {
    /// Records as many timesteps of all points as the source has values, one or two.
    fn advance(
        &self,
        plan: &mut Plan,
        passes: &mut Passes,
        from: Fields<'_>,
        to: Fields<'_>,
        values: &[f32],
    ) -> Result<(), PlanError> {
        let [first, second, next_phi] = to;
        let is_single = values.len() == 1;
        let written = if is_single {
            &[first, next_phi][..]
        } else {
            &[first, second, next_phi]
        };
        self.slabs.step(plan, written, |plan, device, planes| {
            let stretch = Stretch::of_device(self.problem, self.slabs, device, &planes);
            let task = stretch.task(self.problem);
            let multiprocessors = plan.multiprocessors();
            let sets = passes
                .entry((device, planes.clone(), is_single))
                .or_insert_with(|| {
                    if is_single {
                        let all = Part::new(self.shape.any(false), stretch.points(), THIN_ALONG_Y);
                        return vec![cut(&[all], multiprocessors)];
                    }
                    let shell = self.problem.shell;
                    self.shape.sets(&stretch, &task, shell, multiprocessors)
                });
            for set in sets.iter() {
                plan.independent(|plan| {
                    set.iter().try_for_each(|&part| {
                        self.launch(plan, device, &planes, (&task, part), (from, to), values)
                    })
                })?;
            }
            Ok(())
        })
    }

    /// Records a launch that advances points in some of a device's planes.
    fn launch(
        &self,
        plan: &mut Plan,
        device: u32,
        planes: &Range<u64>,
        (task, part): (&Task, Part),
        ([u, v, phi], [first, second, next_phi]): (Fields<'_>, Fields<'_>),
        values: &[f32],
    ) -> Result<(), PlanError> {
        let Part {
            instance,
            area,
            cluster,
            chunks,
            ..
        } = part;
        let config = LaunchConfig::new(part.blocks(), instance.threads)
            .with_shared_mem_bytes(instance.shared_mem_bytes)
            .with_cluster([cluster, 1, 1]);
        let value = |step: usize| values.get(step).copied().unwrap_or(0.0);
        let read = |field: &Field, view, reach| {
            let planes = widened(planes, reach, self.problem.n_x);
            field.within(device, view, planes)
        };
        let write = |field: &Field| field.within(device, View::Write, planes.clone());
        // One timestep replaces v and phi.
        let of_others = if values.len() == 1 { 0 } else { HALO };
        let args = args![
            read(u, View::Slice, REACH),
            read(v, View::Read, of_others),
            self.vp.part(device).slice(),
            self.eta.part(device).slice(),
            read(phi, View::Read, of_others),
            write(first),
            write(second),
            write(next_phi),
            task.to_bytes().to_vec(),
            area.to_bytes().to_vec(),
            value(0),
            value(1),
            values.len() as u32,
            cluster,
            chunks
        ];
        plan.launch(instance.kernel, config, args)
    }
}

/// A field's planes and up to `reach` at either side that have points.
fn widened(planes: &Range<u64>, reach: u64, n_x: u32) -> Range<u64> {
    let start = planes.start.saturating_sub(reach).max(HALO);
    start..(planes.end + reach).min(HALO + u64::from(n_x))
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
        let Buffers { u, v, phi, .. } = buffers;
        if problem.source_values.is_empty() {
            return Ok(Outputs { u, v, phi });
        }
        let planes = u64::from(problem.n_x) + 2 * HALO;
        let (devices, points) = (plan.available_devices(), HALO..planes - HALO);
        let slabs = Slabs::new(devices, planes, points, REACH, "along x")?.with_margin(HALO);
        let mut u = slabs.scatter(plan, u)?;
        let mut v = slabs.scatter(plan, v)?;
        let mut phi = slabs.scatter(plan, phi)?;
        let run = Run {
            shape: *self,
            problem,
            slabs: &slabs,
            vp: slabs.scatter(plan, buffers.vp)?,
            eta: slabs.scatter(plan, buffers.eta)?,
        };
        let values = &problem.source_values;
        let mut passes = Passes::new();
        let (single, double) = values.split_at(values.len() % 4);
        for value in single.chunks(1) {
            run.advance(plan, &mut passes, [&u, &v, &phi], [&v, &v, &phi], value)?;
            (u, v) = (v, u);
        }
        if !double.is_empty() {
            let mut scratch = |name| {
                let whole = plan.scratch(name, Element::F32, problem.len() as usize);
                slabs.scatter(plan, whole)
            };
            let (mut first, mut second) = (scratch("first")?, scratch("second")?);
            let mut next_phi = scratch("next_phi")?;
            for field in [&mut v, &mut first, &mut phi, &mut next_phi] {
                *field = field.reaching(HALO);
            }
            for values in double.chunks(2) {
                let to = [&first, &second, &next_phi];
                run.advance(plan, &mut passes, [&u, &v, &phi], to, values)?;
                (u, second, v, first) = (second, u, first, v);
                (phi, next_phi) = (next_phi, phi);
            }
        }
        Ok(Outputs {
            u: u.whole(),
            v: v.whole(),
            phi: phi.whole(),
        })
    }
}
