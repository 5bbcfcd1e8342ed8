//! The built-in solutions, from the folders of `kernels-gpu/solutions`: each is a submission, a
//! `kernels.rs` and a `launch.rs`, compiled here as it stands.
//!
//! `kernels-gpu/build.rs` finds them and writes this module's text. Where there are none, as in a
//! student's copy of the course, every lab is there without variants.

// `Submission` and some more are for submissions made from these files.
#![allow(dead_code, missing_docs)]
// In formulas, as a kernel has them, `x` in a closure is the axis that `x` is outside of it.
#![allow(clippy::shadow_same, clippy::shadow_unrelated)]

include!(env!("SOLUTIONS"));

/// The text of a program in another language; none in a copy of the course without solutions.
pub fn program(file: &str) -> Option<&'static str> {
    let mut programs = PROGRAMS.iter();
    let found = programs.find(|(name, _)| *name == file);
    found.map(|(_, text)| *text)
}
