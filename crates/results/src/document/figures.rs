//! The figures of a row: its times, and what follows from them.

use std::collections::BTreeMap;

use device::{KernelInfo, Launching};
use lab::Work;
use serde::{Deserialize, Serialize};
use stats::Summary;

use super::ratio::{Ratio, with_interval};
use crate::bound::{Bound, OwnLimit};

/// Times of a row, and the figures that follow from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Time of a whole run. On a device: alone, after its cache was flushed.
    pub run: Summary,
    /// Which clock `run` is by.
    pub clock: Clock,
    /// Into how many equal segments each run was divided, if each sample of `run` is the time of
    /// one of them, times their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    /// Median time of a whole run by the host's clock.
    pub host_median_s: f64,
    /// Timesteps of a run, if the case has some.
    pub timesteps: Option<u64>,
    /// The work of a run, and its rate.
    #[serde(flatten)]
    pub work: Workload,
    /// Empty for the CPU.
    #[serde(flatten)]
    pub on_device: OnDevice,
    /// How it compares with other rows.
    #[serde(flatten)]
    pub compared: Comparisons,
    /// Whether the result of the last timed run is right.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// Of `--gpus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_several: Option<OnSeveral>,
}

/// The work of a run, and its rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The unit of `updates`.
    pub unit: String,
    /// Useful work of a run.
    pub updates: u64,
    /// Fewest bytes that a run must move.
    pub bytes: u64,
    /// Floating-point operations of a run.
    pub flops: u64,
    /// `updates` / time.
    pub updates_per_s: f64,
}

/// Facts of a run on a device. For the CPU all of them are missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OnDevice {
    /// Time of a whole run among others, back to back.
    pub batched: Option<Batched>,
    /// How the commands of `run` reached the device.
    pub by: Option<Launching>,
    /// `bytes` / time; not for the CPU, whose caches hold many of them.
    pub bytes_per_s: Option<f64>,
    /// The limit that it cannot exceed, on a device whose limits were measured.
    pub bound: Option<Bound>,
    /// The limit by its own instructions, on a device whose units are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_limit: Option<OwnLimit>,
    /// Clocks, temperature, power while it was timed.
    pub conditions: Option<Conditions>,
    /// The kernels as the device compiled them: registers, local memory, occupancy.
    pub kernels: Vec<KernelInfo>,
    /// Lines of code of the variant, if this program has its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_lines: Option<CodeLines>,
    /// SHA-256 of the PTX, or of what else the device was given.
    pub code_sha256: Option<String>,
    /// The kernels that a run launches, each with a digest of its PTX alone, without comments and
    /// source lines; those of peers are not known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kernel_digests: BTreeMap<String, String>,
}

/// How a row compares with others of its case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparisons {
    /// Time of the lab's first variant on the same device and case, over this one's, turn by turn.
    pub vs_first: Option<Ratio>,
    /// For a peer, or under a cap of registers: the time of its variant over its own, turn by turn.
    pub vs_variant: Option<Ratio>,
    /// Rate over that of the parallel CPU reference.
    pub vs_cpu: Option<Ratio>,
    /// Rate over that of the serial CPU reference.
    pub vs_serial: Option<Ratio>,
    /// Whether it is the fastest of its device's several variants with a right result, or cannot be
    /// told from the fastest.
    pub is_fastest: bool,
}

/// Whether a result is right.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Whether the result of the last timed run is right.
    pub result: Correctness,
    /// The timesteps that the CPU computed too, where it did not compute all: the result is right
    /// as far as they, and the other variants, can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_steps: Option<CheckedSteps>,
    /// The first difference, of a wrong result.
    pub mismatch: Option<String>,
}

impl From<Correctness> for Judgement {
    /// One that needs no more words.
    fn from(result: Correctness) -> Judgement {
        Judgement {
            result,
            ..Judgement::default()
        }
    }
}

/// Lines of code of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLines {
    /// Lines of the `kernels.rs` that has its kernels.
    pub kernels: usize,
    /// Lines of its `launch.rs`.
    pub launch: usize,
}

/// Times of runs back to back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batched {
    /// How the commands reached the device.
    pub by: Launching,
    /// Why they were not a graph, if they were not.
    pub no_graph: Option<String>,
    /// Runs of a sample.
    pub runs: u32,
    /// Time of one run.
    pub run: Summary,
}

/// Clocks, temperature, power while a row was timed: lowest and highest of what was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Clock of the multiprocessors.
    pub sm_clock_mhz: Option<[u32; 2]>,
    /// Clock of the memory.
    pub memory_clock_mhz: Option<[u32; 2]>,
    /// Of the GPU's die.
    pub temperature_c: Option<[u32; 2]>,
    /// Power drawn.
    pub power_w: Option<[f64; 2]>,
    /// Why clocks were lowered, and in how many samples.
    pub throttled: Vec<(String, usize)>,
    /// Energy of one run, back to back.
    pub energy_per_run_j: Option<f64>,
    /// The most processes that were seen to compute on the device.
    pub compute_processes: Option<u32>,
}

/// Further figures of a run on one or several devices that is compared with fewer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OnSeveral {
    /// Why the commands were not a graph, if they were not.
    pub no_graph: Option<String>,
    /// Allocation of the buffers, and making the graph.
    pub setup_s: f64,
    /// Writing the inputs.
    pub write_s: f64,
    /// Reading the results.
    pub read_s: f64,
    /// In [`Scaling::rate_unit`].
    pub rate_per_s: f64,
    /// Rate of points over that of the fewest devices of the same size; `None` for these, and where
    /// one is not a result.
    pub speedup: Option<Ratio>,
    /// Speedup / growth of the number of devices: from 0 to about 1.
    pub efficiency: Option<Ratio>,
}

/// Which clock a time is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Between device events.
    Device,
    /// The host's.
    Host,
}

/// Timesteps at both ends of a run that were compared with the CPU's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedSteps {
    /// From the inputs on.
    pub first: u64,
    /// Up to the end, from the device's state before them.
    pub last: u64,
    /// All timesteps of the run.
    pub of: u64,
}

/// `340 + 40 of 12800 steps`.
impl std::fmt::Display for CheckedSteps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} + {} of {} steps", self.first, self.last, self.of)
    }
}

/// Whether a result is right, and how that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correctness {
    /// It is what others are compared with.
    Reference,
    /// Equal to the reference, or on several devices to the result of the fewest, to the last bit.
    Equal,
    /// Within the lab's tolerance of the reference.
    Close,
    /// Beyond the tolerance, or not a number.
    Wrong,
    /// It was compared with nothing.
    #[default]
    Unchecked,
}

impl Figures {
    /// Times without anything else yet.
    pub fn new(run: Summary, clock: Clock, host_median_s: f64) -> Figures {
        Figures {
            run,
            clock,
            segments: None,
            host_median_s,
            timesteps: None,
            work: Workload::default(),
            on_device: OnDevice::default(),
            compared: Comparisons::default(),
            judgement: Judgement::default(),
            on_several: None,
        }
    }

    /// Fills in the work of a run, and its rate.
    pub fn with_work(self, work: Work, timesteps: Option<u64>) -> Figures {
        Figures {
            timesteps,
            work: Workload {
                unit: work.unit.to_owned(),
                updates: work.updates,
                bytes: work.bytes,
                flops: work.flops,
                updates_per_s: work.updates as f64 / self.run.median_s.max(1e-12),
            },
            ..self
        }
    }

    /// Timesteps of a run; 1 of a case that has none.
    pub fn steps(&self) -> f64 {
        self.timesteps.unwrap_or(1).max(1) as f64
    }

    /// Time of one timestep, or of the run of a case that has none, with its interval, in
    /// microseconds: `4.54 ± 0.05`.
    pub fn step_us(&self) -> String {
        self.us_of_step(&self.run)
    }

    /// Time of one timestep with its interval, in microseconds, where a run takes the time `run`.
    pub fn us_of_step(&self, run: &Summary) -> String {
        let us = 1e6 / self.steps();
        with_interval(us * run.median_s, run.half_width_s().map(|half| us * half))
    }

    /// Useful work in a second, in billions, with its interval.
    pub fn giga_updates_per_s(&self) -> String {
        let rate = self.work.updates_per_s / 1e9;
        with_interval(rate, self.half_width_of_rate().map(|half| half / 1e9))
    }

    /// Half the width of the rate's interval, which follows from that of the time.
    pub fn half_width_of_rate(&self) -> Option<f64> {
        let [low, high] = self.run.interval_s?.map(|end| self.run.median_s / end);
        Some(self.work.updates_per_s * (low - high) / 2.0)
    }

    /// Whether the result was compared, and differs.
    pub fn is_wrong(&self) -> bool {
        self.judgement.result == Correctness::Wrong
    }

    /// Whether the figures are shown: right, possible, and not of a device that was throttled
    /// throughout. How wide the interval is makes no difference.
    pub fn is_result(&self) -> bool {
        self.run.withheld().is_none() && !self.is_wrong()
    }
}

impl OnSeveral {
    /// A run of this time with its transfers.
    pub fn with_transfer_s(&self, run_s: f64) -> f64 {
        self.write_s + run_s + self.read_s
    }

    /// A run of this time with its transfers and setup.
    pub fn with_setup_s(&self, run_s: f64) -> f64 {
        self.setup_s + self.with_transfer_s(run_s)
    }
}
