//! Whole-program tests, UI tests of bad kernels, and the course's checks of itself.
//!
//! The tests are in `tests/tests/`, one file or folder per subject; this crate holds their common
//! code. The tests below are of rustc's own messages. These differ between its versions: only the
//! error's number is checked.
//!
//! A parameter's bits come from the host: its type must be `Copy`, by value and in a slice:
//!
//! ```compile_fail,E0277
//! #[cuda_std::kernel]
//! pub unsafe fn by_value(x: Vec<f32>) {
//!     let _ = x;
//! }
//! ```
//!
//! ```compile_fail,E0277
//! #[cuda_std::kernel]
//! pub unsafe fn in_a_slice(x: &[String]) {
//!     let _ = x;
//! }
//! ```
//!
//! The length of a shared array is a constant:
//!
//! ```compile_fail,E0435
//! pub fn k(n: usize) {
//!     let _ = cuda_std::shared_array![f32; n];
//! }
//! ```

pub mod differential;
pub mod mutants;
pub mod submissions;

pub use harness::cli::main as harness_main;

/// The parts of grading that tests use.
pub mod grade {
    pub use grading::bundle::Bundle;
    pub use grading::digest::sha256;
    pub use grading::lab_spec::Group;
    pub use grading::outcome::{Category, Failure, Kind, Outcome};
    pub use grading::report::{CaseGrade, GradeReport, SubmissionId, Times};
}
