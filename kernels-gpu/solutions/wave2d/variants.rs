//! The variants of the solutions.

use super::{fast, naive, resident, shmem, single, wavefront};
use crate::lab::{BuiltIn, shapes};
use crate::wave2d::Wave2d;

pub const VARIANTS: &[BuiltIn<Wave2d>] = &[
    BuiltIn::new(
        "naive",
        "one launch per timestep, one thread per cell, all from global memory",
        |_| Box::new(naive::launch::Submission),
    ),
    BuiltIn::new(
        "single",
        "one launch per timestep, threads begin at cache lines, four rows of a column per thread, to and fro through the domain",
        |_| Box::new(single::launch::Submission),
    )
    .tuned(|| {
        use single::launch::Shape;
        shapes(Shape::DEFAULT, Shape::SPACE, Shape::label, None)
    }),
    BuiltIn::new(
        "shmem",
        "10 timesteps per launch on tiles in registers, with shared memory between warps",
        |_| Box::new(shmem::launch::Submission),
    )
    .moving(|case| of_shmem(case, &shmem::launch::Shape::DEFAULT))
    .tuned(|| {
        use shmem::launch::Shape;
        shapes(Shape::DEFAULT, Shape::SPACE, Shape::label, Some(of_shmem))
    }),
    BuiltIn::new(
        "fast",
        "16 timesteps per launch in a pipeline of each warp, fused multiply-add",
        |_| Box::new(fast::launch::Shape::DEFAULT),
    )
    .fused()
    .moving(|case| of_fast(case, &fast::launch::Shape::DEFAULT))
    .tuned(|| {
        use fast::launch::Shape;
        shapes(Shape::DEFAULT, Shape::SPACE, Shape::label, Some(of_fast))
    }),
    BuiltIn::new(
        "fast_exact",
        "`fast` with the reference's order of operations, 12 timesteps per launch",
        |_| Box::new(fast::launch::Submission),
    )
    .moving(|case| of_fast(case, &fast::launch::Shape::EXACT))
    .tuned(|| {
        use fast::launch::Shape;
        shapes(
            Shape::EXACT,
            Shape::EXACT_SPACE,
            Shape::label,
            Some(of_fast),
        )
    }),
    BuiltIn::new(
        "wavefront",
        "passes of 16 timesteps behind one another in one launch, each a pipeline of each warp, fused multiply-add",
        |_| Box::new(wavefront::launch::Shape::DEFAULT),
    )
    .fused()
    .moving(|case| of_wavefront(case, &wavefront::launch::Shape::DEFAULT))
    .tuned(|| {
        use wavefront::launch::Shape;
        shapes(
            Shape::DEFAULT,
            Shape::SPACE,
            Shape::label,
            Some(of_wavefront),
        )
    }),
    BuiltIn::new(
        "wavefront_exact",
        "`wavefront` with the reference's order of operations, passes of 12 timesteps",
        |_| Box::new(wavefront::launch::Submission),
    )
    .moving(|case| of_wavefront(case, &wavefront::launch::Shape::EXACT))
    .tuned(|| {
        use wavefront::launch::Shape;
        shapes(
            Shape::EXACT,
            Shape::EXACT_SPACE,
            Shape::label,
            Some(of_wavefront),
        )
    }),
    BuiltIn::new(
        "resident",
        "all timesteps in one launch of one cluster, fields in its shared memory and registers; one launch per timestep where the domain does not fit",
        |_| Box::new(resident::launch::Submission),
    )
    .tuned(|| {
        use resident::launch::Shape;
        shapes(Shape::DEFAULT, Shape::SPACE, Shape::label, None)
    })
    .on_request(),
];

fn of_shmem(case: &Wave2d, shape: &shmem::launch::Shape) -> u64 {
    bytes(case, case.steps().div_ceil(shape.steps))
}

fn of_fast(case: &Wave2d, shape: &fast::launch::Shape) -> u64 {
    bytes(case, shape.launches(case.steps()).count() as u32)
}

fn of_wavefront(case: &Wave2d, shape: &wavefront::launch::Shape) -> u64 {
    let passes = shape.passes(case.steps());
    bytes(case, passes.iter().map(|&(_, passes)| passes).sum())
}

/// Each launch, or each pass, reads and writes each field once.
fn bytes(case: &Wave2d, launches: u32) -> u64 {
    16 * case.cells() as u64 * u64::from(launches)
}
