//! The record that `harness emulate` judges a program by.
//!
//! Each line is a JSON object (`report.rs`). Where the lines go:
//!
//! - `EMULATED_DRIVER_REPORT` names a file: it is made, and lines are appended.
//! - `EMULATED_DRIVER_RECORD` is set by `harness emulate`, as a variable and beside the library
//!   (`settings.rs`): the inode of a file in memory that it has open, a colon, and its path in
//!   `/proc`. A full disk, a `TMPDIR` that is emptied, or
//!   closed descriptors do not take it away from a process of the program.
//!
//! # When a record is complete
//!
//! "No fault" must be proved: a line that is missing must not read as one that there was no need
//! for. So the file in memory begins with a page of [`Counters`], which every process maps when it
//! first has something to record, and the lines follow behind that page.
//!
//! - A line is counted before it is written. The record is complete if it has as many lines as were
//!   counted.
//! - A launch is counted before it begins, and again when its faults are recorded. The record is
//!   complete if no launch is missing its end: then no kernel was cut off by a signal, `exec` or
//!   `_exit`, which would leave its faults unknown.
//! - A process that cannot reach its counters ends: it has run no kernel.
//!
//! Counting is an addition in shared memory, which cannot fail. Nothing is asked of the end of a
//! process, so that one that is killed after its launches leaves a complete record.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::process::{Resource, getrlimit};

use crate::settings::{Settings, Target};
use crate::stderr::tell;

/// Bytes before the first line: those that `harness emulate` makes, with zeros.
const HEADER_BYTES: usize = 4096;

/// The exit code of a process that cannot be recorded, as that of `harness` for a machine that
/// lacks something.
const NOT_RECORDED: i32 = 3;

/// The beginning of the file in memory, which all processes of the program share.
#[repr(C)]
struct Counters {
    /// Lines that there must be.
    lines: AtomicU64,
    /// Launches that were begun, and those of them that have ended.
    begun: AtomicU64,
    ended: AtomicU64,
}

/// Appends a line. A failure is told, and shows in the counters.
pub(crate) fn append(line: &str) {
    let Some(target) = &Settings::get().target else {
        return;
    };
    if let Some(counters) = counters() {
        counters.lines.fetch_add(1, SeqCst);
    }
    if let Err(error) = write(target, line) {
        let path = target.path().display();
        tell(format_args!("cannot write to {path}: {error}"));
    }
}

/// Counts a launch that begins; its end when this is dropped.
pub(crate) fn launch() -> Launch {
    let counters = counters();
    if let Some(counters) = counters {
        counters.begun.fetch_add(1, SeqCst);
    }
    Launch(counters)
}

/// A launch that has begun.
pub(crate) struct Launch(Option<&'static Counters>);

impl Drop for Launch {
    fn drop(&mut self) {
        if let Some(counters) = self.0 {
            counters.ended.fetch_add(1, SeqCst);
        }
    }
}

/// The counters, if there are any. Without those that `harness emulate` has made the process ends.
fn counters() -> Option<&'static Counters> {
    static COUNTERS: OnceLock<Option<&'static Counters>> = OnceLock::new();
    *COUNTERS.get_or_init(|| {
        let target = Settings::get().target.as_ref()?;
        let Target::Record { path, inode } = target else {
            return None;
        };
        let mapped = open_record(path, *inode).and_then(|file| map(&file));
        Some(mapped.unwrap_or_else(|error| {
            tell(format_args!(
                "cannot reach the record of `harness emulate`, {}: {error}. `harness emulate` has \
                 ended before this process, or the process has a user or a /proc of its own and has \
                 closed the descriptor that it got. What it does could not be recorded, so it ends \
                 here",
                path.display()
            ));
            // SAFETY: it ends the process, without the code of others that `exit` would run.
            unsafe { libc::_exit(NOT_RECORDED) }
        }))
    })
}

/// Maps the counters for as long as the process lives.
fn map(file: &File) -> io::Result<&'static Counters> {
    if file.metadata()?.len() < HEADER_BYTES as u64 {
        return Err(io::Error::other("it has no counters"));
    }
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the system chooses the address, so that the mapping replaces nothing.
    let page = unsafe {
        mmap(
            std::ptr::null_mut(),
            HEADER_BYTES,
            access,
            MapFlags::SHARED,
            file,
            0,
        )
    }?;
    // SAFETY: the page is as large as the counters and aligned, holds numbers that are valid
    // whatever they are, is accessed by atomic operations alone, and is never unmapped.
    Ok(unsafe { &*page.cast::<Counters>() })
}

/// Opens the file in memory: by the path in `/proc`, or as the descriptor that `harness emulate`
/// has left to the program. The path needs the user and the `/proc` of `harness emulate`, the
/// descriptor a program that has not closed it. Either may mean another file by now.
fn open_record(path: &Path, inode: u64) -> io::Result<File> {
    let open = |at: &Path| {
        let file = OpenOptions::new().read(true).append(true).open(at)?;
        if file.metadata()?.ino() == inode {
            Ok(file)
        } else {
            Err(io::Error::other("this is another file"))
        }
    };
    let own = |number: &OsStr| Path::new("/proc/self/fd").join(number);
    open(path).or_else(|error| match path.file_name().map(own) {
        Some(path) => open(&path).map_err(|_| error),
        None => Err(error),
    })
}

/// Writes a line in one go, so that lines of several processes stay whole. The file is opened for
/// it: a program may close all its descriptors, or reuse their numbers.
fn write(target: &Target, line: &str) -> io::Result<()> {
    let mut file = match target {
        Target::Record { path, inode } => open_record(path, *inode)?,
        Target::Report { path } => OpenOptions::new().create(true).append(true).open(path)?,
    };
    let line = format!("{line}\n");
    // The system would end the program by SIGXFSZ.
    let most = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    let is_regular = file.metadata()?.is_file();
    if is_regular && file.metadata()?.len() + line.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    file.write_all(line.as_bytes())
}
