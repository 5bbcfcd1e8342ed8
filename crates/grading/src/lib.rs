//! The grader: turns a submission to a lab into points that an instructor can defend.
//!
//! # Contract
//!
//! A submission is a folder with `kernels.rs` and `launch.rs`, or the [`bundle`] that was packed
//! from one. A lab file, `labs/LAB/lab.toml`, lists cases, tolerance and points ([`lab_spec`]). The
//! grade is a [`GradeReport`]: for each case an [`Outcome`], and for each failure a [`Kind`] with a
//! stable code.
//!
//! - *Trust.* A submission is data to the process that grades: PTX and plans. Its Rust runs only in
//!   a sandbox, while it is packed. Each job runs in a [`worker`] process with limits, and an end
//!   of that process costs one job.
//! - *Repeatability.* `--seed` and `--draw` in a report give the same inputs and the same hidden
//!   cases again.
//! - *Blame.* A failure is the submission's. An error is the machine's, and takes no points. A case
//!   without a result says why: [`NoResult::NotGradedHere`] leaves the total,
//!   [`NoResult::Undecided`] stays in it. A kernel's fault is a failure whose kind names the rule
//!   that the kernel broke.
//!
//! # Where does a point come from?
//!
//! 1. `labs/LAB/lab.toml` says what a case is worth: `CaseSpec::points`, `PerformanceSpec::points`.
//! 2. [`engine::job::CaseJob::run_on`] runs the case. `CaseWork::checked` compares every value of
//!    every output with the reference; the first wrong value is a [`Failure`].
//! 3. `add` in `engine/mod.rs` gives a case that passed all of its points, and any other case none.
//!    A case that passed on a GPU fails if the emulated device finds a fault in it.
//! 4. `CaseWork::time_beside` in `engine/speed.rs` measures the ratio to a reference or to the
//!    device's limit. [`lab_spec::PerformanceSpec::earned`] maps the ratio to points, linearly from
//!    `zero` to `full`.
//! 5. `add_counted` in `engine/mod.rs` gives the points for exact counts, such as sectors of global
//!    memory, by [`lab_spec::CountSpec::earned`].
//! 6. `Totals::of` in `report.rs` adds them up.
//!
//! # Spine
//!
//! These files, in this order, are the way of one submission.
//!
//! | file                | what happens there                                           |
//! |---------------------|--------------------------------------------------------------|
//! | `lab_spec/mod.rs`   | cases, tolerance and points of a lab                         |
//! | `worker/mod.rs`     | the protocol of the processes that do the jobs               |
//! | `pack/job.rs`       | the job `pack`: folder in, bundle file out                   |
//! | `pack/mod.rs`       | screen, compile twice, record plans; whose fault an error is |
//! | `bundle/mod.rs`     | the file between packing and grading                         |
//! | `engine/mod.rs`     | all cases of a bundle, with every defence; the report        |
//! | `engine/open.rs`    | the job `open`: bundle in, checked plans out                 |
//! | `plan_check/mod.rs` | a plan against its lab, its kernels and the device's limits  |
//! | `engine/job.rs`     | the job `case`: one case on one device                       |
//! | `engine/case.rs`    | runs of the submission, each compared with the reference     |
//! | `outcome.rs`        | how a case ended; every kind of failure                      |
//! | `report.rs`         | the grade, as data                                           |
//!
//! Beside it: [`diagnose`] describes wrong values, `engine/speed.rs` and [`engine::sampling`] time
//! a case, `engine/emulated.rs` finds races that a GPU does not show, `device_errors.rs` maps a
//! device's error to a kind of failure. Engine and pack do not use each other; both use `worker`,
//! which knows no job. The crate `classroom` has the commands and the forms in which people read a
//! grade.
//!
//! # Limits
//!
//! The sandbox reports each layer that the system lacks, and of others than Linux nearly all. Speed
//! is graded on a GPU only. A submission can know the lab's public cases, so that a course's
//! defence against special treatment of them is hidden cases. The book's page "Threats and academic
//! integrity" lists the attacks, `docs/reference/report-json.md` the fields of `report.json`, and
//! `docs/reference/submissions.md` what a submission may use.

pub mod bundle;
mod command_error;
mod device_errors;
pub mod diagnose;
pub use output_files::digest;
pub mod engine;
pub mod lab_spec;
pub mod outcome;
pub mod pack;
pub mod plan_check;
mod processes;
pub mod report;
pub mod worker;

pub use device_errors::places;

pub use outcome::{Category, Failure, Kind, NoResult, Outcome};
pub use report::GradeReport;
