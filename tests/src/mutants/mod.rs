//! Mutants: right programs with one small mistake each, graded as submissions are.
//!
//! A grader that is right in all that it is asked about may still not ask: about a barrier that
//! nothing needs in its cases, a halo that is never read. Each mutant that keeps all points is a
//! question to the grader or to the lab.
//!
//! | module   | what it holds                                                      |
//! |----------|--------------------------------------------------------------------|
//! | `tokens` | a source file as tokens with their places                          |
//! | `mutate` | the mistakes that are made: the mutants of a file                  |

mod mutate;
mod tokens;

pub use mutate::{Mutation, mutations};
