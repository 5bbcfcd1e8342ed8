//! The parts that differ by operating system: on Linux all protections, elsewhere what a system
//! without isolation gives. A program runs in the same way under both, so that the tests of the
//! second form run on Linux, too.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod plain;

use std::fs::File;
use std::io::{self, Seek, Write};

#[cfg(target_os = "linux")]
pub use linux::{available, confines_files, run};
#[cfg(not(target_os = "linux"))]
pub use plain::{available, confines_files, run};

/// Whether this system has isolation at all, on a kernel that is new enough.
pub const HAS_ISOLATION: bool = cfg!(target_os = "linux");

/// A file without a name that holds this, to be read from its start.
fn unnamed_file(content: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}
