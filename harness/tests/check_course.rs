//! The course, tested as its students will test it: each lab's file, starter, a reference, and its
//! handout's commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A test per lab, so that they run at once.
macro_rules! in_order {
    ($($lab:ident)*; $($sequel:ident $name:literal)*) => {
        $(#[test]
        fn $lab() {
            is_in_order(stringify!($lab), &PARTS);
        })*
        $(#[test]
        fn $sequel() {
            let without_references = PARTS.map(|part| if part == RIGHT { "lab.toml: " } else { part });
            is_in_order($name, &without_references);
        })*

        #[test]
        fn every_lab_is_checked() {
            let names: Vec<&str> = grading::lab_spec::names().collect();
            assert_eq!(names, [$(stringify!($lab),)* $($name),*]);
        }
    };
}

in_order!(
    wave2d wave3d stencil25 poisson matadd membench;
    several_gpus "several-gpus" stencil25_advanced "stencil25-advanced"
);

/// What is said of a reference.
const RIGHT: &str = ": right, ";
/// What is said of each lab; a sequel has no reference of its own.
const PARTS: [&str; 4] = ["lab.toml: ", "starter: fails", RIGHT, "harness "];

fn is_in_order(lab: &str, parts: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let checked = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(["check-course", "--quick", lab])
        .current_dir(root)
        .output()
        .unwrap();
    let [said, errors] =
        [&checked.stdout, &checked.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(checked.status.success(), "{said}\n{errors}");
    let lines = said.lines().filter(|line| line.starts_with(lab));
    for part in parts {
        assert!(
            lines.clone().any(|line| line.contains(part)),
            "no `{part}` in\n{said}"
        );
    }
}

/// Each reference is a submission too, and a submission is its own two files.
#[test]
fn no_solution_names_another() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels-gpu/solutions");
    let mut folders = vec![root];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_submitted = ["kernels.rs", "launch.rs"]
                .map(|name| path.ends_with(name))
                .contains(&true);
            if path.is_dir() {
                folders.push(path);
            } else if is_submitted {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 30, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for outside in ["crate::", "super::super"] {
            let named = text.lines().find(|line| line.contains(outside));
            assert_eq!(named, None, "{}", file.display());
        }
    }
}
