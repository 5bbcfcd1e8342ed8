//! How a grade comes about: a trusted process owns device, inputs, clock and verdict.
//!
//! A submission is PTX and plans: data. What it can do is what its kernels do on the device, and
//! that is bounded like this:
//!
//! - *inputs* are fresh for every sample, from a secret seed: nothing can be computed before, or
//!   remembered;
//! - *memory* that is not an input is poisoned before each sample; guard bands lie around every
//!   buffer, or, on the emulated device, every access is checked; what the lab only reads must be
//!   unchanged; the module is loaded again with its globals; the reference's results are
//!   overwritten before their memory is given back;
//! - *every value* of every output of every sample is compared, timed ones included;
//! - *time* is the device's and must agree with the host's; none may be shorter than the device
//!   needs for the bytes that any solution moves; the reference runs in turn with the submission,
//!   in random order;
//! - *races* and the like, which a GPU may not show, are looked for on the emulated device: see
//!   `emulated`;
//! - *each case* runs in a process of its own with a deadline for each run, and on the emulated
//!   device for all of them: see [`worker`](crate::worker).
//!
//! | module         | what it holds                                                          |
//! |----------------|------------------------------------------------------------------------|
//! | this one       | the plan of a grade, step by step: the report                          |
//! | `options`      | how to grade, and the one that is told how far it is                   |
//! | [`mod@open`]   | a bundle, read and checked by a worker                                 |
//! | `bundle_check` | whether a bundle fits the lab file                                     |
//! | `emulated`     | checks on the emulated device of what a GPU does not show              |
//! | `grading`      | all cases of a submission, each a job for a worker                     |
//! | `runner`       | where cases run: in worker processes                                   |
//! | `patience`     | the time and fuel of a case after others that did not end              |
//! | [`job`]        | one case, as its worker gets it, and what that answers                 |
//! | `case`         | the work on it: runs of the submission, each compared                  |
//! | `wrong_result` | the diagnosis of a wrong result                                        |
//! | `expected`     | which results are right                                                |
//! | `run`          | one run in isolation                                                   |
//! | `speed`        | the time of a case, beside a reference                                 |
//! | [`sampling`]   | samples of time, and when there are enough                             |
//! | `ceiling`      | the shortest time that can be believed                                 |
//! | `seeds`        | fresh inputs                                                           |

mod bundle_check;
mod case;
mod ceiling;
mod emulated;
mod error;
mod expected;
mod grading;
pub mod job;
pub mod open;
mod options;
mod orders;
mod patience;
mod replayed;
mod run;
mod runner;
pub mod sampling;
mod seeds;
mod speed;
#[cfg(test)]
mod tests;
mod wrong_result;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use device::{Device, DeviceKind};
use output_files::ScratchFolder;
use output_files::digest::sha256;
use select::devices::Named;

use forge::Place;

use crate::lab_spec::{CaseSpec, Group, LabSpec};
use crate::outcome::{Failure, NoResult, Outcome};
use crate::report::{
    CaseGrade, Checks, CountGrade, GradeReport, PerformanceGrade, Protection, SubmissionId,
};
use crate::worker::{Clock, Deadlines, WorkerEnd, WorkerError, describe_exit};
pub use emulated::Extent;
pub use error::GradeError;
use grading::Grading;
use job::Answer;
use open::{LARGE, OpenJob, Opened};
pub use options::{Options, Quiet, Replays, Show, Unchecked};
pub use runner::{CaseRunner, WithSource, Workers};
pub use seeds::Seeds;

/// How long reading and checking a bundle may take.
const OPENING: Duration = Duration::from_secs(120);

/// A bundle to grade.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'p> {
    /// Its file, which nothing in this process reads.
    pub file: &'p Path,
    /// Whether this machine packed it just now. Otherwise the protections that it names are its
    /// author's claim.
    pub is_ours: bool,
}

/// A submission, and what it is graded by.
#[derive(Debug)]
pub struct Submitted<'s> {
    /// Its bundle.
    pub packed: Packed<'s>,
    /// Whose grade this is.
    pub id: SubmissionId,
    /// The lab file.
    pub lab_spec: &'s LabSpec,
}

/// Grades a bundle on a device, which the processes that run the cases find by its name.
///
/// # Errors
///
/// An error that keeps it from being graded at all, through no fault of the submission's.
pub fn grade(
    submitted: Submitted<'_>,
    on: Named<'_>,
    runner: &dyn CaseRunner,
    options: &Options,
    show: &mut dyn Show,
) -> Result<GradeReport, GradeError> {
    let began = Instant::now();
    let Submitted {
        packed,
        id,
        lab_spec,
    } = submitted;
    let (name, kind) = (on.name, on.device.info().kind);
    let seeds = match options.seed {
        Some(base) => Seeds(base),
        None => Seeds::secret()?,
    };
    let mut report = blank(id, lab_spec, name.to_string(), Some(on.device), options);
    let parts = ScratchFolder::new("grade").map_err(GradeError::NoScratch)?;
    let opened = match open(packed, lab_spec, parts.path(), on.device, runner, options)? {
        Ok(opened) => opened,
        Err(NoResult::Failed(failure)) => return Ok(refused(report, lab_spec, failure)),
        Err(why) => return Ok(ended(report, lab_spec, &why)),
    };
    let drawn = opened.draw.map(|draw| lab_spec.drawn(draw));
    let lab_spec = drawn.as_ref().unwrap_or(lab_spec);
    report.draw = lab_spec.draw.filter(|_| options.draw.is_some());
    report.submission.sha256 = Some(opened.sha256);
    report.protections.extend(opened.protections);
    report.notes.extend(opened.notes);
    report.protections.extend(protections(kind));
    let grading = Grading::new(parts.path(), lab_spec, seeds, name, runner, options);
    // All of it before anything runs on the GPU: what it times has the machine to itself.
    let mut checks = match kind {
        DeviceKind::Cuda => grading.check_on_emulated(&opened.cases, show)?,
        DeviceKind::Emulated => BTreeMap::new(),
    };
    for (index, (spec, plan)) in lab_spec.cases.iter().zip(opened.cases).enumerate() {
        show.case(&spec.name, index + 1, lab_spec.cases.len());
        let check = checks.remove(&spec.name);
        let mut answer = grading.answer(spec, plan, check.as_ref(), show)?;
        let made = check.map(|check| check.add_to(&mut answer, options.unchecked));
        add(&mut report, spec, answer, made);
    }
    in_file_order(&mut report.performance, lab_spec);
    add_counted(&mut report, lab_spec);
    let sources = runner.sources();
    for case in &mut report.cases {
        if let Outcome::Failed(failure) = &mut case.status {
            quote(&mut failure.places, &sources);
        }
    }
    if let Some((case, wish)) = replayed::chosen(&report.cases, &options.replay) {
        match grading.replay(case, wish, sources, show)? {
            Ok(replayed) => report.replayed = Some(replayed),
            Err(why) => report.notes.push(why),
        }
    }
    report.notes.extend(grading.without_messages());
    report.notes.extend(how_to_repeat(&report, seeds, options));
    report.elapsed_s = began.elapsed().as_secs_f64();
    Ok(report.with_totals())
}

/// How a submission that is not right is graded with the same inputs once more, where its grader
/// cannot know.
fn how_to_repeat(report: &GradeReport, seeds: Seeds, options: &Options) -> Option<String> {
    if report.is_right() || options.seed.is_some() {
        return None;
    }
    let draw = report.draw.map(|draw| format!(" --draw {draw}"));
    Some(format!(
        "--seed {}{} gives the same inputs again",
        seeds.0,
        draw.unwrap_or_default()
    ))
}

/// The report of a submission that failed before it could be run at all.
pub fn refused(mut report: GradeReport, lab_spec: &LabSpec, failure: Failure) -> GradeReport {
    report.refused = Some(failure.clone());
    ended(report, lab_spec, &failure.into())
}

/// The report of a submission whose cases all have no result, for this reason.
fn ended(mut report: GradeReport, lab_spec: &LabSpec, why: &NoResult) -> GradeReport {
    let device = report.device_info.as_ref().map(|device| device.kind);
    for spec in &lab_spec.cases {
        // Of one total for all submissions.
        let why = match (device, spec.group) {
            (Some(DeviceKind::Emulated), Group::Large) => NoResult::not_graded_here(LARGE),
            _ => why.clone(),
        };
        let answer = Answer::without_samples(why, lab_spec, spec);
        add(&mut report, spec, answer, None);
    }
    in_file_order(&mut report.performance, lab_spec);
    add_counted(&mut report, lab_spec);
    report.with_totals()
}

/// Has a process open the bundle; if nothing of it can be graded, why that is so.
fn open(
    packed: Packed<'_>,
    lab_spec: &LabSpec,
    parts: &Path,
    device: &dyn Device,
    runner: &dyn CaseRunner,
    options: &Options,
) -> Result<Result<Opened, NoResult>, GradeError> {
    let job = OpenJob {
        bundle: packed.file.to_owned(),
        is_ours: packed.is_ours,
        parts: parts.to_owned(),
        lab_file: lab_spec.file.clone(),
        lab_text: lab_spec.text.clone(),
        draw: options.draw,
        device: device.info().clone(),
    };
    let deadlines = Deadlines {
        submission: OPENING,
        all_runs: None,
        ours: OPENING,
        clock: Clock::Wall,
    };
    let why = match runner.open(&job, &deadlines)? {
        WorkerEnd::Answer(opened) if opened.cases.len() == lab_spec.cases.len() => {
            return Ok(Ok(*opened));
        }
        WorkerEnd::Answer(_) => return Err(WorkerError::Protocol("other cases".to_owned()).into()),
        WorkerEnd::NoAnswer(why) => return Ok(Err(why)),
        WorkerEnd::TimedOut(_) => format!("it took more than {} s", OPENING.as_secs()),
        WorkerEnd::Died { exit, said, .. } => describe_exit(&exit, &said),
    };
    Ok(Err(NoResult::undecided(format!(
        "the bundle could not be opened within its limits of time and memory: {why}"
    ))))
}

/// A report of nothing yet. `device_name` is what users call the device.
pub fn blank(
    id: SubmissionId,
    lab_spec: &LabSpec,
    device_name: String,
    device: Option<&dyn Device>,
    options: &Options,
) -> GradeReport {
    let mut report = GradeReport::new(id, &*lab_spec.name, device_name);
    report.lab_file_sha256 = Some(sha256(&lab_spec.text));
    report.device_info = device.map(|device| device.info().clone());
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    report.started_unix_s = since_1970.map(|time| time.as_secs());
    report.seed = options.seed;
    report
}

/// Adds the text of their lines to the places in these files.
fn quote(places: &mut [Place], sources: &BTreeMap<String, String>) {
    for place in places {
        let lines = sources.get(&place.file).map(|text| text.lines());
        let line = lines.and_then(|mut lines| lines.nth((place.line as usize).checked_sub(1)?));
        place.text = line.unwrap_or_default().to_owned();
    }
}

fn add(report: &mut GradeReport, spec: &CaseSpec, answer: Answer, checks: Option<Checks>) {
    report.cases.push(CaseGrade {
        name: spec.name.clone(),
        group: spec.group,
        points: spec.points,
        earned: match answer.status {
            Outcome::Passed => spec.points,
            _ => 0.0,
        },
        status: answer.status,
        samples: answer.samples,
        counts: answer.counts,
        checks,
        printed: answer.printed,
    });
    report.performance.extend(answer.performance);
}

/// Timings in the order of the lab file, which need not be that of its cases.
fn in_file_order(performance: &mut [PerformanceGrade], lab_spec: &LabSpec) {
    performance.sort_by_key(|timed| {
        let mut entries = lab_spec.performance.iter();
        entries.position(|entry| entry.case == timed.case && entry.against == timed.against)
    });
}

/// The counts that earn points.
fn add_counted(report: &mut GradeReport, lab_spec: &LabSpec) {
    for spec in &lab_spec.counted {
        let mut cases = report.cases.iter();
        let case = cases.find(|case| case.name == spec.case);
        let graded = case.map(|case| CountGrade::new(spec, case));
        report.counted.extend(graded);
    }
}

/// The engine's protections, and those of this device.
fn protections(kind: DeviceKind) -> Vec<Protection> {
    let mut all = vec![
        (
            "fresh inputs",
            "every sample's inputs follow from a seed of its own; outputs are poisoned before and compared in full after",
        ),
        (
            "fresh module",
            "kernels are loaded again for every sample, with all their globals",
        ),
        (
            "own process",
            "each case runs in a process of its own, with a deadline for each run",
        ),
    ];
    match kind {
        DeviceKind::Emulated => all.push((
            "checked accesses",
            "every access is checked: bounds, races, reads of memory that was never written",
        )),
        // The cases say for which of them checks were possible.
        DeviceKind::Cuda => all.extend([
            (
                "guard bands",
                "writes up to 256 KiB outside a buffer are seen",
            ),
            (
                "checked accesses",
                "small and hidden cases run on the emulated device too, where every access is checked; blocks of large ones, for races, barriers and unwritten memory of their own",
            ),
        ]),
    }
    let protection = |(name, detail): (&str, &str)| Protection {
        name: name.to_owned(),
        in_force: true,
        detail: detail.to_owned(),
    };
    all.into_iter().map(protection).collect()
}
