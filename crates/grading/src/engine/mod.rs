//! How a grade comes about: a trusted process owns device, inputs, clock and verdict.
//!
//! A submission is PTX and plans, and so it is data. What it can do is what its kernels do on the device, and that is
//! bounded like this:
//!
//! - *inputs* are fresh for every sample, from a secret seed: nothing can be computed before, or remembered;
//! - *memory* that is no input is poisoned before each sample; guard bands lie around every buffer, or, on the emulated
//!   device, every access is checked; what the lab only reads must be unchanged; the module is loaded anew, so that its
//!   globals are; what the reference left in memory is overwritten before the memory is given back;
//! - *every value* of every output of every sample is compared, timed ones included;
//! - *time* is the device's and must agree with the host's; none may be shorter than the device needs for the bytes that
//!   any solution moves; the reference runs in turn with the submission, in random order;
//! - *races* and the like, which a GPU may not show, are looked for on the emulated device: see [`checks`];
//! - *each case* runs in a process of its own with a deadline for each run: see [`child`].
//!
//! | module       | what it holds                                                              |
//! |--------------|----------------------------------------------------------------------------|
//! | [`grading`]  | all cases of a submission: the report                                      |
//! | `requests`   | what is asked of the processes that run the cases                          |
//! | [`runner`]   | what runs the cases' jobs: each in a process of its own                     |
//! | [`screen`]   | what is refused before anything runs                                       |
//! | [`job`]      | one case, as the process gets it that runs it, and what it answers         |
//! | [`child`]    | that process, its deadlines, and what its death means                      |
//! | [`trial`]    | one run in isolation                                                       |
//! | `looks`      | which cases the emulated device looks at before a GPU, and what comes of it |
//! | [`checks`]   | such a look: what a GPU does not show                                      |
//! | [`judge`]    | which results are right                                                    |
//! | [`timed`]    | samples of time, in turn with a reference                                  |
//! | [`ratio`]    | what the samples say                                                       |
//! | [`ceiling`]  | the shortest time that can be believed                                     |
//! | [`seeds`]    | fresh inputs                                                               |
//! | `fault`      | what a device's error means for a grade                                    |
//! | `evidence`   | what a diagnosis needs to know of a wrong result                           |

pub mod ceiling;
pub mod checks;
pub mod child;
mod evidence;
mod fault;
pub mod grading;
pub mod job;
pub mod judge;
mod looks;
pub mod ratio;
mod requests;
pub mod runner;
pub mod screen;
pub mod seeds;
#[cfg(test)]
mod tests;
pub mod timed;
pub mod trial;
