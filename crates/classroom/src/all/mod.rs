//! `harness grade --all`: every submission of a folder.
//!
//! The report of each is kept in the results folder as soon as it is finished, under a name that
//! follows from what was graded and how. After an interruption the same command goes on where it
//! was, and a submission that has changed since is graded again. Shards of a class are processes
//! that keep reports in one folder, or in folders that are copied together; a last run finds all
//! reports and writes the summary.
//!
//! | module      | what it holds                                         |
//! |-------------|-------------------------------------------------------|
//! | [`folder`]  | the class's draw, and the lock of the results folder  |
//! | [`store`]   | which submissions there are, and their kept reports   |
//! | [`workers`] | several submissions at once, one on each device       |
//! | [`shard`]   | which submissions are a shard's                       |
//! | [`summary`] | all of them together: table, distribution, files      |
//! | [`canvas`]  | their points in the form that Canvas imports          |

pub mod canvas;
pub mod folder;
mod look_alikes;
pub mod shard;
pub mod store;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod workers;

use std::path::Path;

use terminal::progress::Progress;

use canvas::Gradebook;
use exit::{CommandError, Ending};
use grading::report::GradeReport;
use output_files::OutputFile;
use page::escape;
use shard::Shard;
use store::{Found, Store, Submission, Terms};
use summary::{Graded, Summary};
use terminal::progress::Bar;
use terminal::stdout::Out;
use units::count;
use workers::{Stopped, share};

/// Grades one submission by the worker of this number. `Err` is not the submission's fault.
pub type GradeOne<'g> = dyn Fn(usize, &Path) -> Result<GradeReport, CommandError> + Sync + 'g;

/// A class, and what is wanted of it.
#[derive(Debug, Clone, Copy)]
pub struct Class<'c> {
    /// The folder of the submissions: its subfolders, and its files that end in `.bundle`.
    pub submissions: &'c Path,
    /// Its content.
    pub found: &'c Found,
    /// The folder for the results, made where there is none.
    pub results: &'c Path,
    /// How submissions are graded; reports of other terms are not used again.
    pub terms: &'c Terms,
    /// The names of submissions that are graded again, whatever is kept of them.
    pub again: &'c [String],
    /// The shard to be graded, if not all.
    pub shard: Option<Shard>,
    /// How many submissions are graded at once.
    pub workers: usize,
    /// The gradebook that gets the points, if one is named.
    pub gradebook: Option<&'c Gradebook>,
}

/// Grades every submission of a class, or of a shard of it.
///
/// Submissions of the same content are graded once. The ending of a shard says that its reports are
/// kept; the ending of the run that writes the summary says whether every point was graded.
///
/// # Errors
///
/// Results that cannot be written; a name that is to be graded again and is not there;
/// [`CommandError::Environment`] of a grade, after which the rest is not tried: what is finished is
/// kept.
pub fn grade_all(
    class: Class<'_>,
    grade: &GradeOne<'_>,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let Found {
        submissions: found,
        links,
        added,
        others,
    } = class.found;
    let neither = ["is not a folder or bundle", "are not folders or bundles"];
    let out_of_it = [
        "is a link to what is not in the folder",
        "are links to what is not in the folder",
    ];
    let by_a_mac = ["is what a Mac adds to a zip"; 2];
    for (names, why) in [(others, neither), (links, out_of_it), (added, by_a_mac)] {
        if !names.is_empty() {
            out.line(format!("  passed over: {}", passed_over(names, why)))?;
        }
    }
    let again = named(found, class.again, class.submissions)?;
    let store = Store::open(class.results, class.terms)?;
    for one in again {
        store.forget(&store.key(one))?;
    }
    let Some(shard) = class.shard else {
        let graded = grade_these(found, &store, class.workers, grade, out)?;
        let summary = Summary::of(&graded);
        out.line("")?;
        out.line(summary.render(out.look()))?;
        summary.write(class.results, &graded)?;
        if let Some(gradebook) = class.gradebook {
            write_import(gradebook, &graded, class.results, out)?;
        }
        return Ok(summary.ending());
    };
    let own: Vec<Submission> = shard
        .members(found.len())
        .map(|index| found[index].clone())
        .collect();
    let of_class = format!("{} of {}", own.len(), count(found.len(), "submission"));
    out.line(format!("  shard {shard}: {of_class}"))?;
    grade_these(&own, &store, class.workers, grade, out)?;
    out.line("")?;
    out.line(format!(
        "  reports are kept in {}; `harness grade --all` without --shard writes the summary",
        class.results.display()
    ))?;
    Ok(Ending::Fine)
}

/// Writes what Canvas imports, and says how much of the class is in it.
fn write_import(
    gradebook: &Gradebook,
    graded: &[Graded],
    results: &Path,
    out: &mut Out<'_>,
) -> Result<(), CommandError> {
    let import = gradebook.with(graded);
    let path = results.join("canvas.csv");
    OutputFile::create("-o", &path)?.write_all(import.text.as_bytes())?;
    out.line("")?;
    for remark in import.remarks {
        let line = escape::line(&format!("canvas.csv: {remark}"));
        out.line(out.look().wrapped(&line, 2))?;
    }
    Ok(())
}

/// The submissions of these names, which `--again` gives.
///
/// # Errors
///
/// [`CommandError::Input`] for a name that is not there.
pub fn named<'f>(
    found: &'f [Submission],
    names: &[String],
    folder: &Path,
) -> Result<Vec<&'f Submission>, CommandError> {
    let one = |name: &String| {
        found.iter().find(|one| one.name == *name).ok_or_else(|| {
            CommandError::Input(format!(
                "--again {name}: {} has no such submission",
                folder.display()
            ))
        })
    };
    names.iter().map(one).collect()
}

/// The line for names that are passed over, with the reason for one and for several.
fn passed_over(names: &[String], [is, are]: [&str; 2]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| escape::line(name))
        .collect();
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let why = if names.len() == 1 { is } else { are };
    format!("{}{more} {why}", shown.join(", "))
}

/// Grades these submissions.
fn grade_these(
    these: &[Submission],
    store: &Store,
    workers: usize,
    grade: &GradeOne<'_>,
    out: &mut Out<'_>,
) -> Result<Vec<Graded>, CommandError> {
    let total = these.len();
    let bar = Bar::new("grading");
    bar.update(0, total as u64);
    let work =
        |worker: usize, index: usize| grade_one(&these[index], store, &|path| grade(worker, path));
    let mut show = |one: &Graded, done: usize| {
        bar.update(done as u64, total as u64);
        out.line(summary::line(one, out.look()))
    };
    let graded = share(workers, by_content(these, store), &work, &mut show)?;
    graded.map_err(|stopped| {
        let Stopped {
            item,
            done,
            failure,
        } = stopped;
        let done = format!("{done} of {total} are graded and kept; run it again to go on");
        failure.context(format!("{} ({done})", escape::line(&these[item].name)))
    })
}

/// Submissions of the same content together, so that one worker grades the first and finds its
/// report for the others.
fn by_content(these: &[Submission], store: &Store) -> Vec<Vec<usize>> {
    let keys: Vec<String> = these.iter().map(|one| store.key(one)).collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        match groups.iter_mut().find(|group| keys[group[0]] == *key) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// The kept report, or a new one. An error of this submission alone is a line of the summary.
fn grade_one(
    submission: &Submission,
    store: &Store,
    grade: &dyn Fn(&Path) -> Result<GradeReport, CommandError>,
) -> Result<Graded, CommandError> {
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
            store.keep(&key, &report)?;
            Ok(graded(Ok(report), false))
        }
        Err(failure @ CommandError::Environment(_)) => Err(failure),
        Err(failure) => Ok(graded(Err(failure.to_string()), false)),
    }
}
