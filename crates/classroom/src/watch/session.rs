//! A session: each event, and the action that it leads to. Times are counted from the session's
//! start, so that tests have a clock of their own.

use std::time::Duration;

use exit::CommandError;

use super::screen::Screen;
use super::subject::Files;
use grading::outcome::Failure;
use grading::pack::Building;
use grading::report::GradeReport;

/// How long a changed file must stay as it is before it is graded: editors write in several steps.
pub const SETTLED: Duration = Duration::from_millis(60);

/// The next thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Begin the grading of this number, of the files as they are, and drop any other.
    Grade(u64),
    /// Likewise, but the case alone that the handout counts.
    Count(u64),
    /// Write the page that replays the case that failed.
    Replay,
    /// End the program.
    Quit,
}

/// A user's session.
pub struct Session {
    /// The text that the user sees.
    pub screen: Screen,
    /// The files as they were read last, and since when they are like that.
    seen: (Files, Duration),
    /// The files that were graded last, or are being graded.
    taken: Option<Files>,
    /// When the grading at hand began.
    grading: Option<Duration>,
    /// Whether it is that of the case that the handout counts.
    is_counting: bool,
    /// How many gradings have begun: the number of the one at hand.
    begun: u64,
    revision: u64,
}

impl Session {
    /// Nothing has happened yet.
    pub fn new(screen: Screen) -> Session {
        Session {
            screen,
            seen: ([None, None], Duration::ZERO),
            taken: None,
            grading: None,
            is_counting: false,
            begun: 0,
            revision: 0,
        }
    }

    /// Whether an editor may still be writing.
    pub fn is_settling(&self) -> bool {
        self.taken.as_ref() != Some(&self.seen.0)
    }

    /// Whether a grading is under way.
    pub fn is_grading(&self) -> bool {
        self.grading.is_some()
    }

    /// Whether the grading of this number is the one at hand: files of others have changed since.
    pub fn is_at(&self, number: u64) -> bool {
        self.is_grading() && self.begun == number
    }

    /// The files of the last verdict; none while others are graded.
    pub fn graded_files(&self) -> Option<&Files> {
        self.taken.as_ref().filter(|_| !self.is_grading())
    }

    /// How long the grading at hand has been under way.
    pub fn grading_for(&self, now: Duration) -> Option<Duration> {
        Some(now.saturating_sub(self.grading?))
    }

    /// Grows with each change of what the user sees, except the time that grading takes.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The files were read.
    pub fn polled(&mut self, files: Files, now: Duration) -> Option<Action> {
        if files != self.seen.0 {
            self.seen = (files, now);
        }
        let has_settled = self.taken.is_none() || now.saturating_sub(self.seen.1) >= SETTLED;
        if !self.is_settling() || !has_settled {
            return None;
        }
        self.taken = Some(self.seen.0.clone());
        self.wanted(now)
    }

    /// A key was pressed.
    pub fn key(&mut self, key: u8, now: Duration) -> Option<Action> {
        match key.to_ascii_lowercase() {
            // Ctrl-D ends what reads a terminal.
            b'q' | 4 => return Some(Action::Quit),
            b'\n' | b'\r' if self.grading.is_none() => return self.wanted(now),
            b'h' => self.screen.hint(),
            b'c' => {
                self.screen.toggle_counts();
                self.revision += 1;
                return self.counted_next(now);
            }
            b'a' => self.screen.all(),
            b'r' if !self.screen.is_empty() => {
                self.revision += 1;
                return Some(Action::Replay);
            }
            _ => return None,
        }
        self.revision += 1;
        None
    }

    /// In the grading of this number, what submissions are compiled against is built.
    pub fn builds(&mut self, number: u64, how_far: Building) {
        if self.is_at(number) {
            self.screen.builds(how_far);
        }
    }

    /// In the grading of this number, a kernel panics in this case; its message is not known yet.
    pub fn panics(&mut self, number: u64, case: &str, failure: Failure) {
        if self.is_at(number) {
            let files = self.taken.as_ref().unwrap_or(&self.seen.0);
            self.screen.panics(case, failure, files);
        }
    }

    /// The grading of this number has ended, after this time. Nobody waits for one that was
    /// dropped.
    pub fn graded(
        &mut self,
        number: u64,
        graded: Result<GradeReport, CommandError>,
        took: Duration,
    ) {
        if !self.is_at(number) {
            return;
        }
        self.grading = None;
        let files = self.taken.as_ref().unwrap_or(&self.seen.0);
        match graded {
            Ok(report) if self.is_counting => self.screen.counted(report),
            Ok(report) => self.screen.show(report, files, took),
            Err(error) => self.screen.trouble(error.to_string()),
        }
        self.revision += 1;
    }

    /// The counts come after the verdict, where they are shown, and only if all is right.
    pub fn counted_next(&mut self, now: Duration) -> Option<Action> {
        if self.is_grading() || !self.screen.lacks_counts() {
            return None;
        }
        self.begin(now, true);
        Some(Action::Count(self.begun))
    }

    /// Grades, and drops the grading at hand.
    fn wanted(&mut self, now: Duration) -> Option<Action> {
        self.begin(now, false);
        Some(Action::Grade(self.begun))
    }

    fn begin(&mut self, now: Duration, is_counting: bool) {
        self.begun += 1;
        self.grading = Some(now);
        self.is_counting = is_counting;
        self.screen.begins(is_counting);
    }
}
