//! The output of commands: the look of text, tables, progress, and documents for programs.
//!
//! | module | what it holds |
//! |---|---|
//! | [`look`] | colours, characters, and text wrapped to the terminal's width |
//! | [`stdout`] | where a command writes its report |
//! | [`table`] | tables as text and as HTML |
//! | [`progress`] | the trait that long computations report to, and bars on standard error |
//! | [`json`] | the flag `--json` and its documents, written and read |

pub mod json;
pub mod look;
pub mod progress;
pub mod stdout;
pub mod table;

pub use look::Look;
