//! Occupancy: the number of blocks and warps of a kernel that a multiprocessor holds at once, and
//! the resource that limits it. This is pure arithmetic over the limits of a GPU, which need not be
//! present.
//!
//! - [`Gpu`]: the limits of a compute capability, and the GPUs that are known by name;
//! - [`occupancy`]: registers, threads and shared memory of a block against those limits.
//!
//! ```
//! use lab::occupancy::{BlockNeeds, Gpu, occupancy};
//!
//! let needs = BlockNeeds { registers: 72, threads: 256, shared_mem_bytes: 0 };
//! let held = occupancy(Gpu::named("h100")?, needs)?;
//! assert_eq!((held.blocks, held.warps), (3, 24));
//! assert_eq!(held.share, 0.375);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod gpu;
#[cfg(test)]
mod tests;

use serde::Serialize;
use thiserror::Error;

pub use gpu::{Gpu, UnknownGpu};

/// The resources that a block needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BlockNeeds {
    /// Registers of a thread.
    pub registers: u32,
    /// Threads.
    pub threads: u32,
    /// Shared memory, static and dynamic.
    pub shared_mem_bytes: u32,
}

/// A resource that can limit the number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// The multiprocessor's warps.
    Warps,
    /// Its number of blocks.
    Blocks,
    /// Its registers.
    Registers,
    /// Its shared memory.
    SharedMemory,
}

impl Limiter {
    /// The name that users read.
    pub const fn name(self) -> &'static str {
        match self {
            Limiter::Warps => "warps",
            Limiter::Blocks => "blocks",
            Limiter::Registers => "registers",
            Limiter::SharedMemory => "shared memory",
        }
    }
}

/// The blocks of a kernel that a multiprocessor holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Occupancy {
    /// Blocks at once; 0 if a single one does not fit.
    pub blocks: u32,
    /// Warps of those blocks.
    pub warps: u32,
    /// Those warps / the most that a multiprocessor holds, from 0 to 1.
    pub share: f64,
    /// The number of blocks that each resource allows by itself, in the order of [`Limiter`].
    pub allowed: [(Limiter, u32); 4],
    /// Registers that a warp gets: the need of its threads, rounded up to whole units.
    pub registers_per_warp: u32,
    /// Shared memory that a block gets: its need plus the driver's part, rounded up to whole units.
    pub shared_mem_per_block_bytes: u32,
}

impl Occupancy {
    /// The resources that limit the number of blocks: one, or several that allow equally few.
    pub fn limiters(&self) -> impl Iterator<Item = Limiter> + '_ {
        self.allowed
            .iter()
            .filter(|(_, blocks)| *blocks == self.blocks)
            .map(|(limiter, _)| *limiter)
    }
}

/// A block that not even an empty multiprocessor can hold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OccupancyError {
    /// No threads, or more than a block can have.
    #[error("a block of {threads} threads: it has 1 to {}", Gpu::THREADS_PER_BLOCK)]
    Threads {
        /// As asked.
        threads: u32,
    },
    /// More registers than a thread can have.
    #[error("{registers} registers per thread: it has at most {most}")]
    Registers {
        /// As asked.
        registers: u32,
        /// The limit of this GPU.
        most: u32,
    },
    /// More shared memory than a block can have.
    #[error("{shared_mem_bytes} bytes of shared memory: a block of {gpu} has at most {most_bytes}")]
    SharedMemory {
        /// As asked.
        shared_mem_bytes: u32,
        /// The limit of this GPU.
        most_bytes: u32,
        /// The GPU's name.
        gpu: &'static str,
    },
}

/// The number of blocks with these needs that a multiprocessor of `gpu` holds at once.
///
/// The rules are those of NVIDIA's occupancy calculator (`cuda_occupancy.h`), which
/// `cuOccupancyMaxActiveBlocksPerMultiprocessor` applies too, with all of a multiprocessor's shared
/// memory given to blocks:
///
/// - registers are allocated to warps, in whole units, from the partition that the warp runs on. A
///   block does not fit if its warps, rounded up to all partitions, need more than a multiprocessor
///   has;
/// - shared memory is allocated to blocks, in whole units, the driver's own part included.
///
/// # Errors
///
/// [`OccupancyError`] for a block that breaks a limit of its own.
pub fn occupancy(gpu: &Gpu, needs: BlockNeeds) -> Result<Occupancy, OccupancyError> {
    let BlockNeeds {
        registers,
        threads,
        shared_mem_bytes,
    } = needs;
    if threads == 0 || threads > Gpu::THREADS_PER_BLOCK {
        return Err(OccupancyError::Threads { threads });
    }
    if registers > gpu.registers_per_thread {
        return Err(OccupancyError::Registers {
            registers,
            most: gpu.registers_per_thread,
        });
    }
    if shared_mem_bytes > gpu.shared_mem_per_block_bytes {
        return Err(OccupancyError::SharedMemory {
            shared_mem_bytes,
            most_bytes: gpu.shared_mem_per_block_bytes,
            gpu: gpu.name,
        });
    }

    let warps_per_block = threads.div_ceil(Gpu::WARP);
    let registers_per_warp = (registers * Gpu::WARP).next_multiple_of(gpu.register_unit);
    let shared_mem_per_block_bytes = (shared_mem_bytes + gpu.reserved_shared_mem_bytes)
        .next_multiple_of(gpu.shared_mem_unit_bytes);

    let by_registers = if registers == 0 {
        u32::MAX
    } else if registers_per_warp * warps_per_block.next_multiple_of(gpu.partitions) > gpu.registers
    {
        0
    } else {
        let warps_per_partition = gpu.registers / gpu.partitions / registers_per_warp;
        warps_per_partition * gpu.partitions / warps_per_block
    };
    let by_shared_memory = gpu
        .shared_mem_bytes
        .checked_div(shared_mem_per_block_bytes)
        .unwrap_or(u32::MAX);
    let allowed = [
        (Limiter::Warps, gpu.warps / warps_per_block),
        (Limiter::Blocks, gpu.blocks),
        (Limiter::Registers, by_registers),
        (Limiter::SharedMemory, by_shared_memory),
    ];
    let blocks = allowed.iter().map(|(_, blocks)| *blocks).min().unwrap_or(0);
    let warps = blocks * warps_per_block;
    Ok(Occupancy {
        blocks,
        warps,
        share: f64::from(warps) / f64::from(gpu.warps),
        allowed,
        registers_per_warp,
        shared_mem_per_block_bytes,
    })
}
