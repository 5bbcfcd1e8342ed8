//! A class that several workers grade, or several jobs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use device::Device;

use crate::grade::{Folder, run_words};
use crate::run::run;

/// A class of four: three that are right, and one that is damaged.
fn class() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("all")).unwrap();
    for name in ["ada", "cleo", "dan"] {
        folder.right(&format!("all/{name}.bundle"));
    }
    std::fs::write(folder.path("all/ben.bundle"), "no bundle").unwrap();
    // Not the same content as the others.
    let dan = folder.path("all/dan.bundle");
    let torn = std::fs::read(&dan).unwrap();
    std::fs::write(&dan, &torn[..torn.len() / 2]).unwrap();
    folder
}

/// Grades the class with these flags and a seed into a folder of this name.
fn grade(folder: &Folder, results: &str, flags: &[&str]) -> String {
    let mut words = folder.class();
    words.pop();
    words.push(folder.path(results).to_str().unwrap().to_owned());
    words.push("--seed=7".to_owned());
    words.extend(flags.iter().map(|flag| (*flag).to_owned()));
    run_words(&words)
}

/// Every file below a folder, without the times that grading began and took.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(file, text)| (name.join(file), text)));
        } else {
            let text = std::fs::read_to_string(path).unwrap();
            found.insert(name, without_times(&text));
        }
    }
    found
}

fn without_times(text: &str) -> String {
    let is_time = |line: &&str| line.contains("_unix_s\"") || line.contains("\"elapsed_s\"");
    let lines = text.lines().filter(|line| !is_time(line));
    // A page says it in a sentence: `Graded on emulated (emulated) in 0.3 s.`
    // A student's does not.
    let lines = lines.map(|line| match line.split_once("Graded on ") {
        Some((before, after)) if after.contains(") in ") => {
            let (device, after) = after.split_once(") in ").unwrap();
            let (_, after) = after.split_once(" s.").unwrap();
            format!("{before}Graded on {device}).{after}")
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn shards_leave_what_one_run_leaves() {
    let folder = class();
    let whole = grade(&folder, "whole", &[]);
    assert!(whole.starts_with("exit code: 5\n"), "{whole}");
    for (shard, took) in [("1/3", 2), ("2/3", 1), ("3/3", 1)] {
        let said = grade(&folder, "shards", &["--shard", shard]);
        assert!(said.starts_with("exit code: 0\n"), "{said}");
        let took = format!("shard {shard}: {took} of 4 submissions");
        assert!(said.contains(&took), "{said}");
    }
    let last = grade(&folder, "shards", &[]);
    assert_eq!(last.matches("(kept)").count(), 4, "{last}");
    assert_eq!(last.replace("  (kept)", ""), whole.replace("  (kept)", ""));
    assert_eq!(files(&folder.path("shards")), files(&folder.path("whole")));
}

#[test]
fn a_machine_without_the_device_writes_the_summary() {
    let folder = class();
    let whole = grade(&folder, "results", &[]);
    let name = device::EmulatedDevice::default().info().name.clone();
    let words = |device: &str| {
        let mut words = folder.class();
        words.retain(|word| !word.starts_with("--device="));
        words.extend(["--seed=7".to_owned(), format!("--device-name={device}")]);
        words
    };
    let kept = run_words(&words(&name));
    assert_eq!(kept.replace("  (kept)", ""), whole.replace("  (kept)", ""));
    let path = folder.path("results");
    let none = run_words(&words("H100"))
        .replace(path.to_str().unwrap(), "DIR/results")
        .replace(&name, "NAME");
    insta::assert_snapshot!(none, @r"
exit code: 2
--- stderr ---
error: --device-name H100: no report of this device is kept; the reports in DIR/results are of: NAME
");
    // One that is handed in later has no report.
    folder.right("all/eve.bundle");
    std::fs::remove_file(folder.path("all/ada.bundle")).unwrap();
    std::fs::write(folder.path("all/eve.bundle"), "another").unwrap();
    let missing = run_words(&words(&name));
    assert!(missing.starts_with("exit code: 3\n"), "{missing}");
    assert!(
        missing.contains("not graded: no report of it on"),
        "{missing}"
    );
}

#[test]
fn several_workers_leave_what_one_does() {
    let folder = class();
    let one = grade(&folder, "one", &[]);
    assert_eq!(grade(&folder, "two", &["--gpus=2"]), one);
    assert_eq!(files(&folder.path("two")), files(&folder.path("one")));
}

#[test]
fn what_makes_no_sense() {
    let all = ["grade", "--all=.", "-o=results", "--lab=matadd"];
    let message = |flags: &[&str]| run(&[&all, flags].concat());
    insta::assert_snapshot!(message(&["--gpus=2"]), @r"
exit code: 3
--- stderr ---
error: --gpus 2: no CUDA device: [reason]; see `harness doctor`
");
    insta::assert_snapshot!(message(&["--gpus=0"]), @r"
exit code: 2
--- stderr ---
error: invalid value '0' for '--gpus <GPUS>': write all, how many from 1 on, or their numbers as in 0,2

For more information, try '--help'.
");
    insta::assert_snapshot!(message(&["--shard=4/3"]), @r"
exit code: 2
--- stderr ---
error: invalid value '4/3' for '--shard <I/N>': shards are numbered from 1/3 to 3/3

For more information, try '--help'.
");
    insta::assert_snapshot!(run(&["grade", "x.bundle", "--shard=1/3"]), @r"
exit code: 2
--- stderr ---
error: the following required arguments were not provided:
  --out <FILE>
  --all <DIR>

Usage: harness grade --out <FILE> --all <DIR> --shard <I/N> <SUBMISSION>

For more information, try '--help'.
");
    insta::assert_snapshot!(message(&["--device-name=x", "--shard=1/3"]), @r"
exit code: 2
--- stderr ---
error: the argument '--device-name <NAME>' cannot be used with '--shard <I/N>'

Usage: harness grade --all <DIR> --out <FILE> --lab <LAB> --device-name <NAME> [SUBMISSION]

For more information, try '--help'.
");
}
