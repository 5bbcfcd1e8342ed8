//! Tests, times and shows the labs.
//!
//! | module        | what it holds                                             |
//! |---------------|-----------------------------------------------------------|
//! | [`cli`], [`program`] | the command line, the program                      |
//! | [`list`]      | `harness list`                                            |
//! | `launch`      | `harness launch` (Unix)                                   |
//! | [`doctor`]    | `harness doctor`                                          |
//! | [`mod@test`]   | `harness test`                                            |
//! | [`perf`]      | `harness perf`                                            |
//! | [`scaling`]   | `harness perf LAB --gpus`: one lab on more and more GPUs   |
//! | [`tune`]      | `harness tune`                                            |
//! | [`compare`]   | `harness compare`                                         |
//! | [`profile`]   | `harness profile`                                         |
//! | [`report`]    | `harness report`                                          |
//! | [`animate`]   | `harness animate`                                         |
//! | [`run`]       | `harness run`                                             |
//! | [`mod@occupancy`] | `harness occupancy`                                     |
//! | [`check_course`] | `harness check-course`: the course, tested            |
//! | [`export`]    | `harness export`: the student's copy                      |
//! | [`grade`]     | `harness grade`                                           |
//! | [`mod@pack`] | `harness pack`: a submission, built in isolation      |
//! | [`peer`]      | programs in other languages, timed beside the variants    |
//! | [`cpu`]       | the CPU's name                                            |
//! | [`course_root`] | where the course is                                     |

pub mod animate;
pub mod check_course;
pub mod cli;
pub mod code_lines;
pub mod compare;
pub mod course_root;
pub mod cpu;
pub mod doctor;
pub mod export;
pub mod grade;
#[cfg(unix)]
pub mod launch;
pub mod list;
pub mod occupancy;
pub mod pack;
pub mod peer;
pub mod perf;
pub mod profile;
pub mod program;
pub mod report;
pub mod run;
pub mod scaling;
pub mod test;
#[cfg(test)]
mod testing;
pub mod tune;

pub use grading::digest;
pub use output_files::interrupt;
