//! What a GPU reports.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What does not change while a GPU runs. What it does not report is `None`.
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
}

/// What a GPU reports at one time. What it does not report is `None`.
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
    /// Processes that compute on the GPU, this one included, if it is seen at all: not from within some containers.
    pub compute_processes: Option<u32>,
}

impl Reading {
    /// Whether something lowers the clocks below what an otherwise idle, cool GPU runs at.
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
    /// Somebody set lower clocks.
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
    /// In words.
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

    /// Whether it lowers the clocks of a GPU that has work: all but idleness and what somebody chose.
    pub const fn slows(self) -> bool {
        !matches!(
            self,
            ThrottleReason::Idle | ThrottleReason::ClocksSet | ThrottleReason::Display
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idleness_is_no_throttling() {
        let by = |reasons: &[ThrottleReason]| Reading {
            throttled_by: Some(reasons.iter().copied().collect()),
            ..Reading::default()
        };
        assert!(!Reading::default().is_throttled());
        assert!(!by(&[]).is_throttled());
        assert!(!by(&[ThrottleReason::Idle, ThrottleReason::ClocksSet]).is_throttled());
        assert!(by(&[ThrottleReason::Idle, ThrottleReason::PowerCap]).is_throttled());
    }
}
