//! The input and output of commands: their command line, the look of text, tables, progress, and
//! documents for programs.
//!
//! | module | what it holds |
//! |---|---|
//! | [`program`] | what every `main` does |
//! | [`command_line`] | a command line, read or refused |
//! | [`look`] | colours, characters, and text wrapped to the terminal's width |
//! | [`stdout`] | where a command writes its report |
//! | [`table`] | tables as text and as HTML |
//! | [`progress`] | the trait that long computations report to, and bars on standard error |
//! | [`json`] | the flag `--json` and its documents, written and read |

pub mod command_line;
pub mod json;
pub mod look;
pub mod program;
pub mod progress;
pub mod stdout;
pub mod table;

pub use look::Look;
