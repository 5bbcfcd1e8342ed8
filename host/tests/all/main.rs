//! All tests of the crate in one program, which is linked once.

mod errors;
#[path = "../../../crates/cuda/tests/gpu/mod.rs"]
mod gpu;
mod labs;
mod membench;
mod ordered;
mod several;
