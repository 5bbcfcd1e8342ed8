//! Where the course is: the folder that submissions are built against, and that is exported and
//! checked.

use std::path::{Path, PathBuf};

use exit::CommandError;

/// The folders that a course's root has.
const PARTS: [&str; 3] = ["crates/plan", "kernels-gpu", "labs"];

/// The environment variable that names the course's root. Every command reads it; some have
/// `--course`, too.
pub const COURSE_VARIABLE: &str = "HARNESS_COURSE";

/// The course that this program's file is in, if it is in one.
pub fn of_program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    find(None, &program).ok()
}

/// The course's root: `given` (by `--course`), else what [`COURSE_VARIABLE`] names, else the
/// nearest folder from `start` upwards that is one.
///
/// # Errors
///
/// [`CommandError::Input`] for a given folder that is none; [`CommandError::Environment`] if there
/// is none, as where the program was carried to another machine.
pub fn find(given: Option<&Path>, start: &Path) -> Result<PathBuf, CommandError> {
    if given.is_none()
        && let Some(folder) = std::env::var_os(COURSE_VARIABLE)
    {
        return named(Path::new(&folder), COURSE_VARIABLE);
    }
    if let Some(given) = given {
        return named(given, "--course");
    }
    let start = std::path::absolute(start).unwrap_or_else(|_| start.to_owned());
    let is_root = |folder: &&Path| PARTS.iter().all(|part| folder.join(part).is_dir());
    match start.ancestors().find(is_root) {
        Some(root) => Ok(root.to_owned()),
        None => Err(CommandError::Environment(format!(
            "the course is not here: neither {} nor a folder above it has {}; run this in the course's folder, or name it: \
             {COURSE_VARIABLE}=DIR before the command",
            start.display(),
            PARTS.join(", ")
        ))),
    }
}

fn named(folder: &Path, by: &str) -> Result<PathBuf, CommandError> {
    match PARTS.iter().find(|part| !folder.join(part).is_dir()) {
        None => Ok(std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())),
        Some(part) => Err(CommandError::Input(format!(
            "{by} {}: is not a course: it has no folder {part}",
            folder.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_course_is_above() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.ancestors().nth(2).unwrap();
        assert_eq!(find(None, &here.join("src/perf")).unwrap(), root);
        assert_eq!(find(Some(root), Path::new("/")).unwrap(), root);
    }

    #[test]
    fn where_there_is_none_it_is_said() {
        insta::assert_snapshot!(find(None, Path::new("/nowhere/at/all")).unwrap_err(), @"the course is not here: neither /nowhere/at/all nor a folder above it has crates/plan, kernels-gpu, labs; run this in the course's folder, or name it: HARNESS_COURSE=DIR before the command");
        insta::assert_snapshot!(find(Some(Path::new("/")), Path::new("/")).unwrap_err(), @"--course /: is not a course: it has no folder crates/plan");
    }
}
