//! Words for the user of the program.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a line to standard error. A reader that is gone misses nothing.
pub(crate) fn tell(text: Arguments<'_>) {
    // In one go, so that lines of several processes stay whole.
    let line = format!("emulated driver: {text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
