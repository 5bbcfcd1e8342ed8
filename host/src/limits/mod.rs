//! What a device could do at best, measured: bandwidth of its memories, rates of its arithmetic.
//!
//! [`measure`] gives [`Limits`], each from plans of a copy or of kernels that do nothing else, timed back to back between
//! device events. What the kernels give is compared with what the CPU computes, so that no figure is of work that was not
//! done; on the emulated device they run and are checked alike, and only the figures are missing.
//!
//! - `options`: how much is moved and computed;
//! - `probe`: the plan behind each limit, and what it must give;
//! - `rate`: samples, and what they say;
//! - `measure`: all of them in turn;
//! - `copy`: the bandwidth of copies alone.

mod copy;
mod measure;
mod options;
mod probe;
mod rate;
#[cfg(test)]
mod tests;

pub use copy::{Bandwidth, copy_bandwidth};
pub use measure::measure;
pub use options::Options;
pub use rate::{Limit, Limits, Rate};
