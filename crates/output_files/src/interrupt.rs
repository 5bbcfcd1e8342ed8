//! Ctrl-C, SIGTERM and SIGHUP: a program that one of them ends leaves no half-written file or
//! folder behind, and can save what is finished.
//!
//! SIGTERM is what batch systems and `timeout` send, SIGHUP comes when a terminal is closed. The
//! program exits with 128 and the signal's number, as shells have it: 130 for Ctrl-C, 143 for
//! SIGTERM, 129 for SIGHUP. A second signal ends it at once, whatever the first one's work is
//! waiting for; what comes within half a second is the same signal, told twice. A signal that the
//! program was started to ignore, as `nohup` does with SIGHUP, it ignores.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What to remove when the program is interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What to do before that.
static LAST_ACT: Mutex<Option<LastAct>> = Mutex::new(None);

type LastAct = Box<dyn FnOnce() + Send>;

/// Something to be done if the program is interrupted before this is dropped.
#[derive(Debug)]
pub struct OnInterrupt(());

impl OnInterrupt {
    /// Registers the act; there is only one. It runs in another thread, while the rest of the
    /// program runs on: what they share is under a lock. Standard error may be gone: `eprintln!`
    /// would panic.
    pub fn new(act: impl FnOnce() + Send + 'static) -> OnInterrupt {
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

/// A file or folder that is not to outlive an interrupted program, until this is dropped: after the
/// file is renamed or removed.
#[derive(Debug)]
pub(crate) struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// Makes a file or folder and registers it. An interruption comes before both or after both.
    pub(crate) fn make<T: AsRef<Path>>(
        make: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Unfinished)> {
        watch_signals();
        let mut unfinished = lock(&UNFINISHED);
        let made = make()?;
        let path = made.as_ref().to_owned();
        unfinished.push(path.clone());
        Ok((made, Unfinished { path }))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        lock(&UNFINISHED).retain(|path| *path != self.path);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Signals end the program as they always do, only less tidily.
#[cfg(not(unix))]
fn watch_signals() {}

#[cfg(unix)]
pub use signals::end_program;
#[cfg(unix)]
use signals::watch_signals;

#[cfg(unix)]
mod signals {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Once;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::{Duration, Instant};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::exit;

    use super::*;

    /// `timeout` sends its signal to the program and then to its group, and when a terminal is
    /// closed the shell and the system both say so: the program gets it twice. Nobody presses
    /// Ctrl-C twice as fast.
    const SAME_SIGNAL: Duration = Duration::from_millis(500);

    /// From the first call on, signals end the program as this module says. Where they cannot be
    /// watched, they still end it, only less tidily.
    pub fn watch_signals() {
        static WATCHED: Once = Once::new();
        WATCHED.call_once(|| {
            let (watching, is_watching) = channel::<()>();
            let watch = move || {
                let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter();
                let signals = Signals::new(wanted.filter(|&signal| !is_ignored(signal)));
                drop(watching);
                if let Ok(signals) = signals {
                    wait(signals);
                }
            };
            drop(thread::Builder::new().name("signals".into()).spawn(watch));
            // It sends nothing: this waits until the signals are watched, or cannot be.
            let _ = is_watching.recv();
        });
    }

    fn is_ignored(signal: i32) -> bool {
        // SAFETY: `sigaction` is a plain structure, valid with all bytes 0. The call changes
        // nothing without a new action, and writes the present one into memory that is ours.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
                && action.sa_sigaction == libc::SIG_IGN
        }
    }

    fn wait(mut signals: Signals) {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            match first {
                None => {
                    first = Some(Instant::now());
                    let ending = thread::Builder::new().spawn(move || end(signal));
                    if ending.is_err() {
                        end(signal);
                    }
                }
                Some(first) if first.elapsed() < SAME_SIGNAL => {}
                Some(_) => exit(128 + signal),
            }
        }
    }

    fn end(signal: i32) {
        end_program(128 + signal);
    }

    /// Ends the program at once, as a signal does but with this exit code: from any thread,
    /// whatever others are waiting for.
    pub fn end_program(code: i32) -> ! {
        // Both locks are held until the program has ended: the other threads run on until they
        // begin or finish a file, and do not end it before its time.
        let mut act = lock(&LAST_ACT);
        if let Some(act) = act.take() {
            // Whatever happens there, the program ends.
            let _ = catch_unwind(AssertUnwindSafe(act));
        }
        let unfinished = lock(&UNFINISHED);
        for path in unfinished.iter() {
            // Another thread may add a file while its folder is removed. What cannot be removed in
            // a few tries stays.
            let removed = || {
                let result = if path.is_dir() {
                    std::fs::remove_dir_all(path)
                } else {
                    std::fs::remove_file(path)
                };
                result.is_ok()
            };
            let _ = (0..10).any(|_| removed());
        }
        // Without the work that libraries do at the end of a program: the other threads are still
        // using them.
        exit(code);
    }
}
