//! All tests of the crate in one program, which is linked once.

mod common;
mod compilers;
mod errors;
mod layout;
mod link;
mod outline;
