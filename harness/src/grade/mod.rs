//! `harness grade`: a submission's score, and how it came about.
//!
//! | module       | what it holds                                                       |
//! |--------------|---------------------------------------------------------------------|
//! | [`verdict`]  | the result: what every case earned and why, as data                 |
//! | [`args`]     | the command                                                         |
//! | [`engine`]   | how it comes about                                                  |
//! | [`kind`]     | the ways in which a submission can fail, each with its stable code  |
//! | [`diagnose`] | what wrong values look like: which cells, which pattern             |
//! | [`all`]      | every submission of a folder                                        |
//! | [`report`]   | the grade for those who read it                                     |
//!
//! `docs/grading.md` says how a grade comes about and describes the schema of `report.json`.

pub mod all;
pub mod args;
pub mod diagnose;
pub mod engine;
pub mod kind;
pub mod report;
pub mod verdict;

pub use kind::{Category, Kind};
pub use verdict::GradeReport;
