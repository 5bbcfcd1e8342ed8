//! Clocks, throttling, temperature, power and energy of a GPU, beside what is measured on it.
//!
//! The crate `cuda` finds the [`Telemetry`] of a GPU. Where there is none, that is an ordinary
//! answer ([`NoTelemetry`]); where there is, each quantity that a GPU does not report is `None`. A
//! [`Recorder`] reads telemetry at regular times, in a thread of its own, until it is stopped.

mod recorder;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use recorder::{Recorder, Sample, Trace};

/// The telemetry of one GPU. It can be read at any time, from any thread.
pub trait Telemetry: Send + Sync {
    /// Values that do not change while the GPU runs.
    fn about(&self) -> &About;

    /// The current values.
    fn read(&self) -> Reading;
}

/// Why a device has no telemetry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no telemetry: {reason}")]
pub struct NoTelemetry {
    /// A message for the user.
    pub reason: String,
}

/// Values that do not change while a GPU runs; `None` where it does not report one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The driver's version: `580.65.06`.
    pub driver: Option<String>,
    /// Highest clock of the multiprocessors.
    pub max_sm_clock_mhz: Option<u32>,
    /// Highest clock of the memory.
    pub max_memory_clock_mhz: Option<u32>,
    /// Power at which the driver lowers the clocks.
    pub power_limit_w: Option<f64>,
    /// Active NVLinks, to other GPUs or a switch between them.
    #[serde(default)]
    pub nvlinks: Option<u32>,
}

/// The telemetry of a GPU at one time; `None` where it does not report a value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Clock of the multiprocessors.
    pub sm_clock_mhz: Option<u32>,
    /// Clock of the memory.
    pub memory_clock_mhz: Option<u32>,
    /// Of the GPU's die.
    pub temperature_c: Option<u32>,
    /// Power drawn now; on GPUs that only report an average, over the last second.
    pub power_w: Option<f64>,
    /// Energy drawn since the driver was loaded.
    pub energy_j: Option<f64>,
    /// Why the clocks are not at their highest.
    pub throttled_by: Option<BTreeSet<ThrottleReason>>,
    /// Processes that compute on the GPU, this one included, except in some containers, which do
    /// not see it.
    pub compute_processes: Option<u32>,
}

impl Reading {
    /// Whether something lowers the clocks of a GPU that has work.
    pub fn is_throttled(&self) -> bool {
        self.throttled_by
            .as_ref()
            .is_some_and(|reasons| reasons.iter().any(|reason| reason.slows()))
    }
}

/// Why clocks are not at their highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThrottleReason {
    /// Nothing runs.
    Idle,
    /// Lower clocks were set.
    ClocksSet,
    /// The power limit is reached.
    PowerCap,
    /// The power brake is on: the board or its supply asked for it.
    PowerBrake,
    /// The driver keeps the GPU or its memory from getting too hot.
    SoftwareThermal,
    /// The GPU or its memory is too hot.
    HardwareThermal,
    /// The hardware slowed down: heat or the power brake.
    HardwareSlowdown,
    /// Another GPU of its group runs at lower clocks.
    SyncBoost,
    /// A display's clock.
    Display,
}

impl ThrottleReason {
    /// The name that users read.
    pub const fn name(self) -> &'static str {
        match self {
            ThrottleReason::Idle => "idle",
            ThrottleReason::ClocksSet => "clocks set",
            ThrottleReason::PowerCap => "power cap",
            ThrottleReason::PowerBrake => "power brake",
            ThrottleReason::SoftwareThermal => "heat (driver)",
            ThrottleReason::HardwareThermal => "heat (hardware)",
            ThrottleReason::HardwareSlowdown => "hardware slowdown",
            ThrottleReason::SyncBoost => "sync boost",
            ThrottleReason::Display => "display",
        }
    }

    /// Whether it lowers the clocks of a GPU that has work. All do, except idleness and what was
    /// chosen.
    pub const fn slows(self) -> bool {
        !matches!(
            self,
            ThrottleReason::Idle | ThrottleReason::ClocksSet | ThrottleReason::Display
        )
    }
}
