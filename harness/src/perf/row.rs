//! One line of the report: a variant on a device.

use host::{KernelInfo, Work};
use serde::Serialize;

use crate::stats::Summary;

/// A variant on a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The device's name; `cpu` for the references.
    pub device: String,
    /// The variant's name; `serial` and `parallel` for the references.
    pub variant: &'static str,
    /// The case's label.
    pub case: String,
    /// What was measured, or why nothing was.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What was measured, or why nothing was.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It ran.
    Timed(Box<Figures>),
    /// There is no such device.
    Skipped {
        /// Why.
        message: String,
    },
    /// The kernel failed.
    Failed {
        /// How.
        message: String,
    },
    /// The machine lacks something.
    Lacking {
        /// What.
        message: String,
    },
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Time of a whole run.
    pub run: Summary,
    /// Timesteps of a run.
    pub timesteps: Option<u64>,
    /// Which clock `run` is by.
    pub clock: Clock,
    /// Median time of a whole run by the host's clock.
    pub host_median_s: f64,
    /// What `updates_per_s` counts.
    pub unit: &'static str,
    /// Useful work in a second.
    pub updates_per_s: f64,
    /// Fewest bytes the variant must move, by the time; not for the CPU, whose caches hold much of them.
    pub bytes_per_s: Option<f64>,
    /// `bytes_per_s` over the device's best copy bandwidth.
    pub of_copy: Option<f64>,
    /// Time of the lab's first variant on the same device and case, over this one's.
    pub vs_first: Option<f64>,
    /// Rate over that of the parallel CPU reference.
    pub vs_cpu: Option<f64>,
    /// Whether it is the fastest of its device's several variants with a right result.
    pub is_fastest: bool,
    /// The kernels as the device compiled them: registers, spills, occupancy.
    pub kernels: Vec<KernelInfo>,
    /// Whether the result of the last timed run is right.
    pub result: Verdict,
    /// What is wrong with it.
    pub mismatch: Option<String>,
}

/// Which clock a time is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Between device events.
    Device,
    /// The host's.
    Host,
}

/// Whether a result is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is what others are compared with.
    Reference,
    /// Equal to the reference to the last bit.
    Equal,
    /// Within the lab's tolerance of the reference.
    Close,
    /// Neither.
    Wrong,
    /// Not compared.
    Unchecked,
}

impl Figures {
    /// From times and work; ratios to other rows come later.
    pub fn new(run: Summary, clock: Clock, host_median_s: f64, work: Work) -> Figures {
        let per_s = |amount: u64| amount as f64 / run.median_s.max(1e-12);
        Figures {
            timesteps: None,
            clock,
            host_median_s,
            unit: work.unit,
            updates_per_s: per_s(work.updates),
            bytes_per_s: None,
            of_copy: None,
            vs_first: None,
            vs_cpu: None,
            is_fastest: false,
            kernels: Vec::new(),
            result: Verdict::Unchecked,
            mismatch: None,
            run,
        }
    }

    /// Time of one timestep, or of the run of a case that has none.
    pub fn step_s(&self) -> f64 {
        self.run.median_s / self.timesteps.unwrap_or(1).max(1) as f64
    }
}

impl Row {
    /// What was measured, if anything.
    pub fn figures(&self) -> Option<&Figures> {
        match &self.outcome {
            Outcome::Timed(figures) => Some(figures),
            _ => None,
        }
    }
}
