//! The results of a measurement: the document that `--json` writes, and that `compare` and `report`
//! read.
//!
//! `docs/reference/perf-json.md` describes it field by field.

mod file;
mod label;
mod language;
mod ratio;

use device::telemetry::{About, Sample};
use device::{DeviceInfo, KernelInfo, Launching};
use host::limits::MeasuredLimits;
use lab::Work;
use serde::{Deserialize, Serialize};
use stats::Summary;
use units::count;

use crate::bound::Bound;
use crate::counted::Counted;
use crate::spent::Spent;
use device::cpu::CpuInfo;
pub use label::CaseLabel;
pub use language::Language;
pub use ratio::Ratio;
use ratio::with_interval;

/// The `command` of every document.
pub const COMMAND: &str = "perf";

/// Version of the document. It goes up when a field is removed or changes its meaning; fields may
/// be added without. Versions 2 and 3, and version 1 of `perf --gpus`, are read too.
pub const SCHEMA_VERSION: u32 = 4;

/// A measurement: what `harness perf --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The version of the document.
    pub schema_version: u32,
    /// `perf`.
    pub command: String,
    /// The program's version.
    pub harness_version: String,
    /// The words of the command.
    pub command_line: Vec<String>,
    /// When it began, in seconds since 1970.
    pub began_unix_s: u64,
    /// How long it took, or has taken.
    pub wall_s: f64,
    /// Whether a signal ended it, or it goes on: what is here was finished.
    pub interrupted: bool,
    /// Whether `--quick` was given.
    pub quick: bool,
    /// A median of another run is within this one's interval, widened by this share on both sides;
    /// 0 in documents that do not say.
    #[serde(default)]
    pub between_runs: f64,
    /// If it was timed.
    pub cpu: Option<CpuInfo>,
    /// The devices that were measured, with their limits.
    pub devices: Vec<DeviceRecord>,
    /// Devices and peers that were asked for, or usual, and could not be had.
    pub missing: Vec<String>,
    /// The CPU references, timed once a lab.
    pub references: Vec<Reference>,
    /// The cases, lab by lab.
    pub cases: Vec<CaseResults>,
    /// Where the wall time went; empty in documents that do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spent: Vec<Spent>,
    /// Of `--gpus`: how one lab was measured on more and more GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
}

/// A row of a CPU reference, and the lab that it belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The lab's name.
    pub lab: String,
    /// Its times, as any other row's.
    #[serde(flatten)]
    pub row: Row,
}

/// The devices of `--gpus`, and what holds for all its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The variants of the rows, in the order of the sizes.
    pub variant: String,
    /// Whether sizes grow with the number of devices.
    pub weak: bool,
    /// The number of devices for the row of the most.
    pub devices: u32,
    /// The connection of the devices; `None` if there is one device, or none is known.
    pub link: Option<Link>,
    /// Opening the devices and loading the kernels' module on each, once for all rows.
    pub start_s: f64,
    /// The unit of [`OnSeveral::rate_per_s`]: `byte`, 24 for each point and timestep, or the lab's
    /// updates.
    pub rate_unit: String,
}

/// How the devices are joined: by the worst route between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Link {
    /// NVLink.
    Nvlink {
        /// Active links of the first GPU, if NVML tells.
        links: Option<u32>,
    },
    /// Over PCIe from one GPU to the other.
    Pcie,
    /// Through the host's memory.
    Staged,
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Link::Nvlink { links: Some(links) } => write!(f, "NVLink, {links} links each"),
            Link::Nvlink { links: None } => f.write_str("NVLink"),
            Link::Pcie => f.write_str("PCIe, from one GPU to the other"),
            Link::Staged => f.write_str("no peer access: copies go through the host's memory"),
        }
    }
}

/// A device that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Its name in rows.
    pub device: String,
    /// The facts of its driver.
    pub info: DeviceInfo,
    /// NVML's facts.
    pub telemetry: Option<About>,
    /// Why NVML says nothing.
    pub no_telemetry: Option<String>,
    /// Its limits, measured in the same run.
    pub limits: MeasuredLimits,
}

/// A case of a lab, with everything that was timed on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResults {
    /// The lab's name.
    pub lab: String,
    /// The variant that `vs_first` compares with.
    pub first_variant: String,
    /// The case, as `--case` and tables have it.
    pub case: CaseLabel,
    /// Timesteps of a run, if the case has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timesteps: Option<u64>,
    /// Variants and peers, device by device.
    pub rows: Vec<Row>,
    /// The emulated device's counts on a small case like it, if there is one.
    pub counted: Option<Counted>,
    /// NVML's reports meanwhile, device by device.
    pub traces: Vec<DeviceTrace>,
}

/// NVML's reports while a case was timed on a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceTrace {
    /// The device's name in rows.
    pub device: String,
    /// Since the program was started, in seconds: when the trace begins.
    pub began_s: f64,
    /// In the order taken.
    pub samples: Vec<Sample>,
}

/// A variant, a reference or a peer, on a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The device's name; `cpu` for the references.
    pub device: String,
    /// The variant's name; `serial` and `parallel` for the references.
    pub variant: String,
    /// A peer's language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// A peer's compiler, with its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_by: Option<String>,
    /// The limit of its kernels' registers, if there is one: then `variant` says so, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<Capped>,
    /// The launch shape that `harness tune` found, if it is not the variant's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// The number of GPUs that take part, where that is what rows differ by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// The case, as in [`CaseResults`].
    pub case: CaseLabel,
    /// Its figures, or why there are none.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// A variant under a limit of its kernels' registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capped {
    /// The variant, without a cap.
    pub of: String,
    /// The most registers of a thread.
    pub registers: u32,
}

/// Lines of code of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeLines {
    /// Lines of the `kernels.rs` that has its kernels.
    pub kernels: usize,
    /// Lines of its `launch.rs`.
    pub launch: usize,
}

/// The end of a row: figures, or why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It was timed.
    Timed(Box<Figures>),
    /// On the emulated device, whose times say nothing.
    Computed {
        /// Whether it is right.
        result: Correctness,
    },
    /// The devices have less memory than the case needs.
    DoesNotFit,
    /// The device is missing, or a peer does not do this case.
    Skipped {
        /// Why.
        message: String,
    },
    /// It could not be run to the end.
    Failed {
        /// The error.
        message: String,
    },
    /// The machine lacks something.
    Lacking {
        /// Says what, and how to get it.
        message: String,
    },
}

/// Times of a row, and the figures that follow from them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Time of a whole run. On a device: alone, after its cache was flushed.
    pub run: Summary,
    /// Time of a whole run among others, back to back; not for the CPU.
    pub batched: Option<Batched>,
    /// Timesteps of a run, if the case has some.
    pub timesteps: Option<u64>,
    /// How the commands of `run` reached the device; not for the CPU.
    pub by: Option<Launching>,
    /// Which clock `run` is by.
    pub clock: Clock,
    /// Into how many equal segments each run was divided, if each sample of `run` is the time of
    /// one of them, times their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    /// Median time of a whole run by the host's clock.
    pub host_median_s: f64,
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
    /// `bytes` / time; not for the CPU, whose caches hold many of them.
    pub bytes_per_s: Option<f64>,
    /// The limit that it cannot exceed, on a device whose limits were measured.
    pub bound: Option<Bound>,
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
    /// Clocks, temperature, power while it was timed.
    pub conditions: Option<Conditions>,
    /// The kernels as the device compiled them: registers, local memory, occupancy.
    pub kernels: Vec<KernelInfo>,
    /// Lines of code of the variant, if this program has its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_lines: Option<CodeLines>,
    /// SHA-256 of the PTX, or of what else the device was given.
    pub code_sha256: Option<String>,
    /// Whether the result of the last timed run is right.
    pub result: Correctness,
    /// The timesteps that the CPU computed too, where it did not compute all: the result is right
    /// as far as they, and the other variants, can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_steps: Option<CheckedSteps>,
    /// The first difference, of a wrong result.
    pub mismatch: Option<String>,
    /// Of `--gpus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_several: Option<OnSeveral>,
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

/// Which clock a time is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Between device events.
    Device,
    /// The host's.
    Host,
}

/// Whether a result is right, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    Unchecked,
}

impl Figures {
    /// Times without anything else yet.
    pub fn new(run: Summary, clock: Clock, host_median_s: f64) -> Figures {
        Figures {
            run,
            batched: None,
            timesteps: None,
            by: None,
            clock,
            segments: None,
            host_median_s,
            unit: String::new(),
            updates: 0,
            bytes: 0,
            flops: 0,
            updates_per_s: 0.0,
            bytes_per_s: None,
            bound: None,
            vs_first: None,
            vs_variant: None,
            vs_cpu: None,
            vs_serial: None,
            is_fastest: false,
            conditions: None,
            kernels: Vec::new(),
            code_lines: None,
            code_sha256: None,
            result: Correctness::Unchecked,
            checked_steps: None,
            mismatch: None,
            on_several: None,
        }
    }

    /// Fills in the work of a run, and its rate.
    pub fn with_work(self, work: Work, timesteps: Option<u64>) -> Figures {
        Figures {
            timesteps,
            unit: work.unit.to_owned(),
            updates: work.updates,
            bytes: work.bytes,
            flops: work.flops,
            updates_per_s: work.updates as f64 / self.run.median_s.max(1e-12),
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
        let rate = self.updates_per_s / 1e9;
        with_interval(rate, self.half_width_of_rate().map(|half| half / 1e9))
    }

    /// Half the width of the rate's interval, which follows from that of the time.
    pub fn half_width_of_rate(&self) -> Option<f64> {
        let [low, high] = self.run.interval_s?.map(|end| self.run.median_s / end);
        Some(self.updates_per_s * (low - high) / 2.0)
    }

    /// Whether the figures are shown: right, possible, and not of a device that was throttled
    /// throughout. How wide the interval is makes no difference.
    pub fn is_result(&self) -> bool {
        self.run.withheld().is_none() && self.result != Correctness::Wrong
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

impl Row {
    /// A row of a variant of ours as it is.
    pub fn new(
        device: impl ToString,
        variant: &str,
        case: impl Into<CaseLabel>,
        outcome: Outcome,
    ) -> Row {
        Row {
            device: device.to_string(),
            variant: variant.to_owned(),
            language: None,
            built_by: None,
            capped: None,
            shape: None,
            gpus: None,
            case: case.into(),
            outcome,
        }
    }

    /// Its figures, if it was timed.
    pub fn figures(&self) -> Option<&Figures> {
        match &self.outcome {
            Outcome::Timed(figures) => Some(figures),
            _ => None,
        }
    }

    /// Its figures, to be added to.
    pub fn figures_mut(&mut self) -> Option<&mut Figures> {
        match &mut self.outcome {
            Outcome::Timed(figures) => Some(figures),
            _ => None,
        }
    }

    /// Whether the result is right, where the row has one.
    pub fn correctness(&self) -> Option<Correctness> {
        match &self.outcome {
            Outcome::Timed(figures) => Some(figures.result),
            Outcome::Computed { result } => Some(*result),
            _ => None,
        }
    }

    /// `naive`; of a peer `naive, CUDA C++`; of several GPUs `naive, 2 GPUs`.
    pub fn name(&self) -> String {
        let language = self.language.iter().map(Language::to_string);
        let gpus = self.gpus.map(|gpus| count(gpus as usize, "GPU"));
        let parts = [self.variant.clone()].into_iter().chain(language);
        parts.chain(gpus).collect::<Vec<String>>().join(", ")
    }

    /// `naive on cuda`.
    pub fn full_name(&self) -> String {
        format!("{} on {}", self.name(), self.device)
    }
}
