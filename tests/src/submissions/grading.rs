//! The program, started on submissions, and the table of results.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use rayon::prelude::*;

use super::{Corpus, Side, Submission, check};
use crate::grade::GradeReport;

/// The deadline of a run in seconds: many times the time of the slowest honest one, even on a busy
/// machine.
const DEADLINE_S: &str = "10";

/// The seed for drawn cases of bundles. Cases of folders are drawn again for each.
const DRAW: &str = "20261122";

/// The program, and its device.
#[derive(Debug, Clone)]
pub struct Grader {
    /// `harness`, or a program that understands the same command line.
    pub program: PathBuf,
    /// `emulated` or `cuda`.
    pub device: String,
    /// An empty folder, for submissions' folders and reports.
    pub scratch: PathBuf,
}

impl Grader {
    /// Grades a folder or a bundle.
    ///
    /// # Errors
    ///
    /// If the program gives no report.
    pub fn grade(
        &self,
        submission: &Path,
        lab: &str,
        lab_file: &Path,
    ) -> Result<GradeReport, String> {
        self.grade_as(submission, lab, lab_file, |_| {})
    }

    /// The same, with a change of the command.
    ///
    /// # Errors
    ///
    /// If the program gives no report.
    pub fn grade_as(
        &self,
        submission: &Path,
        lab: &str,
        lab_file: &Path,
        change: impl FnOnce(&mut Command),
    ) -> Result<GradeReport, String> {
        let report = tempfile::Builder::new()
            .suffix(".json")
            .tempfile_in(&self.scratch)
            .map_err(|error| error.to_string())?;
        let mut command = self.command("grade", submission, lab, lab_file, report.path());
        command.args(["--device", &self.device, "--deadline", DEADLINE_S]);
        if submission.is_file() {
            command.args(["--draw", DRAW]);
        }
        change(&mut command);
        let output = self.run(command)?;
        let text = std::fs::read_to_string(report.path()).unwrap_or_default();
        serde_json::from_str(&text).map_err(|error| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            format!("no report ({error}): {}, {stderr}", output.status)
        })
    }

    /// Packs a folder.
    ///
    /// # Errors
    ///
    /// The program's message if the submission is refused.
    pub fn pack(
        &self,
        folder: &Path,
        lab: &str,
        lab_file: &Path,
        bundle: &Path,
    ) -> Result<(), String> {
        let mut command = self.command("pack", folder, lab, lab_file, bundle);
        command.args(["--draw", DRAW]);
        let output = self.run(command)?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn command(
        &self,
        name: &str,
        submission: &Path,
        lab: &str,
        lab_file: &Path,
        output: &Path,
    ) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(name).arg(submission).args(["--lab", lab]);
        command
            .arg("--lab-file")
            .arg(lab_file)
            .arg("-o")
            .arg(output)
            // On a machine without Landlock, the other means must suffice.
            .arg("--without-landlock");
        command
    }

    fn run(&self, mut command: Command) -> Result<Output, String> {
        command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))
    }

    /// Grades a submission of the corpus, from its bundle if there is one, and compares the report
    /// with the expectation.
    pub fn row(&self, corpus: &Corpus, submission: &Submission) -> Row {
        let start = Instant::now();
        let result = self
            .graded(corpus, submission)
            .and_then(|report| check(submission, &report, &self.device));
        Row {
            submission: submission.clone(),
            result,
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    fn graded(&self, corpus: &Corpus, submission: &Submission) -> Result<GradeReport, String> {
        let lab_file = corpus.lab_file(submission);
        let bundle = corpus.bundle(submission);
        if bundle.exists() {
            return self.grade(&bundle, &submission.lab, &lab_file);
        }
        let folder = self.scratch.join(&submission.name);
        corpus.write(submission, &folder)?;
        self.grade(&folder, &submission.lab, &lab_file)
    }

    /// Grades several submissions at a time, some more than the number of cores: those that never
    /// end spend their time waiting. On a GPU, submissions whose speed counts come after that, one
    /// at a time.
    ///
    /// # Errors
    ///
    /// If threads cannot be started.
    pub fn rows(&self, corpus: &Corpus, submissions: &[Submission]) -> Result<Vec<Row>, String> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(cores + 2)
            .build()
            .map_err(|error| error.to_string())?;
        let is_alone =
            |submission: &Submission| self.device == "cuda" && submission.verdict.is_timed();
        let row = |submission| self.row(corpus, submission);
        let together = pool.install(|| {
            let submissions = submissions.par_iter().with_max_len(1);
            submissions
                .map(|submission| (!is_alone(submission)).then(|| row(submission)))
                .collect::<Vec<_>>()
        });
        let rows = submissions.iter().zip(together);
        Ok(rows
            .map(|(submission, done)| done.unwrap_or_else(|| row(submission)))
            .collect())
    }
}

/// The result of a submission.
#[derive(Debug)]
pub struct Row {
    /// The submission.
    pub submission: Submission,
    /// A word if it is as expected; otherwise the difference.
    pub result: Result<String, String>,
    /// The time that the grade took.
    pub seconds: f64,
}

impl Row {
    /// Its line of the table.
    pub fn line(&self) -> String {
        let (mark, what) = match &self.result {
            Ok(what) => ("ok  ", what.as_str()),
            Err(_) => ("MISS", "not as expected"),
        };
        let (side, name) = (self.submission.side.name(), &self.submission.name);
        format!(
            "{mark}  {side:8} {name:32} {what:20} {:6.1} s\n",
            self.seconds
        )
    }
}

/// The text below the table: the rows that are not as expected, and the rates.
pub fn summary(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        if let Err(miss) = &row.result {
            let it = &row.submission;
            text += &format!("\n{} ({}): {}\n", it.name, it.side.name(), it.about);
            text += &format!("    expected: {}\n    {miss}\n", it.verdict);
        }
    }
    // The number of submissions that are as expected, and the number of all.
    let rate = |side| {
        let of_side: Vec<&Row> = rows
            .iter()
            .filter(|row| row.submission.side == side)
            .collect();
        let as_expected = of_side.iter().filter(|row| row.result.is_ok()).count();
        (as_expected, of_side.len())
    };
    let (killed, hostile) = rate(Side::Hostile);
    let (passed, honest) = rate(Side::Honest);
    let failed = honest - passed;
    text + &format!(
        "\nkill rate: {killed} of {hostile} hostile submissions; false positives: {failed} of {honest} honest ones\n"
    )
}

/// Whether all is as expected.
pub fn is_perfect(rows: &[Row]) -> bool {
    rows.iter().all(|row| row.result.is_ok())
}
