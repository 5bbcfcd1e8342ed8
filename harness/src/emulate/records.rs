//! The records of the emulated driver about a program.

use std::collections::BTreeMap;
use std::path::Path;

use exit::CommandError;
use serde::{Deserialize, Serialize};
use terminal::look::Look;
use terminal::table::{Align, Columns};
use units::grouped;

/// A line of the driver's report (`report.rs` of crate `emulated-driver`).
#[derive(Debug, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Started,
    Fault(Fault),
    Unsupported {
        text: String,
        what: Need,
    },
    Note {
        text: String,
    },
    Launch {
        kernel: String,
        #[serde(flatten)]
        counts: Counts,
    },
}

/// A need without a means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Need {
    /// A function of the driver.
    Function,
    Module,
    Kernel,
}

/// A rule that a kernel broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fault {
    pub(super) kernel: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) kind: String,
    pub(super) text: String,
}

/// The work of a kernel's launches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    #[serde(default)]
    pub(super) launches: u64,
    pub(super) instructions: u64,
    pub(super) warp_instructions: u64,
    pub(super) sectors: u64,
    pub(super) bank_conflicts: u64,
    pub(super) barriers: u64,
    pub(super) local_bytes: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        self.launches += other.launches;
        self.instructions += other.instructions;
        self.warp_instructions += other.warp_instructions;
        self.sectors += other.sectors;
        self.bank_conflicts += other.bank_conflicts;
        self.barriers += other.barriers;
        self.local_bytes += other.local_bytes;
    }
}

/// A run of a program, or a launch, in one order.
#[derive(Debug, Default, Serialize)]
pub(super) struct Run {
    pub(super) order: u32,
    /// The program's exit code, or 128 and the number of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i32>,
    /// Whether the program has used the driver.
    pub(super) started: bool,
    pub(super) faults: Vec<Fault>,
    pub(super) unsupported: Vec<String>,
    /// Things to know, beside faults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    /// Whether a module or a kernel could not be run.
    #[serde(skip)]
    pub(super) needs_more: bool,
    /// By kernel, if asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) counts: BTreeMap<String, Counts>,
}

impl Run {
    /// Adds the records of a file, which is absent if the program did not use the driver.
    pub(super) fn read(&mut self, path: &Path) -> Result<(), CommandError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let told = format!("cannot read {}: {error}", path.display());
                return Err(CommandError::Environment(told));
            }
        };
        // A process that was killed may have left a part of a line.
        for record in text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
        {
            match record {
                Record::Started => self.started = true,
                Record::Fault(fault) => self.faults.push(fault),
                Record::Unsupported { text, what } => {
                    self.unsupported.push(text);
                    self.needs_more |= what != Need::Function;
                }
                Record::Note { text } => self.notes.push(text),
                Record::Launch { kernel, counts } => {
                    let sum = self.counts.entry(kernel).or_default();
                    sum.add(&Counts {
                        launches: 1,
                        ..counts
                    });
                }
            }
        }
        Ok(())
    }

    /// The kernels and what they have executed.
    pub(super) fn table(&self, look: Look) -> String {
        let right = |text| (text, Align::Right);
        let mut columns = Columns::with_header(
            look,
            &[
                ("kernel", Align::Left),
                right("launches"),
                right("instructions"),
                right("sectors"),
                right("bank\nconflicts"),
                right("barriers"),
                right("local\nbytes"),
            ],
        );
        for (kernel, counts) in &self.counts {
            let numbers = [
                counts.launches,
                counts.instructions,
                counts.sectors,
                counts.bank_conflicts,
                counts.barriers,
                counts.local_bytes,
            ];
            let cells = std::iter::once(kernel.clone()).chain(numbers.map(grouped));
            columns.row(cells);
        }
        columns.render(0)
    }
}
