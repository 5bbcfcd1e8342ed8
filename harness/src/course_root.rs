//! Where the course's sources are: the folder with `crates/`, which submissions are built against.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Files that every copy of the course has.
const MARKS: [&str; 4] = [
    "Cargo.lock",
    "crates/cuda_std/Cargo.toml",
    "crates/plan/Cargo.toml",
    "kernels-gpu/Cargo.toml",
];

/// Whether this folder is the course's root.
pub fn is_course_root(folder: &Path) -> bool {
    MARKS.iter().all(|mark| folder.join(mark).is_file())
}

/// The course's root: `given`, which flag `--course` named, or the first of the working folder, the folder `near` and the
/// folders above them that is one. Absolute.
///
/// # Errors
///
/// [`Failure::Input`] if the given folder is none; [`Failure::Environment`] if none is found.
pub fn course_root(given: Option<&Path>, near: &Path) -> Result<PathBuf, Failure> {
    if let Some(folder) = given {
        return match folder.canonicalize() {
            Ok(found) if is_course_root(&found) => Ok(found),
            _ => Err(Failure::Input(format!(
                "--course {}: is no copy of the course: it has no {}",
                folder.display(),
                MARKS[1]
            ))),
        };
    }
    let starts = [std::env::current_dir().ok(), near.canonicalize().ok()];
    starts
        .iter()
        .flatten()
        .flat_map(|start| start.ancestors())
        .find(|folder| is_course_root(folder))
        .map(Path::to_owned)
        .ok_or_else(|| {
            Failure::Environment(format!(
                "no copy of the course above the working folder or {}: submissions are built against its crates; name it \
                 with --course DIR",
                near.display()
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .canonicalize()
            .unwrap()
    }

    #[test]
    fn it_is_found_from_below_and_from_the_submission() {
        // Tests run in the package's folder.
        assert_eq!(course_root(None, Path::new("/")).unwrap(), root());
        let submission = root().join("labs/wave2d/starter");
        assert_eq!(course_root(None, &submission).unwrap(), root());
        assert_eq!(course_root(Some(&root()), Path::new("/")).unwrap(), root());
    }

    #[test]
    fn another_folder_is_refused() {
        let failure = course_root(Some(Path::new("src")), Path::new("/")).unwrap_err();
        insta::assert_snapshot!(failure, @"--course src: is no copy of the course: it has no crates/cuda_std/Cargo.toml");
        assert!(matches!(failure, Failure::Input(_)));
    }
}
