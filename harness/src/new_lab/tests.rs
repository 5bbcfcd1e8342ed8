use std::collections::BTreeMap;
use std::fs;

use tempfile::TempDir;

use super::*;

/// A folder with what `new-lab` reads and changes of the course.
fn course() -> TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let course = tempfile::tempdir().unwrap();
    let lists = lists::LISTS.map(|(path, _)| path);
    let template = FILES.map(|(_, name)| format!("{TEMPLATE}/{name}"));
    let manifests =
        ["crates/plan", "host", "kernels-gpu"].map(|folder| format!("{folder}/Cargo.toml"));
    for path in lists
        .iter()
        .copied()
        .chain(manifests.iter().chain(&template).map(String::as_str))
    {
        let to = course.path().join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from.join(path), to).unwrap();
    }
    fs::create_dir_all(course.path().join("labs/matadd")).unwrap();
    course
}

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                drop(files.insert(path.clone(), fs::read_to_string(path).unwrap()))
            }
        }
    }
    files
}

fn make(root: &Path, name: &str) -> Result<(), CommandError> {
    write(&changes(root, name)?)
}

#[test]
fn a_lab_is_made_of_files_and_lines() {
    let course = course();
    let before = files(course.path());
    make(course.path(), "rod").unwrap();
    let after = files(course.path());
    let mut marked = 0;
    for (path, text) in after.iter().filter(|(path, _)| !before.contains_key(*path)) {
        assert!(
            !text.to_lowercase().contains("heat1d"),
            "{}",
            path.display()
        );
        marked += usize::from(text.contains(MARK));
        if path.extension().is_some_and(|ending| ending == "rs") {
            assert!(syn::parse_file(text).is_ok(), "{}", path.display());
        }
    }
    assert_eq!(marked, FILES.len());
    assert_eq!(after.len(), before.len() + FILES.len());
    let lines: Vec<_> = before
        .iter()
        .filter_map(|(path, old)| {
            let new = &after[path];
            let added: Vec<&str> = new.lines().filter(|line| !old.contains(line)).collect();
            assert!(new.len() >= old.len());
            (new != old).then(|| (path.file_name().unwrap().to_owned(), added.join("|")))
        })
        .map(|(_, line)| line.trim().to_owned())
        .collect();
    assert_eq!(
        lines,
        ["rod::Rod,", "pub mod rod;", "pub mod rod;", "pub mod rod;"]
    );
}

#[test]
fn modules_are_in_alphabetical_order() {
    let lib = "//! Text.\n\nmod alpha;\n#[cfg(test)]\nmod gamma;\npub mod zeta;\n\nuse x;\n";
    let add = lists::LISTS[1].1;
    let added = |name: &str| add(lib, name, "").unwrap();
    assert!(added("aa").contains("Text.\n\npub mod aa;\nmod alpha;"));
    assert!(added("beta").contains("mod alpha;\npub mod beta;\n#[cfg(test)]\nmod gamma;"));
    assert!(added("zz").contains("pub mod zeta;\npub mod zz;\n\nuse x;"));
    assert_eq!(add("use x;\n", "aa", ""), None);
}

#[test]
fn what_cannot_be_a_lab_changes_nothing() {
    let course = course();
    let before = files(course.path());
    let refused = |name: &str| {
        let failure = make(course.path(), name).unwrap_err();
        assert_eq!(failure.exit_code(), exit::codes::BAD_INPUT);
        let text = failure.to_string();
        text.replace(&course.path().display().to_string(), "COURSE")
    };
    let not_a_word = "a lab's name is a word of a-z and 0-9 that begins with a letter, and not a keyword of Rust";
    for name in [
        "", "2d", "Heat", "heat_1d", "heat-1d", "../heat", "match", "gen", "ü",
    ] {
        assert!(refused(name).contains(not_a_word), "{name}");
    }
    insta::assert_snapshot!(refused("rayon"), @"new-lab rayon: a crate that the lab uses has this name; take another");
    insta::assert_snapshot!(refused("matadd"), @"new-lab matadd: the name is taken: there is COURSE/labs/matadd");
    assert_eq!(files(course.path()), before);

    make(course.path(), "rod").unwrap();
    let made = files(course.path());
    insta::assert_snapshot!(refused("rod"), @"new-lab rod: the name is taken: there is COURSE/labs/rod");
    assert_eq!(files(course.path()), made);
}

/// As `kill -9` leaves it: some files have their names.
#[test]
fn a_part_of_a_lab_names_the_way_out() {
    let course = course();
    let changes = changes(course.path(), "rod").unwrap();
    for change in changes.iter().take(4).chain(changes.last()) {
        fs::create_dir_all(change.path.parent().unwrap()).unwrap();
        fs::write(&change.path, &change.new).unwrap();
    }
    let said = make(course.path(), "rod").unwrap_err().to_string();
    insta::assert_snapshot!(said, @"new-lab rod: there is a part of a lab of this name: crates/plan/src/rod.rs, kernels-gpu/src/rod.rs, host/src/rod.rs, kernels-gpu/solutions/rod, its line in kernels-gpu/src/lib.rs; if a call that was killed left it, remove it and call again, otherwise take another name");
    for part in ["crates/plan/src", "kernels-gpu/src", "host/src"] {
        fs::remove_file(course.path().join(part).join("rod.rs")).unwrap();
    }
    fs::remove_dir_all(course.path().join("kernels-gpu/solutions/rod")).unwrap();
    let last = changes.last().unwrap();
    fs::write(&last.path, last.old.as_ref().unwrap()).unwrap();
    make(course.path(), "rod").unwrap();
}

#[test]
fn a_file_that_cannot_be_written_takes_the_others_back() {
    let course = course();
    let before = files(course.path());
    // A folder of one file's name.
    let changes = changes(course.path(), "rod").unwrap();
    fs::create_dir_all(course.path().join("labs/rod/lab.toml")).unwrap();
    let failure = write(&changes).unwrap_err().to_string();
    assert!(failure.contains("lab.toml: is a directory"), "{failure}");
    assert_eq!(files(course.path()), before);
    assert!(!course.path().join("kernels-gpu/solutions").exists());
}
