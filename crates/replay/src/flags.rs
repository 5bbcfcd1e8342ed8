//! The flags of a replay, and its page.

use std::path::PathBuf;

use clap::Args;
use exit::CommandError;
use output_files::{OutputFile, OutputPath};
use ptx_emu::Recording;

use crate::wish::Wish;
use crate::{Facts, Mistake, NoSuchBlock, extent, page};

/// The flags.
#[derive(Debug, Clone, Default, Args)]
pub struct ReplayArgs {
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
pub struct Page {
    file: OutputFile,
    /// Its extent.
    pub wish: Wish,
}

impl ReplayArgs {
    /// The page's file, if one is asked for.
    pub fn file(&self) -> Option<&OutputPath> {
        self.replay.as_ref()
    }

    /// The extent of the page.
    pub fn wish(&self) -> Wish {
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
    pub fn open(&self) -> Result<Option<Page>, CommandError> {
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
    /// Writes the page of a recording of a kernel of this program, and says so.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if the file cannot be written.
    pub fn write(
        self,
        recording: &Recording,
        program: &ptx::Program,
        mistake: Option<&Mistake>,
        facts: &Facts<'_>,
    ) -> Result<String, CommandError> {
        let path = self.write_html(&page(recording, program, mistake, facts))?;
        Ok(format!(
            "wrote {}: {}",
            path.display(),
            extent(recording, mistake)
        ))
    }

    /// Writes a page that is made, and gives its path.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if the file cannot be written.
    pub fn write_html(self, page: &str) -> Result<PathBuf, CommandError> {
        Ok(self.file.write_all(page.as_bytes())?)
    }
}

impl From<NoSuchBlock> for CommandError {
    fn from(error: NoSuchBlock) -> CommandError {
        CommandError::Input(error.to_string())
    }
}
