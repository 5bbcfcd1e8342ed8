//! Grades in this process, by a chosen number of host threads: the verdict must not depend on it.

use std::path::Path;

use grading::engine::job::{Answer, CaseJob};
use grading::engine::{CaseRunner, Extent, GradeError, Options, Packed, Quiet, Submitted, grade};
use grading::lab_spec::LabSpec;
use grading::worker::{Deadlines, Job, Phase, Watch, WorkerEnd};
use select::devices::{DeviceName, Named};

use super::grading::DRAW;
use super::{Corpus, Submission};
use crate::grade::{Failure, GradeReport, SubmissionId};

/// The numbers of host threads.
const THREADS: [usize; 3] = [1, 2, 8];

/// The seed of the inputs, and of the orders in which threads run.
const SEED: u64 = 7;

/// Grades a packed submission by each number of threads, each this often.
///
/// # Errors
///
/// Two grades with different verdicts, or a grade that could not be made.
pub fn has_one_verdict(
    corpus: &Corpus,
    submission: &Submission,
    times: u32,
) -> Result<Vec<String>, String> {
    let lab_file = corpus.lab_file(submission);
    let text = std::fs::read_to_string(&lab_file).map_err(|error| error.to_string())?;
    let lab_spec = LabSpec::parse(&text, "lab.toml").map_err(|error| error.to_string())?;
    let bundle = corpus.bundle(submission);
    let mut first: Option<Vec<String>> = None;
    for time in 0..times {
        for threads in THREADS {
            let report = graded(&bundle, &lab_spec, threads)?;
            let verdict = verdict(&report);
            let first = first.get_or_insert_with(|| verdict.clone());
            if *first != verdict {
                let name = &submission.name;
                return Err(format!(
                    "{name}, {threads} threads, time {time}: {verdict:#?}, and before {first:#?}"
                ));
            }
        }
    }
    Ok(first.unwrap_or_default())
}

/// The points and the messages of all cases.
fn verdict(report: &GradeReport) -> Vec<String> {
    let cases = report.cases.iter();
    cases
        .map(|case| {
            let failure = case.status.failure();
            let message = failure.map(|failure| failure.message.as_str());
            format!("{}: {:?} {message:?}", case.name, case.earned)
        })
        .collect()
}

/// Grades a bundle on the emulated device with this many host threads.
fn graded(bundle: &Path, lab_spec: &LabSpec, threads: usize) -> Result<GradeReport, String> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| error.to_string())?;
    let packed = Packed {
        file: bundle,
        is_ours: true,
    };
    let id = SubmissionId {
        name: "submission".to_owned(),
        sha256: None,
    };
    let options = Options {
        seed: Some(SEED),
        draw: Some(DRAW),
        ..Options::default()
    };
    let device = Extent::Whole.device(0, true);
    let submitted = Submitted {
        packed,
        id,
        lab_spec,
    };
    let on = Named {
        name: DeviceName::Emulated,
        device: &device,
    };
    pool.install(|| grade(submitted, on, &Here, &options, &mut Quiet))
        .map_err(|error| error.to_string())
}

/// Runs each case in this process.
struct Here;

impl CaseRunner for Here {
    fn run(&self, job: &CaseJob, _: &Deadlines<'_>) -> Result<WorkerEnd<Answer>, GradeError> {
        Ok(match job.work(&mut Unwatched) {
            Ok(answer) => WorkerEnd::Answer(Box::new(answer)),
            Err(why) => WorkerEnd::NoAnswer(why),
        })
    }
}

struct Unwatched;

impl Watch for Unwatched {
    fn enter(&mut self, _: Phase) {}

    fn failed(&mut self, _: &Failure) {}
}
