//! The records of the emulated driver about a program.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{MemfdFlags, memfd_create};
use serde::Deserialize;
use trial::Counts;
use units::count;

use crate::runs::{Fault, Known, Run};

/// A line of the driver's report (`report.rs` of crate `emulated-driver`).
#[derive(Debug, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Started,
    Fault(Fault),
    /// A fault that was told before: for those who ask for each.
    Again {},
    Known {
        kernel: String,
        kind: String,
        reason: String,
    },
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
    /// PTX instead of machine code that the program has made, or kept.
    Ptx,
    Kernel,
}

/// Bytes before the first line of the driver's records: its counters (`record.rs` of crate
/// `emulated-driver`, which says when a record is complete).
const HEADER_BYTES: u64 = 4096;

/// The file for the driver's records, in memory: a full disk or a program that cleans up does not
/// take it away.
#[derive(Debug)]
pub(crate) struct RecordFile(File);

impl RecordFile {
    pub(crate) fn new() -> io::Result<RecordFile> {
        // The program gets it, for processes that may not look into this one.
        let file = File::from(memfd_create("emulate-record", MemfdFlags::empty())?);
        // Written, so that the page is there when it is mapped.
        file.write_all_at(&[0; HEADER_BYTES as usize], 0)?;
        Ok(RecordFile(file))
    }

    /// The value of the driver's variable that names it.
    pub(crate) fn name(&self) -> io::Result<String> {
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
    pub(crate) fn read(&mut self, file: &RecordFile) -> io::Result<()> {
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
            Record::Started | Record::Again {} => {}
            Record::Known {
                kernel,
                kind,
                reason,
            } => self.known.push(Known {
                kernel,
                kind,
                reason,
            }),
            Record::Fault(fault) => self.faults.push(fault),
            Record::Unsupported { text, what } => {
                self.unsupported.push(text);
                self.needs_more |= what != Need::Function;
                self.has_machine_code |= what == Need::Ptx;
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
    pub(crate) fn is_whole(&self) -> bool {
        self.incomplete.is_none() && self.bugs.is_empty()
    }

    /// Notes why faults may be missing. The first reason is told for all.
    pub(crate) fn lose(&mut self, why: String) {
        self.incomplete.get_or_insert(why);
    }
}
