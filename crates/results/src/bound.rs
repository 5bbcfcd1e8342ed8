//! The limit that binds a run, as a document keeps it.

use serde::{Deserialize, Serialize};

/// The limit that a run cannot exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Bytes of device memory.
    Memory,
    /// Bytes of the L2 cache, which holds all buffers.
    L2,
    /// Operations on `f32`.
    Fp32,
    /// Operations on `f64`.
    Fp64,
}

impl Bottleneck {
    /// As tables say it: `memory`.
    pub const fn name(self) -> &'static str {
        match self {
            Bottleneck::Memory => "memory",
            Bottleneck::L2 => "L2",
            Bottleneck::Fp32 => "FP32",
            Bottleneck::Fp64 => "FP64",
        }
    }
}

/// A unit of a multiprocessor, which works at a fixed rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// The path of all data between threads and L1 or shared memory, and of shuffles: 128 bytes per
    /// cycle.
    L1,
    /// The schedulers, each with one instruction of a warp per cycle.
    Issue,
    /// The lanes for `f32`.
    Fp32,
    /// The lanes for `f64`.
    Fp64,
}

impl Unit {
    /// In the order in which tables of times per unit have them.
    pub const ALL: [Unit; 4] = [Unit::L1, Unit::Issue, Unit::Fp32, Unit::Fp64];

    /// As tables say it: `L1`.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::L1 => "L1",
            Unit::Issue => "issue",
            Unit::Fp32 => "FP32",
            Unit::Fp64 => "FP64",
        }
    }
}

/// The least time that the multiprocessors take for a variant's own instructions, with all that it
/// computes twice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OwnLimit {
    /// The unit that is busy longest.
    pub by: Unit,
    /// The time for which it is.
    pub run_s: f64,
    /// `run_s` over the measured time.
    pub share: f64,
}

/// The least time that a run can take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The limit that is reached first.
    pub by: Bottleneck,
    /// The time at that limit.
    pub run_s: f64,
    /// `run_s` over the measured time: 1 is as fast as the device allows.
    pub share: f64,
    /// Floating-point operations for each byte that must be moved.
    pub intensity: Option<f64>,
}
