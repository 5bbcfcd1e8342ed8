//! The bandwidth of copies in device memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::probe::NO_KERNELS;
use crate::buffer::Element;
use crate::device::Device;
use crate::error::Error;
use crate::plan::{Plan, PlanError};

/// A measured bandwidth of device memory: bytes read plus bytes written, per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Median of the samples.
    pub median_bytes_per_s: f64,
    /// Best of the samples: what other figures are compared with.
    pub best_bytes_per_s: f64,
    /// Size of the source, and of the destination.
    pub buffer_bytes: u64,
    /// Time of one copy in each sample, in the order taken.
    pub samples: Vec<Duration>,
}

/// Copies timed together, so that the time between two events is long beside their resolution (about 0.5 us).
const COPIES_PER_SAMPLE: u32 = 10;
const WARM_UP_SAMPLES: usize = 3;
const SAMPLES: usize = 15;

/// Measures copies from one buffer of `buffer_bytes` to another.
///
/// Let the buffers be much larger than the last-level cache, or it is the cache that is measured. Timed by device events
/// where the device has them, otherwise by the host's clock.
///
/// # Errors
///
/// [`crate::ErrorKind::Environment`] for buffers that the device has no memory for; what else it answers.
pub fn copy_bandwidth(device: &dyn Device, buffer_bytes: u64) -> Result<Bandwidth, Error> {
    let plan = copies(buffer_bytes)?;
    let mut session = device.prepare(&NO_KERNELS, &plan)?;
    for id in plan.buffer_ids() {
        session.fill(id, 0)?;
    }
    for _ in 0..WARM_UP_SAMPLES {
        session.run()?;
    }
    let mut samples = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let timing = session.run()?;
        samples.push(timing.device.unwrap_or(timing.host) / COPIES_PER_SAMPLE);
    }
    Ok(Bandwidth::new(buffer_bytes, samples))
}

fn copies(buffer_bytes: u64) -> Result<Plan, PlanError> {
    let len = usize::try_from(buffer_bytes).unwrap_or(usize::MAX);
    let mut plan = Plan::new("copy bandwidth");
    let src = plan.buffer("src", Element::U8, len);
    let dst = plan.buffer("dst", Element::U8, len);
    for _ in 0..COPIES_PER_SAMPLE {
        plan.copy(src, dst)?;
    }
    plan.output("dst", dst);
    Ok(plan)
}

impl Bandwidth {
    /// From the times of single copies; there is at least one.
    fn new(buffer_bytes: u64, samples: Vec<Duration>) -> Bandwidth {
        let mut sorted = samples.clone();
        sorted.sort();
        // Every byte is read once and written once.
        let rate = |time: Duration| 2.0 * buffer_bytes as f64 / time.as_secs_f64().max(1e-9);
        Bandwidth {
            median_bytes_per_s: rate(sorted[sorted.len() / 2]),
            best_bytes_per_s: rate(sorted[0]),
            buffer_bytes,
            samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn bytes_count_twice() {
        let samples = [3, 1, 2].map(Duration::from_millis).to_vec();
        let bandwidth = Bandwidth::new(1_000_000, samples);
        assert_relative_eq!(bandwidth.best_bytes_per_s, 2e9);
        assert_relative_eq!(bandwidth.median_bytes_per_s, 1e9);
    }

    #[test]
    fn a_size_of_0_is_refused() {
        let error = copies(0).unwrap().check().unwrap_err();
        insta::assert_snapshot!(error, @"plan `copy bandwidth`: buffer `src` has 0 elements; every buffer needs at least 1");
    }
}
