//! What a measurement of scaling leaves: the document that `--json` writes, and that `report` reads.

use device::{DeviceInfo, DeviceKind, Launching};
use serde::{Deserialize, Serialize};
use stats::Summary;

use crate::cpu::CpuInfo;
use exit::{CommandError, Ending};
use host::devices::Route;
use terminal::json::read;
use terminal::json::read::Head;

/// What `command` says.
pub const COMMAND: &str = "perf --gpus";

/// Version of the document. It goes up when a field is removed or changes its meaning; fields may be added without.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    pub schema_version: u32,
    pub command: String,
    pub harness_version: String,
    pub command_line: Vec<String>,
    pub began_unix_s: u64,
    pub wall_s: f64,
    pub quick: bool,
    pub lab: String,
    pub variant: String,
    /// Whether sizes grow with the number of devices.
    pub weak: bool,
    pub cpu: CpuInfo,
    /// The first device; the others are of its model.
    pub device: DeviceInfo,
    /// How many there are for the row of the most.
    pub devices: u32,
    pub driver: Option<String>,
    pub link: Option<Link>,
    /// Opening the devices and loading the kernels' module on each, once for all rows.
    pub start_s: f64,
    /// What `rate_per_s` counts: `byte`, 24 for each point and timestep, or the lab's updates.
    pub rate_unit: String,
    pub sizes: Vec<Size>,
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

impl Link {
    /// Atomic operations work across NVLink. NVML knows best: of GPUs that reach each other, active links are NVLink, and none
    /// are PCIe.
    pub fn new(route: Route, nvlinks: Option<u32>) -> Link {
        match (route, nvlinks) {
            (Route::Staged, _) => Link::Staged,
            (Route::Atomic | Route::Peer, Some(0)) | (Route::Peer, None) => Link::Pcie,
            (Route::Atomic | Route::Peer, links) => Link::Nvlink { links },
        }
    }
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

/// A size, on more and more devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Timesteps of each run.
    pub steps: u64,
    pub rows: Vec<Row>,
}

/// A case on so many devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub gpus: u32,
    pub case: String,
    /// What a timestep updates.
    pub points: u64,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Timed(Box<Figures>),
    /// On the emulated device, whose times say nothing.
    Computed {
        result: Agreement,
    },
    /// So few devices have not the memory.
    DoesNotFit,
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
    /// Time of a run of all timesteps, without transfers and setup.
    pub run: Summary,
    /// How its commands reached the devices.
    pub by: Launching,
    /// Why they were no graph, if they were none.
    pub no_graph: Option<String>,
    /// Allocation of the buffers, and making the graph.
    pub setup_s: f64,
    /// Writing the inputs.
    pub write_s: f64,
    /// Reading the results.
    pub read_s: f64,
    /// Energy of a run, of all the devices that take part.
    #[serde(default)]
    pub energy_per_run_j: Option<f64>,
    /// In `rate_unit` of the document.
    pub rate_per_s: f64,
    /// Rate of points over that of the fewest devices of the same size; `None` for these, and where one is no result.
    pub speedup: Option<f64>,
    /// That by how many times as many devices there are: from 0 to about 1.
    pub efficiency: Option<f64>,
    pub result: Agreement,
}

/// What the result was compared with, bit for bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Nothing: others are compared with it.
    First,
    /// Equal to that of the fewest devices that have the memory.
    Equal,
    Different,
    /// There was nothing to compare it with: fewer devices have not the memory.
    Unchecked,
}

impl Figures {
    /// A run with its transfers.
    pub fn with_transfer_s(&self) -> f64 {
        self.write_s + self.run.median_s + self.read_s
    }

    /// That with setup.
    pub fn with_setup_s(&self) -> f64 {
        self.setup_s + self.with_transfer_s()
    }
}

impl Row {
    pub fn figures(&self) -> Option<&Figures> {
        match &self.outcome {
            Outcome::Timed(figures) => Some(figures),
            _ => None,
        }
    }

    /// What the result was compared with, if there is one.
    pub fn agreement(&self) -> Option<Agreement> {
        match &self.outcome {
            Outcome::Timed(figures) => Some(figures.result),
            Outcome::Computed { result } => Some(*result),
            _ => None,
        }
    }

    /// The case without timesteps and what else it says: `512^3`.
    pub fn size(&self) -> &str {
        self.case.split(", ").next().unwrap_or(&self.case)
    }
}

impl Size {
    /// Says how each row compares with that of the fewest devices.
    pub fn compare(&mut self) {
        let usable = |row: &Row| {
            let figures = row.figures()?;
            let is_wrong = figures.result == Agreement::Different;
            (figures.run.is_result() && !is_wrong)
                .then(|| row.points as f64 / figures.run.median_s.max(1e-12))
        };
        let mut timed = self.rows.iter().filter(|row| row.figures().is_some());
        let Some(first) = timed.next() else { return };
        let (fewest, base) = (first.gpus, usable(first));
        for row in &mut self.rows {
            let speedup = usable(row).zip(base).map(|(rate, base)| rate / base);
            let times = f64::from(row.gpus) / f64::from(fewest);
            let is_first = row.gpus == fewest;
            if let Outcome::Timed(figures) = &mut row.outcome {
                figures.speedup = speedup.filter(|_| !is_first);
                figures.efficiency = figures.speedup.map(|speedup| speedup / times);
            }
        }
    }
}

impl Results {
    /// Whether times mean anything.
    pub fn has_times(&self) -> bool {
        self.device.kind != DeviceKind::Emulated
    }

    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sizes.iter().flat_map(|size| &size.rows)
    }

    /// A wrong result outweighs what the machine lacks. What does not fit is no fault.
    pub fn ending(&self) -> Ending {
        let is_wrong = |row: &Row| {
            matches!(row.outcome, Outcome::Failed { .. })
                || row.agreement() == Some(Agreement::Different)
        };
        let is_lacking = |row: &Row| matches!(row.outcome, Outcome::Lacking { .. });
        if self.rows().any(is_wrong) {
            Ending::Wrong
        } else if self.rows().any(is_lacking) {
            Ending::Lacking
        } else {
            Ending::Fine
        }
    }

    pub fn to_json(&self) -> Result<String, CommandError> {
        serde_json::to_string_pretty(self)
            .map_err(|error| CommandError::Bug(format!("the results have no JSON form: {error}")))
    }

    /// Reads a document whose head is known.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for another version, or a field that is missing.
    pub fn parse(head: &Head, text: &str) -> Result<Results, CommandError> {
        head.expect_version(SCHEMA_VERSION)?;
        read::document(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvml_knows_best() {
        let link = |route, links| Link::new(route, links).to_string();
        assert_eq!(link(Route::Atomic, Some(18)), "NVLink, 18 links each");
        assert_eq!(link(Route::Atomic, None), "NVLink");
        assert_eq!(link(Route::Peer, Some(4)), "NVLink, 4 links each");
        for (route, links) in [
            (Route::Peer, None),
            (Route::Peer, Some(0)),
            (Route::Atomic, Some(0)),
        ] {
            assert_eq!(link(route, links), "PCIe, from one GPU to the other");
        }
        assert_eq!(Link::new(Route::Staged, Some(18)), Link::Staged);
    }

    fn row(gpus: u32, points: u64, run_s: f64) -> Row {
        Row {
            gpus,
            case: "8^3, 2 iterations".to_owned(),
            points,
            outcome: Outcome::Timed(Box::new(Figures {
                run: Summary::new(vec![run_s; 6]),
                by: Launching::Graph,
                no_graph: None,
                setup_s: 0.0,
                write_s: 0.0,
                read_s: 0.0,
                energy_per_run_j: None,
                rate_per_s: 0.0,
                speedup: None,
                efficiency: None,
                result: Agreement::Equal,
            })),
        }
    }

    /// Speedup and efficiency of each row.
    fn compared(rows: Vec<Row>) -> Vec<Option<[f64; 2]>> {
        let mut size = Size { steps: 2, rows };
        size.compare();
        let rows = size.rows.iter();
        rows.map(|row| {
            let figures = row.figures()?;
            Some([figures.speedup?, figures.efficiency?])
        })
        .collect()
    }

    #[test]
    fn efficiency_is_against_the_fewest_that_fit() {
        let strong = vec![row(1, 100, 8.0), row(2, 100, 5.0), row(4, 100, 2.5)];
        assert_eq!(compared(strong), [None, Some([1.6, 0.8]), Some([3.2, 0.8])]);
        let does_not_fit = Row {
            outcome: Outcome::DoesNotFit,
            ..row(1, 100, 1.0)
        };
        let large = vec![does_not_fit, row(2, 100, 8.0), row(4, 100, 5.0)];
        assert_eq!(compared(large), [None, None, Some([1.6, 0.8])]);
        // Of four times the work in twice the time, on four devices.
        let weak = vec![row(1, 100, 1.0), row(4, 400, 2.0)];
        assert_eq!(compared(weak), [None, Some([2.0, 0.5])]);
    }

    #[test]
    fn what_is_no_result_is_compared_with_nothing() {
        let mut wrong = row(2, 100, 4.0);
        if let Outcome::Timed(figures) = &mut wrong.outcome {
            figures.result = Agreement::Different;
        }
        let rows = vec![row(1, 100, 8.0), wrong, row(4, 100, 2.0)];
        assert_eq!(compared(rows), [None, None, Some([4.0, 1.0])]);
    }
}
