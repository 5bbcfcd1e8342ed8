//! The built-in solutions. Each is a submission: kernels in `kernels-gpu`, launches here.

mod computes_source {
    pub mod launch;
}
mod layer_by_layer {
    pub mod launch;
}
mod no_branches {
    use kernels_gpu::poisson::stored_source as kernels;
    pub mod launch;
}
mod reads_source {
    pub mod launch;
}
mod shared_tile {
    use kernels_gpu::poisson::stored_source as kernels;
    pub mod launch;
}

use plan::Lab as _;

use super::problem::Poisson;
use crate::error::Error;
use crate::lab::{BuiltIn, Variant};
use crate::plan::Plan;

pub use computes_source::launch::Shape;

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

const VARIANTS: &[Variant] = &[
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

pub const BUILT_IN: BuiltIn<Poisson, plan::poisson::Poisson> = BuiltIn {
    variants: VARIANTS,
    solution: |_, variant| match variant {
        READS_SOURCE => Box::new(reads_source::launch::Submission),
        NO_BRANCHES => Box::new(no_branches::launch::Submission),
        LAYER_BY_LAYER => Box::new(layer_by_layer::launch::Submission),
        SHARED_TILE => Box::new(shared_tile::launch::Submission),
        _ => Box::new(computes_source::launch::Submission),
    },
    bytes,
};

/// The plan of `computes_source`, launched in another shape.
///
/// # Errors
///
/// [`Error::Plan`] for a shape with a 0.
pub fn record_computes_source(problem: &Poisson, shape: Shape) -> Result<Plan, Error> {
    let name = format!("poisson {COMPUTES_SOURCE}, {problem}");
    let plan = plan::poisson::Poisson::record(name, &problem.problem(), &shape)?;
    Ok(plan)
}

/// An iteration reads u but for the cube's edges, f (if it does) inside the walls, and writes u_next inside the walls;
/// `reads_source` writes the walls too, `computes_source` those two at either end of x. Before the first iteration, f is
/// written and u copied, where a variant needs that.
fn bytes(problem: &Poisson, variant: &str) -> u64 {
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
