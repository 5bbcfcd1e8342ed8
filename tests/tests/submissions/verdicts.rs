//! One verdict on every machine: racy submissions are graded alike by any number of host threads.

use course_tests::grade::GradeReport;
use course_tests::submissions::Corpus;

use super::grader;

/// Submissions of the corpus whose blocks race, and which run in parallel as far as their code
/// says.
const RACY: [&str; 2] = ["sum-not-added", "sum-zeroed-by-the-first-thread"];

/// The points and the messages of all cases.
fn verdict(report: &GradeReport) -> Vec<String> {
    let cases = report.cases.iter();
    cases
        .map(|case| {
            let failure = case.status.failure();
            let message = failure.map(|failure| failure.message.as_str());
            format!("{}: {:?} {message:?}", case.name, case.earned)
        })
        .collect()
}

#[test]
fn a_racy_submission_has_one_verdict() {
    let corpus = Corpus::of_the_project();
    let submissions = corpus.submissions().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let grader = grader(scratch.path());
    for name in RACY {
        let submission = submissions.iter().find(|it| it.name == name).unwrap();
        let (source, bundle) = (
            scratch.path().join(name),
            scratch.path().join(format!("{name}.bundle")),
        );
        let lab_file = corpus.lab_file(submission);
        corpus.write(submission, &source).unwrap();
        grader
            .pack(&source, &submission.lab, &lab_file, &bundle)
            .unwrap();
        let verdicts = ["1", "2", "8", "8"].map(|threads| {
            let report = grader.grade_as(&bundle, &submission.lab, &lab_file, |command| {
                command.args(["--seed", "7"]);
                command.env("RAYON_NUM_THREADS", threads);
            });
            verdict(&report.unwrap())
        });
        for other in &verdicts[1..] {
            assert_eq!(&verdicts[0], other, "{name}");
        }
    }
}
