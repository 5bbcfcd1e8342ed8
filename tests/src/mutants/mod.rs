//! Mutants: right programs with one small mistake each, graded as submissions are.
//!
//! A grader that is right in all that it is asked about may still not ask: about a barrier that
//! nothing needs in its cases, a halo that is never read. Each mutant that keeps all points is a
//! question to the grader or to the lab. `tests/submissions/mutants.md` has the answers.
//!
//! | module   | what it holds                                                      |
//! |----------|--------------------------------------------------------------------|
//! | `tokens` | a source file as tokens with their places                          |
//! | `mutate` | the mistakes that are made: the mutants of a file                  |
//! | `run`    | the mutants of some programs, packed, compared with them, graded   |

mod mutate;
mod run;
mod tokens;

pub use mutate::{Mutation, mutations};
pub use run::{Fate, Mutant, Programs};
