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
use std::path::Path;

use clap::Args;

use ::terminal::stdout::Out;
use exit::{CommandError, Ending};
use forge::{ForgeArgs, Forms};
use grading::report::{CaseGrade, GradeReport};
use output_files::{OutputFile, OutputFolder, OutputPath};
use page::escape;

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
    /// Show the points and what went wrong first, no more
    #[arg(long)]
    pub brief: bool,
    /// Show what the emulated device counted in each case: instructions, sectors, bank conflicts,
    /// ...
    #[arg(long)]
    pub counts: bool,
    /// Forms for editors and forges.
    #[command(flatten)]
    pub forge: ForgeArgs,
}

/// The files of [`ReportArgs`], in the making.
#[derive(Debug)]
pub struct ReportFiles {
    json: Option<OutputFile>,
    html: Option<OutputFile>,
    gradescope: Option<OutputFile>,
    /// Each with whether it is JSON.
    student_reports: Vec<(OutputFile, bool)>,
    heat_maps: Option<OutputFolder>,
    brief: bool,
    counts: bool,
    forms: Forms,
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
            html: file("--html", &self.html)?,
            gradescope: file("--gradescope", &self.gradescope)?,
            student_reports: self
                .student_report
                .iter()
                .map(|path| {
                    let is_json = path.extension().is_some_and(|ending| ending == "json");
                    Ok((OutputFile::create("--student-report", path)?, is_json))
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
        })
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
        if let Some(file) = self.html {
            file.write_all(html::page(report).as_bytes())?;
        }
        if let Some(file) = self.gradescope {
            let results = serde_json::to_string_pretty(&gradescope::results(report));
            let text = results.map_err(|error| no_json(&error))? + "\n";
            file.write_all(text.as_bytes())?;
        }
        for (file, is_json) in self.student_reports {
            let safe = student::safe(report);
            let text = if is_json {
                json(&safe)?
            } else {
                html::page(&safe)
            };
            file.write_all(text.as_bytes())?;
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
