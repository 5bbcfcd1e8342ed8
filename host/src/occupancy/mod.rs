//! Occupancy: how many blocks and warps of a kernel a multiprocessor holds at once, what limits them, and how many are
//! needed to hide a latency. Pure arithmetic over the limits of a GPU, present or not.
//!
//! - [`Gpu`]: the limits of a compute capability, and the GPUs that are known by name;
//! - [`occupancy`]: registers, threads and shared memory of a block against those limits;
//! - [`little`]: Little's law.
//!
//! ```
//! use host::occupancy::{BlockNeeds, Gpu, occupancy};
//!
//! let needs = BlockNeeds { registers: 72, threads: 256, shared_mem_bytes: 0 };
//! let held = occupancy(Gpu::named("h100")?, needs)?;
//! assert_eq!((held.blocks, held.warps), (3, 24));
//! assert_eq!(held.share, 0.375);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod calculator;
mod gpu;
pub mod little;
#[cfg(test)]
mod tests;

pub use calculator::{BlockNeeds, Limiter, Occupancy, OccupancyError, occupancy};
pub use gpu::Gpu;
