//! The emulated device's counts of some kernels, to compare with those of Nsight Compute.
//! docs/measure/counts.md has both.
//!
//! Prints the counts. On a machine with a CUDA device, it also launches each kernel there once, for
//! `ncu` to profile.

use device::EmulatedDevice;
use device::run::reset;
use device::{Device, Element, Error, HostBuffer, Module, NamedBuffers};
use host::wave2d::{LAB, Start, Wave2d};
use lab::LabCase;
use plan::{LaunchConfig, Plan, args};

static BAD_KERNELS: Module =
    Module::from_static("bad_kernels", include_str!(env!("BAD_KERNELS_PTX")));

/// A plan with its module and inputs.
struct Run {
    module: &'static Module,
    plan: Plan,
    inputs: NamedBuffers,
}

/// Transposes a 256 by 256 matrix.
fn transpose(kernel: &str, grid: (u32, u32)) -> Result<Run, Error> {
    let n = 256_u32;
    let cells = (n * n) as usize;
    let mut plan = Plan::new(kernel);
    let x = plan.buffer("x", Element::F32, cells);
    let y = plan.buffer("y", Element::F32, cells);
    plan.launch(kernel, LaunchConfig::new(grid, (32, 8)), args![x, y, n])?;
    let values = || HostBuffer::from((0..cells).map(|i| i as f32).collect::<Vec<_>>());
    Ok(Run {
        module: &BAD_KERNELS,
        plan,
        inputs: vec![("x".to_owned(), values()), ("y".to_owned(), values())],
    })
}

/// One launch of a wave2d variant.
fn wave2d(variant: &str, steps: u32) -> Result<Run, Error> {
    let problem =
        Wave2d::new(1001, 500, steps, "point-source")?.with_start(Start::Random { seed: 1.into() });
    Ok(Run {
        module: &LAB.module,
        plan: LAB.find(variant)?.record(&problem)?,
        inputs: problem.inputs()?,
    })
}

fn execute(device: &dyn Device, run: &Run) -> Result<(), Error> {
    let mut session = device.prepare(run.module, &run.plan)?;
    reset(session.as_mut(), &run.plan, &run.inputs)?;
    session.run()?;
    for report in session.reports() {
        let counts = &report.total.counts;
        println!("{}", report.total.kernel);
        for (name, count) in [
            ("warp instructions", counts.instructions.warp),
            ("global load requests", counts.global_loads.requests),
            ("global load sectors", counts.global_loads.sectors),
            ("global store requests", counts.global_stores.requests),
            ("global store sectors", counts.global_stores.sectors),
            ("shared load wavefronts", counts.shared_loads.wavefronts),
            (
                "shared load conflicts",
                counts.shared_loads.bank_conflicts(),
            ),
            ("shared store wavefronts", counts.shared_stores.wavefronts),
            (
                "shared store conflicts",
                counts.shared_stores.bank_conflicts(),
            ),
            ("barriers", counts.barriers),
            ("branches", counts.branches),
            ("divergent branches", counts.divergent_branches),
        ] {
            println!("  {name:<24} {count:>10}");
        }
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let runs = [
        transpose("transpose_naive", (8, 32))?,
        transpose("transpose_tiled", (8, 8))?,
        transpose("transpose_padded", (8, 8))?,
        wave2d("naive", 1)?,
        wave2d("shmem", 10)?,
    ];
    let emulated = EmulatedDevice::default();
    for run in &runs {
        execute(&emulated, run)?;
    }
    match cuda::discover() {
        Ok(devices) => {
            for run in &runs {
                execute(devices[0].as_ref(), run)?;
            }
        }
        Err(reason) => println!("not launched on a GPU: {reason}"),
    }
    Ok(())
}
