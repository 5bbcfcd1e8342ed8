//! The grader's commands: their arguments, and the forms in which people read a grade. Everything
//! else of this crate knows nothing of them.
//!
//! | module           | what it holds                                             |
//! |------------------|-----------------------------------------------------------|
//! | [`mod@grade`]    | `harness grade`, and the jobs of its workers              |
//! | [`all`]          | `harness grade --all`: every submission of a folder       |
//! | [`report`]       | a grade for those who read it                             |
//! | [`watch`]        | `harness watch`: a grade on every save, one screen        |
//! | [`mod@pack`]     | `harness pack`: a submission, built in isolation          |
//! | [`arguments`]    | what arguments of several commands mean                   |
//! | [`check_course`] | `harness check-course`: the course, tested                |

pub mod all;
pub mod arguments;
pub mod check_course;
pub mod grade;
pub mod pack;
pub mod report;
pub mod watch;
