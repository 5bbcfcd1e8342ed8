//! What `--help` says.

use crate::run::run;

#[test]
fn program() {
    insta::assert_snapshot!(run(&["--help"]));
}

#[test]
fn commands() {
    for command in ["list", "doctor", "test", "perf", "profile", "animate"] {
        insta::assert_snapshot!(command, run(&[command, "--help"]));
    }
}
