//! The records of the emulated driver about a program.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use terminal::look::Look;
use terminal::table::{Align, Columns};
use units::{count, grouped};

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
    Lacking {
        text: String,
    },
    Bug {
        text: String,
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
    /// Why faults may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) incomplete: Option<String>,
    /// Where the driver panicked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) bugs: Vec<String>,
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

/// Bytes before the first line of the driver's records: its counters (`record.rs` of crate
/// `emulated-driver`, which says when a record is complete).
const HEADER_BYTES: u64 = 4096;

/// The file for the driver's records, in memory: a full disk or a program that cleans up does not
/// take it away.
#[derive(Debug)]
pub(super) struct RecordFile(File);

impl RecordFile {
    pub(super) fn new() -> io::Result<RecordFile> {
        // The program gets it, for processes that may not look into this one.
        let file = File::from(memfd_create("emulate-record", MemfdFlags::empty())?);
        // Written, so that the page is there when it is mapped.
        file.write_all_at(&[0; HEADER_BYTES as usize], 0)?;
        Ok(RecordFile(file))
    }

    /// The value of the driver's variable that names it.
    pub(super) fn name(&self) -> io::Result<String> {
        let inode = self.0.metadata()?.ino();
        let (process, descriptor) = (std::process::id(), self.0.as_raw_fd());
        Ok(format!("{inode}:/proc/{process}/fd/{descriptor}"))
    }

    /// The counters (lines, launches begun, launches ended), and what follows.
    fn read(&self) -> io::Result<([u64; 3], Vec<u8>)> {
        let mut bytes = vec![0; self.0.metadata()?.len() as usize];
        self.0.read_exact_at(&mut bytes, 0)?;
        let counter = |index: usize| {
            let bytes = &bytes[8 * index..8 * index + 8];
            u64::from_ne_bytes(bytes.try_into().expect("8 bytes"))
        };
        let counters = [counter(0), counter(1), counter(2)];
        Ok((counters, bytes.split_off(HEADER_BYTES as usize)))
    }
}

impl Run {
    /// Adds the records of a program whose processes have ended.
    pub(super) fn read(&mut self, file: &RecordFile) -> io::Result<()> {
        let ([due, begun, ended], lines) = file.read()?;
        self.started |= due > 0;
        let mut read = 0;
        // A line that is not whole is not counted.
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            if let Ok(record) = serde_json::from_slice(line) {
                read += 1;
                self.add(record);
            }
        }
        if read != due {
            let missing = due.abs_diff(read) as usize;
            self.lose(format!(
                "{} of the driver could not be written; its words on standard error say why",
                count(missing, "record")
            ));
        }
        if begun != ended {
            let cut = begun.abs_diff(ended) as usize;
            self.lose(format!(
                "the end of a process cut off {cut} of its launches, whose faults are not known"
            ));
        }
        Ok(())
    }

    fn add(&mut self, record: Record) {
        match record {
            Record::Started => {}
            Record::Fault(fault) => self.faults.push(fault),
            Record::Unsupported { text, what } => {
                self.unsupported.push(text);
                self.needs_more |= what != Need::Function;
            }
            Record::Lacking { text } => self.lose(text),
            Record::Bug { text } => self.bugs.push(text),
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

    /// Whether all that happened is known.
    pub(super) fn is_whole(&self) -> bool {
        self.incomplete.is_none() && self.bugs.is_empty()
    }

    /// Notes why faults may be missing. The first reason is told for all.
    pub(super) fn lose(&mut self, why: String) {
        self.incomplete.get_or_insert(why);
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
