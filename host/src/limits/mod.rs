//! The limits of a device, measured: bandwidth of its memories, rates of its arithmetic.
//!
//! [`measure`] times plans that only copy, load, store or compute, back to back between device
//! events. It compares their results with the CPU's: a rate cannot count work that was not done. On
//! the emulated device the plans run and are checked in the same way; only the rates are missing.
//!
//! - `probe`: the plan behind each limit, and its expected result;
//! - `rate`: the samples and the rates computed from them.

mod probe;
mod rate;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use crate::membench::MembenchError;
use device::error::Error;
use device::{Device, DeviceError, DeviceInfo, Launching, Timing};
use probe::Probe;
use terminal::progress::Progress;

pub use rate::{Limit, MeasuredLimits, Rate};

/// The amounts to move and compute, and the number of repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Multiprocessors to fill.
    pub multiprocessors: u32,
    /// Size of each buffer in device memory: a multiple of 16, much more than L2 holds.
    pub device_bytes: u64,
    /// The number of times that L2 and shared memory are read.
    pub passes: u32,
    /// Iterations of the arithmetic's loop.
    pub turns: u32,
    /// Least time of the warm-up runs before the first sample, during which clocks rise.
    pub warm_up: Duration,
    /// Approximate time of a sample, which consists of several runs.
    pub sample: Duration,
    /// Number of samples.
    pub samples: u32,
}

impl Options {
    /// Options that measure all limits of a GPU within two seconds; on a device of unknown size, as
    /// little as possible.
    pub fn for_device(info: &DeviceInfo) -> Options {
        let Some(multiprocessors) = info.multiprocessors else {
            return Options {
                multiprocessors: 1,
                device_bytes: 48 << 10,
                passes: 2,
                turns: 1,
                warm_up: Duration::ZERO,
                sample: Duration::ZERO,
                samples: 1,
            };
        };
        let memory = info.memory_bytes.unwrap_or(u64::MAX);
        Options {
            multiprocessors,
            device_bytes: (memory / 8).min(512 << 20) / 16 * 16,
            passes: 1024,
            turns: 512,
            warm_up: Duration::from_millis(20),
            sample: Duration::from_millis(5),
            samples: 11,
        }
    }

    fn check(&self) -> Result<(), MembenchError> {
        let refused = |option, value: u64, reason: &str| {
            Err(MembenchError::Option {
                option,
                value,
                reason: reason.to_owned(),
            })
        };
        let numbers = [
            ("multiprocessors", self.multiprocessors),
            ("passes", self.passes),
            ("turns", self.turns),
            ("samples", self.samples),
        ];
        if let Some((option, _)) = numbers.into_iter().find(|(_, number)| *number == 0) {
            return refused(option, 0, "at least 1");
        }
        let bytes = self.device_bytes;
        if bytes == 0 || !bytes.is_multiple_of(16) || bytes >= 1 << 34 {
            let reason = "a multiple of 16, above 0 and below 17179869184";
            return refused("device_bytes", bytes, reason);
        }
        Ok(())
    }
}

/// The largest number of runs of a sample.
const MAX_RUNS: u32 = 1000;

/// Measures these limits of a device. `progress` gets the number of limits that are done.
///
/// A limit for which the device has too little free memory is left out.
///
/// # Errors
///
/// [`MembenchError`] for options that make no sense, errors of the device, or a wrong result.
pub fn measure(
    device: &dyn Device,
    options: &Options,
    which: &[Limit],
    progress: &dyn Progress,
) -> Result<MeasuredLimits, MembenchError> {
    options.check()?;
    let mut done = 0;
    progress.update(done, which.len() as u64);
    let mut measured = |limit| {
        if !which.contains(&limit) {
            return Ok(None);
        }
        let rate = match rate(device, options, limit) {
            Err(MembenchError::Host(Error::Device(DeviceError::OutOfMemory { .. }))) => None,
            rate => rate?,
        };
        done += 1;
        progress.update(done, which.len() as u64);
        Ok::<_, MembenchError>(rate)
    };
    Ok(MeasuredLimits {
        copy: measured(Limit::Copy)?,
        read: measured(Limit::Read)?,
        write: measured(Limit::Write)?,
        l2: measured(Limit::L2)?,
        shared: measured(Limit::Shared)?,
        fp32: measured(Limit::Fp32)?,
        fp64: measured(Limit::Fp64)?,
    })
}

fn rate(
    device: &dyn Device,
    options: &Options,
    limit: Limit,
) -> Result<Option<Rate>, MembenchError> {
    let probe = Probe::new(limit, options)?;
    let mut session = device.prepare(&probe.module, &probe.plan)?;
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

/// The number of runs that take about as long as a sample.
fn runs_for(sample: Duration, one: Duration) -> u32 {
    let runs = sample.as_secs_f64() / one.as_secs_f64().max(1e-9);
    (runs.ceil() as u32).clamp(1, MAX_RUNS)
}
