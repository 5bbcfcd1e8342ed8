//! The corpus of submissions: each hostile one gets its verdict and earns nothing by its trick,
//! each honest one earns everything. The sandbox decides some of the verdicts, and is Linux's.
#![cfg(target_os = "linux")]

mod bundles;
mod verdicts;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use course_tests::submissions::{Corpus, Grader, Side, Submission, is_perfect, summary};
use tempfile::TempDir;

/// The program under test, on the emulated device.
/// The seed of all grades here. A mistake that shows in some orders of threads alone is missed in
/// a few of a hundred cases, and a test that ends in another way now and then helps nobody;
/// `grade-corpus --seed` tries other seeds.
const SEED: u64 = 2;

fn grader(scratch: &Path) -> Grader {
    Grader {
        program: env!("CARGO_BIN_EXE_submissions").into(),
        device: "emulated".to_owned(),
        scratch: scratch.to_owned(),
        seed: Some(SEED),
    }
}

/// A corpus in `folder` with bundles of these submissions, as far as they are not refused.
fn pack<'n>(folder: &Path, names: impl Iterator<Item = &'n str>) -> Corpus {
    let mut command = Command::new(env!("CARGO_BIN_EXE_submissions"));
    command.arg("pack-corpus").arg(folder).args(names);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Corpus::at(folder)
}

/// The corpus, with bundles of its racy submissions, packed once.
fn packed() -> &'static Corpus {
    static PACKED: OnceLock<(TempDir, Corpus)> = OnceLock::new();
    let make = || {
        let folder = tempfile::tempdir().unwrap();
        let project = Corpus::of_the_project();
        let mut racy = project.submissions().unwrap();
        racy.retain(Submission::is_racy);
        // One whose plans are refused is graded from its folder.
        let corpus = pack(folder.path(), racy.iter().map(|racy| racy.name.as_str()));
        symlink(project.programs(), folder.path().join("programs")).unwrap();
        (folder, corpus)
    };
    &PACKED.get_or_init(make).1
}

#[test]
fn the_corpus_is_as_large_as_it_should_be_and_all_edits_match() {
    let corpus = Corpus::of_the_project();
    let submissions = corpus.submissions().unwrap();
    let count = |side| submissions.iter().filter(|it| it.side == side).count();
    assert!(count(Side::Hostile) >= 70 && count(Side::Honest) >= 20);
    for submission in &submissions {
        corpus.sources(submission).unwrap();
    }
}

/// The honest file beside a hostile one: of the same name, but for these.
const BESIDE: [(&str, &str); 4] = [
    ("source", "host-code"),
    ("spelled", "host-code"),
    ("recorder", "host-code"),
    ("wrong-results", "starters"),
];

#[test]
fn each_class_has_three_hostile_submissions_and_two_honest_ones() {
    let submissions = Corpus::of_the_project().submissions().unwrap();
    let count = |side, subject: &str| {
        let is_of = |it: &&Submission| it.side == side && it.subject == subject;
        submissions.iter().filter(is_of).count()
    };
    for Submission { subject, .. } in submissions.iter().filter(|it| it.side == Side::Hostile) {
        let beside = BESIDE
            .iter()
            .find(|(hostile, _)| hostile == subject)
            .map_or(subject.as_str(), |(_, honest)| honest);
        let counts = (count(Side::Hostile, subject), count(Side::Honest, beside));
        assert!(counts.0 >= 3 && counts.1 >= 2, "{subject}: {counts:?}");
    }
}

#[test]
fn every_submission_gets_its_verdict_on_the_emulated_device() {
    let corpus = packed();
    let submissions = corpus.submissions().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let rows = grader(scratch.path()).rows(corpus, &submissions, None, &|_| {});
    let table: String = rows.iter().map(|row| row.line()).collect();
    println!("{table}");
    let summary = summary(&rows);
    println!("{summary}");
    assert!(is_perfect(&rows), "{table}{summary}");
}
