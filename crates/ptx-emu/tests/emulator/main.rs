//! Every part of the emulator, by launches of small kernels. One program, so that it is linked
//! once.

#![allow(
    clippy::disallowed_methods,
    reason = "what is expected is within an error, or exact"
)]

mod accessed;
mod arguments;
mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod control;
mod copies;
mod counts;
mod errors;
mod forms;
mod held;
mod inexact;
mod lanes;
mod late_stores;
mod matrix;
mod operands;
mod orders;
mod parts;
mod prints;
mod random;
mod recordings;
mod registers;
mod seeds;
mod several_devices;
mod shared_with_host;
mod system;
mod tensors;
mod textures;
mod verdicts;
mod waiting;
mod warpgroup;
