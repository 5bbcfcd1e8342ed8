//! The frame of every program here: its command runs, an error is told, and the exit code says how
//! it went.

use std::io::Write;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use exit::{CommandError, Ending};
use page::escape;

use crate::look::Look;
use crate::stdout::Out;

/// Runs a command, which reads its command line itself. The exit code says how it went.
pub fn main(command: fn(&mut Out<'_>) -> Result<Ending, CommandError>) -> ExitCode {
    report_bugs_in_one_line();
    output_files::interrupt::outlive_file_size_limit();
    let code = match catch_unwind(|| command(&mut Out::stdout())) {
        Ok(Ok(ending)) => ending.exit_code(),
        Ok(Err(failure)) => {
            // It may quote a submission.
            let words = escape::plain(&failure.to_string());
            // At once: another process may write to the same place.
            let line = Look::of_stderr().message("error:", &words) + "\n";
            let _ = std::io::stderr().write_all(line.as_bytes());
            failure.exit_code()
        }
        Err(_panic) if LACKS_THREADS.load(Relaxed) => exit::codes::ENVIRONMENT,
        Err(_panic) => exit::codes::BUG,
    };
    ExitCode::from(code)
}

/// Whether a panic came where the machine started no more threads.
static LACKS_THREADS: AtomicBool = AtomicBool::new(false);

/// A panic is a bug in this program: a user needs to know where it is, not how it came about.
/// `RUST_BACKTRACE=1` shows the rest. But it is none where no thread can be started: much code here
/// and in libraries starts one without an answer to that.
fn report_bugs_in_one_line() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Err(error) = thread::Builder::new().spawn(|| {}) {
            LACKS_THREADS.store(true, Relaxed);
            eprintln!("error: {}", CommandError::no_threads(error));
            return;
        }
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            return usual(panic);
        }
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        let what = panic.payload_as_str().unwrap_or("panic");
        eprintln!(
            "error: bug in this program: {what} (at {place}); please report it with this line"
        );
    }));
}

/// Starts the threads that compute. Where one cannot be started, the first that needs them would
/// panic.
///
/// # Errors
///
/// The machine starts no more threads.
pub fn start_threads() -> Result<(), CommandError> {
    let started = rayon::ThreadPoolBuilder::new().build_global();
    // Without a source, they were started before.
    match started.as_ref().err().and_then(std::error::Error::source) {
        Some(error) => Err(CommandError::no_threads(error)),
        None => Ok(()),
    }
}
