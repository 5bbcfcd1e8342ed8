//! The command line: tests and shows the labs. Crate [`runs`] runs their problems, crate
//! [`measure`] times them, crate [`inspect`] counts what their kernels do, crate [`grading`]
//! grades submissions, and crate `emulate` runs GPU programs without a GPU.
//!
//! | module        | what it holds                                             |
//! |---------------|-----------------------------------------------------------|
//! | [`cli`]       | the command line, `main`                                  |
//! | [`list`]      | `harness list`                                            |
//! | [`launch`]    | `harness launch`                                          |
//! | [`doctor`]    | `harness doctor`                                          |
//! | [`mod@test`]   | `harness test`                                            |
//! | `own`         | `--submission`                                            |
//! | [`export`]    | `harness export`: the student's copy                      |
//! | [`new_project`] | `harness new`                                           |
//! | [`new_lab`]   | `harness new-lab`                                         |

pub mod cli;
pub mod doctor;
pub mod export;
pub mod launch;
pub mod list;
pub mod new_lab;
pub mod new_project;
mod own;
pub mod test;
