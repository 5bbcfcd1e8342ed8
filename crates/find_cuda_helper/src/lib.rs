//! Takes the place of the crate of this name on crates.io, by which the build scripts of `cust` and
//! `cust_raw` look for a CUDA toolkit.
//!
//! That crate fails where there is no toolkit, and ties a program to `libcuda.so.1` where there is
//! one. `device` needs neither: it defines the driver's functions, and opens the driver when the
//! program runs. The workspace's `Cargo.toml` patches crates.io with this crate; a workspace
//! elsewhere that uses `device` has the same line, see there.

/// Called by the build scripts of `cust` and `cust_raw`. Links nothing.
pub fn include_cuda() {}
