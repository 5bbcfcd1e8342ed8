//! All cases of a submission: the report.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use host::{Device, DeviceKind, Module, find_lab};

use super::child::{Deadlines, Ended};
use super::job::{Answer, Phase, ungraded};
use super::looks::{Look, Looking, right_by_luck};
use super::requests::Requests;
use super::runner::{Runner, died};
use super::screen;
use super::seeds::Seeds;
use super::timed::Rule;
use crate::bundle::Bundle;
use crate::course::{CaseSpec, Course, Group};
use crate::devices::Wanted;
use crate::failure::Failure;
use crate::grade::kind::Kind;
use crate::grade::verdict::{
    CaseGrade, Failing, GradeReport, PerformanceGrade, PerformanceStatus, Protection, Status,
    SubmissionId,
};

/// How to grade.
#[derive(Debug, Clone)]
pub struct Options {
    /// What all inputs follow from; secret and fresh if it is not given.
    pub seed: Option<u64>,
    /// How long a single run of the submission may take.
    pub deadline: Duration,
    /// Runs with fresh inputs of a case that is not timed.
    pub samples: u32,
    /// When there are enough timed samples.
    pub stopping: Rule,
    /// How long the emulated device may look at the cases of one submission before a GPU grades them: see
    /// [`super::checks`].
    pub looking: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: None,
            deadline: Duration::from_secs(60),
            samples: 2,
            stopping: Rule::default(),
            looking: Duration::from_secs(60),
        }
    }
}

/// How long the harness itself may be at one piece of work: the reference of the largest case, on few cores.
const OURS: Duration = Duration::from_secs(1800);

/// Told how far it is.
pub trait Show {
    /// The case that is graded now: which of how many.
    fn case(&mut self, name: &str, number: usize, of: usize);

    /// The case that the emulated device looks at now.
    fn look(&mut self, name: &str);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Show for Quiet {
    fn case(&mut self, _name: &str, _number: usize, _of: usize) {}

    fn look(&mut self, _name: &str) {}
}

/// Grades a bundle.
///
/// # Errors
///
/// What keeps it from being graded at all, through no fault of the submission's: no random numbers, no processes.
pub fn grade(
    bundle: &Bundle,
    id: SubmissionId,
    course: &Course,
    (name, device): (Wanted, &dyn Device),
    runner: &dyn Runner,
    options: &Options,
    show: &mut dyn Show,
) -> Result<GradeReport, Failure> {
    let began = Instant::now();
    let lab = find_lab(&course.lab)?;
    let seeds = match options.seed {
        Some(base) => Seeds::from_base(base),
        None => Seeds::secret()?,
    };
    let mut report = blank(id, course, name, Some(device), options);
    report.protections.extend(bundle.protections.clone());
    report.protections.extend(protections(device.info().kind));
    if let Err(failing) = screen::bundle(bundle, course, lab) {
        return Ok(refused(report, course, failing));
    }
    let module = Module::new("submission", bundle.ptx.clone());
    let requests = Requests {
        bundle,
        course,
        seeds,
        samples: options.samples,
        stopping: options.stopping,
    };
    let grading = Grading {
        requests: &requests,
        name,
        device,
        runner,
        options,
    };
    let mut screened: Vec<Result<(), Status>> = Vec::new();
    for spec in &course.cases {
        let plan = &bundle.case(&spec.name).expect("was screened").plan;
        screened.push(match grading.not_here(spec) {
            Some(reason) => Err(Status::NotGradedHere { reason }),
            None => screen::plan(plan, &module, spec, lab, &device.info().limits)
                .map_err(Status::Failed),
        });
    }
    // All of it before anything runs on the GPU: what it times has the machine to itself.
    let mut looks = BTreeMap::new();
    if !grading.is_emulated() {
        let may_run = course.cases.iter().zip(&screened);
        let may_run = may_run.filter_map(|(spec, screened)| screened.is_ok().then_some(spec));
        let looking = Looking {
            requests: &requests,
            runner,
            at_most: options.looking,
        };
        looks = looking.at(may_run.collect(), lab, &mut |name| show.look(name))?;
    }
    for (index, (spec, screened)) in course.cases.iter().zip(screened).enumerate() {
        show.case(&spec.name, index + 1, course.cases.len());
        let look = looks.remove(&spec.name);
        let answer = match (screened, look.as_ref()) {
            (Err(status), _) => grading.all(spec, status),
            (Ok(()), Some(Look::Fault(_, failing))) => {
                grading.all(spec, Status::Failed(failing.clone()))
            }
            (Ok(()), Some(Look::Wrong(failing))) => match grading.run(spec)? {
                Answer {
                    status: Status::Passed,
                    ..
                } => grading.all(spec, Status::Failed(right_by_luck(failing))),
                answer => answer,
            },
            (Ok(()), Some(Look::Clean(_)) | None) => grading.run(spec)?,
        };
        let earned = match answer.status {
            Status::Passed => spec.points,
            _ => 0.0,
        };
        report.cases.push(CaseGrade {
            name: spec.name.clone(),
            group: spec.group,
            points: spec.points,
            earned,
            status: answer.status,
            samples: answer.samples,
            counts: answer.counts,
            checks: look.map(Look::checks),
        });
        report.performance.extend(answer.performance);
    }
    // As the file has them, not as the cases do.
    let order = |timed: &PerformanceGrade| {
        let entries = course.performance.iter();
        entries
            .clone()
            .position(|entry| entry.case == timed.case && entry.against == timed.against)
    };
    report.performance.sort_by_key(order);
    if !report.is_right() && options.seed.is_none() {
        let note = format!(
            "--seed {} gives the same inputs again",
            requests.seeds.base()
        );
        report.notes.push(note);
    }
    report.elapsed_s = began.elapsed().as_secs_f64();
    Ok(report.with_totals())
}

/// The report of a submission that failed before it could be run at all.
pub fn refused(mut report: GradeReport, course: &Course, failing: Failing) -> GradeReport {
    for spec in &course.cases {
        report.cases.push(CaseGrade {
            name: spec.name.clone(),
            group: spec.group,
            points: spec.points,
            earned: 0.0,
            status: Status::Failed(failing.clone()),
            samples: 0,
            counts: BTreeMap::new(),
            checks: None,
        });
    }
    for timed in &course.performance {
        report.performance.push(PerformanceGrade {
            status: PerformanceStatus::Failed(failing.clone()),
            ..ungraded(timed)
        });
    }
    report.refused = Some(failing);
    report.with_totals()
}

/// A report of nothing yet.
pub fn blank(
    id: SubmissionId,
    course: &Course,
    name: Wanted,
    device: Option<&dyn Device>,
    options: &Options,
) -> GradeReport {
    let mut report = GradeReport::new(id, &course.lab, name.to_string());
    report.device_info = device.map(|device| device.info().clone());
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    report.started_unix_s = since_1970.map(|time| time.as_secs());
    report.seed = options.seed;
    report
}

struct Grading<'a> {
    requests: &'a Requests<'a>,
    name: Wanted,
    device: &'a dyn Device,
    runner: &'a dyn Runner,
    options: &'a Options,
}

impl Grading<'_> {
    fn is_emulated(&self) -> bool {
        self.device.info().kind == DeviceKind::Emulated
    }

    /// Why the case is not graded on this device, if it is not.
    fn not_here(&self, spec: &CaseSpec) -> Option<String> {
        (self.is_emulated() && spec.group == Group::Large)
            .then(|| "large cases are graded on a GPU".to_owned())
    }

    fn run(&self, spec: &CaseSpec) -> Result<Answer, Failure> {
        let request = self.requests.of(spec, self.name, None);
        let deadlines = Deadlines {
            submission: self.options.deadline,
            ours: OURS,
        };
        let lacking = |reason| Status::NotGradedHere { reason };
        let status = match self.runner.run(&request, &deadlines)? {
            Ended::Answer(answer) => return Ok(*answer),
            Ended::Lacking(reason) => lacking(reason),
            Ended::Failed(failing) => Status::Failed(*failing),
            Ended::TimedOut(Phase::Submission) => {
                let seconds = deadlines.submission.as_secs_f64();
                let message = format!("a run was not finished after {seconds} s, and was ended");
                Status::failed(Kind::Deadline, message)
            }
            Ended::TimedOut(Phase::Ours) => lacking(format!(
                "the harness's own part was not finished after {} s",
                deadlines.ours.as_secs()
            )),
            Ended::Died { has_run, how, said } => {
                let message = died(&how, &said);
                // A panic is ours, whatever led to it.
                if has_run && !how.starts_with("a bug") {
                    Status::failed(Kind::Crashed, message)
                } else {
                    lacking(message)
                }
            }
        };
        Ok(self.all(spec, status))
    }

    /// The case and what is timed of it, all with this status.
    fn all(&self, spec: &CaseSpec, status: Status) -> Answer {
        let timed = match &status {
            Status::Failed(failing) => PerformanceStatus::Failed(failing.clone()),
            Status::NotGradedHere { reason } => PerformanceStatus::NotGradedHere {
                reason: reason.clone(),
            },
            Status::Passed => unreachable!("nobody passes without an answer"),
        };
        let entries = self.requests.course.performance.iter();
        Answer {
            status,
            samples: 0,
            counts: BTreeMap::new(),
            performance: entries
                .filter(|entry| entry.case == spec.name)
                .map(|entry| PerformanceGrade {
                    status: timed.clone(),
                    ..ungraded(entry)
                })
                .collect(),
        }
    }
}

/// What the engine does, and what this device adds or lacks.
fn protections(kind: DeviceKind) -> Vec<Protection> {
    let protection = |name: &str, in_force: bool, detail: &str| Protection {
        name: name.to_owned(),
        in_force,
        detail: detail.to_owned(),
    };
    let mut all = vec![
        protection(
            "fresh inputs",
            true,
            "every sample's inputs follow from a seed of its own; outputs are poisoned before and compared in full after",
        ),
        protection(
            "fresh module",
            true,
            "kernels are loaded anew for every sample, with all their globals",
        ),
        protection(
            "own process",
            true,
            "each case runs in a process of its own, with a deadline for each run",
        ),
    ];
    let checked = "every access is checked: bounds, races, memory that nobody wrote";
    match kind {
        DeviceKind::Emulated => all.push(protection("checked accesses", true, checked)),
        DeviceKind::Cuda => {
            all.push(protection(
                "guard bands",
                true,
                "writes up to 256 KiB outside a buffer are seen",
            ));
            // Which cases that was possible for, the cases tell.
            all.push(protection(
                "checked accesses",
                true,
                "small and hidden cases run on the emulated device too, where every access is checked; blocks of large ones, for races and barriers",
            ));
        }
    }
    all
}
