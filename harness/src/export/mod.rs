//! `harness export`: the student's copy of the course.
//!
//! It has everything that building and grading a submission takes, and nothing of what is to be found out: neither built-in
//! solutions (feature `solutions`: kernels, launches, CUDA C++ peers), nor hidden cases, nor tests of the course, which
//! know the answers. Sources are stripped by their own `cfg`s, so what belongs to a solution is said where it stands.

mod manifest;
mod strip;
#[cfg(test)]
mod tests;
mod tree;

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Ending, Failure};
use crate::out::Out;
use crate::output::OutputFolder;
use crate::root;

/// What `harness export` is told.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// Where the copy goes: a folder that is empty or not there yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The course's folder [default: the working folder, or the nearest above it that is a course]
    #[arg(long, value_name = "DIR")]
    course: Option<PathBuf>,
}

/// Writes the copy.
///
/// # Errors
///
/// A folder that is not empty, or no course; what cannot be read or written.
pub fn run(args: &ExportArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    let root = root::find(args.course.as_deref(), &PathBuf::from("."))?;
    let folder = OutputFolder::create("--out", &args.out)?;
    let files = tree::export(&root, folder.path())?;
    let target = folder.finish()?;
    out.line(format!(
        "{files} files in {}; students begin at its README.md",
        target.display()
    ))?;
    Ok(Ending::Fine)
}
