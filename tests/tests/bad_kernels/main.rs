//! Wrong kernels as students write them: the message names the line to change, and the corrected kernel computes the
//! right numbers from the same input.

#[path = "../emulated/mod.rs"]
mod emulated;

mod barriers;
mod bounds;
mod endings;
mod global_races;
mod shared_races;
mod unwritten;
mod warps;
