//! Machines that lack the kernel's means of confinement: what still works there, and what is said.

use std::process::Output;

use grading::GradeReport;
use test_support::{Means, lacking};

use crate::grade::Folder;
use crate::run::{describe, harness_of_course};

fn run_lacking(means: &[Means], folder: &Folder, args: &[&str]) -> Output {
    let mut command = harness_of_course(folder.folder.path(), args);
    lacking(&mut command, means);
    command.output().unwrap()
}

/// Grading bundles compiles nothing.
#[test]
fn bundles_are_graded_where_every_protection_is_missing() {
    let folder = Folder::new();
    folder.right("ada.bundle");
    let args = [
        "grade",
        "ada.bundle",
        "--lab=matadd",
        "--device=emulated",
        "--lab-file=lab.toml",
        "-o=report.json",
    ];
    let everything = [Means::Landlock, Means::Namespaces, Means::Seccomp];
    for means in [&everything[1..2], &everything] {
        let output = run_lacking(means, &folder, &args);
        // Speed is not graded without a GPU.
        assert_eq!(output.status.code(), Some(5), "{}", describe(&output));
        let text = std::fs::read_to_string(folder.path("report.json")).unwrap();
        let report: GradeReport = serde_json::from_str(&text).unwrap();
        assert_eq!(report.totals.earned, 5.0);
    }
}

/// A submission could read the reference while it is compiled.
#[test]
fn without_landlock_nothing_is_packed_unasked() {
    let folder = Folder::new();
    let starter = concat!(env!("CARGO_MANIFEST_DIR"), "/../labs/matadd/starter");
    let pack = ["pack", starter, "--lab=matadd", "-o=x.bundle"];
    let grade = ["grade", starter, "--lab=matadd", "--device=emulated"];
    for args in [&pack, &grade] {
        let output = run_lacking(&[Means::Landlock], &folder, args);
        let said = describe(&output);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("the kernel has no Landlock"), "{said}");
        assert!(said.contains("--without-isolation"), "{said}");
    }
}
