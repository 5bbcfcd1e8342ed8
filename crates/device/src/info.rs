//! Plain data about a device, a kernel, a run.

use std::time::Duration;

use ptx_emu::Multiprocessor;
use serde::{Deserialize, Serialize};

/// Stack of a thread whose functions call each other by addresses or again and again, as those of
/// `core::fmt` and of sorts do, in bytes. A driver that is not asked for more gives 1024, and a
/// thread that needs more ends in an illegal address (CUDA guide, Call Stack).
pub const STACK_BYTES: usize = 8 << 10;

/// The kind of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A GPU, through the CUDA driver.
    Cuda,
    /// The PTX interpreter on the CPU. Its results are exact; its speed says nothing.
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

/// A device. A value that it does not have or does not report is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// CUDA or emulated.
    pub kind: DeviceKind,
    /// The driver's name for it.
    pub name: String,
    /// Its number among the devices of its kind, from 0.
    pub ordinal: u32,
    /// PCI address, as the driver writes it: `0000:1b:00.0`.
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
    /// The largest values that a launch may use.
    pub limits: LaunchLimits,
}

impl DeviceInfo {
    /// A device, if nothing else is known of it; its limits are [`LaunchLimits::SM_90`].
    pub fn new(kind: DeviceKind, name: impl Into<String>) -> DeviceInfo {
        DeviceInfo {
            kind,
            name: name.into(),
            ordinal: 0,
            pci_bus_id: None,
            compute_capability: None,
            multiprocessors: None,
            memory_bytes: None,
            l2_bytes: None,
            clock_khz: None,
            memory_clock_khz: None,
            memory_bus_bits: None,
            driver_cuda: None,
            limits: LaunchLimits::SM_90,
        }
    }
}

/// A kernel as the device compiled it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// Registers of a thread; `None` on the emulated device, which allocates none.
    pub registers: Option<u32>,
    /// Local memory of a thread (spills, arrays), in bytes: its stack frame.
    pub local_bytes: u32,
    /// The part of it that holds spilled registers; `None` where the compiler was not asked, as
    /// when its result was in the driver's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spills: Option<Spills>,
    /// Static shared memory of a block, in bytes.
    pub static_shared_bytes: u32,
    /// The most threads of a block.
    pub max_threads_per_block: u32,
    /// Blocks that fit one multiprocessor at once, for the plan's first launch of the kernel.
    pub blocks_per_multiprocessor: Option<u32>,
    /// The share of a multiprocessor's threads that those blocks fill, from 0 to 1.
    pub occupancy: Option<f64>,
}

/// Registers of a thread that did not fit, as the compiler counts the instructions that move them
/// to local memory and back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spills {
    /// Bytes that these instructions store.
    pub store_bytes: u32,
    /// Bytes that they load.
    pub load_bytes: u32,
}

/// How long one run of a plan took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Between device events around the commands; `None` on the emulated device, which has no
    /// meaningful clock.
    pub device: Option<Duration>,
    /// By the host's clock, from when the device may begin until the last command has finished.
    pub host: Duration,
}

/// How a plan's commands reach the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Launching {
    /// One call to the driver for each command.
    Stream,
    /// One call for all of them: the plan is replayed as a graph.
    Graph,
}

impl Launching {
    /// The name that users read.
    pub const fn name(self) -> &'static str {
        match self {
            Launching::Stream => "stream",
            Launching::Graph => "graph",
        }
    }
}

/// The result of capturing a plan as a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "launching", rename_all = "lowercase")]
pub enum Capture {
    /// The plan is a graph.
    Graph {
        /// Number of nodes: one for each command.
        nodes: u64,
        /// How long capture and instantiation took.
        made_in: Duration,
    },
    /// It is not; runs go by stream.
    Stream {
        /// Why.
        reason: String,
    },
}

/// The result of [`TimedSession::flush`](super::TimedSession::flush).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flushed {
    /// The last-level cache was overwritten.
    Cache {
        /// Bytes written: more than the cache holds.
        bytes: u64,
    },
    /// The device has no known cache.
    NoCache,
}

/// On which side of a buffer a stray write lies.
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
    /// The nearest buffer.
    pub buffer: String,
    /// Before or after it.
    pub side: Side,
    /// Distance of the nearest write from the buffer's first or last byte; 1 is adjacent.
    pub distance_bytes: u64,
    /// Number of bytes that changed.
    pub bytes: u64,
}

impl std::fmt::Display for Stray {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let side = match self.side {
            Side::Before => "before the first",
            Side::After => "behind the last",
        };
        write!(
            f,
            "{} bytes outside buffer `{}` were written, the nearest {} bytes {side} byte of it",
            self.bytes, self.buffer, self.distance_bytes
        )
    }
}

/// The largest values that a launch may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchLimits {
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Extents of a block.
    pub block: [u32; 3],
    /// Extents of a grid.
    pub grid: [u32; 3],
    /// Shared memory of a block, static and dynamic together, for a kernel that opts in.
    pub shared_mem_per_block_bytes: u32,
    /// Compute capability, major and minor: which module is run, and whether there are clusters.
    #[serde(default = "capability_of_sm_90")]
    pub compute_capability: (u32, u32),
}

fn capability_of_sm_90() -> (u32, u32) {
    LaunchLimits::SM_90.compute_capability
}

impl LaunchLimits {
    /// The limits of GPUs of compute capability 9.0. Block and grid are the same since 5.0.
    pub const SM_90: LaunchLimits = LaunchLimits {
        threads_per_block: 1024,
        block: [1024, 1024, 64],
        grid: [0x7fff_ffff, 65_535, 65_535],
        shared_mem_per_block_bytes: Multiprocessor::of((9, 0)).shared_bytes_per_block,
        compute_capability: (9, 0),
    };

    /// The limits of devices of this compute capability, major and minor, or of the newest known
    /// before it.
    pub fn of(capability: (u32, u32)) -> LaunchLimits {
        LaunchLimits {
            shared_mem_per_block_bytes: Multiprocessor::of(capability).shared_bytes_per_block,
            compute_capability: capability,
            ..LaunchLimits::SM_90
        }
    }

    /// The most shared memory that a block has on any device.
    pub const MAX_SHARED_MEM_PER_BLOCK_BYTES: u32 = Self::SM_90.shared_mem_per_block_bytes;

    /// The first compute capability that has clusters.
    pub const CLUSTERS_SINCE: (u32, u32) = (9, 0);

    /// The most blocks of a cluster, of a launch that allows more than is portable.
    pub const MAX_CLUSTER_BLOCKS: u32 = 16;
}
