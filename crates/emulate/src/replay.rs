//! The flags of a replay, and its page.

use clap::Args;
use exit::CommandError;
use output_files::{OutputFile, OutputPath};
use ptx_emu::{ProgramFault, Recording, RecordingPlan};
use replay::{Wish, extent};
use units::count;

/// The flags.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReplayArgs {
    /// Write a page on which one steps through what a kernel did: of a program, the first launch
    /// with a fault, else the first. It opens at the fault, if there is one
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
    #[arg(long, value_name = "STEPS", requires = "replay", default_value_t = Wish::STEPS, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    replay_steps: u32,
}

/// A page that is to be written.
#[derive(Debug)]
pub(crate) struct Page {
    file: OutputFile,
    wish: Wish,
}

impl ReplayArgs {
    /// The page's file, if one is asked for.
    pub(crate) fn file(&self) -> Option<&OutputPath> {
        self.replay.as_ref()
    }

    pub(crate) fn wish(&self) -> Wish {
        Wish {
            blocks: self.replay_blocks.clone(),
            steps: self.replay_steps,
        }
    }

    /// Prepares the page that is asked for.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if the file cannot be written.
    pub(crate) fn open(&self) -> Result<Option<Page>, CommandError> {
        let Some(path) = &self.replay else {
            return Ok(None);
        };
        Ok(Some(Page {
            file: OutputFile::create("--replay", path)?,
            wish: self.wish(),
        }))
    }
}

impl Page {
    /// The extent of the recording of a launch with this grid, which ended so.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a block that the grid does not have.
    pub(crate) fn plan(
        &self,
        grid: [u32; 3],
        fault: Option<&ProgramFault>,
    ) -> Result<RecordingPlan, CommandError> {
        self.wish.plan(grid, fault).map_err(|(beyond, blocks)| {
            CommandError::Input(format!(
                "--replay-blocks {beyond}: the grid has {}, the last is {}",
                count(blocks as usize, "block"),
                blocks - 1
            ))
        })
    }

    /// Writes the page of a recording of a kernel of this program, and says so.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if the file cannot be written.
    pub(crate) fn write(
        self,
        recording: &Recording,
        program: &ptx::Program,
        fault: Option<&ProgramFault>,
    ) -> Result<String, CommandError> {
        let page = replay::page(recording, program, fault);
        let path = self.file.write_all(page.as_bytes())?;
        Ok(format!(
            "wrote {}: {}",
            path.display(),
            extent(recording, fault)
        ))
    }
}
