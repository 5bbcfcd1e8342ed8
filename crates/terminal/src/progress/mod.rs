//! Progress of long work: the trait that computations report to, and bars on standard error.

mod screen;

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
    TermLike as _,
};
use output_files::interrupt;

use crate::look::Look;
use page::escape;
use screen::Screen;

/// Receives the progress of a long computation. Called from any thread.
pub trait Progress: Sync {
    /// `done` of `total` steps are done.
    fn update(&self, done: u64, total: u64);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn update(&self, _done: u64, _total: u64) {}
}

/// All bars that are shown. They are drawn only if standard error is a terminal.
static SHOWN: LazyLock<MultiProgress> = LazyLock::new(|| {
    // They are off the screen when it closes, and are not drawn again.
    interrupt::clear_screen_first(|| SHOWN.suspend(screen::close));
    MultiProgress::with_draw_target(if std::io::stderr().is_terminal() {
        ProgressDrawTarget::term_like_with_hz(Box::<Screen>::default(), FRAMES_PER_S)
    } else {
        ProgressDrawTarget::hidden()
    })
});

const FRAMES_PER_S: u8 = 20;

/// Does something that writes to the terminal, with all bars out of the way. It shows no bar
/// itself.
pub fn aside<T>(write: impl FnOnce() -> T) -> T {
    SHOWN.suspend(write)
}

/// Work that is done sooner than this shows no bar.
const APPEARS_AFTER: Duration = Duration::from_millis(800);

/// A bar that appears after a while, only on a terminal, and vanishes when dropped.
pub struct Bar {
    bar: ProgressBar,
    began: Instant,
    is_shown: AtomicBool,
}

impl Bar {
    /// A bar for the work that `label` names.
    pub fn new(label: impl Into<String>) -> Bar {
        Bar::since(label, Instant::now())
    }

    /// A bar for a part of work that began earlier: it appears when the whole has taken a while.
    pub fn since(label: impl Into<String>, began: Instant) -> Bar {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let bar = Bar {
            bar,
            began,
            is_shown: AtomicBool::new(false),
        };
        bar.label(&label.into());
        bar
    }

    /// A bar for work of minutes: it appears at once.
    pub fn at_once(label: impl Into<String>) -> Bar {
        let bar = Bar::new(label);
        bar.show();
        bar
    }

    /// A sign of life for work whose end is not known.
    pub fn spinner(label: impl Into<String>) -> Bar {
        let ticks = if Look::of_stderr().unicode {
            "\u{280b}\u{2819}\u{2838}\u{2834}\u{2826}\u{2807} "
        } else {
            "|/-\\ "
        };
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let bar = SHOWN
            .add(bar)
            .with_style(style("{spinner} {msg}  {elapsed}").tick_chars(ticks))
            .with_message(shown(&label.into(), BESIDE_SPINNER));
        bar.enable_steady_tick(Duration::from_millis(100));
        Bar {
            bar,
            began: Instant::now(),
            is_shown: AtomicBool::new(true),
        }
    }

    fn show(&self) {
        if !self.is_shown.swap(true, Ordering::Relaxed) {
            SHOWN.add(self.bar.clone());
            // The time that is left gets shorter between two steps too.
            self.bar.enable_steady_tick(Duration::from_millis(500));
        }
    }

    /// Names the part of the work that is done now. Not for a spinner: it would become a bar.
    pub fn label(&self, label: &str) {
        let label = shown(label, BESIDE_LABEL);
        self.bar.set_style(beside(&label));
        self.bar.set_message(label);
    }
}

/// Columns that a line has beside its bar and its label: share and time.
const BESIDE_BAR: usize = 22;
/// Columns that a line has beside its label: share, time and the shortest bar.
const BESIDE_LABEL: usize = BESIDE_BAR + 10;
/// Columns that the line of a spinner has beside its label.
const BESIDE_SPINNER: usize = 10;

/// A bar that fits into the terminal's line beside the label.
fn beside(label: &str) -> ProgressStyle {
    let (template, characters) = if Look::of_stderr().unicode {
        (
            "{msg}  {bar:WIDTH}  {percent:>3} %  {left}",
            "\u{2501}\u{2501}\u{2500}",
        )
    } else {
        ("{msg}  [{bar:WIDTH}]  {percent:>3} %  {left}", "=> ")
    };
    let room = columns().saturating_sub(label.chars().count() + BESIDE_BAR);
    let width = room.clamp(10, 30).to_string();
    style(&template.replace("WIDTH", &width))
        .progress_chars(characters)
        .with_key("left", left)
}

/// Columns of the terminal.
fn columns() -> usize {
    Screen::default().width().into()
}

/// A label in one line, cut where the line would be wider than the terminal.
fn shown(label: &str, beside: usize) -> String {
    let label = escape::line(label);
    let most = columns().saturating_sub(beside).max(16);
    match label.char_indices().nth(most) {
        None => label,
        Some(_) => label.chars().take(most - 3).collect::<String>() + "...",
    }
}

/// The time that is left. It is not known before the first step is done.
fn left(state: &ProgressState, to: &mut dyn Write) {
    if state.pos() > 0 {
        let _ = write!(to, "{:#} left", HumanDuration(state.eta()));
    }
}

/// A constant template; should it ever be wrong, the default style serves too.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress for Bar {
    fn update(&self, done: u64, total: u64) {
        if self.began.elapsed() >= APPEARS_AFTER {
            self.show();
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        SHOWN.remove(&self.bar);
    }
}
