//! The corpus of submissions: hostile ones, which must get nothing for what they try, and honest but unusual ones, which
//! must get everything.
//!
//! `tests/submissions/README.md` says what is in a submission's folder. Each is graded by the program itself, as a user
//! would, and the report is compared with what `expect.toml` says.
//!
//! | module      | what it holds                                                    |
//! |-------------|------------------------------------------------------------------|
//! | [`corpus`]  | which submissions there are, and their folders put together      |
//! | [`expect`]  | what is expected of one                                          |
//! | [`grading`] | the program, started on one                                      |
//! | [`judge`]   | whether a report is what was expected                            |
//! | [`summary`] | the table of all of them                                         |

pub mod corpus;
pub mod expect;
pub mod grading;
pub mod judge;
pub mod summary;
