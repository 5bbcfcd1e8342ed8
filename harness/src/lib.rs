//! The command line: tests, shows, runs and grades the labs. Crate `measure` times them.
//!
//! | module        | what it holds                                             |
//! |---------------|-----------------------------------------------------------|
//! | [`cli`], [`program`] | the command line, the program                      |
//! | [`list`]      | `harness list`                                            |
//! | `launch`      | `harness launch` (Unix)                                   |
//! | [`doctor`]    | `harness doctor`                                          |
//! | [`mod@test`]   | `harness test`                                            |
//! | [`run`]       | `harness run`                                             |
//! | [`check_course`] | `harness check-course`: the course, tested            |
//! | [`export`]    | `harness export`: the student's copy                      |
//! | [`grade`]     | `harness grade`                                           |
//! | [`mod@pack`] | `harness pack`: a submission, built in isolation      |

pub mod check_course;
pub mod cli;
pub mod doctor;
pub mod export;
pub mod grade;
#[cfg(unix)]
pub mod launch;
pub mod list;
pub mod pack;
pub mod program;
pub mod run;
pub mod test;
