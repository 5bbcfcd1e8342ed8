//! Takes the place of the crate of this name on crates.io. With it, the build scripts of `cust` and
//! `cust_raw` look for a CUDA toolkit.
//!
//! That crate fails without a toolkit, and with one it ties a program to `libcuda.so.1`. `device`
//! needs neither: it defines the driver's functions, and opens the driver when the program runs.
//! The workspace's `Cargo.toml` patches crates.io with this crate; a workspace elsewhere that uses
//! `device` has the same line, see there.

/// Called by the build scripts of `cust` and `cust_raw`. Links nothing.
pub fn include_cuda() {}
