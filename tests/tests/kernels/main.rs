//! Kernels of `bad-kernels` on the emulated device.
//!
//! Most have mistakes of students: the message names the line to change, and the corrected kernel
//! computes the right numbers from the same input. The kernels of [`counts`] are right, and their
//! counts are computed by hand.

mod barriers;
mod bounds;
mod clusters;
mod copies;
mod counts;
mod endings;
mod global_races;
mod grids;
mod message;
mod panics;
mod prints;
mod scene;
mod shared_races;
mod unwritten;
mod warps;
