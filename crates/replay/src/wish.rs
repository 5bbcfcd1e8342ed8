//! The extent of a page that is asked for.

use ptx_emu::{FaultKind, ProgramFault, Recording, RecordingPlan, number_in};
use units::count;

/// The extent of a page that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The first block that the grid does not have, and how many it has.
    pub fn plan(
        &self,
        grid: [u32; 3],
        fault: Option<&ProgramFault>,
    ) -> Result<RecordingPlan, (u64, u64)> {
        let blocks: u64 = grid.into_iter().map(u64::from).product();
        if let Some(beyond) = self.blocks.iter().find(|block| **block >= blocks) {
            return Err((*beyond, blocks));
        }
        let mut chosen = self.blocks.clone();
        if chosen.is_empty() {
            chosen = fault.map_or_else(|| vec![0], |fault| blocks_of(fault, grid));
        }
        Ok(RecordingPlan {
            blocks: chosen,
            most_steps: self.steps as usize,
            keeps_last: fault.is_some(),
        })
    }
}

/// The extent of a recording in words: "24 steps of 1 block".
pub fn extent(recording: &Recording, fault: Option<&ProgramFault>) -> String {
    let cut = match (recording.is_cut, fault.is_some()) {
        (false, _) => "",
        (true, true) => ", the last; --replay-steps takes more",
        (true, false) => ", the first; --replay-steps takes more",
    };
    let steps = count(recording.steps.len(), "step");
    format!("{steps} of {}{cut}", count(recording.blocks.len(), "block"))
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
