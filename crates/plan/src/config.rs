//! Grid, block and shared memory of a launch.

use serde::{Deserialize, Serialize};

use crate::PlanError;

/// Up to three extents; those left out are 1. Made from a number, a tuple or an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim3(pub [u32; 3]);

impl From<u32> for Dim3 {
    fn from(x: u32) -> Dim3 {
        Dim3([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Dim3 {
        Dim3([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Dim3 {
        Dim3([x, y, z])
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from(extents: [u32; 3]) -> Dim3 {
        Dim3(extents)
    }
}

/// How a kernel is launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LaunchConfig {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of each block.
    pub shared_mem_bytes: u32,
}

impl LaunchConfig {
    /// A grid of blocks, without dynamic shared memory.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> LaunchConfig {
        LaunchConfig {
            grid: grid.into().0,
            block: block.into().0,
            shared_mem_bytes: 0,
        }
    }

    /// The smallest grid of such blocks that has at least one thread for each of `threads`.
    ///
    /// # Errors
    ///
    /// [`PlanError::NothingToCover`] if one of the extents is 0.
    pub fn covering(
        threads: impl Into<Dim3>,
        block: impl Into<Dim3>,
    ) -> Result<LaunchConfig, PlanError> {
        let (threads, block) = (threads.into().0, block.into().0);
        if threads.contains(&0) || block.contains(&0) {
            return Err(PlanError::NothingToCover { threads, block });
        }
        let grid = std::array::from_fn(|axis| threads[axis].div_ceil(block[axis]));
        Ok(LaunchConfig {
            grid,
            block,
            shared_mem_bytes: 0,
        })
    }

    /// The same with this much dynamic shared memory for each block.
    pub fn with_shared_mem_bytes(self, shared_mem_bytes: u32) -> LaunchConfig {
        LaunchConfig {
            shared_mem_bytes,
            ..self
        }
    }

    /// Threads of a block.
    pub fn threads_per_block(&self) -> u128 {
        self.block
            .iter()
            .map(|&extent| u128::from(extent))
            .product()
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u128 {
        self.grid.iter().map(|&extent| u128::from(extent)).product()
    }
}
