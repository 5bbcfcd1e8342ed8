//! All limits in turn.

use std::time::{Duration, Instant};

use super::probe::Probe;
use super::{Limit, Limits, Options, Rate};
use crate::device::{Device, DeviceError, Launching, Timing};
use crate::error::Error;
use crate::lab::Progress;
use crate::membench::MembenchError;

/// The most runs of a sample.
const MAX_RUNS: u32 = 1000;

/// Measures these limits of a device. Told of those done through `progress`.
///
/// A limit that the device has too little free memory for is left out.
///
/// # Errors
///
/// [`MembenchError`]: options that make no sense, what the device answers, a wrong result.
pub fn measure(
    device: &dyn Device,
    options: &Options,
    which: &[Limit],
    progress: &dyn Progress,
) -> Result<Limits, MembenchError> {
    options.check()?;
    let mut limits = Limits::default();
    for (done, &limit) in which.iter().enumerate() {
        progress.update(done as u64, which.len() as u64);
        match rate(device, options, limit) {
            Ok(rate) => limits.set(limit, rate),
            Err(MembenchError::Host(Error::Device(DeviceError::OutOfMemory { .. }))) => {}
            Err(error) => return Err(error),
        }
    }
    progress.update(which.len() as u64, which.len() as u64);
    Ok(limits)
}

fn rate(
    device: &dyn Device,
    options: &Options,
    limit: Limit,
) -> Result<Option<Rate>, MembenchError> {
    let probe = Probe::new(limit, options)?;
    let mut session = device.prepare(probe.module, &probe.plan)?;
    probe.write_inputs(session.as_mut())?;
    let mut run = |runs| -> Result<Timing, MembenchError> {
        probe.begin_sample(session.as_mut())?;
        Ok(session.run_times(runs, Launching::Stream)?)
    };
    // The last of these runs is the first at full speed.
    let began = Instant::now();
    let one = loop {
        let timing = run(1)?;
        if began.elapsed() >= options.warm_up {
            break timing.device.unwrap_or(timing.host);
        }
    };
    let runs = runs_for(options.sample, one);
    let mut samples = Vec::new();
    for _ in 0..options.samples {
        samples.push(run(runs)?.device.map(|time| time / runs));
    }
    probe.check(session.as_mut(), runs)?;
    let samples: Option<Vec<Duration>> = samples.into_iter().collect();
    Ok(samples.map(|samples| Rate::new(probe.amount, runs, samples)))
}

/// As many runs as take that time.
pub(super) fn runs_for(sample: Duration, one: Duration) -> u32 {
    let runs = sample.as_secs_f64() / one.as_secs_f64().max(1e-9);
    (runs.ceil() as u32).clamp(1, MAX_RUNS)
}
