//! The memory lab: latency, bandwidth, coalescing.
//!
//! Coalescing is an ordinary lab ([`LAB`]): one sum, and variants that map elements to threads in
//! different ways. Latency, bandwidth and [`coalescing()`] are sweeps over a device that return
//! figures: [`latency()`] and [`bandwidth()`]. Each checks the result of every run against the
//! CPU's: a figure cannot be of loads that did not happen. On the emulated device the sweeps run
//! and are checked in the same way. Its clocks count instructions: only the results are meaningful
//! there.
//!
//! - [`chain`]: the random cycle that a pointer chase follows;
//! - [`plateaus()`]: the flat parts of a latency curve, one per level of memory;
//! - [`levels()`]: plateaus beside the sizes of caches that the device reports.

mod bandwidth;
pub mod chain;
mod coalescing;
mod document;
mod error;
mod latency;
mod levels;
mod lines;
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
pub use lines::{LineAccess, LineMap, LineOptions, lines};
pub use plateaus::{FLATNESS, LEAST_SPAN, Plateau, plateaus, steps};
pub use problem::{LAB, MemBench};
