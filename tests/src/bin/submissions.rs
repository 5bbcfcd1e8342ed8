//! The harness, with more commands for the corpus of `tests/submissions`:
//!
//! ```text
//! submissions pack-corpus DIR [NAME..]      packs it, for a machine without Rust
//! submissions grade-corpus DIR [--device DEVICE] [--seed N] [--seconds N] [NAME..]
//!                                           grades a packed corpus, prints the kill rate
//! submissions one-verdict DIR [TIMES]       grades racy ones by 1, 2 and 8 threads
//! submissions grade-class DIR               grades a class of 40 made of it, half of them hostile
//! submissions fuzz DIR SECONDS [SEED]       grades changed bundles: each gets a report
//! submissions mutants COUNT SEED [PROGRAM..]
//!                                           grades right programs with a mistake each
//! ```
//!
//! A name is that of a submission, or of a file of `hostile` and `honest` without `.toml`. They are
//! taken in the order of the names; without names, all are.
//!
//! Everything else is the harness's own command line.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

use course_tests::mutants::{Fate, Programs};
use course_tests::submissions::{
    Class, Corpus, Fuzz, Grader, Packing, Submission, has_one_verdict, is_perfect, summary,
};
use rayon::prelude::*;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["pack-corpus", folder, ref names @ ..] => pack(Path::new(folder), names),
        ["grade-corpus", folder, ref options @ ..] => grade(Path::new(folder), options),
        ["one-verdict", folder] => one_verdict(Path::new(folder), "10"),
        ["one-verdict", folder, times] => one_verdict(Path::new(folder), times),
        ["grade-class", folder] => grade_class(Path::new(folder)),
        ["fuzz", folder, seconds] => fuzz(Path::new(folder), seconds, "1"),
        ["fuzz", folder, seconds, seed] => fuzz(Path::new(folder), seconds, seed),
        ["mutants", count, seed, ref programs @ ..] => mutants(count, seed, programs),
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
        seed: None,
    })
}

/// Packs every submission that can be packed, and copies the expectations.
fn pack(target: &Path, names: &[&str]) -> Result<ExitCode, String> {
    let corpus = Corpus::of_the_project();
    corpus.copy_expectations(target)?;
    let packed = Corpus::at(target);
    std::fs::create_dir_all(target.join("bundles")).map_err(|error| error.to_string())?;
    let packing = Packing::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let submissions = named(corpus.submissions()?, names);
    let one_by_one = submissions.par_iter().with_max_len(1);
    one_by_one.try_for_each(|submission| {
        let name = format!("{}/{}", submission.side.name(), submission.name);
        match packing.pack(&corpus, submission, &packed.bundle(submission))? {
            Ok(()) => println!("packed   {name}"),
            Err(message) => {
                let first = message.lines().next().unwrap_or_default();
                println!("refused  {name}: {first}");
            }
        }
        Ok::<(), String>(())
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The submissions whose bundles are changed: elements, blocks that learn of each other, tiles in
/// shared memory, warps that wait for arrivals.
const CHANGED: [&str; 4] = [
    "matadd-finished-starter",
    "last-block-adds",
    "shared-tile",
    "one-arrival-for-a-warp",
];

/// Grades changed bundles of a packed corpus until the time is over.
fn fuzz(folder: &Path, seconds: &str, seed: &str) -> Result<ExitCode, String> {
    let (seconds, seed): (u64, u64) = (number(seconds)?, number(seed)?);
    let corpus = Corpus::at(folder);
    let submissions = corpus.submissions()?;
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut done = 0;
    for name in CHANGED {
        let right = submissions
            .iter()
            .find(|it| it.name == name)
            .ok_or(format!("the corpus has no `{name}`"))?;
        let fuzz = Fuzz {
            program: std::env::current_exe().map_err(|error| error.to_string())?,
            bundle: corpus.bundle(right),
            lab: right.lab.clone(),
            lab_file: corpus.lab_file(right),
            scratch: scratch.path().to_owned(),
        };
        let time = Duration::from_secs(seconds) / CHANGED.len() as u32;
        match fuzz.run(seed, time, 1) {
            Ok(more) => done += more,
            Err(error) => {
                // The bundle that ended the run stays.
                let _ = scratch.keep();
                return Err(format!("{name}: {error}"));
            }
        }
    }
    println!("{done} changed bundles, and a report for each");
    Ok(ExitCode::SUCCESS)
}

/// The submissions of a packed corpus that were packed.
fn packed(corpus: &Corpus, folder: &Path) -> Result<Vec<Submission>, String> {
    let mut submissions = corpus.submissions()?;
    submissions.retain(|submission| corpus.bundle(submission).exists());
    if submissions.is_empty() {
        let folder = folder.display();
        return Err(format!(
            "{folder}: no bundles; `submissions pack-corpus {folder}` packs the corpus"
        ));
    }
    Ok(submissions)
}

/// Those of these names, in their order; all without names.
fn named(mut submissions: Vec<Submission>, names: &[&str]) -> Vec<Submission> {
    let is_named = |it: &Submission, name: &&str| it.subject == *name || it.name == *name;
    for name in names {
        if !submissions.iter().any(|it| is_named(it, name)) {
            println!("no submission, and no subject of one, is `{name}`");
        }
    }
    let position = |it: &Submission| names.iter().position(|name| is_named(it, name));
    submissions.retain(|it| names.is_empty() || position(it).is_some());
    submissions.sort_by_key(position);
    submissions
}

/// Grades a packed corpus. Each row is printed at once, and the table's end when the time is over.
fn grade(folder: &Path, mut options: &[&str]) -> Result<ExitCode, String> {
    let (mut device, mut seed, mut until) = ("cuda", None, None);
    loop {
        match options {
            ["--device", name, rest @ ..] => (device, options) = (name, rest),
            ["--seed", of_all, rest @ ..] => (seed, options) = (Some(number(of_all)?), rest),
            ["--seconds", seconds, rest @ ..] => {
                let seconds = Duration::from_secs(number(seconds)?);
                (until, options) = (Some(Instant::now() + seconds), rest);
            }
            _ => break,
        }
    }
    let corpus = Corpus::at(folder);
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let grader = Grader {
        seed,
        ..grader(device, scratch.path().to_owned())?
    };
    let submissions = named(packed(&corpus, folder)?, options);
    let rows = grader.rows(&corpus, &submissions, until, &|row| {
        let mut line = row.line();
        if let Err(miss) = &row.result {
            line += &format!("      {miss}\n");
        }
        // A pipe that is closed ends nothing.
        let _ = std::io::stdout().write_all(line.as_bytes());
    });
    print!("{}", summary(&rows));
    let left = submissions.len() - rows.len();
    if left > 0 {
        println!("not graded, since the time is over: {left}");
    }
    Ok(if is_perfect(&rows) && left == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Grades the racy submissions of a packed corpus by several numbers of threads.
fn one_verdict(folder: &Path, times: &str) -> Result<ExitCode, String> {
    let times = number(times)?;
    let corpus = Corpus::at(folder);
    let mut racy = packed(&corpus, folder)?;
    racy.retain(Submission::is_racy);
    for submission in &racy {
        let verdict = has_one_verdict(&corpus, submission, times)?;
        println!("{}: {}", submission.name, verdict.join("; "));
    }
    let count = racy.len();
    println!("{count} submissions, each with one verdict, {times} times by each number of threads");
    Ok(ExitCode::SUCCESS)
}

/// Grades a class in one call, as an instructor does.
fn grade_class(folder: &Path) -> Result<ExitCode, String> {
    let class = Class::of_both_sides(&Corpus::of_the_project(), folder)?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let began = Instant::now();
    class.grade(&program, None)?;
    let rows = class.rows(began.elapsed().as_secs_f64())?;
    rows.iter().for_each(|row| print!("{}", row.line()));
    print!("{}", summary(&rows));
    println!(
        "{} grades in {:.0} s",
        rows.len(),
        began.elapsed().as_secs_f64()
    );
    Ok(if is_perfect(&rows) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Grades right programs with one mistake each, chosen by the seed, and lists those that keep all
/// points.
fn mutants(count: &str, seed: &str, programs: &[&str]) -> Result<ExitCode, String> {
    let (count, seed): (usize, u64) = (number(count)?, number(seed)?);
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let grader = grader("emulated", scratch.path().to_owned())?;
    let programs = Programs::of_the_corpus(programs, seed, &grader)?;
    let mut mutants = programs.mutants()?;
    let all = mutants.len();
    fastrand::Rng::with_seed(seed).shuffle(&mut mutants);
    mutants.truncate(count);
    let one_by_one = mutants.par_iter().with_max_len(1);
    let fates: Vec<Fate> = one_by_one
        .map(|mutant| {
            let fate = programs.fate(mutant, &grader)?;
            println!("{fate:?} {}", mutant.text);
            Ok::<Fate, String>(fate)
        })
        .collect::<Result<_, _>>()?;
    let mut table: BTreeMap<Fate, usize> = BTreeMap::new();
    for fate in &fates {
        *table.entry(*fate).or_default() += 1;
    }
    println!("\n{} of {all} mutants, by seed {seed}:", fates.len());
    for (fate, number) in &table {
        println!("{number:5}  {fate:?}");
    }
    let keeps = |fate: &Fate| matches!(fate, Fate::Survived | Fate::Undecided);
    for (mutant, fate) in mutants.iter().zip(&fates).filter(|(_, fate)| keeps(fate)) {
        println!("{fate:?}: {}", mutant.text);
    }
    Ok(ExitCode::SUCCESS)
}

fn number<N: FromStr<Err: Display>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}
