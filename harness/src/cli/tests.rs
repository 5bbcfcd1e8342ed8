use std::path::{Path, PathBuf};

use super::*;
use classroom::check_course::handout::{PROGRAM, commands};

/// The command line as the program parses these words.
fn parsed<'w>(words: impl Iterator<Item = &'w str>) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("harness").chain(words))
}

/// What a document names between backticks or on a line of code, without the program and what
/// is said beside it. Of `[--device cuda|emulated]` remains `--device cuda`.
fn mentions(markdown: &str) -> Vec<String> {
    let is_code = |line: &&str| !line.contains('`');
    let code = markdown
        .lines()
        .filter(is_code)
        .filter_map(|line| line.trim().split("  ").next());
    let between_backticks = markdown.split('`').skip(1).step_by(2);
    let named = |text: &str| {
        // A shell puts the class's number there.
        let said = text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace("$(cat results/draw)", "1");
        let plain = said.split(" || ").next()?.rsplit("&& ").next()?;
        let ours = PROGRAM
            .iter()
            .find_map(|program| plain.strip_prefix(program))?;
        let words = ours
            .split(" #")
            .next()?
            .split(' ')
            .filter_map(|word| word.trim_matches(['[', ']']).split('|').next());
        Some(words.collect::<Vec<_>>().join(" "))
    };
    code.chain(between_backticks).filter_map(named).collect()
}

/// The Markdown files in a folder, and below it if `deep`.
fn documents(folder: &Path, deep: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && deep {
            found.extend(documents(&path, deep));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_document_names_only_commands_that_there_are() {
    use clap::error::ErrorKind;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let below = ["docs", "labs"].map(|folder| documents(&root.join(folder), true));
    let mut documents = [documents(&root, false), below.concat()].concat();
    // This page is the texts of `--help`, whose lines are wrapped.
    documents.retain(|document| !document.ends_with("reference/commands.md"));
    let mut count = 0;
    for document in documents {
        for command in mentions(&std::fs::read_to_string(&document).unwrap()) {
            count += 1;
            let Err(error) = parsed(command.split_whitespace()) else {
                continue;
            };
            // `harness grade` names the command alone.
            let names_only = error.kind() == ErrorKind::MissingRequiredArgument;
            let names_only = names_only && !command.contains(' ');
            assert!(
                names_only || command == "COMMAND",
                "{}: {command}: {error}",
                document.display()
            );
        }
    }
    assert!(count > 100, "{count} commands");
}

/// Whether a student's copy, which has no built-in solutions, answers the command.
fn is_for_students(command: &str) -> bool {
    // `launch` starts the command after it.
    let command = command.rsplit(" -- ").next().unwrap();
    let words: Vec<&str> = command.split_whitespace().collect();
    let has = |flag: &str| words.contains(&flag);
    let is_own = has("--submission");
    let names_a_variant = {
        let mut pairs = words.windows(2);
        pairs.any(|pair| pair[0] == "--check-index" && !pair[1].starts_with("--"))
    };
    let runs = match words[..] {
        ["check-course" | "export" | "new-lab", ..] => false,
        ["test" | "profile" | "counts" | "tune", ..] => is_own,
        ["run", "membench", ..] => true,
        ["run", ..] => is_own || words.windows(2).any(|pair| pair == ["--device", "cpu"]),
        _ => true,
    };
    runs && !has("--variant") && !names_a_variant
}

#[test]
fn students_can_run_the_commands_of_every_handout() {
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../labs");
    let mut count = 0;
    for document in documents(&labs, true) {
        if document
            .components()
            .any(|part| part.as_os_str() == "solution")
        {
            continue;
        }
        for command in mentions(&std::fs::read_to_string(&document).unwrap()) {
            count += 1;
            let document = document.display();
            assert!(is_for_students(&command), "{document}: harness {command}");
        }
    }
    assert!(count > 60, "{count} commands");
}

#[test]
fn every_handout_has_commands_and_they_are_the_programs() {
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../labs");
    for lab in host::labs() {
        let readme = labs.join(lab.name).join("README.md");
        let commands = commands(&std::fs::read_to_string(readme).unwrap());
        assert!(commands.len() >= 3, "{}: {commands:?}", lab.name);
        for command in commands {
            if let Err(error) = parsed(command.iter().map(String::as_str)) {
                panic!("{}: {command:?}: {error}", lab.name);
            }
        }
    }
}
