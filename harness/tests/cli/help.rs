//! The texts of `--help`.

use crate::run::run;

#[test]
fn program() {
    insta::assert_snapshot!(run(&["--help"]));
}

const COMMANDS: [&str; 17] = [
    "list",
    "doctor",
    "test",
    "perf",
    "tune",
    "compare",
    "report",
    "profile",
    "counts",
    "grade",
    "watch",
    "progress",
    "run",
    "emulate",
    "occupancy",
    "pack",
    "launch",
];

/// The labs that `run` has a command for: those that say how they are run, and two instruments.
fn labs_of_run() -> impl Iterator<Item = &'static str> {
    let labs = host::labs().iter().filter(|lab| lab.running.is_some());
    labs.map(|lab| lab.name).chain(["matadd", "membench"])
}

#[test]
fn commands() {
    for command in COMMANDS {
        insta::assert_snapshot!(command, run(&[command, "--help"]));
    }
}

#[test]
fn labs_that_run() {
    for lab in labs_of_run() {
        insta::assert_snapshot!(format!("run-{lab}"), run(&["run", lab, "--help"]));
    }
}

/// The texts of `--help`, as the book has them.
fn page() -> String {
    let mut page =
        "# Commands\n\nThe texts of `--help`. A test writes and compares this page:\n\n    \
                    BLESS=1 cargo test -p harness --test cli the_page_of_commands\n"
            .to_owned();
    let mut section = |words: &[&str]| {
        let text = run(&[words, &["--help"]].concat());
        let (_, help) = text.split_once("--- stdout ---\n").unwrap();
        let title = [&["harness"][..], words].concat().join(" ");
        page += &format!("\n## {title}\n\n```text\n");
        for line in help.lines() {
            page += line.trim_end();
            page += "\n";
        }
        page += "```\n";
    };
    section(&[]);
    for command in COMMANDS {
        section(&[command]);
    }
    for command in ["check-course", "export"] {
        section(&[command]);
    }
    for lab in labs_of_run() {
        section(&["run", lab]);
    }
    page
}

#[test]
fn the_page_of_commands_is_the_help() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/commands.md");
    let page = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, &page).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap();
    assert!(
        written == page,
        "docs/reference/commands.md is stale: run this test with BLESS=1"
    );
}
