//! Grades submissions to the labs.
//!
//! | module            | what it holds                                                          |
//! |-------------------|------------------------------------------------------------------------|
//! | [`course`]        | what a lab grades: `labs/<lab>/lab.toml`                               |
//! | [`mod@pack`]      | a submission, built in isolation                                       |
//! | [`bundle`]        | a built submission, as a file                                          |
//! | [`plan_check`]    | a plan against its lab, its kernels, and what a device allows          |
//! | [`engine`]        | how a grade comes about: runs, comparisons, times                      |
//! | [`diagnose`]      | what wrong values look like: which cells, which pattern                |
//! | [`outcome`]       | how a case ended; the ways to fail, each with its stable code          |
//! | [`report`]        | a submission's grade, as data                                          |
//! | [`digest`]        | SHA-256 as texts have it                                               |
//!
//! `docs/grading.md` says how a grade comes about and describes the schema of `report.json`; `docs/packing.md` says what a
//! submission may do. The command lines and the forms in which people read a grade are in crate `harness`.

pub mod bundle;
mod command_error;
pub mod course;
mod device_errors;
pub mod diagnose;
pub use output_files::digest;
pub mod engine;
pub mod outcome;
pub mod pack;
pub mod plan_check;
pub mod report;

pub use outcome::{Category, Failing, Kind, Outcome};
pub use report::GradeReport;
