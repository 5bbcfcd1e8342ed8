//! Bundles that were changed after packing: damaged ones, and ones whose checksum is right again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use course_tests::grade::{Bundle, GradeReport, Kind};
use course_tests::submissions::{Fuzz, outcome};
use tempfile::TempDir;

use super::{grader, pack};

/// The name of a right submission.
const RIGHT: &str = "wave2d-finished-starter";

/// It, packed once.
struct Packed {
    folder: TempDir,
    bundle: PathBuf,
    lab_file: PathBuf,
}

impl Packed {
    fn get() -> &'static Packed {
        static PACKED: OnceLock<Packed> = OnceLock::new();
        PACKED.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let corpus = pack(folder.path(), [RIGHT].into_iter());
            let submissions = corpus.submissions().unwrap();
            let right = submissions.iter().find(|it| it.name == RIGHT).unwrap();
            Packed {
                bundle: corpus.bundle(right),
                lab_file: corpus.lab_file(right),
                folder,
            }
        })
    }

    fn grade(&self, bundle: &Path) -> GradeReport {
        grader(self.folder.path())
            .grade(bundle, "wave2d", &self.lab_file)
            .unwrap()
    }
}

/// Grades the file after a change of its bytes.
fn with_bytes(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> GradeReport {
    let packed = Packed::get();
    let mut bytes = fs::read(&packed.bundle).unwrap();
    change(&mut bytes);
    let path = packed.folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    packed.grade(&path)
}

/// Grades the bundle after a change of its content, written with a right checksum.
fn with_content(name: &str, change: impl FnOnce(&mut Bundle)) -> GradeReport {
    let packed = Packed::get();
    let mut bundle = Bundle::read(&packed.bundle).unwrap();
    change(&mut bundle);
    let path = packed.folder.path().join(name);
    fs::write(&path, bundle.packed().unwrap().bytes).unwrap();
    packed.grade(&path)
}

#[track_caller]
fn assert_fails(report: &GradeReport, kind: Kind) {
    assert_eq!(outcome(report), kind.code(), "{report:#?}");
    assert_eq!(report.totals.earned, 0.0);
}

/// `submissions fuzz` does it for longer.
#[test]
fn changed_at_random_each_gets_a_report() {
    let packed = Packed::get();
    let scratch = tempfile::tempdir().unwrap();
    let fuzz = Fuzz {
        program: env!("CARGO_BIN_EXE_submissions").into(),
        bundle: packed.bundle.clone(),
        lab: "wave2d".to_owned(),
        lab_file: packed.lab_file.clone(),
        scratch: scratch.path().to_owned(),
    };
    fuzz.run(1, Duration::from_secs(5), 8).unwrap();
}

#[test]
fn untouched_it_gets_all_points() {
    let packed = Packed::get();
    let report = packed.grade(&packed.bundle);
    assert!(report.is_right(), "{report:#?}");
    assert_eq!(report.totals.earned, report.totals.graded());
}

#[test]
fn truncated() {
    for kept in [0, 7, 40] {
        let report = with_bytes(&format!("kept-{kept}"), |bytes| bytes.truncate(kept));
        assert_fails(&report, Kind::BundleDamaged);
    }
    let report = with_bytes("half", |bytes| bytes.truncate(bytes.len() / 2));
    assert_fails(&report, Kind::BundleDamaged);
}

#[test]
fn one_bit_flipped() {
    let report = with_bytes("bit", |bytes| *bytes.last_mut().unwrap() ^= 1);
    assert_fails(&report, Kind::BundleDamaged);
}

#[test]
fn with_something_at_its_end() {
    let report = with_bytes("longer", |bytes| bytes.extend(b"more"));
    assert_fails(&report, Kind::BundleDamaged);
}

#[test]
fn of_another_version() {
    let report = with_bytes("version", |bytes| {
        let at = bytes.iter().position(|&byte| byte == b' ').unwrap();
        bytes[at + 1] = b'9';
    });
    assert_fails(&report, Kind::BundleVersion);
}

#[test]
fn something_else_altogether() {
    let report = with_bytes("picture", |bytes| *bytes = b"GIF89a".to_vec());
    assert_fails(&report, Kind::BundleDamaged);
}

#[test]
fn a_pipe_is_not_waited_for() {
    let packed = Packed::get();
    let pipe = packed.folder.path().join("pipe.bundle");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    assert_fails(&packed.grade(&pipe), Kind::MissingFile);
}

#[test]
fn as_large_as_a_disk() {
    let packed = Packed::get();
    let path = packed.folder.path().join("sparse.bundle");
    let sparse = |beginning: &str| {
        fs::write(&path, beginning).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(1 << 42).unwrap();
        packed.grade(&path)
    };
    assert_fails(&sparse(""), Kind::BundleDamaged);
    let header = format!("harness-bundle 4 {} {}\n", "0".repeat(64), 1u64 << 41);
    assert_fails(&sparse(&header), Kind::PlanTooLarge);
}

#[test]
fn with_a_problem_that_would_fill_the_report() {
    let report = with_content("talkative", |bundle| {
        for case in &mut bundle.cases {
            case.problem["steps"] = "6".repeat(4 << 20).into();
        }
    });
    assert_fails(&report, Kind::BundleMismatch);
    assert!(report.refused.unwrap().message.len() < 1000);
}

#[test]
fn with_an_easier_problem() {
    let report = with_content("easier", |bundle| {
        for case in &mut bundle.cases {
            case.problem["steps"] = 1.into();
        }
    });
    assert_fails(&report, Kind::BundleMismatch);
}

#[test]
fn without_a_case() {
    let report = with_content("fewer", |bundle| {
        bundle.cases.pop();
    });
    assert_fails(&report, Kind::BundleMismatch);
}

#[test]
fn with_a_case_twice() {
    let report = with_content("twice", |bundle| {
        let case = bundle.cases[0].clone();
        bundle.cases.push(case);
    });
    assert_fails(&report, Kind::BundleMismatch);
}

#[test]
fn of_another_lab() {
    let report = with_content("lab", |bundle| bundle.lab = "matadd".to_owned());
    assert_fails(&report, Kind::BundleMismatch);
}

#[test]
fn with_plans_exchanged() {
    let report = with_content("exchanged", |bundle| {
        let first = bundle.cases[0].plan.clone();
        bundle.cases[0].plan = bundle.cases[1].plan.clone();
        bundle.cases[1].plan = first;
    });
    assert_fails(&report, Kind::PlanInvalid);
}

#[test]
fn with_kernels_of_other_names() {
    let report = with_content("names", |bundle| {
        bundle.ptx = bundle.ptx.replace("wave2d_step", "wave2d_steq");
    });
    assert_fails(&report, Kind::PlanInvalid);
}

#[test]
fn with_products_and_sums_that_an_assembler_may_contract() {
    let report = with_content("contracted", |bundle| {
        for operation in ["mul", "add", "sub"] {
            let rounded = format!("{operation}.rn.f32");
            bundle.ptx = bundle.ptx.replace(&rounded, &format!("{operation}.f32"));
        }
    });
    assert_fails(&report, Kind::PtxInvalid);
}

#[test]
fn with_kernels_that_are_none() {
    let report = with_content("text", |bundle| {
        bundle.ptx = "all of them pass".to_owned();
    });
    assert_fails(&report, Kind::PtxInvalid);
}
