//! What a measurement leaves: the document that `--json` writes, and that `compare` and `report` read.
//!
//! `docs/measuring.md` describes it field by field.

use std::io::ErrorKind;
use std::path::Path;

use device::telemetry::{About, Sample};
use device::{DeviceInfo, KernelInfo, Launching};
use host::Work;
use host::limits::MeasuredLimits;
use serde::{Deserialize, Serialize};

use super::bound::Bound;
use super::counted::Counted;
use crate::code_lines::CodeLines;
use crate::cpu::CpuInfo;
use exit::{CommandError, Ending};
use stats::Summary;
use terminal::json::read;
use terminal::json::read::Head;

/// Version of the document. It goes up when a field is removed or changes its meaning; fields may be added without.
pub const SCHEMA_VERSION: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    pub schema_version: u32,
    pub command: String,
    pub harness_version: String,
    pub command_line: Vec<String>,
    pub began_unix_s: u64,
    pub wall_s: f64,
    /// Whether a signal ended it, or it goes on: what is here was finished.
    pub interrupted: bool,
    pub quick: bool,
    /// A median of another run is within this one's interval, widened by this share on both sides; 0 in documents that do
    /// not say.
    #[serde(default)]
    pub between_runs: f64,
    /// If it was timed.
    pub cpu: Option<CpuInfo>,
    pub devices: Vec<DeviceRecord>,
    /// What was asked for, or usual, and could not be had.
    pub missing: Vec<String>,
    pub cases: Vec<CaseResults>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceRecord {
    pub device: String,
    pub info: DeviceInfo,
    pub telemetry: Option<About>,
    /// Why NVML says nothing.
    pub no_telemetry: Option<String>,
    /// What it does at best, measured in the same run.
    pub limits: MeasuredLimits,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResults {
    pub lab: String,
    /// What `vs_first` compares with.
    pub first_variant: String,
    pub case: String,
    /// References, variants, peers. The references are timed once a lab: their rows are in its first case.
    pub rows: Vec<Row>,
    /// What the emulated device counted on a small case like it, if there is one.
    pub counted: Option<Counted>,
    /// What NVML reported meanwhile, device by device.
    pub traces: Vec<DeviceTrace>,
}

/// What NVML reported while a case was timed on a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceTrace {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_by: Option<String>,
    /// If its kernels may use so many registers only: then `variant` says so, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<Capped>,
    /// The launch shape that `harness tune` found, if it is not the variant's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    pub case: String,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// A variant whose kernels may use so many registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capped {
    /// The variant, without a cap.
    pub of: String,
    /// The most registers of a thread.
    pub registers: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Timed(Box<Figures>),
    /// There is no such device, or a peer that does not do this case.
    Skipped {
        message: String,
    },
    Failed {
        message: String,
    },
    /// The machine lacks something.
    Lacking {
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Time of a whole run. On a device: alone, after its cache was flushed.
    pub run: Summary,
    /// Time of a whole run among others, back to back; not for the CPU.
    pub batched: Option<Batched>,
    pub timesteps: Option<u64>,
    /// How the commands of `run` reached the device; not for the CPU.
    pub by: Option<Launching>,
    /// Which clock `run` is by.
    pub clock: Clock,
    /// Into how many equal segments each run was divided, if each sample of `run` is the time of one of them, times their
    /// number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<u32>,
    /// Median time of a whole run by the host's clock.
    pub host_median_s: f64,
    /// What `updates` counts.
    pub unit: String,
    /// Useful work of a run.
    pub updates: u64,
    /// Fewest bytes that a run must move.
    pub bytes: u64,
    pub flops: u64,
    pub updates_per_s: f64,
    /// `bytes` by the time; not for the CPU, whose caches hold many of them.
    pub bytes_per_s: Option<f64>,
    pub bound: Option<Bound>,
    /// Time of the lab's first variant on the same device and case, over this one's, turn by turn.
    pub vs_first: Option<Ratio>,
    /// For a peer, or under a cap of registers: the time of its variant over its own, turn by turn.
    pub vs_variant: Option<Ratio>,
    /// Rate over that of the parallel CPU reference.
    pub vs_cpu: Option<f64>,
    /// Rate over that of the serial CPU reference.
    pub vs_serial: Option<f64>,
    /// Whether it is the fastest of its device's several variants with a right result.
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
    /// The timesteps that the CPU computed too, where it did not compute all: the result is right as far as they, and
    /// the other variants, can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_steps: Option<CheckedSteps>,
    pub mismatch: Option<String>,
}

/// Timesteps at both ends of a run that were compared with the CPU's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedSteps {
    /// So many from the inputs on.
    pub first: u64,
    /// So many up to the end, from the device's state before them.
    pub last: u64,
    /// Of so many timesteps of the run.
    pub of: u64,
}

/// `340 + 40 of 12800 steps`.
impl std::fmt::Display for CheckedSteps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} + {} of {} steps", self.first, self.last, self.of)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    pub estimate: f64,
    /// Ends of its 95 % confidence interval; `None` where there are too few samples.
    pub interval: Option<[f64; 2]>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batched {
    pub by: Launching,
    pub no_graph: Option<String>,
    /// Runs of a sample.
    pub runs: u32,
    /// Time of one run.
    pub run: Summary,
}

/// Clocks, temperature, power while a row was timed: lowest and highest of what was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    pub sm_clock_mhz: Option<[u32; 2]>,
    pub memory_clock_mhz: Option<[u32; 2]>,
    pub temperature_c: Option<[u32; 2]>,
    pub power_w: Option<[f64; 2]>,
    /// Why clocks were lowered, and in how many samples.
    pub throttled: Vec<(String, usize)>,
    /// Energy of one run, back to back.
    pub energy_per_run_j: Option<f64>,
    /// Most processes that were seen to compute on the device.
    pub compute_processes: Option<u32>,
}

/// Which clock a time is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Between device events.
    Device,
    Host,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correctness {
    /// It is what others are compared with.
    Reference,
    /// Equal to the reference to the last bit.
    Equal,
    /// Within the lab's tolerance of the reference.
    Close,
    Wrong,
    Unchecked,
}

/// `1.030 (1.020 to 1.040)`.
impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3}", self.estimate)?;
        match self.interval {
            None => Ok(()),
            Some([low, high]) => write!(f, " ({low:.3} to {high:.3})"),
        }
    }
}

impl Figures {
    /// Times, of which nothing else is known yet.
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
        }
    }

    /// The same with the work of a run, and its rate.
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

    /// Time of one timestep, or of the run of a case that has none.
    pub fn step_s(&self) -> f64 {
        self.run.median_s / self.steps()
    }

    /// Whether the time is a result: not noisy, and of a run that gave no wrong values.
    pub fn is_result(&self) -> bool {
        self.run.is_result() && self.result != Correctness::Wrong
    }
}

impl Row {
    pub fn figures(&self) -> Option<&Figures> {
        match &self.outcome {
            Outcome::Timed(figures) => Some(figures),
            _ => None,
        }
    }

    pub fn figures_mut(&mut self) -> Option<&mut Figures> {
        match &mut self.outcome {
            Outcome::Timed(figures) => Some(figures),
            _ => None,
        }
    }

    /// `naive`, or of a peer `naive, CUDA C++`.
    pub fn name(&self) -> String {
        match &self.language {
            None => self.variant.clone(),
            Some(language) => format!("{}, {language}", self.variant),
        }
    }

    /// `naive on cuda`.
    pub fn full_name(&self) -> String {
        format!("{} on {}", self.name(), self.device)
    }
}

impl Results {
    /// A wrong result outweighs what the machine lacks.
    pub fn ending(&self) -> Ending {
        let rows = || self.cases.iter().flat_map(|case| &case.rows);
        let is_wrong = |row: &Row| match &row.outcome {
            Outcome::Timed(figures) => figures.result == Correctness::Wrong,
            Outcome::Failed { .. } => true,
            Outcome::Skipped { .. } | Outcome::Lacking { .. } => false,
        };
        if rows().any(is_wrong) {
            Ending::Wrong
        } else if rows().any(|row| matches!(row.outcome, Outcome::Lacking { .. })) {
            Ending::Lacking
        } else {
            Ending::Fine
        }
    }

    pub fn to_json(&self) -> Result<String, CommandError> {
        serde_json::to_string_pretty(self)
            .map_err(|error| CommandError::Bug(format!("the results have no JSON form: {error}")))
    }

    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a file that cannot be read, does not hold results of `perf`, has another version, or lacks a field.
    pub fn read(path: &Path) -> Result<Results, CommandError> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| {
            CommandError::Input(match error.kind() {
                ErrorKind::NotFound => {
                    format!("{name}: there is no such file; `harness perf --json={name}` makes one")
                }
                kind => format!("{name}: cannot be read: {kind}"),
            })
        })?;
        Results::parse(&text).map_err(|failure| failure.context(name))
    }

    /// Reads a document's text.
    /// Fails as [`Results::read`] does.
    pub fn parse(text: &str) -> Result<Results, CommandError> {
        let remedy = "write one with `harness perf --json=FILE`";
        let head = Head::of(text).map_err(|error| {
            CommandError::Input(format!("no results of `harness perf`: {error}; {remedy}"))
        })?;
        if head.command != "perf" {
            let command = head.command;
            return Err(CommandError::Input(format!(
                "results of `harness {command}`, not of `harness perf`; {remedy}"
            )));
        }
        head.expect_version(SCHEMA_VERSION)?;
        read::document(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_explained() {
        let error = |text: &str| Results::parse(text).unwrap_err().context("a.json");
        insta::assert_snapshot!(error("{"), @"a.json: no results of `harness perf`: EOF while parsing an object at line 1 column 1; write one with `harness perf --json=FILE`");
        insta::assert_snapshot!(error("[1]"), @"a.json: no results of `harness perf`: invalid length 1, expected struct Head with 2 elements at line 1 column 3; write one with `harness perf --json=FILE`");
        insta::assert_snapshot!(error(r#"{"schema_version": 1, "command": "test"}"#), @"a.json: results of `harness test`, not of `harness perf`; write one with `harness perf --json=FILE`");
        insta::assert_snapshot!(error(r#"{"schema_version": 1, "command": "perf"}"#), @"a.json: has schema version 1, this program reads version 2; measure again with this one");
        insta::assert_snapshot!(error(r#"{"schema_version": 3, "command": "perf"}"#), @"a.json: has schema version 3, this program reads version 2; read it with the program that wrote it, or a newer one");
        insta::assert_snapshot!(error(r#"{"schema_version": 2, "command": "perf"}"#), @"a.json: damaged: missing field `harness_version`; measure again");
        let failure = Results::read(Path::new("no/such.json")).unwrap_err();
        insta::assert_snapshot!(failure, @"no/such.json: there is no such file; `harness perf --json=no/such.json` makes one");
        assert_eq!(failure.exit_code(), exit::codes::BAD_INPUT);
    }
}
