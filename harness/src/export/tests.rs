//! The student's copy: what it has, and what it must not have.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::cli::Cli;
use clap::Parser as _;
use classroom::check_course::handout::PROGRAM;
use grading::lab_spec::Group;
use terminal::look::Look;

fn exported(out: &Path) -> Result<Ending, CommandError> {
    exported_with(out, None)
}

fn exported_with(out: &Path, program: Option<PathBuf>) -> Result<Ending, CommandError> {
    let args = ExportArgs {
        out: out.to_owned().into(),
        course: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")),
        program,
    };
    let mut text = Vec::new();
    run(&args, &mut Out::new(&mut text, Look::PLAIN))
}

/// Every file of a folder, below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push(path);
        }
    }
    all
}

#[test]
fn no_copy_is_made_inside_the_course() {
    let inside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../labs/copy");
    let failure = exported(&inside).unwrap_err().to_string();
    assert!(failure.contains("is in the course itself"), "{failure}");
    assert!(!inside.exists());
}

/// Without a file that a manifest names, cargo compiles nothing of the copy, and its other commands
/// do not say so.
#[test]
fn every_file_that_a_manifest_names_is_in_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    exported(&copy).unwrap();
    let manifests = files(&copy).into_iter();
    let manifests = manifests.filter(|file| file.ends_with("Cargo.toml"));
    let mut named = 0;
    for file in manifests {
        let text = fs::read_to_string(&file).unwrap();
        let manifest: toml_edit::DocumentMut = text.parse().unwrap();
        for (kind, place) in [
            ("bin", "src/bin"),
            ("test", "tests"),
            ("bench", "benches"),
            ("example", "examples"),
        ] {
            let targets = manifest.get(kind).and_then(|all| all.as_array_of_tables());
            for target in targets.into_iter().flatten() {
                let word = |key: &str| target.get(key).and_then(|value| value.as_str());
                let inferred = || format!("{place}/{}.rs", word("name").unwrap());
                let path = word("path").map_or_else(inferred, str::to_owned);
                let package = file.parent().unwrap();
                assert!(package.join(&path).is_file(), "{}: {path}", file.display());
                named += 1;
            }
        }
    }
    assert!(named > 1, "{named}");
}

/// What a source of the copy takes in when it is compiled: the literal paths of `include_str!` and
/// `include_bytes!`. Those of tests are left out, since a copy does not compile them.
fn included(source: &str) -> impl Iterator<Item = &str> {
    let source = source.split("#[cfg(test)]").next().unwrap_or(source);
    let calls = ["include_str!(\"", "include_bytes!(\""];
    calls.into_iter().flat_map(move |call| {
        let after = source.split(call).skip(1);
        after.filter_map(|rest| rest.split_once("\")").map(|(path, _)| path))
    })
}

#[test]
fn every_file_that_a_source_takes_in_is_in_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    exported(&copy).unwrap();
    let (mut taken, mut missing) = (0, Vec::new());
    for file in files(&copy) {
        if file.extension().is_some_and(|it| it == "rs") {
            let source = fs::read_to_string(&file).unwrap();
            for path in included(&source) {
                taken += 1;
                if !file.parent().unwrap().join(path).is_file() {
                    missing.push(format!("{}: {path}", file.display()));
                }
            }
        }
    }
    assert!(taken > 10, "{taken}");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn nothing_of_a_solution_is_in_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    assert_eq!(exported(&copy).unwrap(), Ending::Fine);
    let kernels = program::kernels();
    assert!(kernels.contains("wave2d_shmem") && kernels.len() > 90);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let files_of_labs = program::lab_files(&root).unwrap();
    let cases = files_of_labs.iter().flat_map(|file| &file.cases);
    let hidden: Vec<String> = cases
        .filter(|case| case.group == Group::Hidden)
        .map(|case| format!("\"{}\"", case.name))
        .collect();
    assert!(!hidden.is_empty());
    let mut found = Vec::new();
    for file in files(&copy) {
        let name = file.strip_prefix(&copy).unwrap().to_owned();
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        if name.extension().is_some_and(|extension| extension == "rs") {
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", name.display()));
        }
        let is_identifier = |c: char| c.is_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = text.split(|c| !is_identifier(c)).collect();
        // `host` launches one by its name; the kernel itself is in a solution.
        let is_named = |kernel: &str| kernel == "matadd_check_index" && name.starts_with("host");
        let inside = kernels.iter().filter(|kernel| words.contains(**kernel));
        for kernel in inside.filter(|kernel| !is_named(kernel)) {
            found.push(format!("{}: kernel {kernel}", name.display()));
        }
        for case in hidden.iter().filter(|case| text.contains(case.as_str())) {
            found.push(format!("{}: case {case}", name.display()));
        }
        // Packing builds this file to see whether the machine can; it solves nothing. Lab 0 is a
        // page.
        let is_probe = name.ends_with("pack/known_good/launch.rs");
        let is_apart = ["labs", "docs"].iter().any(|apart| name.starts_with(apart)) || is_probe;
        if text.contains("impl Solution for") && !is_apart {
            found.push(format!("{}: a solution", name.display()));
        }
        if name.extension().is_some_and(|e| e == "rs") && text.contains("feature = \"solutions\"") {
            found.push(format!("{}: feature solutions", name.display()));
        }
        let left = ["solutions", "peers", "snapshots", "submissions", "target"];
        if name
            .components()
            .any(|part| left.iter().any(|left| part.as_os_str() == *left))
        {
            found.push(format!("{}: such a folder", name.display()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_student_finds_what_the_handouts_name() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    exported(&copy).unwrap();
    for name in [
        "README.md",
        "setup",
        "Cargo.lock",
        "Dockerfile",
        "LICENSE-MIT",
        "labs/README.md",
        "labs/wave2d/lab.toml",
        "labs/wave2d/starter/kernels.rs",
        "labs/wave2d/solution/README.md",
        "kernels-gpu/src/wave2d/update.rs",
        "crates/find_cuda_helper/src/lib.rs",
        "bin/harness",
        "tests/tests/labs.rs",
    ] {
        assert!(copy.join(name).is_file(), "{name}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for name in ["setup", "bin/harness"] {
            let mode = fs::metadata(copy.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o111, 0o111, "{name} can be run");
        }
    }
    let manifest: toml::Table = fs::read_to_string(copy.join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    for member in manifest["workspace"]["members"].as_array().unwrap() {
        let file = copy.join(member.as_str().unwrap()).join("Cargo.toml");
        let package: toml::Table = fs::read_to_string(file).unwrap().parse().unwrap();
        assert!(package.contains_key("package"));
    }
    // Every test of the copy is of a lab that there is, and every lab has one.
    let tests = fs::read_to_string(copy.join("tests/tests/labs.rs")).unwrap();
    let (_, tests) = tests.split_once("labs! {").unwrap();
    let mut tested: Vec<&str> = tests
        .trim_end_matches(['}', '\n'])
        .split_whitespace()
        .filter_map(|word| word.strip_prefix('"')?.strip_suffix('"'))
        .collect();
    let mut labs: Vec<&str> = names().collect();
    tested.sort_unstable();
    labs.sort_unstable();
    assert_eq!(tested, labs);
}

/// The commands of a text's fenced blocks, of any language.
fn commands(markdown: &str) -> impl Iterator<Item = &str> {
    let blocks = markdown.split("\n```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).map(str::trim);
    lines.filter_map(|line| {
        let mut programs = PROGRAM.iter();
        programs.find_map(|program| line.strip_prefix(program))
    })
}

/// The copy's program has no variants: a command names the student's own submission, or asks for
/// the CPU, a launch configuration or the machine. And no question stays open: its step names a
/// command, figures to check with, an answer or a hint.
#[test]
fn each_question_of_a_handout_has_its_command_or_answer() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    exported(&copy).unwrap();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for lab in fs::read_dir(copy.join("labs")).unwrap() {
        let file = lab.unwrap().path().join("README.md");
        let Ok(handout) = fs::read_to_string(&file) else {
            continue;
        };
        for command in commands(&handout) {
            seen += 1;
            let words = std::iter::once("harness").chain(command.split_whitespace());
            if let Err(error) = Cli::try_parse_from(words) {
                wrong.push(format!("{command}: {error}"));
            }
            let own = ["labs/", "--submission", "--device cpu"];
            let is_own = own.iter().any(|own| command.contains(own));
            let needs_none = ["occupancy ", "watch ", "run membench"];
            if command.contains("--variant")
                || !is_own && !needs_none.iter().any(|known| command.starts_with(known))
            {
                wrong.push(format!("{command}: needs built-in variants"));
            }
        }
        for step in handout.split("\n### ").skip(1) {
            let asks = step.contains('?');
            let answers = [
                "harness ",
                "<summary>Check",
                "<summary>Answer",
                "<summary>Hint",
            ];
            if asks && !answers.iter().any(|answer| step.contains(answer)) {
                let title = step.lines().next().unwrap_or_default();
                wrong.push(format!("{}: {title}: no answer", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 40, "{seen} commands");
}

/// The options that name what a command writes.
const OUTPUTS: [&str; 7] = [
    "--gif",
    "--heat-maps",
    "--html",
    "--out",
    "--receivers",
    "--replay",
    "-o",
];

/// `git status` shows students what they wrote, and not what a handout's commands did.
#[test]
fn what_the_commands_of_a_handout_write_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    exported(&copy).unwrap();
    let ignored = fs::read_to_string(copy.join(".gitignore")).unwrap();
    let is_ignored = |name: &str| {
        ignored.lines().any(|line| match line.strip_prefix("/*") {
            Some(end) => name.ends_with(end),
            None => line.trim_matches('/') == name,
        })
    };
    let (mut shown, mut seen) = (Vec::new(), 0);
    for file in files(&copy.join("labs")) {
        if !file.ends_with("README.md") {
            continue;
        }
        let handout = fs::read_to_string(&file).unwrap();
        for command in commands(&handout) {
            let words: Vec<&str> = command.split_whitespace().collect();
            for pair in words.windows(2) {
                if OUTPUTS.contains(&pair[0]) {
                    seen += 1;
                    if !is_ignored(pair[1]) {
                        shown.push(format!("{}: {command}", file.display()));
                    }
                }
            }
        }
    }
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    assert!(seen > 8, "{seen} outputs");
}

/// The targets of a text's Markdown links that are files of the course.
fn links(markdown: &str) -> Vec<&str> {
    let starts = markdown.split("](").skip(1);
    let targets = starts.filter_map(|rest| rest.split([')', '#']).next());
    targets
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

/// The paths below a folder that the copy has, in backticks or named as a document. Words in
/// capitals are placeholders.
fn paths<'t>(text: &'t str, folders: &[String]) -> Vec<&'t str> {
    let is_path = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    let words = text.split(|c| !is_path(c));
    words
        .map(|word| word.trim_end_matches(['.', '/']))
        .filter(|word| {
            let mut parts = word.split('/');
            let first = parts.next();
            let is_below = folders.iter().any(|folder| first == Some(folder));
            let stands_for_another = |part: &str| part.len() > 1 && part == part.to_uppercase();
            is_below && parts.clone().next().is_some() && !parts.any(stands_for_another)
        })
        .collect()
}

#[test]
fn links_and_paths_lead_somewhere() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    exported(&copy).unwrap();
    let folders = [
        "labs",
        "docs",
        "crates",
        "kernels-gpu",
        "host",
        "harness",
        "tests",
    ]
    .map(str::to_owned);
    let mut broken = Vec::new();
    for file in files(&copy) {
        let is = |extension: &str| file.extension().is_some_and(|e| e == extension);
        let name = file.strip_prefix(&copy).unwrap().display().to_string();
        // Templates: links are those of the copy's README.md, paths those of a crate of one's own.
        let templates = ["harness/src/export/student", new_project::TEMPLATE];
        if templates.iter().any(|template| name.starts_with(template)) {
            continue;
        }
        if is("md") {
            let text = fs::read_to_string(&file).unwrap();
            let links = links(&text).into_iter();
            broken.extend(
                links
                    // The files of releases are beside the repository, wherever that is published.
                    .filter(|link| !link.ends_with("../../releases/latest"))
                    .filter(|link| !file.parent().unwrap().join(link).exists())
                    .map(|link| format!("{name}: link {link}")),
            );
            // Code blocks name files that commands write.
            let quoted = text
                .split('`')
                .skip(1)
                .step_by(2)
                .collect::<Vec<_>>()
                .join(" ");
            broken.extend(
                paths(&quoted, &folders)
                    .into_iter()
                    .filter(|path| !copy.join(path).exists())
                    .map(|path| format!("{name}: {path}")),
            );
        } else if is("rs") || is("toml") {
            let text = fs::read_to_string(&file).unwrap();
            let documents = paths(&text, &["docs".to_owned()]).into_iter();
            broken.extend(
                documents
                    .filter(|path| !copy.join(path).exists())
                    .map(|path| format!("{name}: {path}")),
            );
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_program_with_what_is_to_be_found_out_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program");
    let out = folder.path().join("copy");
    let refused = |content: &[u8]| {
        fs::write(&file, content).unwrap();
        let failure = exported_with(&out, Some(file.clone())).unwrap_err();
        assert!(!out.exists());
        failure
            .to_string()
            .replace(&file.display().to_string(), "FILE")
    };
    insta::assert_snapshot!(refused(b"#!/bin/sh\n"), @"--program FILE: is not a Linux program; build it in an exported copy, as .ci/release does");
    insta::assert_snapshot!(refused(b"\x7fELF .visible .entry wave2d_shmem("), @"--program FILE: has the built-in kernel `wave2d_shmem` inside; build it in an exported copy, as .ci/release does");
    // One that no variant launches, and one that none launches for a small case.
    for kernel in ["matadd_check_index", "poisson_resident_2x1"] {
        let failure = refused(format!("\x7fELF .visible .entry {kernel}(").as_bytes());
        assert!(failure.contains(kernel), "{failure}");
    }
    insta::assert_snapshot!(refused(b"\x7fELF name = \"hidden-1\""), @"--program FILE: has the hidden case `hidden-1` inside; build it in an exported copy, as .ci/release does");
    let clean = b"\x7fELF .visible .entry mine(";
    fs::write(&file, clean).unwrap();
    exported_with(&out, Some(file.clone())).unwrap();
    assert_eq!(fs::read(out.join("bin/harness")).unwrap(), clean);
}

/// A kernel that is not in the students' copy is none that they were given.
#[test]
fn given_kernels_are_in_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    exported(&copy).unwrap();
    let text: String = files(&copy.join("kernels-gpu/src"))
        .into_iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = text.split(|c| !is_of_name(c)).collect();
    for kernel in program::GIVEN {
        assert!(words.contains(kernel), "{kernel}");
    }
}

#[test]
fn what_leads_nowhere_is_found() {
    let text = "see [a](docs/a.md), [b](https://b.c/d), [c](#d) and `labs/wave2d/README.md`, `labs/LAB/starter`, `a/b`";
    assert_eq!(links(text), ["docs/a.md"]);
    let folders = ["labs", "docs"].map(str::to_owned);
    assert_eq!(
        paths(text, &folders),
        ["docs/a.md", "labs/wave2d/README.md"]
    );
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), "1").unwrap();
    let failure = exported(folder.path())
        .unwrap_err()
        .to_string()
        .replace(&folder.path().display().to_string(), "DIR");
    insta::assert_snapshot!(failure, @"--out DIR: the folder is not empty; remove it, or name another");
    assert_eq!(files(folder.path()).len(), 1);
}

/// The editor's tasks offer each lab, with the copy's own program.
#[test]
fn the_tasks_of_the_editor_know_all_labs() {
    let tasks: serde_json::Value =
        serde_json::from_str(include_str!("student/tasks.json")).unwrap();
    let offered = tasks["inputs"][0]["options"].as_array().unwrap();
    let offered: Vec<&str> = offered.iter().map(|lab| lab.as_str().unwrap()).collect();
    let mut labs: Vec<&str> = names().collect();
    let mut sorted = offered.clone();
    labs.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(sorted, labs);
    for task in tasks["tasks"].as_array().unwrap() {
        let command = task["command"].as_str().unwrap();
        assert_eq!(command, format!("${{workspaceFolder}}/{}", super::PROGRAM));
    }
}
