//! The extent of a page that is asked for.

use ptx_emu::{FaultKind, ProgramFault, RecordedBlocks, RecordingPlan, number_in};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::count;

/// A block that is asked for and that the grid does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("--replay-blocks {block}: the grid has {}, the last is {}", count(*.blocks as usize, "block"), .blocks - 1)]
pub struct NoSuchBlock {
    /// Its number.
    pub block: u64,
    /// The blocks of the grid.
    pub blocks: u64,
}

/// The extent of a page that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// The numbers of the blocks, x fastest; none for those of the fault, else the first.
    pub blocks: Vec<u64>,
    /// The most steps.
    pub steps: u32,
}

impl Wish {
    /// The steps of a page that does not say.
    pub const STEPS: u32 = 10_000;

    /// The extent of the recording of a launch with this grid, which ended so.
    ///
    /// # Errors
    ///
    /// The first block that the grid does not have.
    pub fn plan(
        &self,
        grid: [u32; 3],
        fault: Option<&ProgramFault>,
    ) -> Result<RecordingPlan, NoSuchBlock> {
        let blocks: u64 = grid.into_iter().map(u64::from).product();
        if let Some(&block) = self.blocks.iter().find(|block| **block >= blocks) {
            return Err(NoSuchBlock { block, blocks });
        }
        let mut chosen = self.blocks.clone();
        if chosen.is_empty() {
            chosen = fault.map_or_else(|| vec![0], |fault| blocks_of(fault, grid));
        }
        Ok(RecordingPlan {
            blocks: RecordedBlocks::Numbered(chosen),
            most_steps: self.steps as usize,
            keeps_last: fault.is_some(),
        })
    }

    /// The extent of the recording of the blocks that store to the byte at this address.
    pub(crate) fn storing(&self, address: u64) -> RecordingPlan {
        RecordingPlan {
            blocks: RecordedBlocks::Storing(address),
            most_steps: self.steps as usize,
            keeps_last: true,
        }
    }
}

impl Default for Wish {
    fn default() -> Wish {
        Wish {
            blocks: Vec::new(),
            steps: Wish::STEPS,
        }
    }
}

/// The block of a fault, behind that of the earlier access of a race.
fn blocks_of(fault: &ProgramFault, grid: [u32; 3]) -> Vec<u64> {
    let mut blocks = vec![number_in(grid, fault.thread.block)];
    if let FaultKind::Race { earlier, .. } = &fault.kind {
        blocks.insert(0, number_in(grid, earlier.thread.block));
        blocks.dedup();
    }
    blocks
}
