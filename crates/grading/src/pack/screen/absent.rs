//! The words for a file that a submission lacks, with the file that was probably meant, where
//! there is one. Browsers and editors append an ending, archives put a folder around everything,
//! and another system may take `Kernels.rs` for `kernels.rs`.

use std::fs;
use std::path::Path;

use super::FILES;

/// Names of a folder that are looked at: a submission has few.
const MOST: usize = 1000;

/// How deep folders are looked into.
const DEPTH: usize = 3;

/// That the folder `dir` has no file `name`, in words that follow this name and a colon.
pub fn absent(dir: &Path, name: &str) -> String {
    match (beside(dir, name), below(dir, name, DEPTH)) {
        (Some(other), _) => format!("is missing, but {other} is there: rename it; {FILES}"),
        (None, Some(other)) => {
            format!("is missing, but {other} is there: move the files up; {FILES}")
        }
        (None, None) => format!("is missing; {FILES}"),
    }
}

/// The file whose name is most like this one, of those that mean a kernel or a launch too.
fn beside(dir: &Path, name: &str) -> Option<String> {
    let word = name.trim_end_matches(".rs").trim_end_matches('s');
    let is_like = |other: &String| {
        let other = other.to_lowercase();
        other.contains(word) && (other.contains(".rs") || other.ends_with(".txt"))
    };
    let mut like = entries(dir, false).into_iter().filter(is_like);
    // `Kernels.rs` before `kernels-old.rs`.
    like.clone()
        .find(|other| other.eq_ignore_ascii_case(name))
        .or_else(|| like.next())
}

/// The file of this name in a folder of `dir`, or in one of those, as a path from `dir`.
fn below(dir: &Path, name: &str, depth: usize) -> Option<String> {
    let within = |folder: &String| -> Option<String> {
        let path = dir.join(folder);
        match fs::symlink_metadata(path.join(name)).is_ok_and(|file| file.is_file()) {
            true => Some(format!("{folder}/{name}")),
            false if depth == 1 => None,
            false => below(&path, name, depth - 1).map(|rest| format!("{folder}/{rest}")),
        }
    };
    entries(dir, true).iter().find_map(within)
}

/// The names of the files or of the folders in `dir`, sorted, without links, hidden ones and what a
/// Mac adds to an archive.
fn entries(dir: &Path, folders: bool) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().take(MOST);
    let named = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let kind = entry.file_type().ok()?;
        let name = entry.file_name().into_string().ok()?;
        let is_wanted = if folders {
            kind.is_dir() && name != "__MACOSX"
        } else {
            kind.is_file()
        };
        (is_wanted && !name.starts_with('.')).then_some(name)
    });
    let mut names: Vec<String> = named.collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words for `kernels.rs` in a folder with these files.
    fn said(files: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let said = absent(folder.path(), "kernels.rs");
        said.strip_suffix(&format!("; {FILES}")).unwrap().to_owned()
    }

    #[test]
    fn the_file_that_was_meant_is_named() {
        for other in [
            "Kernels.rs",
            "KERNELS.RS",
            "kernels.rs.txt",
            "kernels.txt",
            "kernel.rs",
            "kernels (1).rs",
            "my-kernels.rs",
        ] {
            let expected = format!("is missing, but {other} is there: rename it");
            assert_eq!(said(&["launch.rs", "notes.txt", other]), expected);
        }
        let both = ["Kernels.rs", "0-kernels.rs"];
        assert_eq!(
            said(&both),
            "is missing, but Kernels.rs is there: rename it"
        );
        for other in ["matadd/kernels.rs", "ada/hw 1/matadd/kernels.rs"] {
            let expected = format!("is missing, but {other} is there: move the files up");
            assert_eq!(said(&["launch.rs", other]), expected);
        }
    }

    #[test]
    fn nothing_is_taken_for_it_that_was_not_meant() {
        for other in [
            "launch.rs",
            "main.rs",
            "kernels.o",
            "._kernels.rs",
            "__MACOSX/kernels.rs",
            ".git/kernels.rs",
            "a/b/c/d/kernels.rs",
            "kernels.rs.d/x",
        ] {
            assert_eq!(said(&[other]), "is missing", "{other}");
        }
    }
}
