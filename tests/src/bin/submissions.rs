//! The harness, with three more commands for the corpus of `tests/submissions`:
//!
//! ```text
//! submissions pack-corpus DIR                   packs it, for a machine without Rust
//! submissions grade-corpus DIR [--device cuda]  grades a packed corpus, prints the kill rate
//! submissions fuzz DIR SECONDS [SEED]           grades changed bundles: each gets a report
//! ```
//!
//! Everything else is the harness's own command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use course_tests::submissions::{Corpus, Fuzz, Grader, is_perfect, summary};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["pack-corpus", folder] => pack(Path::new(folder)),
        ["grade-corpus", folder] => grade(Path::new(folder), "cuda"),
        ["grade-corpus", folder, "--device", device] => grade(Path::new(folder), device),
        ["fuzz", folder, seconds] => fuzz(Path::new(folder), seconds, "1"),
        ["fuzz", folder, seconds, seed] => fuzz(Path::new(folder), seconds, seed),
        _ => return course_tests::harness_main(),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn grader(device: &str, scratch: PathBuf) -> Result<Grader, String> {
    Ok(Grader {
        program: std::env::current_exe().map_err(|error| error.to_string())?,
        device: device.to_owned(),
        scratch,
    })
}

/// Packs every submission that can be packed, and copies the expectations.
fn pack(target: &Path) -> Result<ExitCode, String> {
    let corpus = Corpus::of_the_project();
    corpus.copy_expectations(target)?;
    let packed = Corpus::at(target);
    std::fs::create_dir_all(target.join("bundles")).map_err(|error| error.to_string())?;
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let grader = grader("emulated", scratch.path().to_owned())?;
    for submission in corpus.submissions()? {
        let name = format!("{}/{}", submission.side.name(), submission.name);
        let folder = scratch.path().join(&submission.name);
        corpus.write(&submission, &folder)?;
        let (lab_file, bundle) = (corpus.lab_file(&submission), packed.bundle(&submission));
        match grader.pack(&folder, &submission.lab, &lab_file, &bundle) {
            Ok(()) => println!("packed   {name}"),
            Err(message) => {
                let first = message.lines().next().unwrap_or_default();
                println!("refused  {name}: {first}");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Grades changed bundles of a packed corpus until the time is over.
fn fuzz(folder: &Path, seconds: &str, seed: &str) -> Result<ExitCode, String> {
    let number = |text: &str| text.parse().map_err(|error| format!("{text}: {error}"));
    let (seconds, seed): (u64, u64) = (number(seconds)?, number(seed)?);
    let corpus = Corpus::at(folder);
    let submissions = corpus.submissions()?;
    let mut packed = submissions.iter();
    let right = packed.find(|submission| submission.name == "matadd-finished-starter");
    let right = right.ok_or("the corpus has no `matadd-finished-starter`")?;
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let fuzz = Fuzz {
        program: std::env::current_exe().map_err(|error| error.to_string())?,
        bundle: corpus.bundle(right),
        lab: right.lab.clone(),
        lab_file: corpus.lab_file(right),
        scratch: scratch.path().to_owned(),
    };
    let done = fuzz
        .run(seed, Duration::from_secs(seconds), 1)
        .inspect_err(|_| {
            // The bundle that ended the run stays.
            let _ = scratch.keep();
        })?;
    println!("{done} changed bundles, and a report for each");
    Ok(ExitCode::SUCCESS)
}

/// Grades a packed corpus, one submission after the other: each has the device to itself.
fn grade(folder: &Path, device: &str) -> Result<ExitCode, String> {
    let corpus = Corpus::at(folder);
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let grader = grader(device, scratch.path().to_owned())?;
    let mut submissions = corpus.submissions()?;
    submissions.retain(|submission| corpus.bundle(submission).exists());
    if submissions.is_empty() {
        let folder = folder.display();
        return Err(format!(
            "{folder}: no bundles; `submissions pack-corpus {folder}` packs the corpus"
        ));
    }
    let mut rows = Vec::new();
    for submission in &submissions {
        let row = grader.row(&corpus, submission);
        print!("{}", row.line());
        rows.push(row);
    }
    print!("{}", summary(&rows));
    Ok(match is_perfect(&rows) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
