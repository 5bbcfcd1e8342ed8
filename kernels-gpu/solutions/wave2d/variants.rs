//! The variants of the solutions.

use super::fast::launch::Shape as Fast;
use super::resident::launch::Shape as Resident;
use super::shmem::launch::Shape as Shmem;
use super::single::launch::Shape as Single;
use super::wavefront::launch::Shape as Wavefront;
use super::{fast, naive, resident, shmem, single, wavefront};
use crate::kernels::variant;
use crate::wave2d::Wave2d;
use lab::Variant;

pub fn variants() -> Vec<Variant> {
    vec![
        variant::<Wave2d>(
            "naive",
            "one launch per timestep, one thread per cell, all from global memory",
            |_| Box::new(naive::launch::Submission),
        ),
        variant::<Wave2d>(
            "single",
            "one launch per timestep, threads begin at cache lines, four rows of a column per thread, to and fro through the domain",
            |_| Box::new(single::launch::Submission),
        )
        .tuned::<Wave2d, _>(Single::DEFAULT, Single::SPACE, Single::label, None),
        variant::<Wave2d>(
            "shmem",
            "10 timesteps per launch on tiles in registers, with shared memory between warps",
            |_| Box::new(shmem::launch::Submission),
        )
        .tuned(Shmem::DEFAULT, Shmem::SPACE, Shmem::label, Some(of_shmem)),
        variant::<Wave2d>(
            "fast",
            "16 timesteps per launch in a pipeline of each warp, fused multiply-add",
            |_| Box::new(fast::launch::Shape::DEFAULT),
        )
        .fused()
        .usual_on_several()
        .tuned(Fast::DEFAULT, Fast::SPACE, Fast::label, Some(of_fast)),
        variant::<Wave2d>(
            "fast_exact",
            "`fast` with the reference's order of operations, 12 timesteps per launch",
            |_| Box::new(fast::launch::Submission),
        )
        .tuned(Fast::EXACT, Fast::EXACT_SPACE, Fast::label, Some(of_fast)),
        variant::<Wave2d>(
            "wavefront",
            "passes of 16 timesteps behind one another in one launch, each a pipeline of each warp, fused multiply-add",
            |_| Box::new(wavefront::launch::Shape::DEFAULT),
        )
        .fused()
        .tuned(Wavefront::DEFAULT, Wavefront::SPACE, Wavefront::label, Some(of_wavefront)),
        variant::<Wave2d>(
            "wavefront_exact",
            "`wavefront` with the reference's order of operations, passes of 12 timesteps",
            |_| Box::new(wavefront::launch::Submission),
        )
        .tuned(Wavefront::EXACT, Wavefront::EXACT_SPACE, Wavefront::label, Some(of_wavefront)),
        variant::<Wave2d>(
            "resident",
            "all timesteps in one launch of one cluster, fields in its shared memory and registers; one launch per timestep where the domain does not fit",
            |_| Box::new(resident::launch::Submission),
        )
        .on_request()
        .winning(|case: &Wave2d, target| {
            let domain = case.domain();
            target.devices == 1 && Resident::DEFAULT.fits(domain.n_x, domain.n_y)
        })
        .tuned::<Wave2d, _>(Resident::DEFAULT, Resident::SPACE, Resident::label, None),
    ]
}

fn of_shmem(case: &Wave2d, shape: &Shmem) -> u64 {
    bytes(case, case.steps().div_ceil(shape.steps))
}

fn of_fast(case: &Wave2d, shape: &Fast) -> u64 {
    bytes(case, shape.launches(case.steps()).count() as u32)
}

fn of_wavefront(case: &Wave2d, shape: &Wavefront) -> u64 {
    let passes = shape.passes(case.steps());
    bytes(case, passes.iter().map(|&(_, passes)| passes).sum())
}

/// Each launch, or each pass, reads and writes each field once.
fn bytes(case: &Wave2d, launches: u32) -> u64 {
    16 * case.cells() as u64 * u64::from(launches)
}
