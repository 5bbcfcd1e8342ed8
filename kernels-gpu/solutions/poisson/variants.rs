//! The variants of the solutions.

use plan::{Solution, Target};

use super::computes_source::launch::Shape as ComputesSource;
use super::computes_source::{self, dual, split};
use super::fast::launch::Shape as Fast;
use super::fast_single::launch::Shape as FastSingle;
use super::resident;
use super::resident::launch::Shape as Resident;
use super::resident_grid;
use super::stored_source::{layer_by_layer, no_branches, reads_source, shared_tile};
use super::{fast, fast_single};
use crate::kernels::variant;
use crate::poisson::Poisson;
use kernels_gpu::poisson::tile::{COLUMNS, MARGIN, columns};
use lab::{Demand, Precision, Variant};

pub fn variants() -> Vec<Variant> {
    vec![
        // The kernel writes walls too: they need not be there before.
        stored(
            "reads_source",
            "one thread per point, f from memory, walls by branches",
            |_| Box::new(reads_source::launch::Submission),
        )
        .with_cuda("poisson.cu", "reads_source")
        .moving(|case: &Poisson| bytes(case, true, false, case.points() as u64)),
        stored(
            "no_branches",
            "one thread per point inside, f from memory, a launch that fits exactly",
            |_| Box::new(no_branches::launch::Submission),
        ),
        stored(
            "layer_by_layer",
            "one launch a layer, f from memory",
            |_| Box::new(layer_by_layer::launch::Submission),
        ),
        stored(
            "shared_tile",
            "8^3 points and their halo in shared memory, f from memory",
            |_| Box::new(shared_tile::launch::Submission),
        ),
        // The kernel also writes the walls at either end of x.
        variant::<Poisson>(
            "computes_source",
            "f from the point's position, a column of points per thread",
            |_| Box::new(computes_source::launch::Submission),
        )
        .with_cuda("poisson.cu", "computes_source")
        .usual()
        .moving(computing_source)
        .tuned::<Poisson, _>(
            ComputesSource::DEFAULT,
            ComputesSource::SPACE,
            ComputesSource::label,
            None,
        ),
        variant::<Poisson>(
            "fast_single",
            "computes_source in short columns, blocks in the order that L2 likes, every other iteration downwards",
            |_| Box::new(fast_single::launch::Submission),
        )
        .moving(computing_source)
        .tuned::<Poisson, _>(FastSingle::DEFAULT, FastSingle::SPACE, FastSingle::label, None),
        variant::<Poisson>(
            "fast",
            "several iterations per launch, on tiles that stream through the planes",
            |_| Box::new(fast::launch::Submission),
        )
        .with_cuda("poisson.cu", "fast_t3_r4_w8_s6")
        .usual_on_several()
        .winning(fast_wins)
        .tuned(Fast::DEFAULT, Fast::SPACE, Fast::label, Some(of_fast))
        .modelled(Fast::DEFAULT, Fast::SPACE, demand),
        variant::<Poisson>(
            "fast_at_once",
            "fast in one launch per device for all iterations, blocks of several devices wait for each other by flags; passes of fast where a GPU has too few multiprocessors",
            |_| Box::new(fast::launch::AtOnce),
        )
        .moving(|case: &Poisson| of_fast(case, &Fast::DEFAULT))
        .on_request()
        .winning(|case: &Poisson, target| fast::launch::AtOnce::wins(case.n(), target)),
        variant::<Poisson>(
            "resident",
            "all iterations in one launch of one cluster, u in its shared memory and registers; one launch an iteration where the cube does not fit",
            |_| Box::new(resident::launch::Submission),
        )
        .moving(computing_source)
        .on_request()
        .winning(|case: &Poisson, target| {
            target.devices == 1 && Resident::DEFAULT.fits(case.n())
        })
        .tuned::<Poisson, _>(Resident::DEFAULT, Resident::SPACE, Resident::label, None),
        variant::<Poisson>(
            "resident_grid",
            "all iterations in one launch of the whole GPU, u in its registers and shared memory, for cubes up to about 128^3",
            |_| Box::new(resident_grid::launch::Submission),
        )
        .moving(computing_source)
        .on_request()
        .winning(|case: &Poisson, target| {
            target.devices == 1 && resident_grid::launch::wins(case.n(), target.multiprocessors)
        }),
        variant::<Poisson>(
            "dual",
            "computes_source on two devices, which read the layer beyond the seam from each other's memory",
            |_| Box::new(dual::launch::Submission),
        )
        .moving(computing_source)
        .on_request(),
        variant::<Poisson>(
            "split_single",
            "computes_source in slabs, one for each device, their layers at the seams sent while the rest is computed",
            |_| Box::new(split::launch::Submission),
        )
        .moving(computing_source)
        .on_request(),
    ]
}

/// Whether `fast` is the fastest on one GPU of those that are measured without being named. On an
/// H100 it takes 3.2 us at 64^3 and 4.5 at 96^3, where `reads_source` takes 2.6 and 4.9; from 128^3
/// on it is the fastest on an H200 too.
fn fast_wins(case: &Poisson, target: Target) -> bool {
    target.devices == 1 && case.n() >= 96
}

/// A launch of several iterations moves as many bytes as one of a single iteration.
fn of_fast(case: &Poisson, shape: &Fast) -> u64 {
    let launches = shape.launches(case.iterations());
    computing_source(&case.clone().with_iterations(launches))
}

/// Tiles in chunks of planes: a round is a plane of a tile. Two more begin and end a chunk.
fn demand(case: &Poisson, shape: &Fast, target: Target) -> Demand {
    let planes = case.n() - 2;
    let Fast { levels, .. } = *shape;
    let rows = shape.rows * shape.warps;
    let list = shape.blocks(case.n(), 1..planes + 1, target.multiprocessors);
    let chunk = list.mean_planes();
    let before = 2 * levels;
    let read = u64::from(COLUMNS * rows);
    let written = u64::from((columns(case.n()) - 2 * MARGIN) * (rows - before) * chunk);
    Demand {
        steps: levels,
        blocks: list.blocks().into(),
        rounds: u64::from(chunk + before + 2),
        updates: u64::from(levels) * read,
        // With three planes in its ring a block waits for the copies of each.
        lane_cycles: if shape.slots > 3 { 17.0 } else { 20.0 },
        precision: Precision::F64,
        bytes: 8 * (read + written / u64::from(chunk + before)),
    }
}

/// The bytes that a variant must move if it computes f from the point's position.
fn computing_source(case: &Poisson) -> u64 {
    let side = u64::from(case.n() - 2);
    bytes(case, false, true, u64::from(case.n()) * side * side)
}

/// A variant that reads f, and writes the points inside the walls.
fn stored(
    name: &'static str,
    summary: &'static str,
    solution: fn(&Poisson) -> Box<dyn Solution<plan::poisson::Poisson>>,
) -> Variant {
    variant::<Poisson>(name, summary, solution)
        .moving(|case: &Poisson| bytes(case, true, true, case.points_inside()))
}

/// An iteration reads u except the cube's edges and, if `reads_f`, f inside the walls. It writes
/// `written` points of u_next. Before the first iteration, variants that need it write f and copy
/// u.
fn bytes(problem: &Poisson, reads_f: bool, copies_u: bool, written: u64) -> u64 {
    let iterations = u64::from(problem.iterations());
    if iterations == 0 {
        return 0;
    }
    let points = problem.points() as u64;
    let inside = problem.points_inside();
    let side = u64::from(problem.n() - 2);
    let read = inside + 6 * side * side + if reads_f { inside } else { 0 };
    let before = if reads_f { points } else { 0 } + if copies_u { 2 * points } else { 0 };
    8 * (before + iterations * (read + written))
}
