//! Facts that a page claims and a file can know.

use std::path::Path;

use grading::lab_spec::{Against, embedded, names};

/// A file of the workspace.
fn read(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Each step of a handout says how a reader finds out whether the answer is right: by a command, by
/// a grade, by a number or an answer to check against, or by a table. Later steps have a
/// hint.
#[test]
fn every_step_of_a_handout_can_be_checked() {
    let checks = [
        "harness ",
        "<summary>Check",
        "<summary>Answer",
        "rade again",
        "rade\nagain",
        "pass now",
        "passes now",
        "\n|",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut steps = 0;
    for entry in std::fs::read_dir(root.join("labs")).unwrap() {
        let page = entry.unwrap().path().join("README.md");
        let Ok(text) = std::fs::read_to_string(&page) else {
            continue;
        };
        // After the checkpoint, a reader who is stuck unfolds a hint.
        let (_, later) = text.split_once("**Checkpoint.**").unwrap();
        for section in later.split("\n### ").skip(1) {
            let step = section.split("\n## ").next().unwrap();
            let has_hint = step.contains("<details><summary>Hint");
            assert!(has_hint, "{}: no hint: {step}", page.display());
        }
        let sections = text.split("\n### ").skip(1);
        for section in sections.filter(|it| it.starts_with(|c: char| c.is_ascii_digit())) {
            steps += 1;
            let section = section.split("\n## ").next().unwrap();
            assert!(
                checks.iter().any(|check| section.contains(check)),
                "{}: step {section}",
                page.display()
            );
        }
    }
    assert!(steps > 60, "{steps}");
}

/// A check that is open is read together with the prediction that it checks.
#[test]
fn the_checks_of_a_handout_are_folded() {
    for lab in names() {
        let page = read(&format!("labs/{lab}/README.md"));
        let mut bold = page.split("**Check").skip(1);
        let open = bold.find(|rest| !rest.starts_with("point"));
        assert_eq!(open, None, "labs/{lab}: fold this check");
        let folded = page.matches("<details><summary>Check</summary>").count();
        assert!(folded > 2, "labs/{lab}: {folded} checks");
    }
}

/// A path that a starter's TODO names begins with what the starter's code has: a module or a type
/// that it imports. A student who writes it needs to look for no `use`.
#[test]
fn starters_import_what_their_todos_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let not_of_a_name = |c: char| c != '_' && !c.is_alphanumeric();
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let mut paths = 0;
    for lab in std::fs::read_dir(root.join("labs")).unwrap() {
        let starter = lab.unwrap().path().join("starter");
        for file in ["kernels.rs", "launch.rs"].map(|name| starter.join(name)) {
            let Ok(text) = std::fs::read_to_string(&file) else {
                continue;
            };
            let code: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
            let words = code.iter().flat_map(|line| line.split(not_of_a_name));
            for todo in text.split("// TODO ").skip(1) {
                let (first, rest) = todo.split_once('\n').unwrap();
                let rest: String = rest.lines().take_while(is_comment).collect();
                let task = format!("{first}{rest}");
                for quoted in task.split('`').skip(1).step_by(2) {
                    let Some((name, _)) = quoted.split_once("::") else {
                        continue;
                    };
                    paths += 1;
                    assert!(
                        name == "u32" || words.clone().any(|word| word == name),
                        "{}: a TODO names `{quoted}`, and the code does not import `{name}`",
                        file.display()
                    );
                }
            }
        }
    }
    assert!(paths > 5, "{paths}");
}

/// The blocks of code of a page, each with the heading before it.
fn blocks(page: &str) -> Vec<(String, Vec<String>)> {
    let (mut found, mut heading) = (Vec::new(), String::new());
    let mut open: Option<Vec<String>> = None;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            match open.take() {
                Some(block) => found.push((heading.clone(), block)),
                None => open = Some(Vec::new()),
            }
        } else if let Some(block) = &mut open {
            block.push(line.to_owned());
        } else if line.starts_with("##") {
            heading = line.trim_start_matches(['#', ' ']).to_owned();
        }
    }
    found
}

/// The kernels and launches of the README, and of the page on one's own, are those of the example,
/// which is tested. The page's other blocks of Rust are below headings by which `.ci/own-crate`
/// takes them out and runs them.
#[test]
fn the_code_of_two_pages_is_in_the_example() {
    let files = [
        "kernels/src/lib.rs",
        "src/main.rs",
        "tests/emulated.rs",
        "build.rs",
        "Cargo.toml",
    ];
    let example = files.map(|file| read(&format!("examples/axpy/{file}")));
    let workspace = read("harness/src/new_project/workspace.toml");
    // As `harness new --git URL` writes it.
    let mut example = example.concat() + &workspace;
    for name in ["cuda_driver", "cuda_builder", "ptx-emu", "find_cuda_helper"] {
        let path = format!("{{ path = \"../../crates/{name}\" }}");
        assert!(example.contains(&path), "{path}");
        example = example.replace(&path, "{ git = \"URL\" }");
    }
    let has = |line: &str| example.lines().any(|other| other.trim() == line.trim());
    let script = read(".ci/own-crate");
    for (page, in_example, outside) in [("README.md", 2, 0), ("docs/own-kernels.md", 5, 5)] {
        let (mut found, mut run) = (0, 0);
        for (heading, block) in blocks(&read(page)) {
            match block.iter().find(|line| !has(line)) {
                None => found += 1,
                Some(line) => {
                    let is_run = script.contains(&format!("block '{heading}'"));
                    assert!(is_run, "{page}, {heading}: {line}");
                    run += 1;
                }
            }
        }
        assert_eq!((found, run), (in_example, outside), "{page}");
    }
}

/// The page on one's own kernels deletes a barrier, and names the lines that race.
#[test]
fn the_race_of_the_page_is_where_it_says() {
    let page = read("docs/own-kernels.md");
    let kernels = read("examples/axpy/kernels/src/lib.rs");
    let lines = kernels.lines();
    let left: Vec<&str> = lines
        .filter(|line| line.trim() != "thread::sync_threads();")
        .collect();
    assert_eq!(left.len() + 1, kernels.lines().count());
    let number = |text: &str| 1 + left.iter().position(|line| line.contains(text)).unwrap();
    let race = format!("at kernels/src/lib.rs:{} ...", number("part.add(t + half)"));
    assert_eq!(page.matches(&race).count(), 2, "{race}");
    let array = format!("made in line {} ", number("shared_array!"));
    assert!(page.contains(&array), "{array}");
}

/// The README deletes a line of a solution, and shows what follows.
#[test]
fn the_line_that_the_readme_deletes_is_a_barrier() {
    let readme = read("README.md");
    let (_, rest) = readme.split_once("\n    sed ").unwrap();
    let line: usize = rest.split('d').next().unwrap().parse().unwrap();
    let kernels = read("kernels-gpu/solutions/wave2d/shmem/kernels.rs");
    let deleted = kernels.lines().nth(line - 1).unwrap();
    assert_eq!(deleted.trim(), "thread::sync_threads();");
}

/// The text's words one blank apart, without numbers, quoted names, and whether it is a load.
fn masked(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_:".contains(letter);
    let word = |word: &str| match word {
        "load" | "store" => "#".to_owned(),
        _ if word.contains(|letter: char| letter.is_ascii_digit() || letter == '`') => {
            word.replace(is_part, "")
        }
        _ => word.to_owned(),
    };
    let words: Vec<String> = text.split_whitespace().map(word).collect();
    words.join(" ")
}

/// The files of a folder and of those in it.
fn texts(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .map(|path| {
            if path.is_dir() {
                texts(&path)
            } else {
                std::fs::read_to_string(path).unwrap()
            }
        })
        .collect()
}

/// The twelve faults that the page explains are messages that tests of the program hold.
#[test]
fn the_messages_of_the_page_on_faults_are_the_programs() {
    let page = read("docs/reading-a-grade.md");
    let (_, faults) = page.split_once("## Twelve faults").unwrap();
    let (faults, _) = faults.split_once("\n## ").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let held = ["tests/tests/kernels", "crates/ptx-emu/tests"].map(|it| texts(&root.join(it)));
    let held = masked(&held.concat());
    let mut count = 0;
    for line in faults.lines() {
        // Further lines of a message are indented more.
        let Some(message) = line.strip_prefix("    ").filter(|it| !it.starts_with(' ')) else {
            continue;
        };
        count += 1;
        for part in message.split("...") {
            let part = masked(part);
            assert!(held.contains(part.trim()), "no test has: {message}");
        }
    }
    assert_eq!(count, 12);
}

/// Instructors see every lab's thresholds in one table.
#[test]
fn the_table_of_thresholds_is_that_of_the_lab_files() {
    let page = read("docs/teach/points.md");
    for lab in names() {
        let spec = embedded(lab).unwrap();
        let speed = &spec.performance[0];
        let against = match &speed.against {
            Against::Reference { variant } => format!("`{variant}`"),
            Against::Limit => "limit".to_owned(),
        };
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| {lab} | {against}")))
            .unwrap_or_else(|| panic!("{lab}: no row for {against}"));
        let numbers = format!("| {} | {} |", speed.zero, speed.full);
        assert!(row.contains(&numbers), "{row}: not {numbers}");
    }
}

/// An instructor plans a semester by the hours that the handouts state, of each lab in all weeks.
#[test]
fn the_syllabus_has_the_hours_of_the_handouts() {
    let syllabus = read("docs/teach/syllabus.md");
    let (_, calendar) = syllabus.split_once("| week |").unwrap();
    let rows: Vec<Vec<&str>> = { calendar.lines().skip(2) }
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let mut all = 1.0; // Lab 0.
    for lab in names() {
        let handout = read(&format!("labs/{lab}/README.md"));
        let time = handout.lines().find(|line| line.starts_with("| time |"));
        let words: Vec<&str> = time.unwrap().split_whitespace().collect();
        let before = words.windows(2).filter(|pair| pair[1] == "hours");
        let stated: f64 = before.map(|pair| pair[0].parse::<f64>().unwrap()).sum();
        let is_own = |row: &&Vec<&str>| {
            let name = row[4].trim_start_matches('[');
            name.split([']', ',']).next() == Some(lab)
        };
        let planned = rows.iter().filter(is_own).map(|row| row[5].parse::<f64>());
        let planned: f64 = planned.map(Result::unwrap).sum();
        assert_eq!(
            planned, stated,
            "{lab}: hours of the weeks, and of the handout"
        );
        all += stated;
    }
    assert!(
        syllabus.contains(&format!("together take {all} hours")),
        "{all} hours"
    );
}

/// The Rust files below a folder.
fn rust_files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// `cargo test` reads no comments where `doctest = false` says so: code there would not be tested.
#[test]
fn crates_without_documentation_tests_have_no_code_in_their_comments() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders = vec![root.join("harness"), root.join("host")];
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        folders.push(entry.unwrap().path());
    }
    let mut count = 0;
    for folder in folders {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if !manifest.contains("\ndoctest = false\n") {
            continue;
        }
        count += 1;
        let mut files = Vec::new();
        rust_files(&folder.join("src"), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.lines().map(str::trim_start).find(|line| {
                line.strip_prefix("///")
                    .or(line.strip_prefix("//!"))
                    .is_some_and(|comment| comment.trim_start().starts_with("```"))
            });
            assert_eq!(code, None, "{}", file.display());
        }
    }
    assert!(count >= 10, "{count}");
}
