//! Takes the place of the crate of this name on crates.io. With it, the build scripts of `cust` and
//! `cust_raw` look for a CUDA toolkit.
//!
//! That crate fails without a toolkit, and with one it ties a program to `libcuda.so.1`. A program
//! with `cuda_driver` needs neither: that crate defines the driver's functions, and opens the
//! driver when the program runs. It says how a workspace elsewhere is patched, as this one is.

/// Called by the build scripts of `cust` and `cust_raw`. Links nothing.
pub fn include_cuda() {}
