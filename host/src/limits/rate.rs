//! Samples of a rate, and the rate computed from them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A limit that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Copies in device memory: bytes read plus bytes written.
    Copy,
    /// Reads of device memory.
    Read,
    /// Writes of device memory.
    Write,
    /// Reads of L2.
    L2,
    /// Reads of shared memory.
    Shared,
    /// 32-bit operations; a fused multiply-add counts as two.
    Fp32,
    /// 64-bit operations; a fused multiply-add counts as two.
    Fp64,
}

impl Limit {
    /// All of them.
    pub const ALL: [Limit; 7] = [
        Limit::Copy,
        Limit::Read,
        Limit::Write,
        Limit::L2,
        Limit::Shared,
        Limit::Fp32,
        Limit::Fp64,
    ];

    /// The name that users read.
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Copy => "copy",
            Limit::Read => "read",
            Limit::Write => "write",
            Limit::L2 => "L2 read",
            Limit::Shared => "shared memory read",
            Limit::Fp32 => "FP32",
            Limit::Fp64 => "FP64",
        }
    }

    /// The unit that a rate counts.
    pub const fn unit(self) -> &'static str {
        match self {
            Limit::Fp32 | Limit::Fp64 => "flop",
            _ => "byte",
        }
    }
}

/// A measured rate, in bytes or operations per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Median of the samples.
    pub median_per_s: f64,
    /// Best of the samples. Other figures are compared with it.
    pub best_per_s: f64,
    /// Bytes or operations of one run.
    pub amount: u64,
    /// Runs back to back in each sample.
    pub runs: u32,
    /// Time of one run in each sample, in the order taken.
    pub samples: Vec<Duration>,
}

impl Rate {
    /// Computes a rate from the times of single runs; there is at least one.
    pub(super) fn new(amount: u64, runs: u32, samples: Vec<Duration>) -> Rate {
        let mut sorted = samples.clone();
        sorted.sort();
        let rate = |time: Duration| amount as f64 / time.as_secs_f64().max(1e-12);
        Rate {
            median_per_s: rate(sorted[sorted.len() / 2]),
            best_per_s: rate(sorted[0]),
            amount,
            runs,
            samples,
        }
    }
}

/// The measured limits of a device. A limit is `None` if the caller did not ask for it, if memory
/// was too small, or if the device has no clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLimits {
    /// [`Limit::Copy`].
    pub copy: Option<Rate>,
    /// [`Limit::Read`].
    pub read: Option<Rate>,
    /// [`Limit::Write`].
    pub write: Option<Rate>,
    /// [`Limit::L2`].
    pub l2: Option<Rate>,
    /// [`Limit::Shared`].
    pub shared: Option<Rate>,
    /// [`Limit::Fp32`].
    pub fp32: Option<Rate>,
    /// [`Limit::Fp64`].
    pub fp64: Option<Rate>,
}

impl MeasuredLimits {
    /// One of them.
    pub fn get(&self, limit: Limit) -> Option<&Rate> {
        match limit {
            Limit::Copy => &self.copy,
            Limit::Read => &self.read,
            Limit::Write => &self.write,
            Limit::L2 => &self.l2,
            Limit::Shared => &self.shared,
            Limit::Fp32 => &self.fp32,
            Limit::Fp64 => &self.fp64,
        }
        .as_ref()
    }
}
