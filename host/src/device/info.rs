//! What is known about a device, a kernel, a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The kind of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A GPU, through the CUDA driver.
    Cuda,
    /// The PTX interpreter on the CPU. Its results count, its speed does not.
    Emulated,
}

impl DeviceKind {
    /// The name that users type and read.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceKind::Cuda => "cuda",
            DeviceKind::Emulated => "emulated",
        }
    }
}

impl std::fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a launch may use at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Extents of a block.
    pub block: [u32; 3],
    /// Extents of a grid.
    pub grid: [u32; 3],
    /// Shared memory of a block, static and dynamic together, where a kernel asks for it.
    pub shared_mem_per_block_bytes: u32,
}

impl Limits {
    /// What every GPU of compute capability 5.0 or higher offers; dynamic shared memory as on compute capability 9.0.
    pub const COMMON: Limits = Limits {
        threads_per_block: 1024,
        block: [1024, 1024, 64],
        grid: [0x7fff_ffff, 65_535, 65_535],
        shared_mem_per_block_bytes: 227 * 1024,
    };
}

/// A device. What the emulated device does not have is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// CUDA or emulated.
    pub kind: DeviceKind,
    /// As the driver calls it.
    pub name: String,
    /// Which of several, from 0.
    pub ordinal: u32,
    /// Where it is on the bus, as the driver writes it: `0000:1b:00.0`.
    pub pci_bus_id: Option<String>,
    /// Compute capability, major and minor.
    pub compute_capability: Option<(u32, u32)>,
    /// Streaming multiprocessors.
    pub multiprocessors: Option<u32>,
    /// Device memory.
    pub memory_bytes: Option<u64>,
    /// L2 cache.
    pub l2_bytes: Option<u64>,
    /// Highest clock of the multiprocessors.
    pub clock_khz: Option<u32>,
    /// Highest clock of the memory.
    pub memory_clock_khz: Option<u32>,
    /// Width of the memory bus.
    pub memory_bus_bits: Option<u32>,
    /// Newest CUDA version that the driver supports, major and minor.
    pub driver_cuda: Option<(u32, u32)>,
    /// What a launch may use.
    pub limits: Limits,
}

/// A kernel as the device compiled it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// Registers of a thread; `None` on the emulated device, which allocates none.
    pub registers: Option<u32>,
    /// Local memory of a thread (spills, arrays), in bytes.
    pub local_bytes: u32,
    /// Shared memory of a block that is declared with a size, in bytes.
    pub static_shared_bytes: u32,
    /// Most threads of a block.
    pub max_threads_per_block: u32,
    /// Blocks that fit one multiprocessor at once, for the plan's first launch of the kernel.
    pub blocks_per_multiprocessor: Option<u32>,
    /// Share of a multiprocessor's threads that those blocks fill, from 0 to 1.
    pub occupancy: Option<f64>,
}

/// How long one run of a plan took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Between device events around the commands; `None` where the device has no clock that means anything.
    pub device: Option<Duration>,
    /// By the host's clock, from when the device may begin to after the last command has finished.
    pub host: Duration,
}

/// How a plan's commands reach the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launching {
    /// One call to the driver for each command.
    Stream,
    /// One for all of them: the plan is replayed as a graph.
    Graph,
}

impl Launching {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Launching::Stream => "stream",
            Launching::Graph => "graph",
        }
    }
}

/// What became of a plan that was to be a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "launching", rename_all = "lowercase")]
pub enum Capture {
    /// It is one.
    Graph {
        /// The plan's commands, each a node.
        nodes: u64,
        /// How long capture and instantiation took.
        made_in: Duration,
    },
    /// It is not: runs go by stream.
    Stream {
        /// Why.
        reason: String,
    },
}

/// What was flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flushed {
    /// So many bytes were written over whatever the last-level cache held.
    Cache {
        /// More than the cache holds.
        bytes: u64,
    },
    /// The device has no cache that is known of.
    NoCache,
}

/// Where a stray write lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Before the buffer's first byte.
    Before,
    /// After its last.
    After,
}

/// Writes outside a buffer of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stray {
    /// The buffer beside which they lie.
    pub buffer: String,
    /// On which side of it.
    pub side: Side,
    /// How far the nearest is from the buffer's first or last byte: 1 is right beside it.
    pub distance_bytes: u64,
    /// How many bytes changed.
    pub bytes: u64,
}

impl std::fmt::Display for Stray {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Stray {
            buffer,
            side,
            distance_bytes,
            bytes,
        } = self;
        let place = match side {
            Side::Before => "before the first",
            Side::After => "behind the last",
        };
        write!(
            f,
            "{bytes} bytes outside buffer `{buffer}` were written, the nearest {distance_bytes} bytes {place} byte of it"
        )
    }
}
