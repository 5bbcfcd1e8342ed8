//! All tests of the crate in one program, which is linked once.

mod catalogue;
mod choice;
mod tuned;
