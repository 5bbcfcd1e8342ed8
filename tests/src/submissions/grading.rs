//! The program, started on a submission.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use harness::grade::GradeReport;
use rayon::prelude::*;

use super::corpus::{BUNDLE, Corpus, Submission};
use super::judge::judge;
use super::summary::Line;

/// How long a run may take: many times what the slowest honest one needs, on a busy machine too.
const DEADLINE_S: &str = "10";

/// The program, and what it grades on.
#[derive(Debug, Clone)]
pub struct Grader {
    /// The program: `harness`, or one that understands the same command line.
    pub program: PathBuf,
    /// `emulated` or `cuda`.
    pub device: String,
    /// For submissions' folders and reports.
    pub folder: PathBuf,
}

impl Grader {
    /// Grades `what`, a folder or a bundle.
    ///
    /// # Errors
    ///
    /// If there is no report.
    pub fn grade(&self, what: &Path, lab: &str, lab_file: &Path) -> Result<GradeReport, String> {
        let report = tempfile::Builder::new()
            .suffix(".json")
            .tempfile_in(&self.folder)
            .map_err(|error| error.to_string())?;
        let output = self.run(&[
            "grade".as_ref(),
            what,
            "--lab".as_ref(),
            lab.as_ref(),
            "--lab-file".as_ref(),
            lab_file,
            "--device".as_ref(),
            self.device.as_ref(),
            "--deadline".as_ref(),
            DEADLINE_S.as_ref(),
            "-o".as_ref(),
            report.path(),
        ])?;
        let text = std::fs::read_to_string(report.path()).unwrap_or_default();
        serde_json::from_str(&text).map_err(|error| {
            format!(
                "no report ({error}): {}, {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            )
        })
    }

    /// Packs a folder; the program's message if it is refused.
    ///
    /// # Errors
    ///
    /// What the program says.
    pub fn pack(
        &self,
        dir: &Path,
        lab: &str,
        lab_file: &Path,
        bundle: &Path,
    ) -> Result<(), String> {
        let output = self.run(&[
            "pack".as_ref(),
            dir,
            "--lab".as_ref(),
            lab.as_ref(),
            "--lab-file".as_ref(),
            lab_file,
            "-o".as_ref(),
            bundle,
        ])?;
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn run(&self, args: &[&Path]) -> Result<Output, String> {
        Command::new(&self.program)
            .args(args)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))
    }

    /// Grades a submission of the corpus, packed or not, and judges the report.
    pub fn line(&self, corpus: &Corpus, submission: &Submission) -> Line {
        let start = Instant::now();
        let result = self
            .graded(corpus, submission)
            .and_then(|report| judge(&submission.expectation, &report, &self.device));
        Line {
            submission: submission.clone(),
            result,
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    fn graded(&self, corpus: &Corpus, submission: &Submission) -> Result<GradeReport, String> {
        let lab = &submission.expectation.lab;
        let lab_file = corpus.lab_file(submission);
        let bundle = submission.dir.join(BUNDLE);
        if bundle.exists() {
            return self.grade(&bundle, lab, &lab_file);
        }
        let dir = self
            .folder
            .join(submission.side.name())
            .join(&submission.name);
        corpus.assemble(submission, &dir)?;
        self.grade(&dir, lab, &lab_file)
    }

    /// Grades all of them, some more at once than there are cores: those that never end spend their time waiting.
    ///
    /// # Errors
    ///
    /// If threads cannot be started.
    pub fn lines(&self, corpus: &Corpus, submissions: &[Submission]) -> Result<Vec<Line>, String> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(cores + 2)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(pool.install(|| {
            submissions
                .par_iter()
                .with_max_len(1)
                .map(|submission| self.line(corpus, submission))
                .collect()
        }))
    }
}
