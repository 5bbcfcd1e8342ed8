//! The program, started on submissions, and the table of results.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::{Class, Corpus, ExpectedVerdict, Side, Submission, check};
use crate::grade::{GradeReport, Times};

/// The deadline of a run in seconds: many times the time of the slowest honest one, even on a busy
/// machine.
pub(super) const DEADLINE_S: &str = "10";

/// The seed for drawn cases of bundles. Cases of folders are drawn again in each call.
pub(super) const DRAW: u64 = 20261122;

/// The most submissions that one call grades. One call asks the compilers once what they are, and
/// several calls keep all cores busy.
const CLASS: usize = 8;

/// The program, and its device.
#[derive(Debug, Clone)]
pub struct Grader {
    /// `harness`, or a program that understands the same command line.
    pub program: PathBuf,
    /// `emulated` or `cuda`.
    pub device: String,
    /// An empty folder, for submissions' folders and reports.
    pub scratch: PathBuf,
    /// The seed of inputs and orders of threads; a secret one for each grade without it.
    pub seed: Option<u64>,
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

    /// Grades a folder or a bundle, with a change of the command.
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
        self.grade_drawn(submission, (lab, lab_file), DRAW, change)
    }

    /// Grades a folder, or a bundle whose hidden cases were drawn from `draw`, with a change of the
    /// command.
    ///
    /// # Errors
    ///
    /// If the program gives no report.
    pub fn grade_drawn(
        &self,
        submission: &Path,
        (lab, lab_file): (&str, &Path),
        draw: u64,
        change: impl FnOnce(&mut Command),
    ) -> Result<GradeReport, String> {
        let report = tempfile::Builder::new()
            .suffix(".json")
            .tempfile_in(&self.scratch)
            .map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.program);
        command.arg("grade").arg(submission).args(["--lab", lab]);
        command.arg("--lab-file").arg(lab_file);
        command.arg("-o").arg(report.path());
        command.args(["--device", &self.device, "--deadline", DEADLINE_S]);
        // On a machine without Landlock, the other means must suffice.
        command.arg("--without-isolation").stdin(Stdio::null());
        if submission.is_file() {
            command.args(["--draw", &draw.to_string()]);
        }
        if let Some(seed) = self.seed {
            command.args(["--seed", &seed.to_string()]);
        }
        change(&mut command);
        let output = command
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        let text = std::fs::read_to_string(report.path()).unwrap_or_default();
        serde_json::from_str(&text).map_err(|error| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            format!("no report ({error}): {}, {stderr}", output.status)
        })
    }

    /// Grades a submission of the corpus, from its bundle if there is one, and compares the report
    /// with the expectation.
    pub fn row(&self, corpus: &Corpus, submission: &Submission) -> Row {
        let start = Instant::now();
        let graded = self.graded(corpus, submission);
        let times = graded.as_ref().map(times).unwrap_or_default();
        Row {
            submission: submission.clone(),
            result: graded.and_then(|report| check(submission, &report, &self.device)),
            times,
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

    /// Grades submissions without bundles by one call, on the emulated device, and compares each
    /// report with the expectation. They have one lab file.
    fn rows_of_class(&self, corpus: &Corpus, submissions: &[&Submission]) -> Vec<Row> {
        let start = Instant::now();
        let folder = self.scratch.join(&submissions[0].name);
        let class = Class::of(corpus, submissions, &folder);
        let rows = class.and_then(|class| {
            class.grade(&self.program, self.seed)?;
            class.rows(start.elapsed().as_secs_f64())
        });
        rows.unwrap_or_else(|error| {
            let row = |submission: &&Submission| Row {
                submission: (*submission).clone(),
                result: Err(error.clone()),
                times: String::new(),
                seconds: start.elapsed().as_secs_f64(),
            };
            submissions.iter().map(row).collect()
        })
    }

    /// The submissions, those together that one call grades.
    fn calls<'s>(
        &self,
        corpus: &Corpus,
        submissions: &[&'s Submission],
    ) -> Vec<Vec<&'s Submission>> {
        let is_alone = |it: &&&Submission| self.device == "cuda" || corpus.bundle(it).exists();
        let (alone, mut others): (Vec<&Submission>, Vec<_>) =
            submissions.iter().partition(is_alone);
        others.sort_by_key(|it| corpus.lab_file(it));
        let by_lab_file = others.chunk_by(|a, b| corpus.lab_file(a) == corpus.lab_file(b));
        let classes = by_lab_file.flat_map(|of_lab| of_lab.chunks(CLASS));
        let alone = alone.into_iter().map(|submission| vec![submission]);
        classes.map(<[_]>::to_vec).chain(alone).collect()
    }

    /// Grades several submissions at a time, some more than the number of cores: those that never
    /// end spend their time waiting. On a GPU, what is not as expected is graded once more, alone,
    /// since times that are taken beside others may not be trusted; after that, also alone, come
    /// submissions whose speed decides. There they start in their order. None starts when the time
    /// is over; `tell` gets each row at once.
    pub fn rows(
        &self,
        corpus: &Corpus,
        submissions: &[Submission],
        until: Option<Instant>,
        tell: &(dyn Fn(&Row) + Sync),
    ) -> Vec<Row> {
        let is_gpu = self.device == "cuda";
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let is_over = || until.is_some_and(|until| Instant::now() >= until);
        let counts = |submission: &Submission| submission.verdict == ExpectedVerdict::Harmless;
        let (timed, others): (Vec<&Submission>, Vec<_>) =
            submissions.iter().partition(|it| is_gpu && counts(it));
        let calls = self.calls(corpus, &others);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut rows = Vec::new();
            while !is_over()
                && let Some(call) = calls.get(next.fetch_add(1, Ordering::Relaxed))
            {
                let graded = match call[..] {
                    [submission] => vec![self.row(corpus, submission)],
                    _ => self.rows_of_class(corpus, call),
                };
                graded.iter().for_each(tell);
                rows.extend(graded);
            }
            rows
        };
        let mut rows: Vec<Row> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..cores + 2).map(|_| scope.spawn(work)).collect();
            let rows = workers.into_iter().map(|worker| worker.join());
            rows.flat_map(|rows| rows.expect("no worker panics"))
                .collect()
        });
        for row in rows.iter_mut().filter(|row| is_gpu && row.result.is_err()) {
            if !is_over() {
                *row = self.row(corpus, &row.submission);
                tell(row);
            }
        }
        for submission in timed {
            if !is_over() {
                let row = self.row(corpus, submission);
                tell(&row);
                rows.push(row);
            }
        }
        rows
    }
}

/// The result of a submission.
#[derive(Debug)]
pub struct Row {
    /// The submission.
    pub submission: Submission,
    /// A word if it is as expected; otherwise the difference.
    pub result: Result<String, String>,
    /// The times that the grade measured: a line for each.
    pub times: String,
    /// The time that the grade took; of a class's, the mean.
    pub seconds: f64,
}

/// The times of a report: a line for each.
fn times(report: &GradeReport) -> String {
    let median = |times: &Option<Times>| match times {
        Some(times) => format!("{:.2} us", times.median_s * 1e6),
        None => "none".to_owned(),
    };
    let timed = report
        .performance
        .iter()
        .filter(|timed| timed.submission.is_some());
    let lines = timed.map(|timed| {
        let (own, reference) = (median(&timed.submission), median(&timed.reference));
        format!("      {}: {own}, reference {reference}\n", timed.case)
    });
    lines.collect()
}

impl Row {
    /// Its line of the table, with those of its times.
    pub fn line(&self) -> String {
        let (mark, what) = match &self.result {
            Ok(what) => ("ok  ", what.as_str()),
            Err(_) => ("MISS", "not as expected"),
        };
        let (side, name) = (self.submission.side.name(), &self.submission.name);
        format!(
            "{mark}  {side:8} {name:32} {what:20} {:6.1} s\n{}",
            self.seconds, self.times
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
