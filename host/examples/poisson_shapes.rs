//! Launch shapes of the Poisson lab's `computes_source`, timed on the first GPU: `cargo run --release -p host --example
//! poisson_shapes -- [N] [ITERATIONS]`. The tables of docs/performance-poisson.md come from it.

use host::lab::NoProgress;
use host::limits::{self, Limit};
use host::plan::{self, Lab as _};
use host::poisson::{LAB, Poisson};
use host::solutions::poisson::computes_source::launch::Shape;
use host::{Case, Cpu, DeviceKind, Error, Lab, Plan, device};

const LAYERS: [u32; 6] = [1, 4, 8, 16, 32, 64];
const SAMPLES: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |position, default| match std::env::args().nth(position) {
        Some(text) => text.parse(),
        None => Ok(default),
    };
    let problem = Poisson::new(number(1, 512)?, number(2, 100)?)?;
    let devices = device::discover()?;
    let device = devices[0].as_ref();
    assert_eq!(device.info().kind, DeviceKind::Cuda);
    let options = limits::Options::for_device(device.info());
    let copy = limits::measure(device, &options, &[Limit::Copy], &NoProgress)?.copy;
    let copy = copy
        .ok_or("too little memory to measure copies")?
        .best_per_s;
    println!(
        "{}: {problem}; copy {:.2} TB/s",
        device.info().name,
        copy / 1e12
    );
    // Two iterations are enough to tell whether a shape leaves points out.
    let check = problem.clone().with_iterations(2);
    let expected = check.reference(Cpu::Parallel, &NoProgress)?;

    println!(
        "{:>12} {:>7} {:>14} {:>7}",
        "block", "layers", "updates/s", "of copy"
    );
    for [x, y, z] in [
        [32, 8, 1],
        [32, 4, 1],
        [32, 16, 1],
        [64, 2, 1],
        [64, 4, 1],
        [64, 8, 1],
        [128, 2, 1],
        [128, 4, 1],
        [256, 1, 1],
        [256, 2, 1],
        [32, 2, 4],
        [32, 4, 4],
        [32, 8, 2],
        [64, 2, 2],
        [64, 4, 2],
    ] {
        for layers in LAYERS {
            let shape = Shape {
                block: [x, y, z],
                layers,
            };
            let plan = record(&check, shape)?;
            let mut session = device.prepare(LAB.module(), &plan)?;
            host::run::reset(session.as_mut(), &plan, &check.inputs()?)?;
            session.run()?;
            let got = host::run::outputs(session.as_mut(), &plan)?;
            host::check::exact(&expected, &got)?;
            drop(session);

            let plan = record(&problem, shape)?;
            let mut session = device.prepare(LAB.module(), &plan)?;
            host::run::reset(session.as_mut(), &plan, &problem.inputs()?)?;
            session.run()?;
            let mut best = f64::INFINITY;
            for _ in 0..SAMPLES {
                let timing = session.run()?;
                best = best.min(timing.device.unwrap_or(timing.host).as_secs_f64());
            }
            let work = problem.work("computes_source");
            println!(
                "{:>12} {layers:>7} {:>14.3e} {:>6.0}%",
                format!("{x}x{y}x{z}"),
                work.updates as f64 / best,
                100.0 * work.bytes as f64 / best / copy
            );
        }
    }
    Ok(())
}

fn record(problem: &Poisson, shape: Shape) -> Result<Plan, Error> {
    let problem = host::lab::Declaration::problem(problem);
    Ok(plan::poisson::Poisson::record("shape", &problem, &shape)?)
}
