//! Grid, block and shared memory against the kernel's bounds and the device's limits.

use super::ValidationError;
use crate::device::Limits;
use crate::module::KernelSignature;
use crate::plan::LaunchConfig;

/// Checks one launch's configuration. `place` says where it is, if need be.
pub fn check(
    kernel: &KernelSignature,
    config: &LaunchConfig,
    limits: &Limits,
    place: impl Fn() -> String,
) -> Result<(), ValidationError> {
    for (what, extents, limit) in [
        ("grid", config.grid, limits.grid),
        ("block", config.block, limits.block),
    ] {
        if let Some(axis) = (0..3).find(|&axis| extents[axis] > limit[axis]) {
            return Err(ValidationError::ExtentTooLarge {
                place: place(),
                what,
                extents,
                limit,
                axis,
            });
        }
    }
    let (block, threads) = (config.block, config.threads_per_block());
    if threads > limits.threads_per_block.into() {
        return Err(ValidationError::TooManyThreads {
            place: place(),
            block,
            threads,
            limit: limits.threads_per_block,
        });
    }
    match kernel.max_threads {
        Some(limit) if threads > limit.into() => {
            return Err(ValidationError::LaunchBounds {
                place: place(),
                block,
                threads,
                limit,
            });
        }
        _ => {}
    }
    match kernel.required_block {
        Some(required) if required != block => {
            return Err(ValidationError::RequiredBlock {
                place: place(),
                block,
                required,
            });
        }
        _ => {}
    }
    let static_bytes = kernel.static_shared_bytes;
    let dynamic_bytes = config.shared_mem_bytes;
    let limit_bytes = limits.shared_mem_per_block_bytes;
    if static_bytes.saturating_add(dynamic_bytes.into()) > limit_bytes.into() {
        return Err(ValidationError::SharedMemory {
            place: place(),
            static_bytes,
            dynamic_bytes,
            limit_bytes,
        });
    }
    Ok(())
}
