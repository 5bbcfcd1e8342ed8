//! Launches of many timesteps, then of four and of one for the rest. Before them, one launch pads
//! the fields and three prepare tables for all; after them, one removes the padding.
//!
//! On several devices, each has a slab of rows, and T rows of each neighbour. A pass computes the T
//! rows at each seam first, and sends them while it computes the others. Both launches run at once.

use std::ops::Range;

use plan::slabs::{Field, Slabs};
use plan::wave2d::{Buffers, Outputs, Problem, Solution};
use plan::{BufferId, Element, LaunchConfig, Plan, PlanError, args};

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
    /// Warps of a launch. `None` means as many as the GPU runs at once.
    pub warps: Option<u32>,
    /// The cost of a row near rough ones, in hundredths of a plain row's.
    pub rough: u32,
    /// Whether the order of operations is that of `free_cell`, not of `fused_cell`.
    pub exact: bool,
}

/// Warps that a multiprocessor runs at once, where a lane has more than 168 registers.
const RESIDENT: u32 = 8;

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
            warps: None,
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
        let (rows, halo) = (u64::from(problem.n_y), u64::from(self.steps));
        let slabs = Slabs::new(
            plan.available_devices(),
            rows,
            0..rows,
            halo,
            "along y, each a row",
        )?;
        let unpadded = [slabs.scatter(plan, u0)?, slabs.scatter(plan, u1)?];
        let run = Run {
            shape: *self,
            problem,
            slabs: &slabs,
        };
        let mut parts = slabs
            .devices()
            .map(|device| run.prepare(plan, device, &unpadded))
            .collect::<Result<Vec<SlabOfRows>, PlanError>>()?;
        let mut t = problem.first_step;
        for steps in self.launches(problem.steps) {
            for part in &parts {
                for window in &part.seams {
                    run.launch(plan, part, window, (steps, t))?;
                }
            }
            run.exchange(plan, &parts)?;
            for part in &mut parts {
                if let Some(window) = &part.interior {
                    run.launch(plan, part, window, (steps, t))?;
                }
                (part.fields, part.out) = (part.out, part.fields);
            }
            t = t.wrapping_add(steps);
        }
        for (device, part) in slabs.devices().zip(&parts) {
            run.unpad(plan, device, part, &unpadded)?;
        }
        Ok(Outputs { u0, u1 })
    }
}

/// The data that all launches of a run share.
struct Run<'s> {
    shape: Shape,
    problem: &'s Problem,
    slabs: &'s Slabs,
}

/// A device's rows in memory, with padding.
struct SlabOfRows {
    held: Range<u64>,
    layout: Layout,
    /// The last two fields, and two planes for the next ones.
    fields: BufferId,
    out: BufferId,
    kinds: BufferId,
    flags: BufferId,
    /// The rows that others have as halo, and the rest.
    seams: Vec<Window>,
    interior: Option<Window>,
}

/// Rows that a launch writes.
struct Window {
    rows: Range<u64>,
    /// The table of the launch's chunks, and their number with the empty ones.
    chunks: BufferId,
    most: u32,
}

impl SlabOfRows {
    /// The place of a row in each of two planes.
    fn places(&self, row: u64) -> [u64; 2] {
        let at = self.layout.row(self.local(row)) as u64;
        [at, at + self.layout.plane() as u64]
    }

    /// The elements of these rows in a plane.
    fn elements(&self, rows: &Range<u64>) -> u64 {
        (rows.end - rows.start) * u64::from(self.layout.pitch())
    }

    /// A row's number in this device's memory.
    fn local(&self, row: u64) -> u32 {
        (row - self.held.start) as u32
    }
}

impl Run<'_> {
    /// Whether rows far inside walls are left out. Cells that stay zero are zero in both fields
    /// after two timesteps. Nothing else need be done there.
    fn skips(&self) -> u32 {
        u32::from(self.problem.steps >= 2)
    }

    /// The name of one of several buffers, which differ by `number` on several devices.
    fn name(&self, name: &str, number: u64) -> String {
        match self.slabs.devices().len() {
            1 => name.to_owned(),
            _ => format!("{name}.{number}"),
        }
    }

    /// Records what comes before the first pass on a device.
    fn prepare(
        &self,
        plan: &mut Plan,
        device: u32,
        unpadded: &[Field; 2],
    ) -> Result<SlabOfRows, PlanError> {
        let (Shape { steps: halo, .. }, n_x) = (self.shape, self.problem.n_x);
        let held = self.slabs.held(device);
        let n_y = (held.end - held.start) as u32;
        let layout = Layout { n_x, n_y, halo };
        let (strips, rows) = (layout.strips(), layout.rows());
        // Five planes in all. The kernels count up to 2^34 floats; no GPU has memory for five
        // planes of that size.
        let mut scratch = |name: &str, element, len| {
            plan.scratch_on(device, self.name(name, device.into()), element, len)
        };
        let [fields, out] =
            ["fields", "out"].map(|name| scratch(name, Element::F32, 2 * layout.plane()));
        let kinds = scratch("kinds", Element::F32, layout.plane());
        let of_strips = rows as usize * strips as usize;
        let [rough, flags] = ["rough", "flags"].map(|name| scratch(name, Element::U32, of_strips));
        // Kernels read padding, but do not use values computed from it: zeros suffice.
        for padded in [fields, out, kinds] {
            plan.fill(padded, 0)?;
        }
        let [u0, u1] = [0, 1].map(|i| unpadded[i].read(device, held.clone()));
        plan.launch(
            "wave2d_fast_pad",
            LaunchConfig::new((n_x * n_y).div_ceil(256), 256),
            args![u0, u1, fields, n_x, n_y, halo],
        )?;
        plan.launch(
            "wave2d_fast_kinds",
            LaunchConfig::new((strips, rows.div_ceil(8)), (32, 8)),
            args![
                kinds,
                rough,
                n_x,
                n_y,
                self.problem.scene,
                halo,
                u32::from(self.shape.exact),
                held.start as u32,
                self.problem.n_y,
            ],
        )?;
        let mut part = SlabOfRows {
            held,
            layout,
            fields,
            out,
            kinds,
            flags,
            seams: Vec::new(),
            interior: None,
        };
        let interior = self.slabs.interior(device);
        let resident = RESIDENT * plan.multiprocessors();
        let warps = self.shape.warps.unwrap_or(resident);
        let mut left = warps;
        for rows in self.slabs.seams(device) {
            // One chunk per strip leaves the most warps to the rest.
            let wanted = if interior.is_empty() { left } else { 0 };
            let window = self.divide(plan, device, &part, rough, rows, wanted)?;
            left = left.saturating_sub(window.most);
            part.seams.push(window);
        }
        if !interior.is_empty() {
            let wanted = self.warps_of_rest(strips, interior.end - interior.start, [left, warps]);
            part.interior = Some(self.divide(plan, device, &part, rough, interior, wanted)?);
        }
        Ok(part)
    }

    /// Warps for the rows that are not at a seam: those that the seams `left`, or all. Of all, some
    /// begin when the seams have ended; that is faster where chunks are long.
    fn warps_of_rest(&self, strips: u32, rows: u64, [left, warps]: [u32; 2]) -> u32 {
        let t = self.shape.steps;
        let steps = |warps: u32| {
            let rows = u64::from(strips) * rows / u64::from(warps.max(1));
            rows + u64::from(2 * t)
        };
        if steps(left) <= steps(warps) + u64::from(3 * t) {
            left
        } else {
            warps
        }
    }

    /// Records the division of a launch's rows into chunks, for `wanted` warps if possible.
    fn divide(
        &self,
        plan: &mut Plan,
        device: u32,
        part: &SlabOfRows,
        rough: BufferId,
        rows: Range<u64>,
        wanted: u32,
    ) -> Result<Window, PlanError> {
        let shape = self.shape;
        let (strips, n_y) = (part.layout.strips(), part.layout.n_y);
        let (first, len) = (part.local(rows.start), (rows.end - rows.start) as u32);
        // At least one chunk for each strip, and the empty places between chunks with rough rows
        // and others.
        let least = strips + shape.block_warps - 1;
        let most = (strips * len.div_ceil(FEWEST_ROWS)).min(wanted).max(least);
        let mut numbers = |name: &str, count: usize| {
            plan.scratch_on(device, self.name(name, rows.start), Element::U32, count)
        };
        let before = numbers("before", 2 * (len as usize + 1) * strips as usize);
        let counts = numbers("counts", 2 * strips as usize);
        let chunks = numbers("chunks", (chunks::NUMBERS * most) as usize);
        // A group of two steps computes cells of T + 2 rows: this is their largest distance from
        // the group's last row.
        let reach = shape.steps + 2;
        plan.launch(
            "wave2d_fast_flags",
            LaunchConfig::new(strips, 32),
            args![
                rough.slice(),
                part.flags,
                before,
                n_y,
                first,
                len,
                reach,
                self.skips()
            ],
        )?;
        plan.launch(
            "wave2d_fast_chunks",
            LaunchConfig::new(1, chunks::THREADS),
            args![
                before.slice(),
                counts,
                chunks,
                strips,
                first,
                len,
                most,
                shape.steps,
                shape.rough,
                shape.block_warps
            ],
        )?;
        Ok(Window { rows, chunks, most })
    }

    /// Records a launch of `steps` timesteps from `t` on.
    fn launch(
        &self,
        plan: &mut Plan,
        part: &SlabOfRows,
        window: &Window,
        (steps, t): (u32, u32),
    ) -> Result<(), PlanError> {
        let (shape, problem) = (self.shape, self.problem);
        let warps = shape.block_warps;
        let config = LaunchConfig::new(window.most.div_ceil(warps), (32, warps))
            .with_shared_mem_bytes(4 * WARP_FLOATS * warps);
        let exact = if shape.exact { "exact_" } else { "" };
        let [last, behind] = part.places(window.rows.start);
        let len = part.elements(&window.rows);
        let args = args![
            part.fields.slice(),
            part.out.range(last, len),
            part.out.range(behind, len),
            part.kinds.slice(),
            part.flags.slice(),
            window.chunks.slice(),
            problem.n_x,
            part.layout.n_y,
            part.layout.halo,
            part.local(window.rows.start),
            problem.n_y,
            problem.scene,
            problem.k,
            t,
        ];
        plan.launch(&format!("wave2d_fast_{exact}t{steps}"), config, args)
    }

    /// Records the copies of the rows at the seams to those who have them as halo.
    fn exchange(&self, plan: &mut Plan, parts: &[SlabOfRows]) -> Result<(), PlanError> {
        let pairs = |to: u32| {
            let others = self.slabs.devices().filter(move |&from| from != to);
            others.map(move |from| (from, to))
        };
        plan.independent(|plan| {
            for (from, to) in self.slabs.devices().flat_map(pairs) {
                let (share, held) = (self.slabs.share(from), self.slabs.held(to));
                let rows = share.start.max(held.start)..share.end.min(held.end);
                if rows.is_empty() {
                    continue;
                }
                let [from, to] = [from, to].map(|device| &parts[device as usize]);
                let len = from.elements(&rows);
                for (src, dst) in from
                    .places(rows.start)
                    .into_iter()
                    .zip(to.places(rows.start))
                {
                    plan.copy_range(from.out, src, to.out, dst, len)?;
                }
            }
            Ok(())
        })
    }

    /// Records the removal of the padding from the rows that a device computes.
    fn unpad(
        &self,
        plan: &mut Plan,
        device: u32,
        part: &SlabOfRows,
        unpadded: &[Field; 2],
    ) -> Result<(), PlanError> {
        let Layout { n_x, n_y, halo } = part.layout;
        let rows = self.slabs.share(device);
        let (first, len) = (part.local(rows.start), (rows.end - rows.start) as u32);
        let [u0, u1] = [0, 1].map(|i| unpadded[i].write(device, rows.clone()));
        plan.launch(
            "wave2d_fast_unpad",
            LaunchConfig::new((n_x * len).div_ceil(256), 256),
            args![
                part.fields.slice(),
                part.kinds.slice(),
                u0,
                u1,
                n_x,
                n_y,
                halo,
                first,
                len,
                self.skips()
            ],
        )
    }
}
