//! All cases of a submission, each a job for a worker: what the emulated device checks before a GPU
//! grades, the run that decides, and what their ends mean.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use device::Wish;
use select::devices::DeviceName;

use super::emulated::{Extent, FUEL, not_to_its_end};
use super::error::GradeError;
use super::job::{Answer, CaseJob};
use super::open::messages_file;
use super::options::{Options, Show, Unchecked};
use super::patience::{Patience, Share};
use super::replayed::AskedReplay;
use super::runner::{CaseEnd, CaseRunner};
use super::seeds::Seeds;
use crate::lab_spec::{CaseSpec, Group, LabSpec};
use crate::outcome::{Category, Failure, Kind, NoResult, Outcome, Panic};
use crate::report::{CaseGrade, Checks, Replayed};
use crate::worker::{Clock, Deadlines, Exit, Phase, WorkerEnd, describe_exit};

/// How long one piece of the harness's own work may take: the reference of the largest case, on few
/// cores.
const OURS: Duration = Duration::from_secs(1800);

/// The emulated device's findings about a case that a GPU grades.
pub struct EmulatedCheck {
    checks: Checks,
    /// The text that kernels printed meanwhile.
    printed: String,
    counts: BTreeMap<String, u64>,
    /// The fault. One of category [`Category::Wrong`] says that values are wrong, which the GPU
    /// decides; any other fails the case without a run on the GPU.
    failure: Option<Failure>,
}

impl EmulatedCheck {
    /// Adds to the GPU's answer what that device cannot tell, and says which checks were made.
    pub fn add_to(self, answer: &mut Answer, unchecked: Unchecked) -> Checks {
        if let Checks::NotMade {
            reason,
            for_anyone: false,
        } = &self.checks
            && unchecked == Unchecked::Undecided
        {
            answer.leave_undecided(&format!(
                "right on the GPU, and not checked for what a GPU does not show, such as races: {reason}"
            ));
        }
        // A GPU's driver writes it elsewhere.
        answer.printed += &self.printed;
        // A GPU counts nothing.
        answer.counts.extend(self.counts);
        self.checks
    }
}

/// The page of a case, or why there is none.
pub type ReplayedCase = Result<Replayed, String>;

/// The context of all cases of a submission.
pub struct Grading<'a> {
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

impl<'a> Grading<'a> {
    /// Nothing is graded yet.
    pub fn new(
        parts: &'a Path,
        lab_spec: &'a LabSpec,
        seeds: Seeds,
        name: DeviceName,
        runner: &'a dyn CaseRunner,
        options: &'a Options,
    ) -> Grading<'a> {
        Grading {
            parts,
            lab_spec,
            seeds,
            name,
            left: Cell::new(options.total_deadline),
            patience: RefCell::default(),
            runner,
            options,
            has_messages: OnceCell::new(),
        }
    }

    /// The answer for a case, if its plan may be run, after this check.
    pub fn answer(
        &self,
        spec: &CaseSpec,
        plan: Result<(), NoResult>,
        check: Option<&EmulatedCheck>,
        show: &mut dyn Show,
    ) -> Result<Answer, GradeError> {
        let without = |why| Answer::without_samples(why, self.lab_spec, spec);
        if let Err(why) = plan {
            return Ok(without(why));
        }
        let found = check.and_then(|check| check.failure.clone());
        let Some(failure) = found else {
            return self.run(spec, show);
        };
        if failure.category != Category::Wrong {
            return Ok(without(failure.into()));
        }
        let answer = self.run(spec, show)?;
        Ok(if answer.status == Outcome::Passed {
            without(correct_by_chance(failure).into())
        } else {
            answer
        })
    }

    /// Why panics are reported without their messages, where a kernel has panicked.
    pub fn without_messages(&self) -> Option<String> {
        let reason = self.has_messages.get()?.as_ref().err()?;
        Some(format!("the messages of panics are not known: {reason}"))
    }

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
            replay: None,
            host_threads: self.options.host_threads,
        }
    }

    /// The page that replays a case; or why there is none.
    pub fn replay(
        &self,
        case: &CaseGrade,
        wish: &Wish,
        sources: BTreeMap<String, String>,
        show: &mut dyn Show,
    ) -> Result<ReplayedCase, GradeError> {
        let mut specs = self.lab_spec.cases.iter();
        let spec = specs.find(|spec| spec.name == case.name);
        let spec = spec.expect("a grade has the cases of its lab");
        let failure = case.status.failure();
        let sought = failure.filter(|failure| failure.device.as_deref() == Some("emulated"));
        let checks = sought.map(|_| Extent::Whole);
        let job = CaseJob {
            with_messages: failure.is_some_and(|failure| failure.panic == Some(Panic::Told)),
            replay: Some(AskedReplay {
                wish: wish.clone(),
                sample: failure
                    .and_then(|failure| failure.sample)
                    .or((failure.is_none()).then_some(0)),
                sources,
            }),
            ..self.job(spec, DeviceName::Emulated, FUEL, checks)
        };
        show.replaying(&spec.name);
        let deadlines = Deadlines {
            submission: self.options.deadline,
            all_runs: None,
            ours: OURS,
            clock: Clock::Work,
        };
        let why = match self.runner.run(&job, &deadlines)? {
            WorkerEnd::Answer(answer) => match answer.replay {
                Some(html) => {
                    return Ok(Ok(Replayed {
                        case: spec.name.clone(),
                        html,
                    }));
                }
                None => "it was not recorded".to_owned(),
            },
            WorkerEnd::NoAnswer(why) => why.to_string(),
            WorkerEnd::TimedOut(_) => "it took too long".to_owned(),
            WorkerEnd::Died { exit, said, .. } => describe_exit(&exit, &said),
        };
        Ok(Err(format!("{} is not replayed: {why}", spec.name)))
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
            show.panicked(&job.case, &failure);
            show.compiling_messages();
            let file = messages_file(self.parts);
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
                places: said.places,
                ..failure
            },
            _ => failure,
        })
    }

    /// The emulated device's findings about the cases whose plans may be run, by case. Its time is
    /// limited, and the quick cases are first.
    pub fn check_on_emulated(
        &self,
        plans: &[Result<(), NoResult>],
        show: &mut dyn Show,
    ) -> Result<BTreeMap<String, EmulatedCheck>, GradeError> {
        let all = self.lab_spec.cases.iter().zip(plans);
        let mut cases: Vec<&CaseSpec> = all
            .filter_map(|(spec, plan)| plan.is_ok().then_some(spec))
            .collect();
        cases.sort_by_cached_key(|spec| {
            let case = spec.with_seed(self.lab_spec.lab, 0);
            let updates = case.map_or(u64::MAX, |case| case.work().updates);
            (spec.group == Group::Large, updates)
        });
        let all_left = Cell::new(self.options.emulated_checks);
        let mut checks = BTreeMap::new();
        let mut patience = Patience::default();
        for spec in cases {
            let share = patience.share(spec.group);
            let job = self.job(
                spec,
                DeviceName::Emulated,
                share.fuel(),
                Some(Extent::of(spec.group)),
            );
            let ended = if all_left.get().is_zero() {
                WorkerEnd::TimedOut(Phase::Submission)
            } else {
                show.emulated_check(&spec.name);
                let deadlines = Deadlines {
                    submission: self.options.deadline,
                    all_runs: Some(&all_left),
                    ours: OURS,
                    clock: Clock::Work,
                };
                self.runner.run(&job, &deadlines)?
            };
            let answer = self.answer_of_check(ended, spec, all_left.get().is_zero());
            if answer.status.kind() == Some(Kind::Deadline) {
                patience.did_not_end(spec.group);
            }
            checks.insert(spec.name.clone(), self.checked(&job, answer, share, show)?);
        }
        Ok(checks)
    }

    /// The answer of a check that ended like this.
    fn answer_of_check(&self, ended: CaseEnd, spec: &CaseSpec, is_over: bool) -> Answer {
        let seconds = |limit: Duration| limit.as_secs_f64();
        let why = match ended {
            WorkerEnd::Answer(answer) => return *answer,
            WorkerEnd::NoAnswer(why) => why,
            WorkerEnd::TimedOut(_) if is_over => NoResult::undecided(format!(
                "the emulated device looks at a submission for {} s, and was not done by then; `--total-deadline` gives it more",
                seconds(self.options.emulated_checks)
            )),
            WorkerEnd::TimedOut(_) => NoResult::undecided(format!(
                "a run on the emulated device was not finished after {} s; `--deadline` gives it more",
                seconds(self.options.deadline)
            )),
            WorkerEnd::Died { exit, said, .. } => NoResult::undecided(describe_exit(&exit, &said)),
        };
        Answer::without_samples(why, self.lab_spec, spec)
    }

    /// The findings of a check that was given this share of fuel and answered this.
    fn checked(
        &self,
        job: &CaseJob,
        answer: Answer,
        share: Share,
        show: &mut dyn Show,
    ) -> Result<EmulatedCheck, GradeError> {
        let made = match job.checks {
            Some(Extent::Sampled) => Checks::Sampled,
            Some(Extent::Whole) | None => Checks::Whole,
        };
        let (checks, failure) = match answer.status {
            // A tenth of the fuel may be too little for what is right.
            Outcome::Failed(failure) if failure.kind == Kind::Deadline && !share.is_whole() => {
                let reason = not_to_its_end(&share.told(failure)).to_string();
                (Checks::by_submission(reason), None)
            }
            Outcome::Failed(failure) => {
                let failure = self.explained(job, failure, show)?;
                (made, Some(failure.with_device("emulated")))
            }
            Outcome::NotGradedHere { reason } => {
                let for_anyone = true;
                (Checks::NotMade { reason, for_anyone }, None)
            }
            Outcome::Undecided { reason } => {
                // The remedy of the emulated device, which is followed already.
                let reason = reason.trim_end_matches("; grade it on a GPU");
                (Checks::by_submission(reason), None)
            }
            Outcome::Passed | Outcome::Measured => (made, None),
        };
        Ok(EmulatedCheck {
            checks,
            printed: answer.printed,
            counts: answer.counts,
            failure,
        })
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
