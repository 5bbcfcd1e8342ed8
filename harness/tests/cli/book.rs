//! The commands that the README and the book tell their readers to type, typed.
//!
//! Handouts have theirs tried by `harness check-course`. Here the shell runs each page's commands
//! in order, in a folder in which `labs/` and `kernels-gpu/` are the course's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::run::describe;

pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// How a line begins that this program runs, or that prepares such a line.
const BEGINNINGS: [&str; 7] = [
    "harness ",
    "target/release/harness ",
    "cargo run -p harness -- ",
    "cargo run --release -p harness -- ",
    "mkdir ",
    "cp ",
    "sed ",
];

/// Commands that take more than seconds. `check-course` is a test of its own; the others measure,
/// and tests of `measure` cover their flags.
const SLOW: [&str; 8] = [
    "harness check-course --quick",
    "harness perf",
    "harness perf --quick",
    "harness perf --notes",
    "harness perf --json=today.json",
    "harness perf wave2d --json=today.json",
    "harness perf stencil25 --variant gmem,gmem_at_once",
    "harness tune wave2d shmem --device emulated --param n_x=300 --param n_y=200 --param steps=36",
];

/// The commands of a page: lines of shell blocks and of indented blocks. What follows two blanks is
/// a remark.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence = None;
    for line in page.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = match fence {
                Some(_) => None,
                None => Some(language.to_owned()),
            };
            continue;
        }
        let is_code = match &fence {
            Some(language) => language.starts_with("sh"),
            None => line.starts_with("    "),
        };
        let text = line.trim();
        let text = text.rsplit("./setup && ").next().unwrap_or(text);
        let command = text.split("  ").next().unwrap_or(text);
        if is_code && BEGINNINGS.iter().any(|begin| command.starts_with(begin)) {
            found.push(command.to_owned());
        }
    }
    found
}

/// Why a command is not run here.
fn why_not(command: &str) -> Option<&'static str> {
    let words = || command.split_whitespace();
    let is_emulated = command.contains("--device emulated");
    let is_placeholder =
        |word: &str| word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase());
    let has = |parts: &[&str]| parts.iter().any(|part| command.contains(part));
    if words().any(is_placeholder) || command.contains(['$', '"']) {
        Some("the reader fills in a name")
    } else if command.contains("/autograder") {
        Some("runs in Gradescope's container")
    } else if SLOW.contains(&command) {
        Some("takes more than seconds")
    } else if has(&["harness emulate "]) {
        Some("runs the reader's own program")
    } else if has(&["compare ", "report "]) {
        Some("reads what `perf` left")
    } else if has(&["--large", "--peers", "launch ", "1000,1000,1000"])
        || has(&["--gpus", "tune ", "--registers none", "--map"]) && !is_emulated
    {
        Some("needs a GPU")
    } else {
        None
    }
}

/// A folder as a reader has it: the course's folders, and `harness` and `cargo` that run this
/// program.
pub fn workplace() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    // The students' copy is written beside the course.
    let path = folder.path().join("course");
    fs::create_dir(&path).unwrap();
    for name in ["labs", "kernels-gpu"] {
        symlink(Path::new(ROOT).join(name), path.join(name)).unwrap();
    }
    let harness = env!("CARGO_BIN_EXE_harness");
    fs::create_dir_all(path.join("target/release")).unwrap();
    symlink(harness, path.join("target/release/harness")).unwrap();
    let programs = path.join("programs");
    fs::create_dir(&programs).unwrap();
    symlink(harness, programs.join("harness")).unwrap();
    // `cargo run [--release] -p harness -- ARGUMENTS`.
    let cargo = programs.join("cargo");
    fs::write(
        &cargo,
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift\nexec harness \"$@\"\n",
    )
    .unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let search = std::env::var("PATH").unwrap();
    let search = format!("{}:{search}", programs.display());
    (folder, search)
}

/// Runs a command in `course`, with `search` as the `PATH`.
pub fn typed(command: &str, course: &Path, search: &str) -> Output {
    // `/tmp` is everybody's.
    let command = command.replace("/tmp/", "");
    Command::new("sh")
        .args(["-c", &command])
        .current_dir(course)
        .env("CUDA_VISIBLE_DEVICES", "")
        .env("PATH", search)
        .env("HARNESS_COURSE", ROOT)
        .output()
        .unwrap()
}

/// The README and the book's pages, apart from handouts, the page of commands and the log.
fn pages() -> Vec<PathBuf> {
    let summary = fs::read_to_string(Path::new(ROOT).join("docs/SUMMARY.md")).unwrap();
    let links = summary
        .lines()
        .filter_map(|line| line.split_once("](")?.1.split(')').next());
    let mut pages: Vec<PathBuf> = links
        .filter(|link| !link.starts_with("labs/") && !link.ends_with("commands.md"))
        .map(|link| Path::new(ROOT).join("docs").join(link))
        .collect();
    pages.push(Path::new(ROOT).join("README.md"));
    pages
}

#[test]
fn the_commands_of_the_book_run() {
    let mut run = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let (folder, search) = workplace();
        let course = folder.path().join("course");
        // Files that pages speak of: a submission that was handed in, Lab 0's folder, a gradebook.
        let gradebook = "Student,ID,SIS Login ID,\"Lab 2, wave2d (4711)\"\nLovelace,7,ada,\n";
        fs::write(course.join("grades.csv"), gradebook).unwrap();
        for name in ["submissions/ada", "first"] {
            let to = course.join(name);
            fs::create_dir_all(&to).unwrap();
            for file in ["kernels.rs", "launch.rs"] {
                let from = Path::new(ROOT).join("labs/matadd/starter").join(file);
                fs::copy(from, to.join(file)).unwrap();
            }
        }
        for command in commands(&text) {
            if why_not(&command).is_some() {
                continue;
            }
            let output = typed(&command, &course, &search);
            run += 1;
            // A grade or test of a starter tells what is wrong; speed is not graded here.
            let tells = ["grade ", "test "]
                .iter()
                .any(|word| command.contains(word));
            let is_right = match output.status.code() {
                Some(0) => true,
                Some(1 | 5) => tells,
                _ => false,
            };
            let page = page.display();
            assert!(is_right, "{page}: {command}\n{}", describe(&output));
        }
    }
    assert!(run >= 20, "{run} commands");
}

/// A barrier is deleted from a solution, twice in a row, and the program says what the README
/// shows. `...` leaves something out; line breaks may differ.
#[test]
fn the_readme_shows_the_message_of_the_race() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let (before, after) = readme.split_once("\nIt answers:\n").unwrap();
    let shown: Vec<&str> = after
        .lines()
        .skip_while(|line| line.is_empty())
        .take_while(|line| line.starts_with("    "))
        .collect();
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (folder, search) = workplace();
    let course = folder.path().join("course");
    let commands: Vec<String> = commands(before)
        .into_iter()
        .filter(|command| command.contains("/tmp/mine"))
        .collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    // A second time, the copy is new again.
    for command in commands[..2].iter().chain(&commands[..2]) {
        typed(command, &course, &search);
    }
    let graded = typed(&commands[2], &course, &search);
    let said = flat(&String::from_utf8_lossy(&graded.stdout));
    let mut rest = &said[..];
    for piece in flat(&shown.join(" ")).split("...").map(str::trim) {
        let Some((_, left)) = rest.split_once(piece) else {
            panic!("{piece}\n{}", describe(&graded));
        };
        rest = left;
    }
    assert!(shown.len() >= 3, "{shown:?}");
}

#[test]
fn commands_of_a_page_are_found() {
    let page = "\
Text with `harness list`.

    git clone URL && ./setup && harness doctor
    harness perf --quick      seconds, for a first look

```sh
cp -r labs mine
ls
```

```text
harness occupancy
```
";
    let found = ["harness doctor", "harness perf --quick", "cp -r labs mine"];
    assert_eq!(commands(page), found);
    let asked = [
        ("harness grade SUBMISSION --lab LAB", true),
        ("harness perf wave2d --large", true),
        ("harness perf poisson --gpus 1,2", true),
        ("harness perf poisson --gpus 1,2 --device emulated", false),
        ("harness list", false),
    ];
    for (command, is_skipped) in asked {
        assert_eq!(why_not(command).is_some(), is_skipped, "{command}");
    }
}
