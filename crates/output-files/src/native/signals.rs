//! Signals of Unix.

use std::sync::mpsc::channel;
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// `timeout` sends its signal to the program and then to its group. When a terminal is closed,
/// the shell and the system both send SIGHUP. The program thus gets one signal twice. A user
/// does not press Ctrl-C twice as fast.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// From the first call on, `end` is called with the exit code when a signal is to end the program.
/// If signals cannot be watched, they still end it, but temporary files stay.
pub(crate) fn watch_signals(end: fn(i32) -> !) {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let (watching, is_watching) = channel::<()>();
        let watch = move || {
            let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter();
            let signals = Signals::new(wanted.filter(|&signal| !is_ignored(signal)));
            drop(watching);
            if let Ok(signals) = signals {
                wait(signals, end);
            }
        };
        drop(thread::Builder::new().name("signals".into()).spawn(watch));
        // The thread sends nothing: this call waits until the signals are watched, or cannot
        // be.
        let _ = is_watching.recv();
    });
}

/// From here on, a write beyond `ulimit -f` fails as on a full disk. Otherwise a signal would
/// end the program before it could say so. Programs that this one starts have the signal's
/// usual effect: an action does not outlive `exec`, as ignoring the signal would.
pub fn outlive_file_size_limit() {
    if !is_ignored(SIGXFSZ) {
        // If it cannot be, the signal ends the program.
        let _ = flag::register(SIGXFSZ, Arc::default());
    }
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

fn wait(mut signals: Signals, end: fn(i32) -> !) {
    let mut first: Option<Instant> = None;
    for signal in signals.forever() {
        match first {
            None => {
                first = Some(Instant::now());
                let ending = thread::Builder::new().spawn(move || end(128 + signal));
                if ending.is_err() {
                    end(128 + signal);
                }
            }
            Some(first) if first.elapsed() < SAME_SIGNAL => {}
            Some(_) => exit(128 + signal),
        }
    }
}

/// Ends the program without the work of libraries at the end of a program: other threads still use
/// them.
pub(crate) fn exit(code: i32) -> ! {
    signal_hook::low_level::exit(code)
}
