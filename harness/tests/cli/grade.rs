//! `harness grade` as its users meet it: bundles, processes, exit codes, files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use device::Element;
use grading::bundle::{BuiltWith, Bundle, BundledCase};
use grading::lab_spec::LabSpec;
use grading::report::Protection;
use grading::{GradeReport, Kind};
use host::find_lab;
use lab::LabCase;
use output_files::digest::sha256;
use plan::{LaunchConfig, Plan, args};

use crate::run::{harness, run};

const LAB_FILE: &str = r#"format_version = 1
lab = "matadd"
tolerance = { rule = "exact" }
[[case]]
name = "first"
group = "small"
points = 2
params = { n_x = 37, n_y = 5 }
[[case]]
name = "second"
group = "hidden"
points = 3
params = { n_x = 3, n_y = 1 }
[[case]]
name = "large"
group = "large"
points = 0
params = { n_x = 64, n_y = 64 }
[[performance]]
case = "large"
points = 10
against = "limit"
zero = 0.1
full = 0.9
"#;

pub fn run_words(words: &[String]) -> String {
    run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A folder with a lab file and bundles.
pub struct Folder {
    pub folder: tempfile::TempDir,
}

/// A right solution of matadd.
fn right_plan(case: &dyn LabCase) -> Plan {
    let lab = find_lab("matadd").unwrap();
    let variant = lab.find("grid2d_block1d_64").unwrap();
    variant.record(case).unwrap()
}

impl Folder {
    pub fn new() -> Folder {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("lab.toml"), LAB_FILE).unwrap();
        Folder { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a bundle with these kernels and the plans that `record` makes.
    fn bundle(&self, name: &str, ptx: &str, record: &dyn Fn(&dyn LabCase) -> Plan) -> PathBuf {
        let course = LabSpec::parse(LAB_FILE, "lab.toml").unwrap();
        let lab = find_lab("matadd").unwrap();
        let cases = course.cases.iter().map(|spec| {
            let case = spec.with_seed(lab, 0).unwrap();
            BundledCase {
                name: spec.name.clone(),
                problem: case.problem_json(),
                plan: Ok(record(case.as_ref())),
            }
        });
        let bundle = Bundle {
            draw: None,
            lab: "matadd".to_owned(),
            ptx: ptx.to_owned(),
            cases: cases.collect(),
            timed: Vec::new(),
            built_with: BuiltWith {
                harness: "0".to_owned(),
                kernels: "test".to_owned(),
                llvm: 22,
                host: "test".to_owned(),
            },
            protections: Vec::new(),
        };
        let path = self.path(name);
        std::fs::write(&path, bundle.packed().unwrap().bytes).unwrap();
        path
    }

    /// A right submission.
    pub fn right(&self, name: &str) -> PathBuf {
        let ptx = find_lab("matadd").unwrap().module.ptx();
        self.bundle(name, ptx, &right_plan)
    }

    /// The command line that grades the folder `all` into `results`.
    pub fn class(&self) -> Vec<String> {
        let [all, lab_file, results] = ["all", "lab.toml", "results"].map(|name| self.path(name));
        let words = [
            "grade",
            "--all",
            all.to_str().unwrap(),
            "--device=emulated",
            "--lab-file",
            lab_file.to_str().unwrap(),
            "-o",
            results.to_str().unwrap(),
        ];
        words.map(str::to_owned).to_vec()
    }

    /// A submission that never ends in the second case, and leaves zeros in the others.
    fn endless(&self, name: &str) -> PathBuf {
        let ptx = "
.version 7.8
.target sm_80
.address_size 64
.visible .entry endless()
{
LOOP:
    bra LOOP;
}
";
        let record = |case: &dyn LabCase| {
            let len = find_lab("matadd")
                .unwrap()
                .declared(case)
                .unwrap()
                .buffers()[0]
                .len as usize;
            let mut plan = Plan::new("endless");
            let [_, _, c] = ["a", "b", "c"].map(|buffer| plan.buffer(buffer, Element::F32, len));
            plan.fill(c, 0).unwrap();
            if len == 3 {
                plan.launch("endless", LaunchConfig::new(1, 1), args![])
                    .unwrap();
            }
            plan.output("c", c);
            plan
        };
        self.bundle(name, ptx, &record)
    }

    /// Grades it on the emulated device: what is printed, and the report.
    fn grade(&self, bundle: &Path, more: &[&str]) -> (String, GradeReport) {
        let (lab_file, report) = (self.path("lab.toml"), self.path("report.json"));
        let mut args = vec![
            "grade",
            bundle.to_str().unwrap(),
            "--device=emulated",
            "--lab-file",
            lab_file.to_str().unwrap(),
            "-o",
            report.to_str().unwrap(),
        ];
        args.extend(more);
        let printed = run(&args);
        let json = std::fs::read(&report).unwrap_or_else(|error| panic!("{error}: {printed}"));
        (printed, serde_json::from_slice(&json).unwrap())
    }
}

#[test]
fn a_right_submission_lacks_only_the_points_for_speed() {
    let folder = Folder::new();
    let bundle = folder.right("ada.bundle");
    let (printed, report) = folder.grade(&bundle, &["--seed=7"]);
    assert!(printed.starts_with("exit code: 5\n"), "{printed}");
    assert!(report.is_right(), "{report:#?}");
    assert_eq!(report.submission.name, "ada");
    assert_eq!(report.submission.sha256.as_ref().unwrap().len(), 64);
    assert_eq!(report.lab_file_sha256, Some(sha256(LAB_FILE)));
    assert_eq!(
        (report.totals.earned, report.totals.not_graded_here),
        (5.0, 10.0)
    );
    assert_eq!(report.seed, Some(7));
}

#[test]
fn an_endless_kernel_costs_its_case_and_no_more() {
    let folder = Folder::new();
    let bundle = folder.endless("endless.bundle");
    let began = Instant::now();
    let (printed, report) = folder.grade(&bundle, &["--deadline=2"]);
    assert!(printed.starts_with("exit code: 1\n"), "{printed}");
    assert!(began.elapsed() < Duration::from_secs(60));
    let kinds: Vec<_> = report.cases.iter().map(|case| case.status.kind()).collect();
    assert_eq!(kinds, [Some(Kind::WrongResult), Some(Kind::Deadline), None]);
    let message = &report.cases[1].status.failure().unwrap().message;
    // Whichever is first: the deadline, or the emulated device's bound on a block's instructions.
    let is_ended = message
        == "a run was not finished after 2 s, and was ended; the emulated device is far slower than a GPU: `--deadline 20` gives it more"
        || message.contains("has executed 100000000 warp instructions and has not ended");
    assert!(is_ended, "{message}");
}

#[test]
fn a_bundle_s_word_on_its_making_is_shown_as_its_own() {
    let folder = Folder::new();
    let path = folder.right("ada.bundle");
    let mut bundle = Bundle::read(&path).unwrap();
    let boast = Protection {
        name: "own process".to_owned(),
        in_force: false,
        detail: "not needed".to_owned(),
    };
    bundle.protections = vec![boast; 1000];
    std::fs::write(&path, bundle.packed().unwrap().bytes).unwrap();
    let (_, report) = folder.grade(&path, &[]);
    let own = report.protections.iter().filter(|own| own.in_force);
    assert!(own.clone().any(|own| own.name == "own process"));
    let said: Vec<_> = report
        .protections
        .iter()
        .filter(|said| !said.in_force)
        .collect();
    assert_eq!(said.len(), 16);
    assert!(
        said.iter()
            .all(|said| said.name == "own process (the bundle says)")
    );
}

#[test]
fn a_damaged_bundle_earns_nothing() {
    let folder = Folder::new();
    let bundle = folder.right("torn.bundle");
    let bytes = std::fs::read(&bundle).unwrap();
    std::fs::write(&bundle, &bytes[..bytes.len() - 10]).unwrap();
    let (printed, report) = folder.grade(&bundle, &[]);
    assert!(printed.starts_with("exit code: 1\n"), "{printed}");
    assert_eq!(report.refused.unwrap().kind, Kind::BundleDamaged);
    assert_eq!((report.totals.earned, report.totals.possible), (0.0, 15.0));
}

#[test]
fn a_folder_of_submissions() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("all")).unwrap();
    folder.right("all/ada.bundle");
    folder.right("all/ben.bundle");
    let class = folder.class();
    let first = run_words(&class);
    assert!(first.contains("ada") && first.contains("ben"), "{first}");
    // Nothing is graded twice.
    let began = Instant::now();
    let second = run_words(&class);
    assert!(second.contains("ada") && began.elapsed() < Duration::from_secs(60));
}

/// A class whose grading is killed, and whose results, submissions and lab file change then.
#[cfg(unix)]
#[test]
fn a_killed_run_goes_on_where_it_was() {
    const CLASS: usize = 8;
    let folder = Folder::new();
    std::fs::create_dir(folder.path("all")).unwrap();
    let own = find_lab("matadd").unwrap().module.ptx();
    let hand_in = |number: usize, version: &str| {
        let ptx = format!("{own}// {number} {version}\n");
        folder.bundle(&format!("all/student-{number}.bundle"), &ptx, &right_plan);
    };
    for number in 0..CLASS {
        hand_in(number, "");
    }
    let class = folder.class();
    let (lab_file, results) = (folder.path("lab.toml"), folder.path("results"));
    let mut killed = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(&class)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let kept = || {
        let entries = std::fs::read_dir(results.join("reports"))
            .into_iter()
            .flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .collect::<Vec<PathBuf>>()
    };
    let began = Instant::now();
    while kept().len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
    // SIGKILL: nothing tidies up.
    killed.kill().unwrap();
    killed.wait().unwrap();
    let finished = kept();
    assert!(finished.len() < CLASS, "it was over too soon to be killed");
    // A file that has its final name is whole.
    for path in &finished {
        serde_json::from_slice::<GradeReport>(&std::fs::read(path).unwrap()).unwrap();
    }
    // One is damaged since, and one submission that was graded is another one.
    let text = std::fs::read(&finished[0]).unwrap();
    std::fs::write(&finished[0], &text[..text.len() / 2]).unwrap();
    hand_in(1, "better");
    let again = run_words(&class);
    let count = |printed: &str| {
        printed
            .lines()
            .filter(|line| line.contains("(kept)"))
            .count()
    };
    let lines = |printed: &str| {
        printed
            .lines()
            .filter(|line| line.contains("5 / 5"))
            .count()
    };
    assert!(again.starts_with("exit code: 5\n"), "{again}");
    assert_eq!(lines(&again), CLASS, "{again}");
    assert!(
        (finished.len() - 2..finished.len()).contains(&count(&again)),
        "{} of {}: {again}",
        count(&again),
        finished.len()
    );
    assert_eq!(count(&run_words(&class)), CLASS);
    // With another lab file, everything is graded again.
    std::fs::write(&lab_file, LAB_FILE.replace("points = 3", "points = 4")).unwrap();
    let anew = run_words(&class);
    assert_eq!(count(&anew), 0, "{anew}");
    assert_eq!(
        anew.lines().filter(|line| line.contains("6 / 6")).count(),
        CLASS,
        "{anew}"
    );
}

/// As where somebody builds the program again while a class is graded.
#[cfg(target_os = "linux")]
#[test]
fn a_program_whose_file_is_replaced_grades_on() {
    const CLASS: usize = 8;
    let folder = Folder::new();
    std::fs::create_dir(folder.path("all")).unwrap();
    for number in 0..CLASS {
        folder.right(&format!("all/student-{number}.bundle"));
    }
    let program = folder.path("harness");
    std::fs::copy(env!("CARGO_BIN_EXE_harness"), &program).unwrap();
    let running = Command::new(&program)
        .args(folder.class())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let reports = folder.path("results").join("reports");
    let began = Instant::now();
    while std::fs::read_dir(&reports).map_or(0, Iterator::count) == 0 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(1));
    }
    std::fs::remove_file(&program).unwrap();
    let ended = running.wait_with_output().unwrap();
    let [printed, errors] =
        [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
    let graded = printed.lines().filter(|line| line.contains("5 / 5"));
    assert_eq!(graded.count(), CLASS, "{printed}\n{errors}");
}

/// Names are shown, never obeyed, and each submission has one line.
#[test]
fn a_name_is_nothing_but_a_name() {
    let folder = Folder::new();
    let evil = "all/a b\n\u{1b}[2J<img src=x>.bundle";
    std::fs::create_dir(folder.path("all")).unwrap();
    folder.right(evil);
    std::fs::write(folder.path("all/--lab.bundle"), "no bundle").unwrap();
    let printed = run_words(&folder.class());
    assert!(!printed.contains('\u{1b}'), "{printed:?}");
    let lines = printed.lines().filter(|line| line.contains("5 / 5"));
    assert_eq!(lines.count(), 1, "{printed}");
    for entry in std::fs::read_dir(folder.path("results")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(name.chars().all(is_plain), "{name:?}");
        if path.is_file() {
            let text = std::fs::read_to_string(&path).unwrap();
            let is_markup = name.ends_with(".html") && text.contains("<img src=x");
            assert!(!text.contains('\u{1b}') && !is_markup, "{name}");
        }
    }
    let (of_evil, _) = folder.grade(&folder.path(evil), &[]);
    assert!(!of_evil.contains('\u{1b}'), "{of_evil:?}");
    assert!(of_evil.contains("a b \\u{1b}[2J<img src=x>"), "{of_evil}");
}

/// Nor is a name text: what is not UTF-8 is graded all the same, and told from others.
#[cfg(unix)]
#[test]
fn a_name_may_be_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    std::fs::create_dir(folder.path("all")).unwrap();
    let right = folder.right("all/ada.bundle");
    for name in [b"b\xff.bundle", b"b\xfe.bundle"] {
        std::fs::copy(&right, folder.path("all").join(OsStr::from_bytes(name))).unwrap();
    }
    let printed = run_words(&folder.class());
    let lines = printed.lines().filter(|line| line.contains("5 / 5"));
    assert_eq!(lines.count(), 3, "{printed}");
    assert!(
        printed.contains("  b/xfe.bundle ") && printed.contains("  b/xff.bundle "),
        "{printed}"
    );
}

#[test]
fn what_makes_no_sense() {
    let folder = Folder::new();
    let packed = folder.right("ada.bundle");
    let bundle = packed.to_str().unwrap();
    let message = |args: &[&str]| {
        let printed = run(&[&["grade"], args].concat());
        let shown = printed.replace(folder.folder.path().to_str().unwrap(), "DIR");
        shown.replace("--- stdout ---\n", "")
    };
    insta::assert_snapshot!(message(&[]), @r"
exit code: 2
--- stderr ---
error: the following required arguments were not provided:
  <SUBMISSION>

Usage: harness grade <SUBMISSION>

For more information, try '--help'.
");
    insta::assert_snapshot!(message(&["nowhere"]), @r"
exit code: 2
--- stderr ---
error: nowhere: the file or folder does not exist
");
    insta::assert_snapshot!(message(&[bundle, "--device=cpu"]), @r"
exit code: 2
--- stderr ---
error: --device cpu: submissions run on cuda or emulated
");
    insta::assert_snapshot!(message(&[bundle, "--device=emulated", "--lab=wave2"]), @r"
exit code: 2
--- stderr ---
error: --lab: unknown lab `wave2`; did you mean `wave2d`?
");
    insta::assert_snapshot!(message(&[bundle, "--device=emulated", "--deadline=0"]), @r"
exit code: 2
--- stderr ---
error: --deadline 0: a number of seconds, above 0 and at most 1000000
");
    insta::assert_snapshot!(message(&[bundle, "--device=emulated", "--total-deadline=-1"]), @r"
exit code: 2
--- stderr ---
error: --total-deadline -1: a number of seconds, above 0 and at most 1000000
");
    insta::assert_snapshot!(message(&[bundle, "--lab-file=nowhere.toml"]), @r"
exit code: 2
--- stderr ---
error: --lab-file nowhere.toml: there is no such file
");
    let lab_file = folder.path("lab.toml");
    let lab_file = format!("--lab-file={}", lab_file.display());
    insta::assert_snapshot!(message(&[bundle, "--lab=wave2d", &lab_file]), @r"
exit code: 2
--- stderr ---
error: --lab-file DIR/lab.toml: is for lab matadd, not wave2d
");
    std::fs::write(
        folder.path("lab.toml"),
        LAB_FILE.replace("zero = 0.1", "zero = 1"),
    )
    .unwrap();
    insta::assert_snapshot!(message(&[bundle, &lab_file]), @r"
exit code: 2
--- stderr ---
error: DIR/lab.toml:24: full is 0.9; it must be above zero = 1, the ratio that earns nothing
");
}

#[test]
fn a_worker_wants_a_job() {
    let child = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(["grade-worker", "open", "x.bundle", "parts"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(child.status.code(), Some(2));
    let said = String::from_utf8(child.stderr).unwrap();
    insta::assert_snapshot!(said.trim(), @"error: standard input holds no job of `harness grade`: EOF while parsing a value at line 1 column 0");
}

/// An instructor edits it there, and builds nothing again.
#[test]
fn the_lab_file_of_the_course_s_folder_counts() {
    let folder = tempfile::tempdir().unwrap();
    let lab = folder.path().join("labs/matadd");
    for part in ["crates/plan", "kernels-gpu", "labs/matadd"] {
        std::fs::create_dir_all(folder.path().join(part)).unwrap();
    }
    std::fs::write(folder.path().join("x.bundle"), "no bundle").unwrap();
    let grade = |file: &str| {
        std::fs::write(lab.join("lab.toml"), file).unwrap();
        let arguments = [
            "grade",
            "x.bundle",
            "--lab=matadd",
            "--device=emulated",
            "-o=r.json",
        ];
        let output = harness(folder.path(), &arguments)
            .env("HARNESS_COURSE", folder.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let report = std::fs::read(folder.path().join("r.json")).unwrap();
        let report: GradeReport = serde_json::from_slice(&report).unwrap();
        (
            report.cases.len(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (cases, said) = grade(LAB_FILE);
    assert_eq!(cases, 3);
    let told = "matadd/lab.toml counts; the lab file inside this program is another";
    assert_eq!(said.matches(told).count(), 1, "{said}");
    let own = &grading::lab_spec::embedded("matadd").unwrap().text;
    let (all_cases, nothing_told) = grade(own);
    assert!(
        all_cases > 3 && !nothing_told.contains(told),
        "{nothing_told}"
    );
}
