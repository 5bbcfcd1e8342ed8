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
//! | this one       | all cases of a submission: the report                                  |
//! | [`open`]       | a bundle, read and checked by a worker                                 |
//! | `bundle_check` | whether a bundle fits the lab file                                     |
//! | `emulated`     | checks on the emulated device of what a GPU does not show              |
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
pub mod job;
pub mod open;
mod patience;
mod run;
mod runner;
pub mod sampling;
mod seeds;
mod speed;
#[cfg(test)]
mod tests;
mod wrong_result;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use device::{Device, DeviceKind};
use output_files::ScratchFolder;
use output_files::digest::sha256;

use crate::lab_spec::{CaseSpec, Group, LabSpec};
use crate::outcome::{Category, Failure, Kind, NoResult, Outcome, Panic};
use crate::report::{
    CaseGrade, Checks, CountGrade, GradeReport, PerformanceGrade, Protection, SubmissionId,
};
use crate::worker::{Clock, Deadlines, Exit, Phase, WorkerEnd, WorkerError, describe_exit};
pub use emulated::Extent;
use emulated::not_to_its_end;
pub use error::GradeError;
use job::{Answer, CaseJob, DeviceName};
use open::{LARGE, OpenJob, Opened};
use patience::Patience;
pub use runner::{CaseRunner, WithSource, Workers};
use sampling::Stopping;
pub use seeds::Seeds;

/// How to grade.
#[derive(Debug, Clone)]
pub struct Options {
    /// The number that all inputs follow from; secret and fresh if it is not given.
    pub seed: Option<u64>,
    /// The number that the parameters of drawn cases follow from, if the grader chose it. A bundle
    /// may say anything: of one with another number nothing is graded, and without this its drawn
    /// cases are not.
    pub draw: Option<u64>,
    /// How long a single run of the submission may take.
    pub deadline: Duration,
    /// How long all runs of the submission may take together, where the emulated device grades
    /// them.
    pub total_deadline: Duration,
    /// Runs with fresh inputs of a case that is not timed.
    pub samples: u32,
    /// When there are enough timed samples.
    pub stopping: Stopping,
    /// How long the emulated device may check the cases of one submission before a GPU grades them.
    pub emulated_checks: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: None,
            draw: None,
            deadline: Duration::from_secs(60),
            total_deadline: Duration::from_secs(600),
            samples: 2,
            stopping: Stopping::default(),
            emulated_checks: Duration::from_secs(60),
        }
    }
}

/// How long reading and checking a bundle may take.
const OPENING: Duration = Duration::from_secs(120);

/// How long one piece of the harness's own work may take: the reference of the largest case, on few
/// cores.
const OURS: Duration = Duration::from_secs(1800);

/// Is told which case is next.
pub trait Show {
    /// The submission that is packed now.
    fn packing(&mut self, _name: &str) {}

    /// The case that is graded now, and which of how many it is.
    fn case(&mut self, _name: &str, _number: usize, _of: usize) {}

    /// The kernels are compiled once more, for the messages of panics.
    fn compiling_messages(&mut self) {}

    /// The case that the emulated device checks now.
    fn emulated_check(&mut self, _name: &str) {}
}

/// Shows nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Show for Quiet {}

/// A bundle to grade.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'p> {
    /// Its file, which nothing in this process reads.
    pub file: &'p Path,
    /// Whether this machine packed it just now. Otherwise the protections that it names are its
    /// author's claim.
    pub is_ours: bool,
}

/// Grades a bundle on a device, which `name` names for the processes that run the cases.
///
/// # Errors
///
/// An error that keeps it from being graded at all, through no fault of the submission's.
pub fn grade(
    packed: Packed<'_>,
    id: SubmissionId,
    lab_spec: &LabSpec,
    (name, device): (DeviceName, &dyn Device),
    runner: &dyn CaseRunner,
    options: &Options,
    show: &mut dyn Show,
) -> Result<GradeReport, GradeError> {
    let began = Instant::now();
    let seeds = match options.seed {
        Some(base) => Seeds(base),
        None => Seeds::secret()?,
    };
    let mut report = blank(id, lab_spec, name.to_string(), Some(device), options);
    let parts = ScratchFolder::new("grade").map_err(GradeError::NoScratch)?;
    let opened = match open(packed, lab_spec, parts.path(), device, runner, options)? {
        Ok(opened) => opened,
        Err(NoResult::Failed(failure)) => return Ok(refused(report, lab_spec, failure)),
        Err(why) => return Ok(ended(report, lab_spec, &why)),
    };
    report.submission.sha256 = Some(opened.sha256);
    report.protections.extend(opened.protections);
    report.protections.extend(protections(device.info().kind));
    let drawn = opened.draw.map(|draw| lab_spec.drawn(draw));
    let lab_spec = drawn.as_ref().unwrap_or(lab_spec);
    report.draw = lab_spec.draw.filter(|_| options.draw.is_some());
    let grading = Grading {
        parts: parts.path(),
        lab_spec,
        seeds,
        name,
        left: Cell::new(options.total_deadline),
        patience: RefCell::default(),
        runner,
        options,
        has_messages: OnceCell::new(),
    };
    let plans_checked = opened.cases;
    let mut checked_on_emulated = BTreeMap::new();
    if device.info().kind != DeviceKind::Emulated {
        let may_run = lab_spec
            .cases
            .iter()
            .zip(&plans_checked)
            .filter_map(|(spec, checked)| checked.is_ok().then_some(spec));
        // All of it before anything runs on the GPU: what it times has the machine to itself.
        checked_on_emulated = grading.check_on_emulated(may_run.collect(), show)?;
    }
    for (index, (spec, plan_checked)) in lab_spec.cases.iter().zip(plans_checked).enumerate() {
        show.case(&spec.name, index + 1, lab_spec.cases.len());
        let (checks, found) = checked_on_emulated.remove(&spec.name).unzip();
        let (checks, counts) = checks.unzip();
        let answer = match (plan_checked, found.flatten()) {
            (Err(why), _) => Answer::without_samples(why, lab_spec, spec),
            (Ok(()), Some(fault)) if fault.category != Category::Wrong => {
                Answer::without_samples(fault.into(), lab_spec, spec)
            }
            (Ok(()), wrong) => match (grading.run(spec, show)?, wrong) {
                (answer, Some(wrong)) if answer.status == Outcome::Passed => {
                    let failure = correct_by_chance(wrong);
                    Answer::without_samples(failure.into(), lab_spec, spec)
                }
                (answer, _) => answer,
            },
        };
        let (checks, printed) = checks.unzip();
        let mut answer = answer;
        // A GPU's driver writes it elsewhere.
        answer.printed += &printed.unwrap_or_default();
        // A GPU counts nothing.
        answer.counts.extend(counts.unwrap_or_default());
        add(&mut report, spec, answer, checks);
    }
    in_file_order(&mut report.performance, lab_spec);
    add_counted(&mut report, lab_spec);
    if let Some(Err(reason)) = grading.has_messages.get() {
        let note = format!("the messages of panics are not known: {reason}");
        report.notes.push(note);
    }
    if !report.is_right() && options.seed.is_none() {
        let draw = report.draw.map(|draw| format!(" --draw {draw}"));
        let note = format!(
            "--seed {}{} gives the same inputs again",
            seeds.0,
            draw.unwrap_or_default()
        );
        report.notes.push(note);
    }
    report.elapsed_s = began.elapsed().as_secs_f64();
    Ok(report.with_totals())
}

/// The report of a submission that failed before it could be run at all.
pub fn refused(mut report: GradeReport, lab_spec: &LabSpec, failure: Failure) -> GradeReport {
    report.refused = Some(failure.clone());
    ended(report, lab_spec, &failure.into())
}

/// The report of a submission of which no case has a result, for this reason.
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
    let mut report = GradeReport::new(id, lab_spec.lab.name, device_name);
    report.lab_file_sha256 = Some(sha256(&lab_spec.text));
    report.device_info = device.map(|device| device.info().clone());
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    report.started_unix_s = since_1970.map(|time| time.as_secs());
    report.seed = options.seed;
    report
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

/// The emulated device's checks of a case that a GPU grades, the text that kernels printed
/// meanwhile, the counts, and the failure that was found.
type Checked = (((Checks, String), BTreeMap<String, u64>), Option<Failure>);

/// The context of all cases of a submission.
struct Grading<'a> {
    /// The folder of the submission's parts.
    parts: &'a Path,
    lab_spec: &'a LabSpec,
    seeds: Seeds,
    name: DeviceName,
    /// The time left for the submission's runs on the emulated device.
    left: Cell<Duration>,
    /// The share of time and fuel of the cases that are graded.
    patience: RefCell<Patience>,
    runner: &'a dyn CaseRunner,
    options: &'a Options,
    /// Whether the kernels were compiled once more, so that a panic says which it is, or why not.
    /// Empty until a kernel panics.
    has_messages: OnceCell<Result<(), String>>,
}

impl Grading<'_> {
    /// The job to grade the case on this device with this fuel, or to check it there to this
    /// extent.
    fn job(
        &self,
        spec: &CaseSpec,
        device: DeviceName,
        fuel: u64,
        checks: Option<Extent>,
    ) -> CaseJob {
        CaseJob {
            device,
            lab_file: self.lab_spec.file.clone(),
            lab_text: self.lab_spec.text.clone(),
            draw: self.lab_spec.draw,
            case: spec.name.clone(),
            parts: self.parts.to_owned(),
            seed: self.seeds.0,
            samples: self.options.samples,
            stopping: self.options.stopping,
            fuel,
            checks,
            with_messages: false,
        }
    }

    /// The failure of this job with the message of the panic that it is, if it is one: the job is
    /// done once more with kernels that say so. The verdict is that of the kernels as they are. The
    /// message of a hidden case is in the instructor's report alone.
    fn explained(
        &self,
        job: &CaseJob,
        failure: Failure,
        show: &mut dyn Show,
    ) -> Result<Failure, GradeError> {
        if failure.panic != Some(Panic::Silent) {
            return Ok(failure);
        }
        let has_messages = self.has_messages.get_or_init(|| {
            show.compiling_messages();
            let file = open::messages_file(self.parts);
            self.runner.compile_with_messages(&file)
        });
        if has_messages.is_err() {
            return Ok(failure);
        }
        let job = CaseJob {
            with_messages: true,
            ..job.clone()
        };
        let deadlines = Deadlines {
            submission: self.options.deadline,
            all_runs: None,
            ours: OURS,
            clock: self.clock(),
        };
        let said = match self.runner.run(&job, &deadlines)? {
            WorkerEnd::Answer(answer) => answer.status,
            WorkerEnd::NoAnswer(why) => why.into(),
            _ => return Ok(failure),
        };
        Ok(match said {
            // Another fault is not one of the kernels as they are.
            Outcome::Failed(said) if said.panic == Some(Panic::Told) => Failure {
                panic: said.panic,
                message: said.message,
                sanitizer: said.sanitizer,
                ..failure
            },
            _ => failure,
        })
    }

    /// The failures that the emulated device finds in these cases, the quick ones first. A failure
    /// of category [`Category::Wrong`] says that values are wrong; any other fails the case without
    /// a run on the GPU.
    fn check_on_emulated(
        &self,
        mut cases: Vec<&CaseSpec>,
        show: &mut dyn Show,
    ) -> Result<BTreeMap<String, Checked>, GradeError> {
        cases.sort_by_cached_key(|spec| {
            let case = spec.with_seed(self.lab_spec.lab, 0);
            let updates = case.map_or(u64::MAX, |case| case.work().updates);
            (spec.group == Group::Large, updates)
        });
        let at_most = self.options.emulated_checks;
        let began = Instant::now();
        let mut all = BTreeMap::new();
        let mut patience = Patience::default();
        for spec in cases {
            let share = patience.share(spec.group);
            let extent = Extent::of(spec.group);
            let left = at_most.saturating_sub(began.elapsed());
            let job = self.job(spec, DeviceName::Emulated, share.fuel(), Some(extent));
            let ended = if left.is_zero() {
                WorkerEnd::TimedOut(Phase::Submission)
            } else {
                show.emulated_check(&spec.name);
                let deadlines = Deadlines {
                    submission: left,
                    all_runs: None,
                    ours: left,
                    clock: Clock::Wall,
                };
                self.runner.run(&job, &deadlines)?
            };
            let (mut printed, mut counts) = (String::new(), BTreeMap::new());
            let outcome = match ended {
                WorkerEnd::Answer(answer) => {
                    (printed, counts) = (answer.printed, answer.counts);
                    answer.status
                }
                WorkerEnd::NoAnswer(why) => why.into(),
                WorkerEnd::TimedOut(_) => NoResult::undecided(format!(
                    "the emulated device looks at a submission for {} s, and was not done by then",
                    at_most.as_secs_f64()
                ))
                .into(),
                WorkerEnd::Died { exit, said, .. } => {
                    NoResult::undecided(describe_exit(&exit, &said)).into()
                }
            };
            let made = match extent {
                Extent::Whole => Checks::Whole,
                Extent::Sampled => Checks::Sampled,
            };
            if outcome.kind() == Some(Kind::Deadline) {
                patience.did_not_end(spec.group);
            }
            let checked = match outcome {
                Outcome::Failed(failure) if failure.kind == Kind::Deadline => {
                    let reason = not_to_its_end(&share.told(failure)).to_string();
                    (Checks::NotMade { reason }, None)
                }
                Outcome::Failed(failure) => {
                    let failure = self.explained(&job, failure, show)?;
                    (made, Some(failure.with_device("emulated")))
                }
                Outcome::NotGradedHere { reason } | Outcome::Undecided { reason } => {
                    (Checks::NotMade { reason }, None)
                }
                Outcome::Passed | Outcome::Measured => (made, None),
            };
            let (checks, failure) = checked;
            all.insert(spec.name.clone(), (((checks, printed), counts), failure));
        }
        Ok(all)
    }

    /// The emulated device computes all the time; a GPU is waited for.
    fn clock(&self) -> Clock {
        match self.name {
            DeviceName::Emulated => Clock::Work,
            _ => Clock::Wall,
        }
    }

    fn run(&self, spec: &CaseSpec, show: &mut dyn Show) -> Result<Answer, GradeError> {
        let share = self.patience.borrow().share(spec.group);
        let deadline = share.time(self.options.deadline);
        let all_runs = (self.name == DeviceName::Emulated).then_some(&self.left);
        let deadlines = Deadlines {
            submission: deadline,
            all_runs,
            ours: OURS,
            clock: self.clock(),
        };
        let is_over = || all_runs.is_some_and(|left| left.get().is_zero());
        let told = |failure: Failure| {
            if failure.kind != Kind::Deadline || is_over() {
                return failure;
            }
            self.patience.borrow_mut().did_not_end(spec.group);
            share.told(failure)
        };
        let job = self.job(spec, self.name, share.fuel(), None);
        let ended = if is_over() {
            WorkerEnd::TimedOut(Phase::Submission)
        } else {
            self.runner.run(&job, &deadlines)?
        };
        let why = match ended {
            WorkerEnd::Answer(mut answer) => {
                if let Outcome::Failed(failure) = answer.status {
                    answer.status = Outcome::Failed(self.explained(&job, told(failure), show)?);
                }
                return Ok(*answer);
            }
            WorkerEnd::NoAnswer(why) => why,
            WorkerEnd::TimedOut(Phase::Submission) => {
                NoResult::failed(Kind::Deadline, self.too_slow(deadline, is_over()))
            }
            WorkerEnd::TimedOut(Phase::Ours) => NoResult::undecided(format!(
                "the harness's own part was not finished after {} s",
                deadlines.ours.as_secs()
            )),
            WorkerEnd::Died {
                has_run,
                exit,
                said,
            } => {
                let message = describe_exit(&exit, &said);
                // A panic is ours, whatever led to it.
                if has_run && exit != Exit::Bug {
                    NoResult::failed(Kind::Crashed, message)
                } else {
                    NoResult::undecided(message)
                }
            }
        };
        Ok(Answer::without_samples(
            why.map_failure(told),
            self.lab_spec,
            spec,
        ))
    }

    /// The message for a case whose run met this deadline, or that of all runs together.
    fn too_slow(&self, deadline: Duration, all_together: bool) -> String {
        let [one, all] =
            [deadline, self.options.total_deadline].map(|deadline| deadline.as_secs_f64());
        let slower = "the emulated device is far slower than a GPU";
        if all_together {
            format!(
                "the case was not finished when the submission's runs had taken {all} s together, all that they may; {slower}: \
                 `--total-deadline {}` gives them more",
                10.0 * all
            )
        } else {
            let ended = format!("a run was not finished after {one} s, and was ended");
            match self.name {
                DeviceName::Cuda(_) => ended,
                // Others must end first.
                DeviceName::Emulated if deadline < self.options.deadline => ended,
                DeviceName::Emulated => {
                    format!(
                        "{ended}; {slower}: `--deadline {}` gives it more",
                        10.0 * one
                    )
                }
            }
        }
    }
}

/// How a case fails that the GPU has right and the emulated device wrong.
fn correct_by_chance(wrong: Failure) -> Failure {
    Failure {
        message: format!(
            "{}; correct on the GPU only by chance: the result depends on thread order (`--device emulated` says more)",
            wrong.message
        ),
        ..wrong
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
