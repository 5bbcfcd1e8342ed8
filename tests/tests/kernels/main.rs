//! Kernels of `bad-kernels` on the emulated device.
//!
//! Most are wrong as students write them: the message names the line to change, and the corrected
//! kernel computes the right numbers from the same input. Those of [`counts`] are right; what the
//! device counts of them is known by hand.

mod barriers;
mod bounds;
mod clusters;
mod copies;
mod counts;
mod endings;
mod global_races;
mod grids;
mod message;
mod scene;
mod shared_races;
mod unwritten;
mod warps;
