//! The results of a measurement: the document that `--json` writes, and that `compare` and `report`
//! read.
//!
//! `docs/reference/perf-json.md` describes it field by field.

mod figures;
mod file;
mod label;
mod language;
mod ratio;

use device::DeviceInfo;
use device::telemetry::{About, Sample};
use host::limits::MeasuredLimits;
use serde::{Deserialize, Serialize};
use units::count;

use crate::counted::Counted;
use crate::spent::Spent;
use device::cpu::CpuInfo;
pub use figures::{
    Batched, CheckedSteps, Clock, CodeLines, Comparisons, Conditions, Correctness, Figures,
    Judgement, OnDevice, OnSeveral, Workload,
};
pub use label::CaseLabel;
pub use language::Language;
pub use ratio::Ratio;

/// The `command` of every document.
pub const COMMAND: &str = "perf";

/// Version of the document. It goes up when a field is removed or changes its meaning; fields may
/// be added without. A document of another version is refused.
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

    /// Whether it is marked as the fastest of its device's variants.
    pub fn is_fastest(&self) -> bool {
        self.figures()
            .is_some_and(|figures| figures.compared.is_fastest)
    }

    /// Whether the result is right, where the row has one.
    pub fn correctness(&self) -> Option<Correctness> {
        match &self.outcome {
            Outcome::Timed(figures) => Some(figures.judgement.result),
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
