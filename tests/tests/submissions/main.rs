//! The corpus of submissions: each hostile one gets its verdict and earns nothing by its trick,
//! each honest one earns everything.

mod bundles;
mod verdicts;

use std::path::Path;

use course_tests::submissions::{Corpus, Grader, Side, is_perfect, summary};

/// The program under test, on the emulated device.
fn grader(scratch: &Path) -> Grader {
    Grader {
        program: env!("CARGO_BIN_EXE_submissions").into(),
        device: "emulated".to_owned(),
        scratch: scratch.to_owned(),
    }
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

#[test]
fn every_submission_gets_its_verdict_on_the_emulated_device() {
    let corpus = Corpus::of_the_project();
    let submissions = corpus.submissions().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let rows = grader(scratch.path()).rows(&corpus, &submissions).unwrap();
    let table: String = rows.iter().map(|row| row.line()).collect();
    println!("{table}");
    let summary = summary(&rows);
    println!("{summary}");
    assert!(is_perfect(&rows), "{table}{summary}");
}
