//! Solving, and how long it took.

use std::time::{Duration, Instant};

use host::poisson::{Box3, Jacobi, LAB, Poisson, Stop, to_tolerance, to_tolerance_on_cpu};
use host::run::{outputs, reset};
use host::{Case, Cpu, DeviceKind, Error, HostBuffer, Lab, Progress};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::devices::Named;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::stats::{SamplingRule, Summary};
use crate::units::grouped;

/// When the samples of a GPU are enough.
const RULE: SamplingRule = SamplingRule {
    min_samples: 3,
    max_samples: 20,
    noise: 0.005,
    spread: 0.05,
    patience: Duration::from_secs(5),
};

/// Iterations before the first sample, so that clocks have risen and code is loaded.
const WARM_UP: u32 = 50;

/// A solution.
pub struct Computed {
    /// N^3 values.
    pub u: HostBuffer,
    /// How many were done.
    pub iterations: u32,
    /// The iterations alone.
    pub times: Summary,
    /// Once, with allocation before and transfers before and after.
    pub whole: Duration,
    /// The last change, and whether it is within the tolerance, if there is one.
    pub end: Option<(f64, bool)>,
}

impl Computed {
    /// How it ended, if there is a tolerance.
    pub fn convergence(&self, stop: Option<&Stop>) -> Option<String> {
        let ((change, reached), stop) = (self.end?, stop?);
        let (tolerance, iterations) = (stop.tolerance(), grouped(self.iterations.into()));
        Some(if reached {
            format!(
                "tolerance {tolerance:e} reached after {iterations} iterations: the last changed u by {change:.3e} at most"
            )
        } else {
            format!(
                "tolerance {tolerance:e} NOT reached after {iterations} iterations: the last changed u by {change:.3e}; raise --iterations"
            )
        })
    }
}

/// So many cores of the CPU, or all.
pub fn cores(threads: Option<u32>) -> Result<ThreadPool, Failure> {
    // 0 lets rayon choose.
    ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0) as usize)
        .build()
        .map_err(|error| Failure::Environment(format!("--threads: cannot start threads: {error}")))
}

/// On the CPU, once.
pub fn on_cpu(problem: &Poisson, stop: Option<&Stop>) -> Result<Computed, Error> {
    let bar = Bar::new("iterating on the CPU");
    let began = Instant::now();
    if let Some(stop) = stop {
        let end = to_tolerance_on_cpu(problem, stop, Cpu::Parallel, &bar)?;
        return Ok(Computed {
            whole: began.elapsed(),
            times: once(end.timing.host),
            iterations: end.iterations,
            end: Some((end.change, end.reached)),
            u: end.u,
        });
    }
    let source = Box3::new(problem.grid());
    let mut jacobi = Jacobi::new(problem.grid(), problem.initial()?, &source, Cpu::Parallel)?;
    let started = Instant::now();
    for iteration in 1..=problem.iterations() {
        jacobi.step();
        bar.update(iteration.into(), problem.iterations().into());
    }
    let time = started.elapsed();
    Ok(Computed {
        whole: began.elapsed(),
        times: once(time),
        iterations: problem.iterations(),
        end: None,
        u: jacobi.into_u().into(),
    })
}

/// On a device: on a GPU after some iterations to warm up, and several times; to a tolerance once.
pub fn on_device(
    named: Named<'_>,
    problem: &Poisson,
    variant: &str,
    stop: Option<&Stop>,
) -> Result<Computed, Error> {
    let Named { name, device } = named;
    let is_gpu = device.info().kind == DeviceKind::Cuda;
    let inputs = problem.inputs()?;
    if is_gpu {
        let _bar = Bar::spinner(format!("warming up {name}"));
        let few = problem.iterations().min(WARM_UP);
        let part = problem.clone().with_iterations(few);
        let plan = part.record(variant)?;
        let mut session = device.prepare(LAB.module(), &plan)?;
        reset(session.as_mut(), &plan, &inputs)?;
        session.run()?;
    }
    if let Some(stop) = stop {
        let bar = Bar::new(format!("{variant} on {name}"));
        let began = Instant::now();
        let end = to_tolerance(device, problem, variant, stop, &bar)?;
        return Ok(Computed {
            whole: began.elapsed(),
            times: once(end.timing.device.unwrap_or(end.timing.host)),
            iterations: end.iterations,
            end: Some((end.change, end.reached)),
            u: end.u,
        });
    }

    let _bar = Bar::spinner(format!("{variant} on {name}"));
    let plan = problem.record(variant)?;
    let began = Instant::now();
    let mut session = device.prepare(LAB.module(), &plan)?;
    for (name, buffer) in &inputs {
        session.write(plan.find_buffer(name)?, buffer)?;
    }
    let first = session.run()?;
    let mut u = outputs(session.as_mut(), &plan)?.swap_remove(0).1;
    let whole = began.elapsed();

    let mut times = once(first.device.unwrap_or(first.host));
    if is_gpu {
        // Nothing that the first run left can pass for a result of these.
        times = RULE.collect(|_| {
            reset(session.as_mut(), &plan, &inputs)?;
            let timing = session.run()?;
            Ok::<_, Error>(timing.device.unwrap_or(timing.host))
        })?;
        u = outputs(session.as_mut(), &plan)?.swap_remove(0).1;
    }
    Ok(Computed {
        u,
        iterations: problem.iterations(),
        times,
        whole,
        end: None,
    })
}

fn once(time: Duration) -> Summary {
    Summary::new(vec![time.as_secs_f64()])
}
