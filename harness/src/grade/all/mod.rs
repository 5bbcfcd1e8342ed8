//! `harness grade --all`: every submission of a folder.
//!
//! The report of each is kept in the results folder as soon as it is finished, under a name that follows from what was
//! graded and how. After an interruption the same command goes on where it was, and a submission that has changed since is
//! graded again.
//!
//! | module      | what it holds                                         |
//! |-------------|-------------------------------------------------------|
//! | [`store`]   | which submissions there are, and their kept reports   |
//! | [`summary`] | all of them together: table, distribution, files      |

pub mod store;
pub mod summary;
#[cfg(test)]
mod tests;

use std::path::Path;

use host::Progress;

use super::report;
use crate::failure::{Ending, Failure};
use crate::progress::Bar;
use crate::stdout::Out;
use grading::report::GradeReport;
use page::escape;
use store::{Store, Submission};
use summary::{Graded, Summary};

/// Grades one submission. `Err` is for what is no fault of the submission's.
pub type GradeOne<'g> = dyn FnMut(&Path) -> Result<GradeReport, Failure> + 'g;

/// Grades every submission in the folder `submissions`: its subfolders, and its files that end in `.bundle`.
///
/// `results` is made where there is none. `context` is everything that a grade depends on besides the submission: lab file,
/// device, seed, version; reports made in another context are not used again.
///
/// # Errors
///
/// A folder that cannot be read or written, or holds no submission; [`Failure::Environment`] of a grade, after which the
/// rest is not tried: what is finished is kept.
pub fn grade_all(
    submissions: &Path,
    results: &Path,
    context: &str,
    grade: &mut GradeOne<'_>,
    out: &mut Out<'_>,
) -> Result<Ending, Failure> {
    let found = store::submissions(submissions, results)?;
    let store = Store::open(results, context)?;
    let bar = Bar::new("grading");
    let mut graded = Vec::new();
    for (index, submission) in found.iter().enumerate() {
        bar.update(index as u64, found.len() as u64);
        let one = grade_one(submission, &store, grade).map_err(|failure| {
            let done = format!(
                "{index} of {} are graded and kept; run it again to go on",
                found.len()
            );
            failure.context(format!("{} ({done})", escape::line(&submission.name)))
        })?;
        let line = summary::line(&one, out.look());
        bar.aside(|| out.line(line))?;
        graded.push(one);
    }
    drop(bar);
    let summary = Summary::of(&graded);
    out.line("")?;
    out.line(summary.render(out.look()))?;
    summary.write(results, &graded)?;
    Ok(summary.ending())
}

/// The kept report, or a new one. What fails for this submission alone is a line of the summary.
fn grade_one(
    submission: &Submission,
    store: &Store,
    grade: &mut GradeOne<'_>,
) -> Result<Graded, Failure> {
    let key = store.key(submission);
    let graded = |report, is_kept| Graded {
        name: submission.name.clone(),
        key: key.clone(),
        is_kept,
        report,
    };
    if let Some(mut report) = store.load(&key) {
        // Another submission may have the same content.
        report.submission.name.clone_from(&submission.name);
        return Ok(graded(Ok(report), true));
    }
    match grade(&submission.path) {
        Ok(mut report) => {
            report.submission.name.clone_from(&submission.name);
            store.keep(&key, &report::json(&report)?)?;
            Ok(graded(Ok(report), false))
        }
        Err(failure @ Failure::Environment(_)) => Err(failure),
        Err(failure) => Ok(graded(Err(failure.to_string()), false)),
    }
}
