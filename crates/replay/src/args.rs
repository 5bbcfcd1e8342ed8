//! The flags of commands that write a replay.

use clap::Args;
use exit::CommandError;
use output_files::{OutputFile, OutputPath};
use ptx_emu::{FaultKind, ProgramFault, Recording, RecordingPlan};
use units::count;

/// The flags.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// Write a page on which one steps through what the kernel did. It opens at the fault, if there
    /// is one
    #[arg(long, value_name = "FILE.html")]
    replay: Option<OutputPath>,
    /// The blocks that the page shows, by their numbers in the grid, x fastest [default: those of
    /// the fault, else the first]
    #[arg(
        long,
        value_name = "BLOCKS",
        requires = "replay",
        value_delimiter = ','
    )]
    replay_blocks: Vec<u64>,
    /// The most steps that it shows: the last ones before a fault, else the first
    #[arg(long, value_name = "STEPS", requires = "replay", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    replay_steps: u32,
}

/// A page that is to be written.
#[derive(Debug)]
pub struct Page {
    file: OutputFile,
    blocks: Vec<u64>,
    steps: u32,
}

impl ReplayArgs {
    /// Whether a page is asked for.
    pub fn is_given(&self) -> bool {
        self.replay.is_some()
    }

    /// Prepares the page that is asked for.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if the file cannot be written.
    pub fn open(&self) -> Result<Option<Page>, CommandError> {
        let Some(path) = &self.replay else {
            return Ok(None);
        };
        Ok(Some(Page {
            file: OutputFile::create("--replay", path)?,
            blocks: self.replay_blocks.clone(),
            steps: self.replay_steps,
        }))
    }
}

impl Page {
    /// The extent of the recording of a launch with this grid, which ended so.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a block that the grid does not have.
    pub fn plan(
        &self,
        grid: [u32; 3],
        fault: Option<&ProgramFault>,
    ) -> Result<RecordingPlan, CommandError> {
        let blocks: u64 = grid.into_iter().map(u64::from).product();
        if let Some(beyond) = self.blocks.iter().find(|block| **block >= blocks) {
            return Err(CommandError::Input(format!(
                "--replay-blocks {beyond}: the grid has {}, the last is {}",
                count(blocks as usize, "block"),
                blocks - 1
            )));
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

    /// Writes the page of a recording of a kernel of this program, and says so. Sources are read
    /// where the program says that they are.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if the file cannot be written.
    pub fn write(
        self,
        recording: &Recording,
        program: &ptx::Program,
        fault: Option<&ProgramFault>,
    ) -> Result<String, CommandError> {
        let page = crate::page(recording, program, fault, |path| {
            std::fs::read_to_string(path).ok()
        });
        let path = self.file.write_all(page.as_bytes())?;
        let cut = match (recording.is_cut, fault.is_some()) {
            (false, _) => "",
            (true, true) => ", the last; --replay-steps takes more",
            (true, false) => ", the first; --replay-steps takes more",
        };
        Ok(format!(
            "wrote {}: {} of {}{cut}",
            path.display(),
            count(recording.steps.len(), "step"),
            count(recording.blocks.len(), "block"),
        ))
    }
}

/// The block of a fault, behind that of the earlier access of a race.
fn blocks_of(fault: &ProgramFault, grid: [u32; 3]) -> Vec<u64> {
    let number = |block: [u32; 3]| {
        let [x, y, z] = block.map(u64::from);
        (z * u64::from(grid[1]) + y) * u64::from(grid[0]) + x
    };
    let mut blocks = vec![number(fault.thread.block)];
    if let FaultKind::Race { earlier, .. } = &fault.kind {
        blocks.insert(0, number(earlier.thread.block));
        blocks.dedup();
    }
    blocks
}
