//! The built-in solutions: how each records its launches.

use kernels_gpu::poisson::{Grid, max_change, no_branches, shared_tile};

use super::problem::Poisson;
use crate::args;
use crate::buffer::Element;
use crate::error::Error;
use crate::lab::Variant;
use crate::plan::{BufferId, LaunchConfig, Plan, PlanError};
use crate::registry::find_variant;

const READS_SOURCE: &str = "reads_source";
const NO_BRANCHES: &str = "no_branches";
const LAYER_BY_LAYER: &str = "layer_by_layer";
const SHARED_TILE: &str = "shared_tile";
const COMPUTES_SOURCE: &str = "computes_source";

const fn variant(name: &'static str, summary: &'static str) -> Variant {
    Variant {
        name,
        summary,
        exact: true,
    }
}

pub(super) const VARIANTS: &[Variant] = &[
    variant(
        READS_SOURCE,
        "one thread a point, f from memory, walls by branches",
    ),
    variant(
        NO_BRANCHES,
        "one thread a point inside, f from memory, a launch that fits exactly",
    ),
    variant(LAYER_BY_LAYER, "one launch a layer, f from memory"),
    variant(
        SHARED_TILE,
        "8^3 points and their halo in shared memory, f from memory",
    ),
    variant(
        COMPUTES_SOURCE,
        "f from the point's position, a column of points a thread",
    ),
];

/// How `computes_source` is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Layers of points that a thread computes, one above the other.
    pub layers: u32,
}

impl Shape {
    /// The built-in variant's; docs/performance-poisson.md has the reasons.
    pub const DEFAULT: Shape = Shape {
        block: [32, 8, 1],
        layers: 32,
    };
}

/// The fields of a plan.
struct Fields {
    /// The last field.
    u: BufferId,
    /// Where the next one goes.
    u_next: BufferId,
    /// f, for the variants that read it.
    f: Option<BufferId>,
}

/// The variant's plan: input and output `u`.
pub(super) fn record(problem: &Poisson, variant: &str) -> Result<Plan, Error> {
    record_shaped(problem, variant, Shape::DEFAULT)
}

/// The plan of `computes_source`, launched in another shape.
///
/// # Errors
///
/// [`Error::Plan`] for a shape with a 0.
pub fn record_computes_source(problem: &Poisson, shape: Shape) -> Result<Plan, Error> {
    record_shaped(problem, COMPUTES_SOURCE, shape)
}

fn record_shaped(problem: &Poisson, variant: &str, shape: Shape) -> Result<Plan, Error> {
    let variant = find_variant(VARIANTS, variant)?.name;
    let mut plan = Plan::new(format!("poisson {variant}, {problem}"));
    let u = plan.buffer("u", Element::F64, problem.points());
    let fields = record_iterations(&mut plan, problem, variant, shape, u)?;
    plan.output("u", fields.map_or(u, |fields| fields.u));
    Ok(plan)
}

/// As [`record`], and then how far the last iteration changed u: output `change`, one `u64` that holds the bits of an `f64`.
/// Input and output `u` are one buffer, so that running the plan again continues.
///
/// The problem has at least one iteration.
pub(super) fn record_with_change(problem: &Poisson, variant: &str) -> Result<Plan, Error> {
    let variant = find_variant(VARIANTS, variant)?.name;
    let mut plan = Plan::new(format!("poisson {variant} with change, {problem}"));
    let start = plan.buffer("u", Element::F64, problem.points());
    let change = plan.buffer("change", Element::U64, 1);
    plan.output("u", start);
    plan.output("change", change);
    let Some(Fields { u, u_next, .. }) =
        record_iterations(&mut plan, problem, variant, Shape::DEFAULT, start)?
    else {
        return Ok(plan);
    };
    plan.fill(change, 0)?;
    // Some blocks for each multiprocessor of any GPU; more than the points need would wait for nothing.
    let points = problem.points() as u32;
    let blocks = points.div_ceil(max_change::BLOCK).min(1024);
    plan.launch(
        "poisson_max_change",
        LaunchConfig::new(blocks, max_change::BLOCK),
        args![u.slice(), u_next.slice(), change, points],
    )?;
    if u != start {
        plan.copy(u, start)?;
    }
    Ok(plan)
}

/// Records the problem's iterations from `u` on; nothing if there are none.
fn record_iterations(
    plan: &mut Plan,
    problem: &Poisson,
    variant: &str,
    shape: Shape,
    u: BufferId,
) -> Result<Option<Fields>, PlanError> {
    if problem.iterations() == 0 {
        return Ok(None);
    }
    let u_next = plan.scratch("u_next", Element::F64, problem.points());
    let f = match variant {
        COMPUTES_SOURCE => None,
        _ => Some(plan.scratch("f", Element::F64, problem.points())),
    };
    let mut fields = Fields { u, u_next, f };
    let n = problem.n();
    if let Some(f) = f {
        let config = LaunchConfig::covering((n, n, n), (32, 4, 4))?;
        plan.launch("poisson_source", config, args![f, n])?;
    }
    if variant != READS_SOURCE {
        // These kernels leave the walls alone, so both fields need them before.
        plan.copy(u, u_next)?;
    }
    for _ in 0..problem.iterations() {
        match (variant, fields.f) {
            (READS_SOURCE, Some(f)) => reads_source(plan, problem, &fields, f)?,
            (NO_BRANCHES, Some(f)) => no_branches(plan, problem, &fields, f)?,
            (LAYER_BY_LAYER, Some(f)) => layer_by_layer(plan, problem, &fields, f)?,
            (SHARED_TILE, Some(f)) => shared_tile(plan, problem, &fields, f)?,
            _ => computes_source(plan, problem, &fields, shape)?,
        }
        std::mem::swap(&mut fields.u, &mut fields.u_next);
    }
    Ok(Some(fields))
}

fn reads_source(
    plan: &mut Plan,
    problem: &Poisson,
    fields: &Fields,
    f: BufferId,
) -> Result<(), PlanError> {
    let n = problem.n();
    plan.launch(
        "poisson_reads_source",
        LaunchConfig::covering((n, n, n), (32, 4, 4))?,
        whole(problem, fields, f),
    )
}

fn no_branches(
    plan: &mut Plan,
    problem: &Poisson,
    fields: &Fields,
    f: BufferId,
) -> Result<(), PlanError> {
    let inner = problem.n() - 2;
    plan.launch(
        "poisson_no_branches",
        LaunchConfig::covering((inner, inner, inner), no_branches::block(problem.n()))?,
        whole(problem, fields, f),
    )
}

fn layer_by_layer(
    plan: &mut Plan,
    problem: &Poisson,
    fields: &Fields,
    f: BufferId,
) -> Result<(), PlanError> {
    let n = problem.n();
    let config = LaunchConfig::covering((n, n), (32, 8))?;
    let h2 = problem.grid().h2();
    for z in 1..n - 1 {
        let args = args![fields.u.slice(), f.slice(), fields.u_next, n, z, h2];
        plan.launch("poisson_layer_by_layer", config, args)?;
    }
    Ok(())
}

fn shared_tile(
    plan: &mut Plan,
    problem: &Poisson,
    fields: &Fields,
    f: BufferId,
) -> Result<(), PlanError> {
    let n = problem.n();
    plan.launch(
        "poisson_shared_tile",
        LaunchConfig::covering((n, n, n), [shared_tile::TILE; 3])?,
        whole(problem, fields, f),
    )
}

fn computes_source(
    plan: &mut Plan,
    problem: &Poisson,
    fields: &Fields,
    Shape { block, layers }: Shape,
) -> Result<(), PlanError> {
    let n = problem.n();
    let threads = (n, n - 2, (n - 2).div_ceil(layers.max(1)));
    let h2 = problem.grid().h2();
    plan.launch(
        "poisson_computes_source",
        LaunchConfig::covering(threads, block)?,
        args![fields.u.slice(), fields.u_next, n, layers, h2],
    )
}

/// The arguments of a kernel that reads f for the whole cube.
fn whole(problem: &Poisson, fields: &Fields, f: BufferId) -> [crate::Arg; 5] {
    let h2 = problem.grid().h2();
    args![fields.u.slice(), f.slice(), fields.u_next, problem.n(), h2]
}

/// Fewest bytes that the variant moves for the problem.
///
/// An iteration reads u but for the cube's edges, f (if it does) inside the walls, and writes u_next inside the walls;
/// `reads_source` writes the walls too, `computes_source` those two at either end of x. Before the first iteration, f is
/// written and u copied, where a variant needs that.
pub(super) fn bytes(problem: &Poisson, variant: &str) -> u64 {
    let iterations = u64::from(problem.iterations());
    if iterations == 0 {
        return 0;
    }
    let points = problem.points() as u64;
    let inside = problem.points_inside();
    let side = u64::from(problem.n() - 2);
    let reads_f = variant != COMPUTES_SOURCE;
    let read = inside + 6 * side * side + if reads_f { inside } else { 0 };
    let written = match variant {
        READS_SOURCE => points,
        COMPUTES_SOURCE => u64::from(problem.n()) * side * side,
        _ => inside,
    };
    let source = if reads_f { points } else { 0 };
    let copy = if variant == READS_SOURCE {
        0
    } else {
        2 * points
    };
    8 * (source + copy + iterations * (read + written))
}

/// The largest N whose fields fit this much device memory with this variant; `None` if not even the smallest does.
///
/// # Errors
///
/// [`Error::Case`] for an unknown variant.
pub fn largest_n(variant: &str, memory_bytes: u64) -> Result<Option<u32>, Error> {
    let fields = match find_variant(VARIANTS, variant)?.name {
        COMPUTES_SOURCE => 2,
        _ => 3,
    };
    let fits = |n: &u32| fields * 8 * u64::from(*n).pow(3) <= memory_bytes;
    Ok((3..=Grid::MAX_N).rev().find(fits))
}
