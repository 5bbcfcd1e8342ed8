//! One verdict on every machine: racy submissions are graded alike by any number of host threads.

use course_tests::submissions::has_one_verdict;

use super::packed;

/// How often by each number of threads, where one time does not suffice.
const TIMES: &str = "VERDICTS";

#[test]
fn every_racy_submission_has_one_verdict() {
    let times = std::env::var(TIMES).map_or(1, |times| times.parse().unwrap());
    let corpus = packed();
    let mut submissions = corpus.submissions().unwrap();
    submissions.retain(|it| it.is_racy() && corpus.bundle(it).exists());
    assert!(submissions.len() >= 20, "{}", submissions.len());
    for submission in &submissions {
        has_one_verdict(corpus, submission, times).unwrap();
    }
}
