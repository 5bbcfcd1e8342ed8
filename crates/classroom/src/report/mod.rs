//! A grade for those who read it: on a terminal, as JSON, as a page, for Gradescope.
//!
//! | module         | what it holds                                      |
//! |----------------|----------------------------------------------------|
//! | [`terminal`]   | tables and messages                                |
//! | [`html`]       | one self-contained page                            |
//! | [`gradescope`] | the `results.json` that Gradescope reads           |
//! | [`student`]    | the part of a grade that its student may read      |
//! | [`figures`]    | points, ratios and statuses as people read them    |

pub mod figures;
pub mod gradescope;
pub mod html;
pub mod lines;
pub mod student;
pub mod terminal;
#[cfg(test)]
pub mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use ::terminal::stdout::Out;
use exit::{CommandError, Ending};
use forge::{ForgeArgs, Forms};
use grading::engine::Replays;
use grading::report::{CaseGrade, GradeReport};
use output_files::{OutputFile, OutputFolder, OutputPath};
use page::escape;
use replay::ReplayArgs;

/// Where a grade is written.
#[derive(Debug, Clone, Default, Args)]
pub struct ReportArgs {
    /// Write the grade as JSON
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    pub json: Option<OutputPath>,
    /// Write the grade as a self-contained page
    #[arg(long, value_name = "FILE")]
    pub html: Option<OutputPath>,
    /// Write the results.json that Gradescope reads
    #[arg(long, value_name = "FILE")]
    pub gradescope: Option<OutputPath>,
    /// Write the part that the student may read, without what tells of hidden cases, for any
    /// learning platform: as JSON if the name ends in .json, else as a page
    #[arg(long, value_name = "FILE")]
    pub student_report: Vec<OutputPath>,
    /// Write a picture of each wrong field into this new folder
    #[arg(long, value_name = "DIR")]
    pub heat_maps: Option<OutputPath>,
    /// Show only the points and the first failure
    #[arg(long)]
    pub brief: bool,
    /// Show what the emulated device counted in each case: instructions, sectors, bank conflicts,
    /// ...
    #[arg(long)]
    pub counts: bool,
    /// Forms for editors and forges.
    #[command(flatten)]
    pub forge: ForgeArgs,
    /// A page that replays a case.
    #[command(flatten)]
    pub replay: ReplayArgs,
}

/// The files of [`ReportArgs`], in the making.
#[derive(Debug)]
pub struct ReportFiles {
    json: Option<OutputFile>,
    html: Option<PageFile>,
    gradescope: Option<OutputFile>,
    student_reports: Vec<StudentFile>,
    heat_maps: Option<OutputFolder>,
    brief: bool,
    counts: bool,
    forms: Forms,
    replay: Option<replay::Page>,
}

/// A page, and beside it, if the grade has one, the page that replays a case.
#[derive(Debug)]
struct PageFile {
    file: OutputFile,
    /// `grade-replay.html` for `grade.html`; none beside a page of another ending.
    beside: Option<PathBuf>,
}

/// The file of a student's report.
#[derive(Debug)]
enum StudentFile {
    Json(OutputFile),
    Page(PageFile),
}

impl PageFile {
    fn create(flag: &str, path: &Path) -> Result<PageFile, CommandError> {
        let is_page = path.extension().is_some_and(|ending| ending == "html");
        let stem = path.file_stem().filter(|_| is_page);
        let beside = stem.map(|stem| {
            let stem = escape::file_name(&stem.to_string_lossy());
            path.with_file_name(format!("{stem}-replay.html"))
        });
        Ok(PageFile {
            file: OutputFile::create(flag, path)?,
            beside,
        })
    }

    fn write(self, report: &GradeReport) -> Result<(), CommandError> {
        let replay = report.replayed.as_ref().zip(self.beside);
        let link = replay
            .as_ref()
            .and_then(|(_, path)| path.file_name()?.to_str());
        let page = html::page(report, link);
        if let Some((replayed, path)) = &replay {
            OutputFile::create("--html", path)?.write_all(replayed.html.as_bytes())?;
        }
        self.file.write_all(page.as_bytes())?;
        Ok(())
    }
}

impl ReportArgs {
    /// Prepares the files, before any work starts.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] if one cannot be written.
    pub fn open(&self) -> Result<ReportFiles, CommandError> {
        let file = |flag, path: &Option<OutputPath>| {
            path.as_deref()
                .map(|path| OutputFile::create(flag, path))
                .transpose()
        };
        Ok(ReportFiles {
            json: file("-o", &self.json)?,
            html: { self.html.as_deref() }
                .map(|path| PageFile::create("--html", path))
                .transpose()?,
            gradescope: file("--gradescope", &self.gradescope)?,
            student_reports: self
                .student_report
                .iter()
                .map(|path| {
                    let flag = "--student-report";
                    Ok(if path.extension().is_some_and(|ending| ending == "json") {
                        StudentFile::Json(OutputFile::create(flag, path)?)
                    } else {
                        StudentFile::Page(PageFile::create(flag, path)?)
                    })
                })
                .collect::<Result<_, CommandError>>()?,
            heat_maps: self
                .heat_maps
                .as_deref()
                .map(|folder| OutputFolder::create("--heat-maps", folder))
                .transpose()?,
            brief: self.brief,
            counts: self.counts,
            forms: self.forge.open(true)?,
            replay: self.replay.open()?,
        })
    }

    /// Whether a page replays a case: one that is asked for, or one beside the page of a grade in
    /// which something is wrong.
    pub fn replays(&self) -> Replays {
        let wish = self.replay.wish();
        if self.replay.file().is_some() {
            Replays::All(wish)
        } else if self.html.is_some() || !self.student_report.is_empty() {
            Replays::Wrong(wish)
        } else {
            Replays::None
        }
    }
}

impl ReportFiles {
    /// Prints the grade of `submission`, and writes the files.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if something cannot be written.
    pub fn write(
        self,
        submission: &Path,
        report: &GradeReport,
        out: &mut Out<'_>,
    ) -> Result<Ending, CommandError> {
        let look = out.look();
        out.line(if self.brief {
            terminal::brief(report, look)
        } else {
            terminal::render(report, look)
        })?;
        if self.counts {
            out.line("")?;
            out.line(terminal::counts(report, look))?;
        }
        if let Some(file) = self.json {
            file.write_all(json(report)?.as_bytes())?;
        }
        if let Some(page) = self.html {
            page.write(report)?;
        }
        if let (Some(page), Some(replayed)) = (self.replay, &report.replayed) {
            let path = page.write_html(&replayed.html)?;
            let path = path.display();
            out.line(format!("wrote {path}: {} step by step", replayed.case))?;
        }
        if let Some(file) = self.gradescope {
            let results = serde_json::to_string_pretty(&gradescope::results(report));
            let text = results.map_err(|error| no_json(&error))? + "\n";
            file.write_all(text.as_bytes())?;
        }
        for file in self.student_reports {
            let safe = student::safe(report);
            match file {
                StudentFile::Json(file) => drop(file.write_all(json(&safe)?.as_bytes())?),
                StudentFile::Page(page) => page.write(&safe)?,
            }
        }
        if let Some(folder) = self.heat_maps {
            for (case, png) in heat_maps(report) {
                let name = format!("{}.png", escape::file_name(&case.name));
                folder.file(&name)?.write_all(&png).map_err(|error| {
                    CommandError::not_written(&folder.target().join(&name), &error)
                })?;
            }
            folder.finish()?;
        }
        self.forms
            .write(|| lines::report(submission, report), out)?;
        Ok(ending(report))
    }
}

/// `report.json`.
///
/// # Errors
///
/// [`CommandError::Bug`].
pub fn json(report: &GradeReport) -> Result<String, CommandError> {
    Ok(serde_json::to_string_pretty(report).map_err(|error| no_json(&error))? + "\n")
}

fn no_json(error: &serde_json::Error) -> CommandError {
    CommandError::Bug(format!("the grade has no JSON form: {error}"))
}

/// The exit code that a grade leads to: something failed; something could not be graded here;
/// neither.
pub fn ending(report: &GradeReport) -> Ending {
    if !report.is_right() {
        Ending::Wrong
    } else if !report.is_complete() {
        Ending::NotGraded
    } else {
        Ending::Fine
    }
}

fn heat_maps(report: &GradeReport) -> impl Iterator<Item = (&CaseGrade, Vec<u8>)> {
    report.cases.iter().filter_map(|case| {
        let diagnosis = case.status.failure()?.diagnosis.as_ref()?;
        Some((case, diagnosis.heat_map.as_ref()?.png()))
    })
}
