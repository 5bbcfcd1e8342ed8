//! `--submission`: a student's folder in the commands that have built-in solutions.

use std::path::Path;
use std::process::Output;

use crate::run::{describe, harness_of_course};

const RIGHT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../tests/submissions/programs/matadd"
);
const STARTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../labs/matadd/starter");

fn run(folder: &Path, args: &[&str]) -> Output {
    harness_of_course(folder, args).output().unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", describe(output)))
}

#[test]
fn a_submission_is_tested_like_a_variant() {
    let folder = tempfile::tempdir().unwrap();
    let test = |submission, more: &[&str]| {
        let mut args = vec!["test", "matadd", "--device=emulated", "--json"];
        args.extend(["--submission", submission]);
        args.extend(more);
        run(folder.path(), &args)
    };
    let right = test(RIGHT, &["--variant=grid2d_block2d_32x8"]);
    assert_eq!(right.status.code(), Some(0), "{}", describe(&right));
    let report = json(&right);
    let results = report["labs"][0]["results"].as_array().unwrap();
    let cases = host::find_lab("matadd").unwrap().small_cases().len();
    let of = |variant: &str| {
        results
            .iter()
            .filter(|one| one["variant"] == variant)
            .count()
    };
    assert_eq!((of(RIGHT), of("grid2d_block2d_32x8")), (cases, cases));

    let wrong = test(STARTER, &[]);
    assert_eq!(wrong.status.code(), Some(1), "{}", describe(&wrong));
    let failed = json(&wrong);
    let of_starter = failed["labs"][0]["results"].as_array().unwrap();
    assert!(of_starter.iter().all(|one| one["variant"] == STARTER));
}

/// The lab on several GPUs: its starter is right on one device alone, a solution on all.
#[test]
fn a_submission_computes_on_several_devices() {
    const LAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../labs/several-gpus");
    const LAUNCH: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/cli/several-gpus/launch.rs"
    );
    let folder = tempfile::tempdir().unwrap();
    // The starter's kernel is right.
    let solved = folder.path().join("solved");
    std::fs::create_dir(&solved).unwrap();
    std::fs::copy(LAUNCH, solved.join("launch.rs")).unwrap();
    let kernels = format!("{LAB}/starter/kernels.rs");
    std::fs::copy(kernels, solved.join("kernels.rs")).unwrap();
    let solved = solved.to_str().unwrap();
    for (submission, points) in [(&format!("{LAB}/starter") as &str, "5"), (solved, "60")] {
        let args = [
            "grade",
            submission,
            "--lab=several-gpus",
            "--device=emulated",
            "--brief",
            // Another draw may have a hidden case of no iterations, which the starter solves.
            "--draw=7",
        ];
        let graded = run(folder.path(), &args);
        let text = describe(&graded);
        assert!(
            text.contains(&format!("{points} / 60 points graded here")),
            "{text}"
        );
    }
    let args = [
        "run",
        "poisson",
        "--submission",
        solved,
        "--n=12",
        "--iterations=4",
        "--device=emulated",
        "--gpus=3",
    ];
    let ran = run(folder.path(), &args);
    assert_eq!(ran.status.code(), Some(0), "{}", describe(&ran));
    assert!(describe(&ran).contains("0 of 1,728 values differ"));

    // Processes take it too: each builds it, and all have the same kernels.
    let launch = ["launch", "--processes=2", "--", "run"];
    let launched = run(folder.path(), &[&launch, &args[1..7]].concat());
    assert_eq!(launched.status.code(), Some(0), "{}", describe(&launched));
    assert!(describe(&launched).contains("0 of 1,728 values differ"));
}

/// The second lab on the stencil, at its checkpoint: all is right, and the sectors are too many.
#[test]
fn the_advanced_stencil_has_a_checkpoint() {
    const LAB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../labs/stencil25-advanced");
    const KERNELS: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/cli/stencil25-advanced/kernels.rs"
    );
    let folder = tempfile::tempdir().unwrap();
    // A folder LAB/NAME says its lab.
    let solved = folder.path().join("stencil25-advanced/ada");
    std::fs::create_dir_all(&solved).unwrap();
    std::fs::copy(KERNELS, solved.join("kernels.rs")).unwrap();
    std::fs::copy(format!("{LAB}/starter/launch.rs"), solved.join("launch.rs")).unwrap();
    let args = ["grade", solved.to_str().unwrap(), "--device=emulated"];
    let graded = run(folder.path(), &args);
    let text = describe(&graded);
    assert!(text.contains("45 / 60 points graded here"), "{text}");
    let counted = text.lines().find(|line| line.contains("global sectors of"));
    let sectors = counted.and_then(|row| row.split_whitespace().last());
    let handout = std::fs::read_to_string(format!("{LAB}/README.md")).unwrap();
    assert!(handout.contains(sectors.unwrap()), "{text}");

    // Its bundle is of the lab whose problem it has, and is graded by the name of this one.
    let bundle = folder.path().join("ada.bundle");
    let bundle = bundle.to_str().unwrap();
    let pack = ["pack", args[1], "--lab=stencil25-advanced", "-o", bundle];
    let packed = run(folder.path(), &pack);
    assert!(
        describe(&packed).contains("stencil25"),
        "{}",
        describe(&packed)
    );
    let elsewhere = [
        "grade",
        bundle,
        "--lab=stencil25-advanced",
        args[2],
        "--brief",
    ];
    let graded_there = describe(&run(folder.path(), &elsewhere));
    assert!(
        graded_there.contains("stencil25-advanced  ada"),
        "{graded_there}"
    );
    assert!(graded_there.contains("25 / "), "{graded_there}");
}

#[test]
fn a_submission_is_profiled_and_timed_beside_variants() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["profile", "perf"] {
        let args = [
            command,
            "matadd",
            "--param=n_x=64",
            "--param=n_y=8",
            "--variant=grid2d_block2d_32x8",
            "--submission",
            RIGHT,
        ];
        let output = run(folder.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
        let text = String::from_utf8_lossy(&output.stdout);
        for name in ["grid2d_block2d_32x8", RIGHT] {
            assert!(text.contains(name), "{command}: no {name} in\n{text}");
        }
    }
}

/// As on a machine that has no Rust and no course.
#[test]
fn a_bundle_is_timed_without_compilers() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("own.bundle");
    let args = ["pack", RIGHT, "--lab=matadd", "--without-isolation", "-o"];
    let packed = run(
        folder.path(),
        &[&args[..], &[bundle.to_str().unwrap()]].concat(),
    );
    assert_eq!(packed.status.code(), Some(0), "{}", describe(&packed));

    let elsewhere = |words: &[&str]| {
        let mut command = crate::run::harness(folder.path(), words);
        command.env("PATH", "").output().unwrap()
    };
    let timed = ["perf", "matadd", "--variant=grid2d_block2d_32x8", "--quick"];
    let own = ["--submission=own.bundle"];
    let output = elsewhere(&[&timed[..], &own].concat());
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let row = text
        .lines()
        .find(|line| line.contains("./own.bundle"))
        .unwrap_or_else(|| panic!("{text}"));
    // Without a GPU it is counted: launches, instructions, lanes, sectors, coalesced.
    let figures: Result<Vec<f64>, _> = row.split_whitespace().skip(1).map(str::parse).collect();
    assert_eq!(figures.map(|figures| figures.len()), Ok(5), "{text}");

    let said = |words: &[&str]| describe(&elsewhere(&[words, &own].concat()));
    insta::assert_snapshot!(said(&["test", "matadd"]), @r"
    exit code: 2
    --- stderr ---
    error: --submission own.bundle: is not a folder; name one with kernels.rs and launch.rs (only `perf` takes a bundle, too)
    ");
    insta::assert_snapshot!(said(&["perf", "wave2d"]), @r"
    exit code: 2
    --- stderr ---
    error: --submission own.bundle: is of lab `matadd`, and not of `wave2d`
    ");
    std::fs::write(folder.path().join("own.bundle"), "text").unwrap();
    insta::assert_snapshot!(said(&["perf", "matadd"]), @r"
    exit code: 2
    --- stderr ---
    error: --submission own.bundle: is not a bundle; make one with `harness pack`
    ");
}

/// A solution with shapes, as a submission. The emulated device counts the same in each as for the
/// variant, and nothing is written.
#[test]
fn a_submission_is_tuned() {
    const SHMEM: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../kernels-gpu/solutions/wave2d/shmem"
    );
    let folder = tempfile::tempdir().unwrap();
    let case = "--device=emulated --param=n_x=40 --param=n_y=30 --param=steps=12";
    let tune = |more: &[&str]| {
        let args: Vec<&str> = ["tune", "wave2d"]
            .into_iter()
            .chain(case.split(' '))
            .chain(more.iter().copied())
            .collect();
        describe(&run(folder.path(), &args))
    };
    let own = tune(&["--submission", SHMEM]);
    let built_in = tune(&["shmem"]);
    let rows = |text: &str| -> Vec<String> {
        let is_row = |line: &&str| line.starts_with("  t") || line.starts_with("  graded");
        let rows = text.lines().filter(is_row);
        rows.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    };
    let mut expected = rows(&built_in);
    assert_eq!(expected.len(), 8, "{built_in}");
    expected.insert(0, expected[0].replace("t10", "graded"));
    expected.sort();
    let mut found = rows(&own);
    found.sort();
    assert_eq!(found, expected, "{own}");
    assert!(
        own.contains("what `record` does in launch.rs is graded"),
        "{own}"
    );
    assert_eq!(crate::run::names(folder.path()), [""; 0]);

    let refused = |args: &[&str]| describe(&run(folder.path(), args)).replace(STARTER, "STARTER");
    insta::assert_snapshot!(refused(&["tune", "matadd", "--device=emulated", "--submission", STARTER]), @r"
    exit code: 2
    --- stderr ---
    error: --submission STARTER: launch.rs declares no launch shapes, so there is nothing to choose; add `fn shapes` to its `impl Solution`, as `cargo doc --open -p plan` says
    ");
    insta::assert_snapshot!(refused(&["tune", "wave2d", "shmem", "--device=emulated", "--submission", SHMEM]), @r"
    exit code: 2
    --- stderr ---
    error: shmem: --submission is named, too; leave out one
    ");
}

#[test]
fn a_submission_runs_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let own = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/submissions/programs/wave2d"
    );
    let args = [
        "run",
        "wave2d",
        "--shape=40,30",
        "--steps=6",
        "--device=emulated",
        "--submission",
        own,
        "--gif=own.png",
    ];
    let output = run(folder.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(own), "{text}");
    assert!(folder.path().join("own.png").is_file());
}

#[test]
fn a_submission_shows_which_thread_stores_what() {
    let folder = tempfile::tempdir().unwrap();
    let shown = |submission: &str, shape: &str| {
        let args = ["run", "matadd", "--check-index", "--submission", submission];
        let output = run(folder.path(), &[&args[..], &["--shape", shape]].concat());
        describe(&output).replace(submission, "SUBMISSION")
    };
    insta::assert_snapshot!(shown(RIGHT, "5,2"), @r"
    exit code: 0
    --- stdout ---
    matadd  5x2, SUBMISSION on emulated
      1 block of 32 x 8 threads; in each element blockIdx.x:threadIdx.x,threadIdx.y

      y \ x      0      1      2      3      4
      ----------------------------------------
          0  0:0,0  0:1,0  0:2,0  0:3,0  0:4,0
          1  0:0,1  0:1,1  0:2,1  0:3,1  0:4,1
    ");
    // Its grid is one block of 32 x 8 threads.
    let wrong = shown(STARTER, "32,9");
    assert!(wrong.contains("- no thread stores this element"), "{wrong}");
    let args = ["run", "matadd", "--submission", STARTER, "--device=cuda"];
    let refused = describe(&run(folder.path(), &args));
    insta::assert_snapshot!(refused, @r"
    exit code: 2
    --- stderr ---
    error: --device cuda: a GPU does not tell which thread stores what; leave it out
    ");
    insta::assert_snapshot!(describe(&run(folder.path(), &["run", "matadd"])), @r"
    exit code: 2
    --- stderr ---
    error: name what is looked at: --submission DIR, or --check-index VARIANT with one that `harness list matadd` shows
    ");
}

#[test]
fn a_submission_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let said = |args: &[&str]| {
        let output = run(folder.path(), args);
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        (output.status.code(), text)
    };
    insta::assert_debug_snapshot!(said(&["test", "--submission=mine"]), @r#"
    (
        Some(
            2,
        ),
        "error: --submission mine: name the lab that it solves, as in `harness test wave2d --submission mine`",
    )
    "#);
    let (code, text) = said(&["test", "matadd", "--submission=mine"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("--submission mine: the folder does not exist"),
        "{text}"
    );
    // Before the one in front of it is built, which does not compile.
    let broken = folder.path().join("broken");
    std::fs::create_dir(&broken).unwrap();
    for name in ["kernels.rs", "launch.rs"] {
        std::fs::write(broken.join(name), "nonsense").unwrap();
    }
    let (refused, why) = said(&["test", "matadd", "--submission=broken", "--submission=mine"]);
    assert_eq!(refused, Some(2), "{why}");
    assert!(why.contains("--submission mine: the folder"), "{why}");
}
