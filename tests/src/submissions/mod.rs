//! The corpus of submissions: hostile ones, which must earn nothing by their trick, and honest but
//! unusual ones, which must earn everything.
//!
//! `tests/submissions/README.md` describes the files. Each submission is graded by the program
//! itself, as a user would, and the report is compared with what is expected.
//!
//! | module          | what it holds                                             |
//! |-----------------|-----------------------------------------------------------|
//! | `corpus`        | which submissions there are, and their source             |
//! | `expectation`   | what is expected of one, and whether a report is that     |
//! | `fuzz`          | bundles changed at random: each gets a report             |
//! | `grading`       | the program, started on them; the table of results        |

mod corpus;
mod expectation;
mod fuzz;
mod grading;

pub use corpus::{Corpus, Side, Submission};
pub use expectation::{ExpectedVerdict, check, outcome};
pub use fuzz::Fuzz;
pub use grading::{Grader, Row, is_perfect, summary};
