//! The harness, with two commands more, for the corpus of `tests/submissions`:
//!
//! ```text
//! submissions pack-corpus DIR                     packs it, for a machine without Rust
//! submissions grade-corpus DIR [--device cuda]    grades what `pack-corpus` packed, and prints the kill rate
//! ```
//!
//! Everything else is the harness's own command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use course_tests::submissions::corpus::{BUNDLE, Corpus, copy};
use course_tests::submissions::grading::Grader;
use course_tests::submissions::summary;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["pack-corpus", dir] => pack(Path::new(dir)),
        ["grade-corpus", dir] => grade(Path::new(dir), "cuda"),
        ["grade-corpus", dir, "--device", device] => grade(Path::new(dir), device),
        _ => return harness::program::main(),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn grader(device: &str, folder: PathBuf) -> Result<Grader, String> {
    Ok(Grader {
        program: std::env::current_exe().map_err(|error| error.to_string())?,
        device: device.to_owned(),
        folder,
    })
}

/// Packs every submission that can be packed, in folders as those of the corpus.
fn pack(target: &Path) -> Result<ExitCode, String> {
    let corpus = Corpus::of_the_project();
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let grader = grader("emulated", scratch.path().to_owned())?;
    let labs = target.join("labs");
    std::fs::create_dir_all(&labs).map_err(|error| error.to_string())?;
    for submission in corpus.submissions()? {
        let name = Path::new(submission.side.name()).join(&submission.name);
        let folder = scratch.path().join(&name);
        corpus.assemble(&submission, &folder)?;
        let packed = target.join(&name);
        std::fs::create_dir_all(&packed).map_err(|error| error.to_string())?;
        let lab_file = corpus.lab_file(&submission);
        let lab = &submission.expectation.lab;
        match grader.pack(&folder, lab, &lab_file, &packed.join(BUNDLE)) {
            Ok(()) => {
                copy(
                    &submission.dir.join("expect.toml"),
                    &packed.join("expect.toml"),
                )?;
                copy(
                    &lab_file,
                    &labs.join(lab_file.file_name().unwrap_or_default()),
                )?;
                println!("packed   {}", name.display());
            }
            Err(message) => {
                std::fs::remove_dir_all(&packed).map_err(|error| error.to_string())?;
                let first = message.lines().next().unwrap_or_default();
                println!("refused  {}: {first}", name.display());
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Grades a packed corpus, one submission after the other: each has the device to itself.
fn grade(root: &Path, device: &str) -> Result<ExitCode, String> {
    let corpus = Corpus {
        root: root.to_owned(),
    };
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let grader = grader(device, scratch.path().to_owned())?;
    let submissions = corpus.submissions()?;
    let mut lines = Vec::new();
    for submission in &submissions {
        let line = grader.line(&corpus, submission);
        print!("{}", summary::row(&line));
        lines.push(line);
    }
    print!("{}", summary::rates(&lines));
    Ok(if summary::is_perfect(&lines) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
