//! Grading as people meet it: the commands of students and instructors, and the forms in which they
//! read a grade.
//!
//! # Contract
//!
//! Each command is a `clap` structure and a function that runs it; `harness` dispatches to them.
//! [`grading`] decides every verdict and every point. This crate chooses what is graded, keeps the
//! results of a class, and shows what was found. It adds no rule of its own.
//!
//! - *Nothing is lost.* A class is graded in steps, each kept in the results folder before the next
//!   one begins, so that a command that was stopped goes on where it ended ([`all`]).
//! - *Two readers.* A report is for the instructor; its student form names no parameter of a hidden
//!   case and no reference output ([`report`]).
//!
//! # Spine
//!
//! | file                    | what happens there                                              |
//! |-------------------------|-----------------------------------------------------------------|
//! | `grade.rs`              | `harness grade`: one submission or many, and the workers' jobs  |
//! | `examiner.rs`           | grades a submission: packs a folder, has the engine grade it    |
//! | `all/mod.rs`            | `harness grade --all`: every submission of a folder             |
//! | `all/store.rs`          | the results folder: what is kept, under which key               |
//! | `all/summary.rs`        | the class as CSV, text and pages                                |
//! | `report/mod.rs`         | a grade for those who read it                                   |
//! | `report/figures.rs`     | what every form of a report says of a case                      |
//! | `report/student.rs`     | the form that may be handed back                                |
//! | `watch/mod.rs`          | `harness watch`: a grade on every save, one screen              |
//! | `progress/mod.rs`       | `harness progress`: how far a student is, lab by lab            |
//! | `pack.rs`               | `harness pack`: a submission, built in isolation                |
//! | `check_course/mod.rs`   | `harness check-course`: the course, tested as students will     |

pub mod all;
pub mod arguments;
pub mod check_course;
pub mod examiner;
pub mod grade;
mod kept;
pub mod pack;
mod places;
pub mod progress;
pub mod report;
pub mod rules;
pub mod watch;
