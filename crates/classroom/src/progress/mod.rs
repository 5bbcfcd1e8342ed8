//! `harness progress`: how far a student is, lab by lab.
//!
//! `watch` keeps the verdict on each save (`kept`). A lab whose files have changed since, or that
//! was never watched, is graded first: so the table is right however the files came to be.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use clap::Args;
use exit::{CommandError, Ending};
use grading::engine::Workers;
use grading::lab_spec::LabSpec;
use grading::pack::Authors;
use grading::report::GradeReport;
use serde::Serialize;
use terminal::json::JsonArg;
use terminal::look::Look;
use terminal::stdout::Out;
use terminal::table::{Align, Table, Tone};
use units::count;

use crate::arguments::course_root;
use crate::examiner::Examiner;
use crate::grade::Bars;
use crate::kept::{Kept, key};
use crate::report::figures::{self, Tally};
use crate::rules::Rules;
use crate::watch::{in_order, read, settings};

/// Arguments of `harness progress`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "A lab is graded first where its files have changed since `watch` has graded them: on the emulated device, by the \
                  cases that students know."
)]
pub struct ProgressArgs {
    /// Grade even where nothing keeps a submission from reading files while it is compiled, as one
    /// does with one's own
    #[arg(long)]
    without_isolation: bool,
    #[command(flatten)]
    json: JsonArg,
}

/// How far a lab is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// Some case is wrong.
    Open,
    /// All cases that students know are right.
    Right,
    /// And a GPU gave all points for speed.
    Fast,
}

/// A lab's row.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    lab: String,
    folder: PathBuf,
    #[serde(flatten)]
    tally: Tally,
    state: State,
}

impl Row {
    fn of(kept: Kept) -> Row {
        Row {
            state: match (kept.is_right, kept.is_fast) {
                (true, true) => State::Fast,
                (true, false) => State::Right,
                (false, _) => State::Open,
            },
            lab: kept.lab,
            folder: kept.folder,
            tally: kept.tally,
        }
    }

    fn state(&self) -> (String, Tone) {
        match self.state {
            State::Open => ("open".to_owned(), Tone::Caution),
            State::Right => ("part 1 is done".to_owned(), Tone::Good),
            State::Fast => ("done, and fast".to_owned(), Tone::Good),
        }
    }
}

/// Grades what has changed, and shows how far each lab is.
///
/// # Errors
///
/// The course is not here; what the machine lacks for grading; a verdict that cannot be kept.
pub fn run(args: &ProgressArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let json = args.json.open()?;
    let root = course_root(None)?;
    let grade = |folder: &Path, rules: Rules| {
        let settings = settings(None, args.without_isolation)?;
        let examiner = Examiner::new(rules, &settings, None, Authors::Own)?;
        let device = examiner.devices()[0];
        examiner.grade(folder, device, &Workers, &mut Bars::default())
    };
    let mut rows = Vec::new();
    for lab in in_order() {
        let rules = |folder: &Path| {
            let settings = settings(Some(lab), args.without_isolation)?;
            Rules::new(&settings)?.of_visible_cases(folder)
        };
        rows.extend(row(&root, lab, &rules, &grade)?);
    }
    if json.wants_text() {
        out.line(render(&rows, out.look()))?;
    }
    #[derive(Serialize)]
    struct Report {
        labs: Vec<Row>,
    }
    json.write("progress", Report { labs: rows }, out)?;
    Ok(Ending::Fine)
}

/// The row of a lab; none if its folder has no files to grade.
fn row(
    root: &Path,
    lab: &str,
    rules: &dyn Fn(&Path) -> Result<Rules, CommandError>,
    grade: &dyn Fn(&Path, Rules) -> Result<GradeReport, CommandError>,
) -> Result<Option<Row>, CommandError> {
    let kept = Kept::read(root, lab);
    let watched = kept.as_ref().map(|kept| kept.folder.clone());
    let watched = watched.filter(|folder| root.join(folder).is_dir());
    let folder = watched.unwrap_or_else(|| Path::new("labs").join(lab).join("starter"));
    let files = read(&root.join(&folder));
    if files == [None, None] {
        return Ok(None);
    }
    let rules = rules(&root.join(&folder))?;
    let spec: &LabSpec = rules.lab_spec(None)?;
    let key = key(&files, &spec.text);
    if let Some(kept) = kept.filter(|kept| kept.key == key) {
        return Ok(Some(Row::of(kept)));
    }
    let report = grade(&root.join(&folder), rules)?;
    let made = Kept::of(&report, &folder, key);
    made.write(root)?;
    Ok(Some(Row::of(made)))
}

fn render(rows: &[Row], look: Look) -> String {
    let table = Table::new(rows)
        .left("lab", |row| row.lab.clone())
        .right("points", |row| {
            Some(figures::earned(row.tally.earned, row.tally.possible))
        })
        .right("cases right", |row| {
            Some(format!("{} of {}", row.tally.right, row.tally.cases))
        })
        .toned("", Align::Left, Row::state);
    let done = rows.iter().filter(|row| row.state != State::Open).count();
    let mut text = table.render(look, 2);
    text += &format!("\n\n  {done} of {} done", count(rows.len(), "lab"));
    match rows.iter().find(|row| row.state == State::Open) {
        Some(open) => text += &format!("; next: harness watch {}", open.lab),
        None => text += ", in part 1; part 2 of each handout makes them fast",
    }
    text
}
