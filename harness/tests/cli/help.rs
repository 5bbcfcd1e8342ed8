//! The texts of `--help`.

use crate::run::run;

#[test]
fn program() {
    insta::assert_snapshot!(run(&["--help"]));
}

#[test]
fn commands() {
    for command in [
        "list",
        "doctor",
        "test",
        "perf",
        "tune",
        "compare",
        "report",
        "profile",
        "grade",
        "watch",
        "run",
        "occupancy",
        "pack",
        "launch",
    ] {
        insta::assert_snapshot!(command, run(&[command, "--help"]));
    }
}

#[test]
fn labs_of_run() {
    for lab in [
        "poisson",
        "stencil25",
        "wave2d",
        "wave3d",
        "membench",
        "matadd",
    ] {
        insta::assert_snapshot!(format!("run-{lab}"), run(&["run", lab, "--help"]));
    }
}
