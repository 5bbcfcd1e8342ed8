//! The corpus of submissions: hostile ones, which must earn nothing by their trick, and honest but
//! unusual ones, which must earn everything.
//!
//! `tests/submissions/README.md` describes the files. The program itself grades each submission, as
//! for a user. The tests compare the report with the expectation.
//!
//! | module          | what it holds                                             |
//! |-----------------|-----------------------------------------------------------|
//! | `class`         | some of them, graded by one call                          |
//! | `corpus`        | the submissions, and their source                         |
//! | `expectation`   | the expectations, compared with reports                   |
//! | `fuzz`          | bundles changed at random: each gets a report             |
//! | `one_verdict`   | grades by 1, 2 and 8 host threads                         |
//! | `packing`       | their bundles                                             |
//! | `grading`       | the program, started on them; the table of results        |

mod class;
mod corpus;
mod expectation;
mod fuzz;
mod grading;
mod one_verdict;
mod packing;

pub use class::Class;
pub use corpus::{Corpus, Side, Submission};
pub use expectation::{ExpectedVerdict, check, outcome};
pub use fuzz::Fuzz;
pub use grading::{Grader, Row, is_perfect, summary};
pub use one_verdict::has_one_verdict;
pub use packing::Packing;
