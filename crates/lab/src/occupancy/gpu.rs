//! The limits of a multiprocessor, by compute capability.

use device::Multiprocessor;
use exit::CommandError;
use plan::suggestion;
use serde::Serialize;
use thiserror::Error;

/// A GPU that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown GPU `{name}`; {suggestion}")]
pub struct UnknownGpu {
    name: String,
    suggestion: String,
}

impl From<UnknownGpu> for CommandError {
    fn from(error: UnknownGpu) -> CommandError {
        CommandError::Input(error.to_string())
    }
}

/// The resources of a multiprocessor, and the units in which they are allocated.
///
/// Sources: for threads, blocks and shared memory those of [`Multiprocessor`]; for lanes the CUDA
/// C++ Programming Guide, "Arithmetic Instructions"; for the units (allocation granularities)
/// NVIDIA's occupancy calculator, `cuda_occupancy.h` of the CUDA toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// As users type it.
    pub name: &'static str,
    /// Names of products.
    pub products: &'static str,
    /// Major and minor.
    pub compute_capability: (u32, u32),
    /// The largest number of warps that a multiprocessor holds.
    pub warps: u32,
    /// The largest number of blocks that it holds.
    pub blocks: u32,
    /// 32-bit registers of a multiprocessor, and the limit of a block.
    pub registers: u32,
    /// The largest number of registers of a thread.
    pub registers_per_thread: u32,
    /// A warp gets registers in multiples of this.
    pub register_unit: u32,
    /// Parts of a multiprocessor, each with a scheduler and a share of the registers; warps are
    /// distributed evenly.
    pub partitions: u32,
    /// Shared memory of a multiprocessor.
    pub shared_mem_bytes: u32,
    /// The largest shared memory of a block, for a kernel that opts in to more than 48 KiB.
    pub shared_mem_per_block_bytes: u32,
    /// Shared memory that the driver reserves in each block.
    pub reserved_shared_mem_bytes: u32,
    /// A block gets shared memory in multiples of this.
    pub shared_mem_unit_bytes: u32,
    /// Size of the memory that shared memory and L1 cache divide between them.
    pub l1_and_shared_bytes: u32,
    /// `f32` operations of a multiprocessor per cycle.
    pub f32_lanes: u32,
    /// `f64` operations of a multiprocessor per cycle.
    pub f64_lanes: u32,
}

const KIB: u32 = 1024;

/// The limits that the known capabilities have in common.
const COMMON: Gpu = Gpu {
    name: "",
    products: "",
    compute_capability: (0, 0),
    warps: 0,
    blocks: 0,
    registers: 65_536,
    registers_per_thread: 255,
    register_unit: 256,
    partitions: 4,
    shared_mem_bytes: 0,
    shared_mem_per_block_bytes: 0,
    reserved_shared_mem_bytes: 0,
    shared_mem_unit_bytes: 128,
    l1_and_shared_bytes: 0,
    f32_lanes: 128,
    f64_lanes: 2,
};

/// The limits of a compute capability that other crates know too.
const fn of(compute_capability: (u32, u32)) -> Gpu {
    let own = Multiprocessor::of(compute_capability);
    Gpu {
        compute_capability,
        warps: own.threads / Gpu::WARP,
        blocks: own.blocks,
        shared_mem_bytes: own.shared_bytes,
        shared_mem_per_block_bytes: own.shared_bytes_per_block,
        reserved_shared_mem_bytes: own.reserved_shared_bytes,
        ..COMMON
    }
}

static KNOWN: [Gpu; 7] = [
    Gpu {
        name: "t4",
        products: "T4, RTX 20",
        shared_mem_unit_bytes: 256,
        l1_and_shared_bytes: 96 * KIB,
        f32_lanes: 64,
        ..of((7, 5))
    },
    Gpu {
        name: "a100",
        products: "A100, A30",
        l1_and_shared_bytes: 192 * KIB,
        f32_lanes: 64,
        f64_lanes: 32,
        ..of((8, 0))
    },
    Gpu {
        name: "rtx-30",
        products: "RTX 30, A10, A40",
        l1_and_shared_bytes: 128 * KIB,
        ..of((8, 6))
    },
    Gpu {
        name: "rtx-40",
        products: "RTX 40, L4, L40",
        l1_and_shared_bytes: 128 * KIB,
        ..of((8, 9))
    },
    Gpu {
        name: "h100",
        products: "H100, H200",
        l1_and_shared_bytes: 256 * KIB,
        f64_lanes: 64,
        ..of((9, 0))
    },
    Gpu {
        name: "b200",
        products: "B200",
        l1_and_shared_bytes: 256 * KIB,
        f64_lanes: 64,
        ..of((10, 0))
    },
    Gpu {
        name: "rtx-50",
        products: "RTX 50",
        l1_and_shared_bytes: 128 * KIB,
        ..of((12, 0))
    },
];

impl Gpu {
    /// Threads of a warp.
    pub const WARP: u32 = 32;
    /// The largest number of threads of a block.
    pub const THREADS_PER_BLOCK: u32 = 1024;

    /// Every GPU that has a name here, by compute capability.
    pub fn known() -> &'static [Gpu] {
        &KNOWN
    }

    /// The GPU of this name, in upper or lower case.
    ///
    /// # Errors
    ///
    /// [`UnknownGpu`], with the nearest name.
    pub fn named(name: &str) -> Result<&'static Gpu, UnknownGpu> {
        KNOWN
            .iter()
            .find(|gpu| gpu.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownGpu {
                name: name.to_owned(),
                suggestion: suggestion(name, KNOWN.iter().map(|gpu| gpu.name)),
            })
    }

    /// The GPU of this compute capability, or else the newest before it. None for one that is older
    /// than all.
    pub fn newest_for(compute_capability: (u32, u32)) -> Option<&'static Gpu> {
        KNOWN
            .iter()
            .rfind(|gpu| gpu.compute_capability <= compute_capability)
    }

    /// The GPU of this compute capability, if its limits are known.
    pub fn of_capability(compute_capability: (u32, u32)) -> Option<&'static Gpu> {
        KNOWN
            .iter()
            .find(|gpu| gpu.compute_capability == compute_capability)
    }
}
