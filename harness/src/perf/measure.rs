//! Timing one variant on one device, or one CPU reference.

use std::cell::Cell;
use std::time::{Duration, Instant};

use host::run::{outputs, reset, restore};
use host::{Case, Cpu, Device, Error, Lab, NamedBuffers};

use super::row::{Clock, Figures};
use crate::catalogue::first_variant;
use crate::progress::Bar;
use crate::stats::{Rule, Summary};

/// Work before the first sample, so that clocks have risen and code is loaded.
const WARM_UP: Duration = Duration::from_millis(500);

/// When a device's samples are enough.
const DEVICE_RULE: Rule = Rule {
    min_samples: 7,
    max_samples: 50,
    noise: 0.005,
    spread: 0.05,
    patience: Duration::from_secs(10),
};

/// When the CPU's samples are enough: it is noisier, and nobody optimises it here.
const CPU_RULE: Rule = Rule {
    min_samples: 3,
    max_samples: 15,
    noise: 0.02,
    spread: 0.25,
    patience: Duration::from_secs(3),
};

/// Times and results.
pub struct Measured {
    /// The times.
    pub figures: Figures,
    /// What the last timed run gave.
    pub outputs: NamedBuffers,
}

/// Times a variant. Before every sample, what the last one wrote is written anew; so the device's cache holds what of that,
/// or else of the last sample's data, fits there.
pub fn device(
    device: &dyn Device,
    lab: &dyn Lab,
    case: &dyn Case,
    inputs: &NamedBuffers,
    variant: &str,
    samples: Option<usize>,
) -> Result<Measured, Error> {
    let plan = case.record(variant)?;
    let mut session = device.prepare(lab.module(), &plan)?;
    reset(session.as_mut(), &plan, inputs)?;
    let mut is_fresh = true;
    let mut run = || {
        if !std::mem::take(&mut is_fresh) {
            restore(session.as_mut(), &plan, inputs)?;
        }
        session.run()
    };
    let began = Instant::now();
    while {
        run()?;
        began.elapsed() < WARM_UP
    } {}
    let rule = samples.map_or(DEVICE_RULE, Rule::exactly);
    let clock = Cell::new(Clock::Device);
    let mut host = Vec::new();
    let times = rule.collect(|_| {
        let timing = run()?;
        host.push(timing.host.as_secs_f64());
        Ok::<_, Error>(timing.device.unwrap_or_else(|| {
            clock.set(Clock::Host);
            timing.host
        }))
    })?;
    let host_median_s = Summary::new(host).median_s;
    let work = case.work(variant);
    let mut figures = Figures::new(times, clock.get(), host_median_s, work);
    figures.timesteps = case.timesteps();
    figures.bytes_per_s = Some(work.bytes as f64 / figures.run.median_s.max(1e-12));
    let kernels = plan.kernels().iter();
    figures.kernels = kernels
        .map(|kernel| session.kernel_info(kernel))
        .collect::<Result<_, Error>>()?;
    Ok(Measured {
        figures,
        outputs: outputs(session.as_mut(), &plan)?,
    })
}

/// Times a CPU reference, without the making of its inputs. A first run that takes long enough is itself warm, and counts.
pub fn cpu(
    lab: &dyn Lab,
    case: &dyn Case,
    inputs: &NamedBuffers,
    cpu: Cpu,
    samples: Option<usize>,
) -> Result<Measured, Error> {
    let first = Instant::now();
    let run = || {
        let bar = Bar::since(format!("timing {} on cpu", cpu.name()), first);
        let began = Instant::now();
        let outputs = case.reference_from(inputs, cpu, &bar)?;
        Ok::<_, Error>((began.elapsed(), outputs))
    };
    let (first_time, mut outputs) = run()?;
    let rule = samples.map_or(CPU_RULE, Rule::exactly);
    let times = rule.collect(|index| {
        if index == 0 && first_time >= WARM_UP {
            return Ok(first_time);
        }
        let time;
        (time, outputs) = run()?;
        Ok::<_, Error>(time)
    })?;
    let host_median_s = times.median_s;
    // The amount of useful work is the same for every variant.
    let work = case.work(first_variant(lab));
    let mut figures = Figures::new(times, Clock::Host, host_median_s, work);
    figures.timesteps = case.timesteps();
    Ok(Measured { figures, outputs })
}
