//! The meaning of arguments that several commands have: numbers, the course, its lab files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Once;

use grading::lab_spec::{self, LabSpec, LabSpecError};

use exit::CommandError;
use page::escape;
use select::course_root;
use terminal::look::Look;

/// A seed, or the number of a draw.
///
/// # Errors
///
/// A text that is not such a number.
pub fn number(text: &str) -> Result<u64, String> {
    let bad = |_| format!("a whole number from 0 to {}", u64::MAX);
    text.parse().map_err(bad)
}

/// Reads a lab file, which `flag` named.
///
/// # Errors
///
/// [`CommandError::Input`]: what cannot be read, or the first fault, with its line.
pub fn read_lab_file(flag: &str, path: &Path) -> Result<LabSpec, CommandError> {
    LabSpec::read(path).map_err(|error| {
        CommandError::Input(match error {
            LabSpecError::Unreadable { .. } => format!("{flag} {error}"),
            LabSpecError::Invalid { .. } => error.to_string(),
        })
    })
}

/// Refuses a path unless it is a folder; `remedy` says what to name.
///
/// # Errors
///
/// [`CommandError::Input`], which begins with `flag`.
pub fn is_folder(flag: &str, path: &Path, remedy: &str) -> Result<(), CommandError> {
    if path.is_dir() {
        return Ok(());
    }
    let what = if path.exists() {
        "is not a folder"
    } else if path.is_symlink() {
        "is a link that leads nowhere, or back to itself"
    } else {
        "does not exist"
    };
    let path = path.display();
    Err(CommandError::Input(format!(
        "{flag}{path}: {what}; {remedy}"
    )))
}

/// The lab file of a lab: that of the course's folder, or without one, or where it is the same, the
/// one inside this program. One line on standard error says that they differ.
///
/// # Errors
///
/// [`CommandError::Input`] for an unknown lab, or the first mistake in the folder's file.
pub fn lab_file_here(
    lab: &str,
    course: Option<&Path>,
) -> Result<Cow<'static, LabSpec>, CommandError> {
    let own = lab_spec::embedded(lab)?;
    // Bundles are graded without a course too.
    let Ok(root) = course_root(course) else {
        return Ok(Cow::Borrowed(own));
    };
    let edited = lab_spec::edited(&root, lab);
    let Some(edited) = edited.map_err(|error| CommandError::Input(error.to_string()))? else {
        return Ok(Cow::Borrowed(own));
    };
    let file = escape::line(&edited.file);
    let words = format!("{file} counts; the lab file inside this program is another");
    eprintln!("{}", Look::of_stderr().message("note:", &words));
    Ok(Cow::Owned(edited))
}

/// The course's root: `given` (by `--course`), else what is above this program's file, else what is
/// above the working folder. Never a submission's folder: its crates would be built, and trusted.
/// Where the first two are courses and differ, one line on standard error says which counts.
///
/// # Errors
///
/// As [`course_root::find`].
pub fn course_root(given: Option<&Path>) -> Result<PathBuf, CommandError> {
    if given.is_none()
        && let Some(root) = course_root::of_program()
    {
        static TOLD: Once = Once::new();
        let here = course_root::find(None, Path::new("."));
        if let Ok(here) = here.map(|here| here.canonicalize().unwrap_or(here))
            && here != root.canonicalize().unwrap_or_else(|_| root.clone())
        {
            TOLD.call_once(|| {
                let (root, variable) = (root.display(), course_root::COURSE_VARIABLE);
                let words = format!(
                    "the course that counts is this program's, {root}; {variable} names another"
                );
                eprintln!("{}", Look::of_stderr().message("note:", &words));
            });
        }
        return Ok(root);
    }
    course_root::find(given, Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_asked_for_in_plain_words() {
        assert_eq!(number("7"), Ok(7));
        for text in ["abc", "-1", "18446744073709551616", ""] {
            let message = number(text).unwrap_err();
            assert_eq!(message, "a whole number from 0 to 18446744073709551615");
        }
    }
}
