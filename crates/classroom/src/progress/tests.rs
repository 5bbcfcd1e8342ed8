//! A folder that looks like a course, and a grader that is told what to find.

use std::cell::RefCell;

use super::*;
use grading::lab_spec::{Group, embedded};
use grading::outcome::{Failure, Kind, NoResult, Outcome};
use grading::report::{CaseGrade, SubmissionId};

const LABS: [&str; 2] = ["matadd", "wave2d"];

/// A course with the starters of these labs.
fn course() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for lab in LABS {
        let starter = root.path().join("labs").join(lab).join("starter");
        std::fs::create_dir_all(&starter).unwrap();
        for file in ["kernels.rs", "launch.rs"] {
            std::fs::write(starter.join(file), "the starter's").unwrap();
        }
    }
    root
}

/// A report on this lab's visible cases. The first `wrong` cases fail.
fn report(lab: &str, wrong: usize) -> GradeReport {
    let spec = embedded(lab).unwrap().without_hidden_cases().unwrap();
    let id = SubmissionId::default();
    let mut report = GradeReport::new(id, spec.lab.name, "emulated");
    for (index, case) in spec.cases.iter().enumerate() {
        let status = if case.group == Group::Large {
            NoResult::not_graded_here("no GPU").into()
        } else if index < wrong {
            Outcome::Failed(Failure::new(Kind::Race, "x"))
        } else {
            Outcome::Passed
        };
        let earned = if status == Outcome::Passed {
            case.points
        } else {
            0.0
        };
        report.cases.push(CaseGrade {
            name: case.name.clone(),
            group: case.group,
            points: case.points,
            earned,
            status,
            samples: 1,
            counts: Default::default(),
            checks: None,
            printed: String::new(),
        });
    }
    report.with_totals()
}

/// The rows of this course, and which labs were graded for them; `wrong` cases fail of wave2d.
fn rows(root: &Path, wrong: usize) -> (Vec<Row>, Vec<String>) {
    let graded = RefCell::new(Vec::new());
    let rules_of = |lab: &'static str| {
        move |folder: &Path| {
            let settings = settings(Some(lab), true)?;
            Rules::new(&settings)?.of_visible_cases(folder)
        }
    };
    let grade = |folder: &Path, rules: Rules| {
        let lab = rules.lab_spec(None)?.lab.name;
        assert!(folder.is_absolute() && folder.join("kernels.rs").is_file());
        graded.borrow_mut().push(lab.to_owned());
        Ok(report(lab, if lab == "wave2d" { wrong } else { 0 }))
    };
    let all = LABS.map(|lab| row(root, lab, &rules_of(lab), &grade).unwrap());
    (all.into_iter().flatten().collect(), graded.into_inner())
}

#[test]
fn labs_are_graded_once_and_again_when_their_files_change() {
    let root = course();
    let (first, graded) = rows(root.path(), 3);
    assert_eq!(graded, LABS);
    insta::assert_snapshot!(render(&first, Look::PLAIN));
    // Nothing has changed: nothing is graded, and the table is the same.
    assert_eq!(rows(root.path(), 0), (first, Vec::new()));
    let kernels = root.path().join("labs/wave2d/starter/kernels.rs");
    std::fs::write(kernels, "mine").unwrap();
    let (later, graded_later) = rows(root.path(), 0);
    assert_eq!(graded_later, ["wave2d"]);
    insta::assert_snapshot!("all_done", render(&later, Look::PLAIN));
    // A file that cannot be read is made again.
    std::fs::write(root.path().join(".progress/matadd.json"), "{").unwrap();
    assert_eq!(rows(root.path(), 0), (later, vec!["matadd".to_owned()]));
    // A lab that is not here has no row.
    std::fs::remove_dir_all(root.path().join("labs/matadd")).unwrap();
    assert_eq!(rows(root.path(), 0).0.len(), 1);
}

#[test]
fn a_verdict_of_watch_counts_and_says_the_folder() {
    let root = course();
    let mine = root.path().join("labs/wave2d/mine");
    std::fs::create_dir_all(&mine).unwrap();
    std::fs::write(mine.join("kernels.rs"), "mine").unwrap();
    std::fs::write(mine.join("launch.rs"), "mine").unwrap();
    let folder = crate::kept::within(root.path(), &mine).unwrap();
    assert_eq!(folder, Path::new("labs/wave2d/mine"));
    let spec = embedded("wave2d").unwrap().without_hidden_cases().unwrap();
    let key = key(&read(&mine), &spec.text);
    let kept = Kept::of(&report("wave2d", 0), &folder, key);
    kept.write(root.path()).unwrap();
    let (all, graded) = rows(root.path(), 9);
    assert_eq!(graded, ["matadd"]);
    assert_eq!((&all[1].folder, all[1].state), (&folder, State::Right));
    // Another's folder is none of the course's.
    let elsewhere = tempfile::tempdir().unwrap();
    assert_eq!(crate::kept::within(root.path(), elsewhere.path()), None);
}
