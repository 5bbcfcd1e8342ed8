//! The threads that grade. A save drops the run under way: what can be ended is ended at once, and
//! the rest of it, such as cargo at work on libraries, goes on for later runs without being waited
//! for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use exit::CommandError;
use grading::engine::job::{Answer, CaseJob};
use grading::engine::open::{OpenJob, Opened};
use grading::engine::{CaseRunner, GradeError, Show};
use grading::outcome::Failure;
use grading::pack::Building;
use grading::report::GradeReport;
use grading::worker::{self, Deadlines, WorkerEnd};

use super::Watched;

/// Something that happened.
pub enum Event {
    /// A key of the terminal.
    Key(u8),
    /// In the grading of this number, what submissions are compiled against is built.
    Building(u64, Building),
    /// In the grading of this number, a kernel panics in this case, with this failure.
    Panics(u64, String, Box<Failure>),
    /// The grading of this number ended, after this time.
    Graded(u64, Box<Result<GradeReport, CommandError>>, Duration),
}

/// A grading that was begun.
struct Run<'scope> {
    is_stopped: Arc<AtomicBool>,
    thread: ScopedJoinHandle<'scope, ()>,
}

/// The gradings of a session. Dropping it stops them.
pub struct Gradings<'scope, 'env> {
    watched: Watched<'env>,
    scope: &'scope Scope<'scope, 'env>,
    events: Sender<Event>,
    /// The last one is that whose verdict is waited for.
    runs: Vec<Run<'scope>>,
}

impl<'scope, 'env> Gradings<'scope, 'env> {
    /// None yet. They tell `events` what happens.
    pub fn new(
        watched: Watched<'env>,
        scope: &'scope Scope<'scope, 'env>,
        events: Sender<Event>,
    ) -> Gradings<'scope, 'env> {
        Gradings {
            watched,
            scope,
            events,
            runs: Vec::new(),
        }
    }

    /// Begins the grading of this number, and drops the one that is under way.
    pub fn begin(&mut self, number: u64, is_counting: bool) {
        self.stop();
        self.runs.retain(|run| !run.thread.is_finished());
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (watched, events) = (self.watched, self.events.clone());
        let until = Until(Arc::clone(&is_stopped));
        let thread = self.scope.spawn(move || {
            let began = Instant::now();
            let mut tells = Tells {
                number,
                events: &events,
            };
            let graded = watched.grade(is_counting, &until, &mut tells);
            // If nothing receives it, the session has ended.
            let _ = events.send(Event::Graded(number, Box::new(graded), began.elapsed()));
        });
        self.runs.push(Run { is_stopped, thread });
    }

    /// Whether the thread of the last grading has ended.
    pub fn has_ended(&self) -> bool {
        let last = self.runs.last();
        last.is_some_and(|run| run.thread.is_finished())
    }

    /// Whether a thread is at work, wanted or not.
    pub fn are_under_way(&self) -> bool {
        self.runs.iter().any(|run| !run.thread.is_finished())
    }

    fn stop(&self) {
        for run in &self.runs {
            run.is_stopped.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Gradings<'_, '_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Sends what a grading tells before its verdict.
struct Tells<'e> {
    number: u64,
    events: &'e Sender<Event>,
}

impl Show for Tells<'_> {
    fn building(&mut self, how_far: Building) {
        let _ = self.events.send(Event::Building(self.number, how_far));
    }

    fn panicked(&mut self, case: &str, failure: &Failure) {
        let failure = Box::new(failure.clone());
        let event = Event::Panics(self.number, case.to_owned(), failure);
        let _ = self.events.send(event);
    }
}

/// Runs jobs in worker processes until they are stopped.
struct Until(Arc<AtomicBool>);

impl Until {
    fn run_job<J: worker::Job>(
        &self,
        job: &J,
        deadlines: &Deadlines<'_>,
    ) -> Result<WorkerEnd<J::Answer>, GradeError> {
        let is_stopped = || self.is_stopped();
        Ok(worker::run_until(job, deadlines, Some(&is_stopped))?)
    }
}

impl CaseRunner for Until {
    fn run(
        &self,
        job: &CaseJob,
        deadlines: &Deadlines<'_>,
    ) -> Result<WorkerEnd<Answer>, GradeError> {
        self.run_job(job, deadlines)
    }

    fn open(
        &self,
        job: &OpenJob,
        deadlines: &Deadlines<'_>,
    ) -> Result<WorkerEnd<Opened>, GradeError> {
        self.run_job(job, deadlines)
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
