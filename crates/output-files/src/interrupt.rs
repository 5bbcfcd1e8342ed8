//! Ctrl-C, SIGTERM and SIGHUP. A program that one of them ends leaves no half-written file or
//! folder behind, and can save its finished work.
//!
//! Batch systems and `timeout` send SIGTERM; SIGHUP comes when a terminal is closed. The exit code
//! is 128 plus the signal's number, as in shells: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.
//! A second signal ends the program at once, even if the work after the first one is still waiting.
//! A signal within half a second of the first counts as the same signal. If the program was started
//! with a signal ignored, as `nohup` does with SIGHUP, it ignores that signal.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::native;
use crate::stale::locked;

pub use native::outlive_file_size_limit;

/// Files and folders to remove when the program is interrupted, in the order they were made.
static UNFINISHED: Mutex<Vec<Leftover>> = Mutex::new(Vec::new());

#[derive(Debug, Clone, PartialEq, Eq)]
struct Leftover {
    path: PathBuf,
    /// Whether it is a folder that stays if something is in it.
    is_kept_if_full: bool,
}

/// The act that takes from the terminal's last lines what does not stay.
static CLEAR_SCREEN: Mutex<Option<fn()>> = Mutex::new(None);

/// The act to do before files are removed.
static LAST_ACT: Mutex<Option<LastAct>> = Mutex::new(None);

type LastAct = Box<dyn FnOnce(i32) + Send>;

/// Does this first when the program is interrupted: later messages get lines of their own.
pub fn clear_screen_first(clear: fn()) {
    watch_signals();
    *lock(&CLEAR_SCREEN) = Some(clear);
}

/// An act to do if the program is interrupted before this is dropped.
#[derive(Debug)]
pub struct OnInterrupt(());

impl OnInterrupt {
    /// Registers the act; only one can be registered. It runs in another thread while the rest of
    /// the program runs on: data that both use needs a lock. Standard error may be gone:
    /// `eprintln!` would panic.
    pub fn new(act: impl FnOnce() + Send + 'static) -> OnInterrupt {
        OnInterrupt::with_code(|_| act())
    }

    /// As [`new`](OnInterrupt::new), for an act that is told the exit code: 128 and the signal's
    /// number.
    pub fn with_code(act: impl FnOnce(i32) + Send + 'static) -> OnInterrupt {
        watch_signals();
        *lock(&LAST_ACT) = Some(Box::new(act));
        OnInterrupt(())
    }
}

impl Drop for OnInterrupt {
    fn drop(&mut self) {
        *lock(&LAST_ACT) = None;
    }
}

/// A file or folder that an interrupted program must not leave behind. The owner drops this after
/// the file is renamed or removed.
#[derive(Debug)]
pub(crate) struct Unfinished(Leftover);

impl Unfinished {
    /// Makes a file or folder, [locks](locked) it, and registers it. An interruption comes before
    /// all three or after them.
    pub(crate) fn make<T: AsRef<Path>>(
        make: impl FnMut() -> io::Result<T>,
    ) -> io::Result<(T, Option<File>, Unfinished)> {
        let registered = Unfinished::register(
            || locked(make),
            |(made, _)| Leftover {
                path: made.as_ref().to_owned(),
                is_kept_if_full: false,
            },
        )?;
        let ((made, lock), unfinished) = registered;
        Ok((made, lock, unfinished))
    }

    /// Makes a file of this path, and registers it. An interruption comes before both or after
    /// them.
    pub(crate) fn file<T>(
        path: &Path,
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Unfinished)> {
        Unfinished::register(make, |_| Leftover {
            path: path.to_owned(),
            is_kept_if_full: false,
        })
    }

    /// Makes a folder of this path, which stays if something is in it, and registers it. An
    /// interruption comes before both or after them.
    pub(crate) fn if_empty<T>(
        path: &Path,
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Unfinished)> {
        Unfinished::register(make, |_| Leftover {
            path: path.to_owned(),
            is_kept_if_full: true,
        })
    }

    fn register<T>(
        make: impl FnOnce() -> io::Result<T>,
        leftover: impl FnOnce(&T) -> Leftover,
    ) -> io::Result<(T, Unfinished)> {
        watch_signals();
        let mut unfinished = lock(&UNFINISHED);
        let made = make()?;
        let leftover = leftover(&made);
        unfinished.push(leftover.clone());
        Ok((made, Unfinished(leftover)))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        lock(&UNFINISHED).retain(|leftover| *leftover != self.0);
    }
}

/// Lets no signal end the program in an orderly way until this is dropped: it waits. A second one
/// does not. No file or folder may be begun, finished or dropped meanwhile.
pub(crate) fn hold_signals() -> impl Sized {
    watch_signals();
    lock(&UNFINISHED)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch_signals() {
    native::watch_signals(end_program);
}

/// Ends the program at once, as a signal does but with this exit code. Any thread may call it,
/// whatever the other threads are waiting for.
pub fn end_program(code: i32) -> ! {
    if let Some(clear) = lock(&CLEAR_SCREEN).take() {
        let _ = catch_unwind(clear);
    }
    // Both locks are held until the program has ended. Other threads run on only until they
    // begin or finish a file, and cannot end the program too early.
    let mut act = lock(&LAST_ACT);
    if let Some(act) = act.take() {
        // If the act panics, the program still ends.
        let _ = catch_unwind(AssertUnwindSafe(|| act(code)));
    }
    let unfinished = lock(&UNFINISHED);
    // A folder was made before the files in it.
    for Leftover {
        path,
        is_kept_if_full,
    } in unfinished.iter().rev()
    {
        // Another thread may add a file while its folder is removed. If removal fails a few
        // times, the rest stays.
        let removed = || {
            let result = match (path.is_dir(), is_kept_if_full) {
                (true, true) => std::fs::remove_dir(path),
                (true, false) => std::fs::remove_dir_all(path),
                (false, _) => std::fs::remove_file(path),
            };
            result.is_ok()
        };
        let _ = (0..10).any(|_| removed());
    }
    native::exit(code);
}
