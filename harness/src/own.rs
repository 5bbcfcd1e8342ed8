//! `--submission`: folders that become solutions of a lab before a command begins.

use classroom::arguments::course_root;
use exit::CommandError;
use grading::pack::own::{self, Purpose};
use lab::find_lab;
use output_files::ScratchFolder;
use select::catalogue::{SubmissionArg, Submitted};

/// Builds the submissions that are named, for this lab. They work for as long as the returned
/// folders are there.
///
/// # Errors
///
/// No lab is named; as [`own::built`].
pub fn submit(
    lab: Option<&str>,
    named: &SubmissionArg,
    purpose: Purpose,
) -> Result<(Submitted, Vec<ScratchFolder>), CommandError> {
    let folders = &named.submission;
    let Some(first) = folders.first() else {
        return Ok((Submitted::NONE, Vec::new()));
    };
    let Some(lab) = lab else {
        return Err(CommandError::Input(format!(
            "--submission {}: name the lab that it solves, as in `harness test wave2d --submission {0}`",
            first.display()
        )));
    };
    let lab = find_lab(host::labs(), lab)?;
    let (variants, scratch) = own::built(lab, folders, purpose, || course_root(None))?;
    Ok((Submitted::new(lab, variants), scratch))
}
