//! Progress of long work: the trait that computations report to, and bars on standard error.

mod screen;

use std::fmt::Write;
use std::io::{IsTerminal, Write as _};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// How many bars are on the screen, or will be with their next step.
static BARS: AtomicUsize = AtomicUsize::new(0);

/// Writes text that belongs to no report to standard output, such as what a kernel prints, with all
/// bars out of the way.
pub fn print(text: &str) {
    let mut stdout = std::io::stdout();
    if stdout.is_terminal() && !SHOWN.is_hidden() {
        let has_bars = BARS.load(Ordering::Relaxed) > 0;
        SHOWN.suspend(|| write_beside(&mut stdout, text, has_bars));
    } else {
        // A reader that is gone misses nothing.
        let _ = stdout.write_all(text.as_bytes());
    }
}

/// Writes the text. Where a bar is drawn next, it ends its line first: a bar clears the line that
/// it is drawn in.
fn write_beside(out: &mut impl std::io::Write, text: &str, has_bars: bool) {
    let end = if has_bars && !text.ends_with('\n') {
        "\n"
    } else {
        ""
    };
    let _ = out
        .write_all((text.to_owned() + end).as_bytes())
        .and_then(|()| out.flush());
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
        BARS.fetch_add(1, Ordering::Relaxed);
        Bar {
            bar,
            began: Instant::now(),
            is_shown: AtomicBool::new(true),
        }
    }

    fn show(&self) {
        if !self.is_shown.swap(true, Ordering::Relaxed) {
            SHOWN.add(self.bar.clone());
            BARS.fetch_add(1, Ordering::Relaxed);
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
        if *self.is_shown.get_mut() {
            BARS.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal, and what is written to it by bars and others.
    #[derive(Debug, Clone, Default)]
    struct Written(Arc<Mutex<String>>);

    impl Written {
        fn add(&self, text: &str) -> std::io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
    }

    impl TermLike for Written {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> std::io::Result<()> {
            self.add(text)?;
            self.add("\n")
        }
        fn write_str(&self, text: &str) -> std::io::Result<()> {
            self.add(text.trim_end_matches(' '))
        }
        fn clear_line(&self) -> std::io::Result<()> {
            self.add("<clear>")
        }
        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl std::io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.add(std::str::from_utf8(bytes).unwrap())?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn text_does_not_land_on_a_bar() {
        let terminal = Written::default();
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let shown = MultiProgress::with_draw_target(target);
        let bar = shown.add(ProgressBar::new(2).with_style(style("<{pos} of {len}>")));
        bar.inc(1);
        bar.tick();
        let mut out = terminal.clone();
        shown.suspend(|| write_beside(&mut out, "left = 3", true));
        let written = terminal.0.lock().unwrap().clone();
        // The bar is cleared, the text has a line of its own, and the bar is drawn again.
        assert!(
            written.ends_with("<1 of 2><clear>left = 3\n<1 of 2>"),
            "{written}"
        );
        let mut alone = Vec::new();
        write_beside(&mut alone, "a", false);
        write_beside(&mut alone, "b\n", true);
        assert_eq!(alone, b"ab\n");
    }
}
