//! The memory lab: latency, bandwidth, coalescing.
//!
//! Coalescing is an ordinary lab ([`LAB`]): one sum, and variants that differ in which thread loads which element. Latency,
//! bandwidth and [`coalescing()`] are sweeps over a device that return figures: [`latency()`] and [`bandwidth()`]. Each
//! checks the result of every run against the CPU's, so that no figure is of loads that did not happen. On the emulated
//! device they run and are checked alike, but its clocks count instructions: only the results mean something there.
//!
//! - [`chain`]: the random cycle that a pointer chase follows;
//! - [`plateaus`]: the flat parts of a latency curve, which are levels of memory;
//! - [`levels`]: plateaus beside what the device says of its caches.

mod bandwidth;
pub mod chain;
mod coalescing;
mod document;
mod error;
mod latency;
mod levels;
mod plateaus;
mod problem;
#[cfg(test)]
mod tests;

pub use bandwidth::{Access, BandwidthFigure, BandwidthOptions, bandwidth};
pub use coalescing::{Coalescing, CoalescingFigure, CoalescingOptions, coalescing};
pub use document::{Latencies, Measured};
pub use error::MembenchError;
pub use latency::{LatencyCurve, LatencyOptions, LatencyPoint, Path, latency};
pub use levels::{Level, Memory, levels};
pub use plateaus::{FLATNESS, LEAST_SPAN, Plateau, plateaus};
pub use problem::{LAB, MemBench};
