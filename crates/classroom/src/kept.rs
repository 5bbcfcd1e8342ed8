//! The verdict on a lab that is kept: a file for each lab in the folder `.progress` of the course,
//! which belongs to one student.

use std::io;
use std::path::{Path, PathBuf};

use grading::report::GradeReport;
use output_files::digest::sha256;
use output_files::{OutputError, OutputFile, input};
use serde::{Deserialize, Serialize};

use crate::report::figures::{Tally, tally};

/// The two files of a submission; `None` for one that cannot be read.
pub type Files = [Option<Vec<u8>>; 2];

/// A verdict on a student's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The lab.
    pub lab: String,
    /// The folder of the files, from the course's root.
    pub folder: PathBuf,
    /// The digest of the files and of the rules that they were graded by: see [`key`].
    pub key: String,
    /// Points and cases.
    pub tally: Tally,
    /// Whether every case is right that was graded.
    pub is_right: bool,
    /// Whether speed was graded too, and has all points.
    pub is_fast: bool,
}

/// The digest of what a verdict depends on: the files, the lab file, the program.
pub fn key(files: &Files, lab_file: &str) -> String {
    let part = |file: &Option<Vec<u8>>| file.as_deref().map_or_else(String::new, sha256);
    let [kernels, launch] = files.each_ref().map(part);
    let program = env!("CARGO_PKG_VERSION");
    sha256(format!("{kernels} {launch} {} {program}", sha256(lab_file)))
}

impl Kept {
    /// The verdict of this report on the files in `folder`, a path from the course's root.
    pub fn of(report: &GradeReport, folder: &Path, key: String) -> Kept {
        let Tally {
            earned, possible, ..
        } = tally(report);
        let has_speed = report.device != "emulated" && !report.performance.is_empty();
        Kept {
            lab: report.lab.clone(),
            folder: folder.to_owned(),
            key,
            tally: tally(report),
            is_right: report.is_right(),
            is_fast: has_speed && earned >= possible,
        }
    }

    /// The one that is kept of this lab; none if there is none, or if it cannot be read: then it is
    /// made again.
    pub fn read(root: &Path, lab: &str) -> Option<Kept> {
        let text = input::own_text(&file(root, lab)).ok()?;
        let kept: Kept = serde_json::from_str(&text).ok()?;
        (kept.lab == lab).then_some(kept)
    }

    /// Keeps it.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn write(&self, root: &Path) -> Result<(), OutputError> {
        let target = file(root, &self.lab);
        let failed = |source: io::Error| output_files::not_written(&target, source);
        std::fs::create_dir_all(root.join(FOLDER)).map_err(failed)?;
        let text = serde_json::to_vec_pretty(self).expect("it has a JSON form");
        OutputFile::create("progress", &target)?.write_all(&text)?;
        Ok(())
    }
}

/// In the course's root; git does not see it.
const FOLDER: &str = ".progress";

fn file(root: &Path, lab: &str) -> PathBuf {
    root.join(FOLDER).join(format!("{lab}.json"))
}

/// The folder from the course's root; none if it lies elsewhere: then it is not the student's own
/// work on the labs here.
pub fn within(root: &Path, folder: &Path) -> Option<PathBuf> {
    let [root, folder] = [root, folder].map(|path| path.canonicalize().ok());
    folder?.strip_prefix(root?).ok().map(Path::to_owned)
}
