//! The corpus of submissions: each hostile one gets its verdict and no points for what it tries, each honest one all points.

use std::path::Path;

use course_tests::submissions::corpus::{Corpus, Side};
use course_tests::submissions::grading::Grader;
use course_tests::submissions::summary;

#[test]
fn the_corpus_is_as_large_as_it_should_be() {
    let submissions = Corpus::of_the_project().submissions().unwrap();
    let count = |side| {
        submissions
            .iter()
            .filter(|submission| submission.side == side)
            .count()
    };
    assert!(count(Side::Hostile) >= 30 && count(Side::Honest) >= 8);
}

#[test]
fn every_submission_gets_its_verdict_on_the_emulated_device() {
    let corpus = Corpus::of_the_project();
    let submissions = corpus.submissions().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let lines = grader(folder.path()).lines(&corpus, &submissions).unwrap();
    let table = summary::table(&lines, "emulated");
    println!("{table}");
    assert!(summary::is_perfect(&lines), "{table}");
}

fn grader(folder: &Path) -> Grader {
    Grader {
        program: env!("CARGO_BIN_EXE_submissions").into(),
        device: "emulated".to_owned(),
        folder: folder.to_owned(),
    }
}
