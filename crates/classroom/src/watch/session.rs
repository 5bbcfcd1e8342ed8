//! A session: each event, and the action that it leads to. Times are counted from the session's
//! start, so that tests have a clock of their own.

use std::time::Duration;

use exit::CommandError;

use super::screen::Screen;
use super::subject::Files;
use grading::report::GradeReport;

/// How long a changed file must stay as it is before it is graded: editors write in several steps.
pub const SETTLED: Duration = Duration::from_millis(60);

/// The next thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Grade the files as they are; the case that the handout counts too, while counts are shown.
    Grade,
    /// End the grading at hand: the files are others by now.
    Stop,
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
    /// Whether to grade again once the grading at hand has ended.
    again: bool,
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
            again: false,
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

    /// Whether the grading that is under way is of files that have changed since.
    pub fn is_stale(&self) -> bool {
        self.again
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
                if self.screen.lacks_counts() && self.grading.is_none() {
                    self.revision += 1;
                    return self.wanted(now);
                }
            }
            b'a' => self.screen.all(),
            _ => return None,
        }
        self.revision += 1;
        None
    }

    /// The grading at hand has ended, after this time.
    pub fn graded(
        &mut self,
        graded: Result<GradeReport, CommandError>,
        took: Duration,
        now: Duration,
    ) -> Option<Action> {
        self.grading = None;
        self.screen.ended();
        if std::mem::take(&mut self.again) {
            return self.wanted(now);
        }
        let files = self.taken.as_ref().unwrap_or(&self.seen.0);
        match graded {
            Ok(report) => self.screen.show(report, files, took),
            Err(error) => self.screen.trouble(error.to_string()),
        }
        self.revision += 1;
        None
    }

    /// Grades, or ends the grading at hand first.
    fn wanted(&mut self, now: Duration) -> Option<Action> {
        if self.grading.is_some() {
            self.again = true;
            return Some(Action::Stop);
        }
        self.grading = Some(now);
        Some(Action::Grade)
    }
}
