//! Bundles that somebody changed on their way: damaged ones, and ones whose checksum is right again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use course_tests::submissions::corpus::{BUNDLE, Corpus};
use course_tests::submissions::grading::Grader;
use course_tests::submissions::judge::outcome;
use harness::bundle::Bundle;
use harness::grade::{GradeReport, Kind};
use harness::output::OutputFile;
use tempfile::TempDir;

/// A right submission, packed once.
struct Packed {
    folder: TempDir,
    lab_file: PathBuf,
}

impl Packed {
    fn get() -> &'static Packed {
        static PACKED: OnceLock<Packed> = OnceLock::new();
        PACKED.get_or_init(|| {
            let corpus = Corpus::of_the_project();
            let submissions = corpus.submissions().unwrap();
            let right = submissions
                .iter()
                .find(|submission| submission.name == "wave2d-finished-starter")
                .unwrap();
            let folder = tempfile::tempdir().unwrap();
            let lab_file = corpus.lab_file(right);
            let dir = folder.path().join("right");
            corpus.assemble(right, &dir).unwrap();
            grader(folder.path())
                .pack(&dir, "wave2d", &lab_file, &folder.path().join(BUNDLE))
                .unwrap();
            Packed { folder, lab_file }
        })
    }

    fn bundle(&self) -> PathBuf {
        self.folder.path().join(BUNDLE)
    }

    fn grade(&self, bundle: &Path) -> GradeReport {
        grader(self.folder.path())
            .grade(bundle, "wave2d", &self.lab_file)
            .unwrap()
    }

    /// Grades the file after a change of its bytes.
    fn with_bytes(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> GradeReport {
        let mut bytes = fs::read(self.bundle()).unwrap();
        change(&mut bytes);
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        self.grade(&path)
    }

    /// Grades the bundle after a change of its content, written with a right checksum.
    fn with_content(&self, name: &str, change: impl FnOnce(&mut Bundle)) -> GradeReport {
        let mut bundle = Bundle::read(&self.bundle()).unwrap();
        change(&mut bundle);
        let path = self.folder.path().join(name);
        bundle
            .write(OutputFile::create("-o", &path).unwrap())
            .unwrap();
        self.grade(&path)
    }
}

fn grader(folder: &Path) -> Grader {
    Grader {
        program: env!("CARGO_BIN_EXE_submissions").into(),
        device: "emulated".to_owned(),
        folder: folder.to_owned(),
    }
}

#[track_caller]
fn assert_fails(report: &GradeReport, kind: Kind) {
    assert_eq!(outcome(report), kind.code(), "{report:#?}");
    assert_eq!(report.totals.earned, 0.0);
}

#[test]
fn untouched_it_gets_all_points() {
    let packed = Packed::get();
    let report = packed.grade(&packed.bundle());
    assert!(report.is_right(), "{report:#?}");
    assert_eq!(report.totals.earned, report.totals.graded());
}

#[test]
fn truncated() {
    let packed = Packed::get();
    for kept in [0, 7, 40] {
        let report = packed.with_bytes(&format!("kept-{kept}"), |bytes| bytes.truncate(kept));
        assert_fails(&report, Kind::BundleDamaged);
    }
    let report = packed.with_bytes("half", |bytes| bytes.truncate(bytes.len() / 2));
    assert_fails(&report, Kind::BundleDamaged);
}

#[test]
fn one_bit_flipped() {
    let packed = Packed::get();
    let report = packed.with_bytes("bit", |bytes| *bytes.last_mut().unwrap() ^= 1);
    assert_fails(&report, Kind::BundleDamaged);
}

#[test]
fn with_something_at_its_end() {
    let packed = Packed::get();
    let report = packed.with_bytes("longer", |bytes| bytes.extend(b"more"));
    assert_fails(&report, Kind::BundleDamaged);
}

#[test]
fn of_another_version() {
    let packed = Packed::get();
    let report = packed.with_bytes("version", |bytes| {
        let at = bytes.iter().position(|&byte| byte == b' ').unwrap();
        bytes[at + 1] = b'9';
    });
    assert_fails(&report, Kind::BundleVersion);
}

#[test]
fn something_else_altogether() {
    let packed = Packed::get();
    let report = packed.with_bytes("picture", |bytes| *bytes = b"GIF89a".to_vec());
    assert_fails(&report, Kind::BundleDamaged);
}

#[test]
fn with_an_easier_problem() {
    let report = Packed::get().with_content("easier", |bundle| {
        for case in &mut bundle.cases {
            case.problem["steps"] = 1.into();
        }
    });
    assert_fails(&report, Kind::BundleMismatch);
}

#[test]
fn without_a_case() {
    let report = Packed::get().with_content("fewer", |bundle| {
        bundle.cases.pop();
    });
    assert_fails(&report, Kind::BundleMismatch);
}

#[test]
fn with_a_case_twice() {
    let report = Packed::get().with_content("twice", |bundle| {
        let case = bundle.cases[0].clone();
        bundle.cases.push(case);
    });
    assert_fails(&report, Kind::BundleMismatch);
}

#[test]
fn of_another_lab() {
    let report = Packed::get().with_content("lab", |bundle| bundle.lab = "matadd".to_owned());
    assert_fails(&report, Kind::BundleMismatch);
}

#[test]
fn with_plans_exchanged() {
    let report = Packed::get().with_content("exchanged", |bundle| {
        let first = bundle.cases[0].plan.clone();
        bundle.cases[0].plan = bundle.cases[1].plan.clone();
        bundle.cases[1].plan = first;
    });
    assert_fails(&report, Kind::PlanInvalid);
}

#[test]
fn with_kernels_of_other_names() {
    let report = Packed::get().with_content("names", |bundle| {
        bundle.ptx = bundle.ptx.replace("wave2d_step", "wave2d_steq");
    });
    assert_fails(&report, Kind::PlanInvalid);
}

#[test]
fn with_kernels_that_are_none() {
    let report = Packed::get().with_content("text", |bundle| {
        bundle.ptx = "all of them pass".to_owned();
    });
    assert_fails(&report, Kind::PtxInvalid);
}
