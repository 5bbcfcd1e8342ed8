//! `--canvas`: the points of a class in the form that Canvas imports.
//!
//! Canvas knows students by a number. Its gradebook, exported, has it in the column `ID`, and its
//! zip of submissions in each file's name: `lovelaceada_340934_208490284_lab.zip`, or with `LATE`
//! before the number. So a submission's folder that keeps this name says whose it is. A folder may
//! also be named by the login or by the university's number.
//!
//! What is written has one assignment's column, and the students who have points in it: Canvas
//! changes nothing else.

use std::path::{Path, PathBuf};

use exit::CommandError;
use output_files::input::{self, unreadable};

use super::summary::Graded;
use crate::report::figures;

/// The columns that say who a student is, in Canvas's words.
const WHO: [&str; 9] = [
    "Student",
    "LastName",
    "FirstName",
    "ID",
    "SIS User ID",
    "SIS Login ID",
    "Integration ID",
    "Root Account",
    "Section",
];
/// Those of them by which a folder may be named.
const KEYS: [&str; 3] = ["ID", "SIS User ID", "SIS Login ID"];
/// The row below the headers.
const POSSIBLE: &str = "Points Possible";

/// An exported gradebook, and the assignment that gets points.
#[derive(Debug)]
pub struct Gradebook {
    file: PathBuf,
    separator: char,
    rows: Vec<Vec<String>>,
    /// The assignment's column.
    pub(super) column: usize,
}

/// The file to import, and what an instructor should know of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// The file.
    pub text: String,
    /// How many students have points in it, which submissions have no student, and other points.
    pub remarks: Vec<String>,
}

impl Gradebook {
    /// Reads the file that `--canvas` names. The assignment is the one whose title has the words of
    /// `--assignment`, or else of the lab's name.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`]: it cannot be read, is not a gradebook, or not one of its
    /// assignments has that title.
    pub fn read(file: &Path, title: &str) -> Result<Gradebook, CommandError> {
        let wrong =
            |why: String| CommandError::Input(format!("--canvas {}: {why}", file.display()));
        let whole = input::text(file).map_err(|error| wrong(unreadable(&error)))?;
        let text = whole.trim_start_matches('\u{feff}');
        let first = text.lines().next().unwrap_or_default();
        let separator = [',', ';', '\t']
            .into_iter()
            .max_by_key(|c| first.matches(*c).count());
        let separator = separator.expect("there are three");
        let rows = parsed(text, separator);
        let header = rows.first().map_or(&[][..], Vec::as_slice);
        if !header.iter().any(|name| name == "ID") {
            return Err(wrong(
                "has no column `ID`; export it in Canvas by Grades, Export, Export Entire Gradebook"
                    .to_owned(),
            ));
        }
        // Canvas writes `title (number)`; sums and grades have no number.
        let assignments = header.iter().enumerate().filter(|(_, name)| {
            let number = name
                .strip_suffix(')')
                .and_then(|rest| rest.rsplit_once(" ("));
            number.is_some_and(|(_, number)| number.parse::<u64>().is_ok())
        });
        let assignments: Vec<(usize, &str)> =
            assignments.map(|(at, name)| (at, name.as_str())).collect();
        let wanted = title.to_lowercase();
        let titled = |is_meant: &dyn Fn(&str) -> bool| -> Vec<usize> {
            let meant = assignments
                .iter()
                .filter(|(_, name)| is_meant(&name.to_lowercase()));
            meant.map(|(at, _)| *at).collect()
        };
        // Of `stencil25` and `stencil25-advanced`, each can be named.
        let mut meant = titled(&|name| {
            let without_number = name.rsplit_once(" (").map(|(words, _)| words);
            name == wanted || without_number == Some(&*wanted)
        });
        if meant.is_empty() {
            meant = titled(&|name| name.contains(&wanted));
        }
        let [column] = meant[..] else {
            let names: Vec<&str> = assignments.iter().map(|(_, name)| *name).collect();
            let found = if meant.is_empty() {
                "no assignment"
            } else {
                "several assignments"
            };
            return Err(wrong(format!(
                "{found} with `{title}` in the title; name one by --assignment TEXT. There are: {}",
                names.join(", ")
            )));
        };
        Ok(Gradebook {
            file: file.to_owned(),
            separator,
            column,
            rows,
        })
    }

    /// The gradebook with the points of these submissions.
    pub fn with(&self, graded: &[Graded]) -> Import {
        let header = &self.rows[0];
        let kept: Vec<usize> = (0..header.len())
            .filter(|&at| at == self.column || WHO.contains(&&*header[at]))
            .collect();
        let keys: Vec<usize> = (0..header.len())
            .filter(|&at| KEYS.contains(&&*header[at]))
            .collect();
        let cell = |row: &[String], at: usize| row.get(at).cloned().unwrap_or_default();
        let line = |row: &[String]| {
            let cells = kept
                .iter()
                .map(|&at| quoted(&cell(row, at), self.separator));
            cells.collect::<Vec<_>>().join(&self.separator.to_string()) + "\n"
        };
        let mut text = line(header);
        let possible = self.rows.iter().find(|row| cell(row, 0).trim() == POSSIBLE);
        text.extend(possible.map(|row| line(row)));
        let students = self.rows[1..]
            .iter()
            .filter(|row| !cell(row, keys[0]).is_empty());
        let students: Vec<&[String]> = students.map(Vec::as_slice).collect();
        let mut filled: Vec<&[String]> = Vec::new();
        let (mut strangers, mut second, mut ungraded) = (Vec::new(), Vec::new(), Vec::new());
        let mut parts = Vec::new();
        for one in graded {
            let name = one.name.as_str();
            let is_own = |row: &&&[String]| keys.iter().any(|&at| names(name, &cell(row, at)));
            let own: Vec<&&[String]> = students.iter().filter(is_own).collect();
            match (&own[..], &one.report) {
                ([row], Ok(_)) if filled.contains(row) => second.push(name),
                ([row], Ok(report)) if report.totals.undecided == 0.0 => {
                    let mut filled_in = row.to_vec();
                    filled_in[self.column] = figures::points(report.totals.earned);
                    text += &line(&filled_in);
                    filled.push(row);
                    parts.push(report.totals.graded());
                }
                ([_], _) => ungraded.push(name),
                _ => strangers.push(name),
            }
        }
        let title = &header[self.column];
        let mut remarks = vec![format!(
            "{} of {} of {} have points in `{title}`",
            filled.len(),
            units::count(students.len(), "student"),
            self.file.display()
        )];
        let listed = |what: &str, names: &[&str]| {
            (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
        };
        remarks.extend(listed(
            "no student, or several, by the name of the folder",
            &strangers,
        ));
        remarks.extend(listed(
            "left out, as another of the same student's is in it",
            &second,
        ));
        remarks.extend(listed("left out, since not all is decided", &ungraded));
        let most = possible.map(|row| cell(row, self.column).replace(',', "."));
        let most = most.and_then(|points| points.trim().parse::<f64>().ok());
        if let (Some(most), Some(part)) = (most, parts.iter().find(|part| Some(**part) != most)) {
            remarks.push(format!(
                "`{title}` has {} points in Canvas, and {} were graded here; the points are as they were earned",
                figures::points(most),
                figures::points(*part)
            ));
        }
        Import { text, remarks }
    }
}

/// Whether a submission's folder is named by this key: as a whole, or by the number in a name that
/// Canvas gives. What follows the number is the student's, who may write another's there.
fn names(folder: &str, key: &str) -> bool {
    let is_number =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let number = folder.split('_').skip(1).find(is_number);
    !key.is_empty() && (folder.eq_ignore_ascii_case(key) || number == Some(key))
}

/// The rows of a file in comma-separated form: a cell in quotes may hold separators, lines and
/// doubled quotes.
fn parsed(text: &str, separator: char) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if is_quoted && rest.peek() == Some(&'"') => cell.extend(rest.next()),
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => cell.push(c),
            '\r' => {}
            _ if c == separator => row.push(std::mem::take(&mut cell)),
            '\n' => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ => cell.push(c),
        }
    }
    if !row.is_empty() || !cell.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows
}

fn quoted(cell: &str, separator: char) -> String {
    if cell.contains([separator, '"', '\n']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_its_student() {
        for (folder, key, says) in [
            ("lovelaceada_340934_208490284_lab", "340934", true),
            ("lovelaceada_LATE_340934_208490284_lab", "340934", true),
            // The last part is the student's own file name.
            ("hoppergrace_340935_208490285_340934", "340934", false),
            ("hoppergrace_340935_208490285_340934", "340935", true),
            ("ada", "Ada", true),
            ("340934", "340934", true),
            ("ada-340934", "340934", false),
            ("", "", false),
        ] {
            assert_eq!(names(folder, key), says, "{folder} {key}");
        }
    }

    #[test]
    fn cells_are_read_as_they_are_written() {
        let text = "a,\"b, \"\"c\"\"\nd\",\r\n,e\n";
        let rows = parsed(text, ',');
        assert_eq!(rows, [vec!["a", "b, \"c\"\nd", ""], vec!["", "e"]]);
        let written: Vec<String> = rows[0].iter().map(|cell| quoted(cell, ',')).collect();
        assert_eq!(written.join(","), "a,\"b, \"\"c\"\"\nd\",");
        assert_eq!(parsed("x;y", ';'), [["x", "y"]]);
    }
}
