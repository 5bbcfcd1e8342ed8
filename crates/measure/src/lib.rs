//! Times kernels and reports what was measured.

pub mod code_lines;
pub mod compare;
pub mod cpu;
pub mod occupancy;
mod peer;
pub mod perf;
pub mod profile;
pub mod report;
mod scaling;
pub mod tune;
