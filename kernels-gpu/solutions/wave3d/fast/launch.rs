//! Passes of several timesteps, from two fields to two others.
//!
//! On several devices, each has a slab of planes along x, and as many planes of each neighbour as a
//! pass reads. A pass computes a fifth of a slab at each seam first, and sends what the neighbour
//! needs while it computes the rest. A block reads 2 T planes more than it writes, so that a launch
//! of T planes alone would cost as much as one of 3 T.

use std::collections::HashMap;
use std::ops::Range;

use kernels_gpu::blocks::{Along, BlockList, Group};
use plan::balance::{Blocks, Tiles, cut};
use plan::slabs::Slabs;
use plan::wave3d::{Buffers, Outputs, Problem, Solution};
use plan::{Element, LaunchConfig, Plan, PlanError, args};

use super::kernels::{
    FACTORS, INSTANCES, MARGIN, MAX_DEPTH, WIDTH, reach, shared_mem_bytes, tiles,
};

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
        Shape::new(3, 4, 9, 16),
        Shape::new(3, 6, 6, 16),
        Shape::new(3, 8, 4, 16),
        Shape::new(3, 2, 16, 16),
        Shape::new(4, 4, 7, 16),
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
    pub fn tiles([_, n_y, n_z]: [u32; 3], depth: u32, tile_rows: u32) -> [u32; 2] {
        [tiles(n_z, WIDTH, MARGIN), tiles(n_y, tile_rows, depth)]
    }

    /// The blocks of a launch of `depth` timesteps that writes these planes, with which the
    /// multiprocessors finish first. Each takes one block after another, and a block takes `depth`
    /// planes more on each side than it writes.
    pub fn blocks(
        &self,
        tiles: [u32; 2],
        depth: u32,
        planes: Range<u32>,
        multiprocessors: u32,
    ) -> BlockList {
        let [along_k, along_j] = tiles.map(Along::ends_and_middle);
        let whole = Group {
            tiles: tiles.map(|count| Along::from(0, count)),
            planes: [planes.start, planes.end],
            chunks: 1,
        };
        let kinds = COSTS.map(|(is_inside, cost)| {
            let [k, j] = is_inside.map(usize::from);
            let group = Group {
                tiles: [along_k[k], along_j[j]],
                ..whole
            };
            (group, cost)
        });
        let costs = kinds.map(|(group, cost)| Tiles {
            tiles: group.tiles(),
            planes: group.len(),
            cost,
        });
        let blocks = Blocks {
            at_once: multiprocessors,
            extra: 2 * depth + 1,
            most: self.chunks,
            // A limit of 128 planes made long domains 6 to 13 % slower on an H200.
            longest: u32::MAX,
            shortest: 1,
        };
        let mut list = BlockList::EMPTY;
        for (group, chunks) in cut(&costs, blocks).of(whole, &kinds.map(|(group, _)| group)) {
            list.push(Group { chunks, ..group });
        }
        list
    }
}

/// The time of a plane of a tile, in percent of that of a tile inside, by whether it is inside
/// along k and along j. A tile at an end of j has damped rows, and one at any end has code for the
/// border. Of five sets, these were the fastest on an H200, by 0 to 4 %.
const COSTS: [([bool; 2], u32); 4] = [
    ([false, false], 135),
    ([true, false], 125),
    ([false, true], 115),
    ([true, true], 100),
];

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
        let Buffers { u_prev, u, c2, d } = buffers;
        if problem.steps == 0 {
            return Ok(Outputs { u_prev, u });
        }
        let Problem { n_x, n_y, n_z, .. } = *problem;
        let n = [n_x, n_y, n_z];
        let planes = u64::from(n_x);
        // Most launches have the planes of one before.
        let mut lists: HashMap<(u32, Range<u32>), BlockList> = HashMap::new();
        let most = self.depth.clamp(1, MAX_DEPTH);
        let halo = u64::from(reach(most));
        let slabs = Slabs::new(plan.available_devices(), planes, 0..planes, halo, "along x")?
            .with_long_seams();
        let columns = n_x as usize * n_y as usize;
        let of_columns = plan.scratch("factors", Element::F64, FACTORS as usize * columns);
        let factors = slabs.scatter(plan, of_columns)?;
        let d = slabs.scatter(plan, d)?;
        for device in slabs.devices() {
            let held = slabs.held(device);
            let columns = (held.end - held.start) as u32 * n_y;
            let config = LaunchConfig::covering(columns, 256)?;
            let damping = d.read(device, held);
            let args = args![damping, factors.part(device), n_y, problem.dt];
            plan.launch("wave3d_fast_factors", config, args)?;
        }
        let c2 = slabs.copies(plan, c2)?;
        let sites = columns * n_z as usize;
        let [out_prev, out] =
            ["out_prev", "out"].map(|name| plan.scratch(name, Element::F64, sites));
        let mut from = [slabs.scatter(plan, u_prev)?, slabs.scatter(plan, u)?];
        let mut to = [slabs.scatter(plan, out_prev)?, slabs.scatter(plan, out)?];
        for values in problem.source_values.chunks(most as usize) {
            let depth = values.len() as u32;
            let value = |step: usize| values.get(step).copied().unwrap_or(0.0);
            let (kernel, [rows, threads]) = self.kernel(depth);
            let tile_rows = rows * threads;
            let tiles = Shape::tiles(n, depth, tile_rows);
            slabs.step(plan, &[&to[0], &to[1]], |plan, device, some| {
                let (first, len) = (some.start as u32, (some.end - some.start) as u32);
                let written = first..first + len;
                let multiprocessors = plan.multiprocessors();
                let blocks = *lists
                    .entry((depth, written.clone()))
                    .or_insert_with(|| self.blocks(tiles, depth, written, multiprocessors));
                let config = LaunchConfig::new(blocks.blocks(), (WIDTH, threads))
                    .with_shared_mem_bytes(shared_mem_bytes(depth, tile_rows));
                let before = some.start.saturating_sub(u64::from(reach(depth)));
                let around = before..(some.end + u64::from(depth)).min(planes);
                let args = args![
                    from[0].read(device, around.clone()),
                    from[1].read(device, around.clone()),
                    to[0].write(device, some.clone()),
                    to[1].write(device, some),
                    c2[device as usize].slice(),
                    factors.read(device, around),
                    first,
                    len,
                    n_x,
                    n_y,
                    n_z,
                    problem.ratio,
                    problem.source,
                    value(0),
                    value(1),
                    value(2),
                    value(3),
                    blocks.to_bytes().to_vec(),
                ];
                plan.launch(kernel, config, args)
            })?;
            (from, to) = (to, from);
        }
        let [u_prev, u] = from.map(|field| field.whole());
        Ok(Outputs { u_prev, u })
    }
}
