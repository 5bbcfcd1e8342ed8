//! The command line: tests and shows the labs. Crate [`runs`] runs their problems, crate
//! [`measure`] times them, crate [`inspect`] counts what their kernels do, and crate [`grading`]
//! grades submissions.
//!
//! | module        | what it holds                                             |
//! |---------------|-----------------------------------------------------------|
//! | [`cli`], [`program`] | the command line, the program                      |
//! | [`list`]      | `harness list`                                            |
//! | [`launch`]    | `harness launch`                                          |
//! | `emulate`     | `harness emulate` (Linux)                                 |
//! | [`doctor`]    | `harness doctor`                                          |
//! | [`mod@test`]   | `harness test`                                            |
//! | `own`         | `--submission`                                            |
//! | [`export`]    | `harness export`: the student's copy                      |
//! | [`new_project`] | `harness new`                                           |
//! | [`new_lab`]   | `harness new-lab`                                         |

pub mod cli;
pub mod doctor;
#[cfg(target_os = "linux")]
pub mod emulate;
pub mod export;
pub mod launch;
pub mod list;
pub mod new_lab;
pub mod new_project;
mod own;
pub mod program;
pub mod test;
