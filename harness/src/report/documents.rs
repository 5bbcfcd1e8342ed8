//! What is read: the documents of `perf` and `run membench`, as far as the page shows them.
//!
//! Fields that a document has besides are passed over, so that a newer program may add some. `docs/measuring.md` describes
//! them all.

use std::collections::HashSet;
use std::path::Path;

use host::limits::Limits;
use host::membench::{LatencyCurve, Level};
use host::{DeviceInfo, KernelInfo};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Versions of `perf`'s document that can be read.
const PERF_VERSION: u32 = 2;
/// And of `run membench`'s.
const MEMBENCH_VERSION: u32 = 1;

/// A document.
#[derive(Debug, Clone)]
pub enum Document {
    /// Of `harness perf`.
    Perf(Box<Perf>),
    /// Of `harness run membench`.
    Membench(Box<Membench>),
}

/// What `harness perf` measured.
#[derive(Debug, Clone, Deserialize)]
pub struct Perf {
    /// Of the program that wrote it.
    pub harness_version: String,
    /// As it was started.
    pub command_line: Vec<String>,
    /// When it was started, in seconds since 1970.
    pub began_unix_s: u64,
    /// How long it took.
    pub wall_s: f64,
    /// Whether Ctrl-C ended it.
    #[serde(default)]
    pub interrupted: bool,
    /// Whether it was told to be quick.
    #[serde(default)]
    pub quick: bool,
    /// The CPU, if it was timed.
    pub cpu: Option<Cpu>,
    /// The devices that were used.
    pub devices: Vec<Device>,
    /// What was asked for and could not be had.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Case by case.
    pub cases: Vec<Case>,
}

/// The CPU.
#[derive(Debug, Clone, Deserialize)]
pub struct Cpu {
    /// Its model.
    pub model: String,
    /// Cores that the program may use.
    pub cores: usize,
    /// Highest clock of a core.
    pub clock_mhz: Option<f64>,
}

/// A device.
#[derive(Debug, Clone, Deserialize)]
pub struct Device {
    /// Its name in rows.
    pub device: String,
    /// What the driver says of it.
    pub info: DeviceInfo,
    /// Why NVML says nothing.
    #[serde(default)]
    pub no_telemetry: Option<String>,
    /// What it does at best, measured in the same run.
    pub limits: Limits,
}

/// A case.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// The lab.
    pub lab: String,
    /// What `vs_first` compares with.
    pub first_variant: String,
    /// The case's label.
    pub case: String,
    /// References, variants, peers.
    pub rows: Vec<Row>,
    /// What NVML reported meanwhile.
    #[serde(default)]
    pub traces: Vec<Trace>,
}

/// What NVML reported while a case was timed.
#[derive(Debug, Clone, Deserialize)]
pub struct Trace {
    /// The device.
    pub device: String,
    /// Since the program was started, in seconds.
    pub began_s: f64,
    /// In the order taken.
    pub samples: Vec<Sample>,
}

/// What NVML reported at one time.
#[derive(Debug, Clone, Deserialize)]
pub struct Sample {
    /// Since the trace began.
    pub at_s: f64,
    /// Clock of the multiprocessors.
    pub sm_clock_mhz: Option<u32>,
    /// Of the die.
    pub temperature_c: Option<u32>,
    /// Power drawn.
    pub power_w: Option<f64>,
}

/// A variant, a reference or a peer, on a device.
#[derive(Debug, Clone, Deserialize)]
pub struct Row {
    /// The device's name; `cpu` for the references.
    pub device: String,
    /// The variant's name; `serial` and `parallel` for the references.
    pub variant: String,
    /// What a peer is written in.
    #[serde(default)]
    pub language: Option<String>,
    /// The case's label, which for the CPU may be another than the device's.
    pub case: String,
    /// `timed`, or how it came to no figures.
    pub outcome: String,
    /// Why there are none.
    #[serde(default)]
    pub message: Option<String>,
    /// What was measured, of a row that was timed.
    #[serde(flatten)]
    pub figures: Option<Figures>,
}

/// What was measured.
#[derive(Debug, Clone, Deserialize)]
pub struct Figures {
    /// Time of a whole run.
    pub run: Times,
    /// Time of a run among others, back to back.
    #[serde(default)]
    pub batched: Option<Batched>,
    /// Timesteps of a run.
    pub timesteps: Option<u64>,
    /// What `updates` counts.
    pub unit: String,
    /// Useful work of a run.
    pub updates: u64,
    /// Fewest bytes that a run must move.
    pub bytes: u64,
    /// Floating-point operations of a run.
    pub flops: u64,
    /// Useful work in a second.
    pub updates_per_s: f64,
    /// What the device allows at best.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// Against the lab's first variant.
    #[serde(default)]
    pub vs_first: Option<Ratio>,
    /// Of a peer against the variant that does the same.
    #[serde(default)]
    pub vs_variant: Option<Ratio>,
    /// Against the parallel CPU reference.
    #[serde(default)]
    pub vs_cpu: Option<f64>,
    /// Against the serial CPU reference.
    #[serde(default)]
    pub vs_serial: Option<f64>,
    /// The kernels as the device compiled them.
    #[serde(default)]
    pub kernels: Vec<KernelInfo>,
    /// Whether the result was right.
    pub result: String,
}

/// Times of runs.
#[derive(Debug, Clone, Deserialize)]
pub struct Times {
    /// The middle sample.
    pub median_s: f64,
    /// Ends of its 95 % confidence interval.
    #[serde(default)]
    pub interval_s: Option<[f64; 2]>,
    /// Half of the interval's width, relative to the median.
    #[serde(default)]
    pub noise: Option<f64>,
    /// Why it is no result; empty if it is one.
    #[serde(default)]
    pub doubts: Vec<serde_json::Value>,
}

/// Runs back to back.
#[derive(Debug, Clone, Deserialize)]
pub struct Batched {
    /// Time of one run.
    pub run: Times,
}

/// The least time that a run can take.
#[derive(Debug, Clone, Deserialize)]
pub struct Bound {
    /// What binds.
    pub by: String,
    /// The least time over the measured.
    pub share: f64,
}

/// A ratio of two times.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Ratio {
    /// The best guess.
    pub estimate: f64,
    /// Ends of its 95 % confidence interval.
    pub interval: Option<[f64; 2]>,
}

/// What `harness run membench` measured.
#[derive(Debug, Clone, Deserialize)]
pub struct Membench {
    /// The device.
    pub device: String,
    /// A curve for each way to load.
    pub latencies: Vec<Latencies>,
}

/// A curve and its levels.
#[derive(Debug, Clone, Deserialize)]
pub struct Latencies {
    /// Latency against footprint.
    #[serde(flatten)]
    pub curve: LatencyCurve,
    /// Its flat parts.
    #[serde(default)]
    pub levels: Vec<Level>,
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] for a file that cannot be read, is none of ours, or has another version.
    pub fn read(path: &Path) -> Result<Document, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::Input(format!("cannot be read: {}", error.kind())));
        text.and_then(|text| Document::parse(&text))
            .map_err(|failure| failure.context(path.display()))
    }

    /// Reads a document's text.
    ///
    /// # Errors
    ///
    /// As [`Document::read`].
    pub fn parse(text: &str) -> Result<Document, Failure> {
        #[derive(Deserialize)]
        struct Head {
            schema_version: u32,
            command: String,
        }
        const REMEDY: &str =
            "write one with `harness perf --json=FILE` or `harness run membench --json=FILE`";
        let head: Head = serde_json::from_str(text)
            .map_err(|error| Failure::Input(format!("no results of ours: {error}; {REMEDY}")))?;
        let known = match head.command.as_str() {
            "perf" => PERF_VERSION,
            "run membench" => MEMBENCH_VERSION,
            other => {
                return Err(Failure::Input(format!(
                    "results of `harness {other}`; {REMEDY}"
                )));
            }
        };
        if head.schema_version != known {
            return Err(Failure::Input(format!(
                "has schema version {}, this program reads version {known}; measure again, or read it with the program that wrote it",
                head.schema_version
            )));
        }
        if known == MEMBENCH_VERSION {
            return Ok(Document::Membench(body(text)?));
        }
        let perf: Box<Perf> = body(text)?;
        let mut rows = perf.cases.iter().flat_map(|case| &case.rows);
        // Figures that lack a field are no figures at all to the reader.
        if let Some(row) = rows.find(|row| row.outcome == "timed" && row.figures.is_none()) {
            return Err(Failure::Input(format!(
                "damaged: {} was timed, and has no figures",
                row.full_name()
            )));
        }
        Ok(Document::Perf(perf))
    }
}

fn body<T: DeserializeOwned>(text: &str) -> Result<Box<T>, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::Input(format!("damaged: {error}")))
}

impl Row {
    /// `naive`, or of a peer `naive, CUDA C++`.
    pub fn name(&self) -> String {
        match &self.language {
            None => self.variant.clone(),
            Some(language) => format!("{}, {language}", self.variant),
        }
    }

    /// Name and device: `naive on cuda`.
    pub fn full_name(&self) -> String {
        format!("{} on {}", self.name(), self.device)
    }
}

impl Figures {
    /// Why the figure should not be relied on.
    pub fn caution(&self) -> Option<&'static str> {
        if self.result == "wrong" {
            Some("wrong result")
        } else if !self.run.doubts.is_empty() {
            Some("noisy")
        } else {
            None
        }
    }

    /// Cells, points, elements: the work of one timestep.
    pub fn size(&self) -> f64 {
        self.updates as f64 / self.timesteps.unwrap_or(1).max(1) as f64
    }

    /// Time of one timestep, or of the run of a case that has none.
    pub fn step_s(&self) -> f64 {
        self.run.median_s / self.timesteps.unwrap_or(1).max(1) as f64
    }

    /// Operations for each byte that must be moved.
    pub fn intensity(&self) -> Option<f64> {
        (self.flops > 0 && self.bytes > 0).then(|| self.flops as f64 / self.bytes as f64)
    }
}

impl Perf {
    /// Every row that was timed, with its case. The CPU's, which may stand beside several cases of a device, come once.
    pub fn timed(&self) -> Vec<(&Case, &Row, &Figures)> {
        let mut seen = HashSet::new();
        let rows = self.cases.iter().flat_map(|case| {
            case.rows
                .iter()
                .filter_map(move |row| Some((case, row, row.figures.as_ref()?)))
        });
        rows.filter(|(case, row, _)| seen.insert((&case.lab, row.full_name(), &row.case)))
            .collect()
    }
}
