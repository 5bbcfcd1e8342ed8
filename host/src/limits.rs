//! What a device could do at best, measured.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::error::Error;

/// A measured bandwidth of device memory: bytes read plus bytes written, per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Median of the samples.
    pub median_bytes_per_s: f64,
    /// Best of the samples: what other figures are compared with.
    pub best_bytes_per_s: f64,
    /// Size of the source, and of the destination.
    pub buffer_bytes: u64,
    /// Duration of each sample, in the order taken; of one copy.
    pub samples: Vec<Duration>,
}

/// Measures copies from one buffer of `buffer_bytes` to another.
///
/// # Errors
///
/// What the device answers; buffers that it has no memory for.
pub fn copy_bandwidth(_device: &dyn Device, _buffer_bytes: u64) -> Result<Bandwidth, Error> {
    todo!()
}
