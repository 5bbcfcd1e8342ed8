//! The emulator's checks, each tripped by a file of PTX in `crates/ptx-emu/tests/ui`.
//!
//! A file begins with comments: why its kernel is wrong, and the command that shows it, as a reader
//! types it in the file's folder (`// $ emulate NAME.ptx --kernel wrong ...`). Most have a second
//! kernel that does the same correctly, with its command. `NAME.stderr` has what the program says
//! to each command.
//!
//! ```text
//! cargo test -p emulate --test ui                   all files
//! cargo test -p emulate --test ui races/            those of a folder
//! BLESS=1 cargo test -p emulate --test ui races/    writes what the program says
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use emulate::{EmulateArgs, run_noting};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use terminal::look::Look;
use terminal::stdout::Out;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: EmulateArgs,
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx-emu/tests/ui");
    let mut files = Vec::new();
    find(&root, &mut files);
    files.sort();
    let trials = files.into_iter().map(|file| {
        let name = file
            .strip_prefix(&root)
            .expect("it is below")
            .display()
            .to_string()
            .replace('\\', "/");
        Trial::test(name, move || check(&file))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Adds the files of a folder and of those in it: PTX, and expectations that have none.
fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        let is_left_over = path.extension().is_some_and(|it| it == "stderr")
            && !path.with_extension("ptx").exists();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|it| it == "ptx") || is_left_over {
            files.push(path);
        }
    }
}

/// Whether the program says to the file's commands what is expected.
fn check(file: &Path) -> Result<(), Failed> {
    if file.extension().is_some_and(|it| it == "stderr") {
        return Err(
            "there is no file of PTX of this name: remove it, or rename it as that was".into(),
        );
    }
    let text = fs::read_to_string(file)?;
    let head = text.lines().map_while(|line| line.strip_prefix("// "));
    let (commands, why): (Vec<&str>, Vec<&str>) = head.partition(|line| line.starts_with("$ "));
    if commands.is_empty() || why.is_empty() {
        return Err(
            "begin the file with `// why it is wrong`, and then `// $ emulate NAME.ptx --kernel ...`"
                .into(),
        );
    }
    let said: Vec<String> = commands
        .into_iter()
        .map(|command| {
            let words = said(file, command)?;
            let document = said(file, &format!("{command} --json"))?;
            has_the_lines_of_the_words(&words, &document)?;
            Ok(format!("{command}\n{words}"))
        })
        .collect::<Result<_, Failed>>()?;
    let said = said.join("\n");
    let expected = file.with_extension("stderr");
    let held = fs::read_to_string(&expected).unwrap_or_default();
    if said == held {
        Ok(())
    } else if std::env::var_os("BLESS").is_some() {
        Ok(fs::write(&expected, said)?)
    } else {
        let name = expected.display();
        Err(format!("the program says:\n{said}\n{name} has:\n{held}\nBLESS=1 writes it").into())
    }
}

/// Editors and forges get the lines that a reader of the words gets, and no others.
fn has_the_lines_of_the_words(words: &str, document: &str) -> Result<(), Failed> {
    let Ok(document) = serde_json::from_str::<Value>(document) else {
        return Ok(());
    };
    let runs = document["runs"].as_array().into_iter().flatten();
    let faults = runs.flat_map(|run| run["faults"].as_array().into_iter().flatten());
    let mut places = BTreeSet::new();
    for place in faults.flat_map(|fault| fault["places"].as_array().into_iter().flatten()) {
        places.extend(place["line"].as_u64());
    }
    if places.is_empty() && words.contains("not supported by the emulated device") {
        return Ok(());
    }
    // A fault's places have lines of their own, below its first.
    let told = words.lines().filter(|line| line.starts_with("  "));
    let told: BTreeSet<u64> = told.flat_map(lines_of).collect();
    if told == places {
        Ok(())
    } else {
        Err(format!("the words have the lines {told:?}, the report {places:?}:\n{words}").into())
    }
}

/// The lines that a place in words has: of the source (`FILE:12`), or else of the PTX text.
fn lines_of(words: &str) -> Vec<u64> {
    let number = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit());
        text[..end.unwrap_or(text.len())].parse().ok()
    };
    let of = |before| words.split(before).skip(1).filter_map(number).collect();
    let source: Vec<u64> = of(".rs:");
    if source.is_empty() {
        of("PTX line ")
    } else {
        source
    }
}

/// The words of the program, for a command about the file.
fn said(file: &Path, command: &str) -> Result<String, Failed> {
    let name = file.file_name().and_then(|name| name.to_str());
    let mut words: Vec<&str> = command
        .trim_start_matches("$ ")
        .split_whitespace()
        .collect();
    if words.get(..2) != Some(&["emulate", name.unwrap_or_default()]) {
        return Err(
            format!("`{command}` does not begin with `emulate` and the file's name").into(),
        );
    }
    words[1] = file.to_str().ok_or("the path is not text")?;
    let args = Command::try_parse_from(words)?.args;
    let (mut written, mut notes) = (Vec::new(), String::new());
    let mut out = Out::new(&mut written, Look::PLAIN);
    let ending = run_noting(&args, &mut out, &mut |note| {
        notes += &format!("note: {note}\n");
    });
    drop(out);
    let error = ending.err().map(|error| format!("error: {error}\n"));
    Ok(String::from_utf8(written)? + &notes + &error.unwrap_or_default())
}
