//! The variants of the solutions.

use super::fast::launch::Shape as Fast;
use super::resident::launch::Shape as Resident;
use super::shmem::launch::Shape as Shmem;
use super::single::launch::Shape as Single;
use super::wavefront::launch::Shape as Wavefront;
use super::{fast, naive, resident, shmem, single, wavefront};
use crate::kernels::variant;
use crate::wave2d::Wave2d;
use lab::{Counterpart, CudaKernels, Script, Variant};
use plan::{Arg, Command, Launch, LaunchConfig, Plan, PlanError, Target};

pub fn variants() -> Vec<Variant> {
    vec![
        variant::<Wave2d>(
            "naive",
            "one launch per timestep, one thread per cell, all from global memory",
            |_| Box::new(naive::launch::Submission),
        )
        .with_cuda(CUDA, "naive")
        .with_counterpart(Counterpart::Cuda(CudaKernels {
            file: CUDA,
            form: Some("shared tile"),
            kernel: "wave2d_tile".to_owned(),
            relaunch: Some(as_tile),
        }))
        .with_counterpart(Counterpart::Python(Script {
            file: "wave2d.py",
            source: CUDA,
            arguments: of_script,
        })),
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
        .with_cuda(CUDA, "shmem")
        .tuned(Shmem::DEFAULT, Shmem::SPACE, Shmem::label, Some(of_shmem)),
        variant::<Wave2d>(
            "fast",
            "16 timesteps per launch in a pipeline of each warp, fused multiply-add",
            |_| Box::new(fast::launch::Shape::DEFAULT),
        )
        .with_cuda(CUDA, "fast_t16")
        .fused()
        .usual_on_several()
        .winning(|case: &Wave2d, target| {
            target.devices == 1 && case.cells() >= 800 * 800 && !wavefront_wins(case, target)
        })
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
        .with_cuda(CUDA, "wavefront_t16")
        .fused()
        .winning(wavefront_wins)
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

/// Whether `wavefront` is the fastest on one GPU. An H200 takes 3.57 us at 2401^2 and 4.21 at
/// 3201^2, where `fast` takes 3.83 and 4.82, and an H100 4.59 and 5.33 at 3201^2. With few rows for
/// each warp its passes wait for one another (1601^2: 3.24 and 2.63); with many `fast` repeats
/// little (4801^2: 10.1 and 9.63).
fn wavefront_wins(case: &Wave2d, target: Target) -> bool {
    target.devices == 1 && (2000 * 2000..4000 * 4000).contains(&case.cells())
}

/// The kernels in CUDA C++.
const CUDA: &str = "wave2d.cu";

/// Blocks of `TILE_X` by `TILE_Y` threads. The arguments are those of the naive kernel: u0, u1,
/// n_x, n_y, ...
fn as_tile(launch: &Launch<'_>) -> Result<(String, LaunchConfig), PlanError> {
    const TILE: (u32, u32) = (32, 16);
    let &[_, _, Arg::U32(n_x), Arg::U32(n_y), ..] = launch.args else {
        return Err(PlanError::unsupported(format!(
            "`{}` does not take the extents as its third and fourth argument",
            launch.kernel
        )));
    };
    let config = LaunchConfig::covering((n_x, n_y), TILE)?;
    Ok(("wave2d_tile".to_owned(), config))
}

/// The launches of the naive variant's plan, as the script takes them.
fn of_script(plan: &Plan) -> Result<serde_json::Value, String> {
    let launches: Vec<_> = plan
        .commands()
        .filter_map(|command| match command {
            Command::Launch(launch) => Some(launch),
            _ => None,
        })
        .collect();
    let Some(first) = launches.first() else {
        return Err("the case has no timestep".to_owned());
    };
    let &[
        _,
        _,
        Arg::U32(n_x),
        Arg::U32(n_y),
        Arg::U32(scene),
        Arg::F32(k),
        Arg::U32(first_step),
    ] = first.args
    else {
        return Err(format!(
            "`{}` has other arguments than the script",
            first.kernel
        ));
    };
    Ok(serde_json::json!({
        "n_x": n_x,
        "n_y": n_y,
        "steps": launches.len(),
        "scene": scene,
        "k": k,
        "first_step": first_step,
        "rows": first.config.block[1],
    }))
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
