//! All tests of the crate in one program, which is linked once.

mod emulated;
mod groups;
mod plan;
mod validation;
