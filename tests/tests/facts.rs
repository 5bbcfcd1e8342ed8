//! Facts that a page claims and a file can know.

use std::path::Path;

use grading::lab_spec::{Against, embedded};

/// A file of the workspace.
fn read(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Each step of a handout says how a reader finds out whether the answer is right: by a command, by
/// a grade, by a number to check against, or by a table of measured values.
#[test]
fn every_step_of_a_handout_can_be_checked() {
    let checks = [
        "harness ",
        "**Check",
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

/// The README's kernel and launch are those of the example, which a test runs.
#[test]
fn the_code_of_the_readme_is_in_the_example() {
    let example = read("examples/axpy/kernels/src/lib.rs") + &read("examples/axpy/src/main.rs");
    let has = |line: &str| example.lines().any(|other| other.trim() == line);
    let readme = read("README.md");
    let blocks: Vec<&str> = readme.split("```").skip(1).step_by(2).collect();
    assert_eq!(blocks.len(), 2);
    for line in blocks.iter().flat_map(|block| block.lines().skip(1)) {
        assert!(has(line.trim()), "{line}");
    }
}

/// The README deletes a line of a solution, and shows what follows.
#[test]
fn the_line_that_the_readme_deletes_is_a_barrier() {
    let readme = read("README.md");
    let (_, rest) = readme.split_once("sed -i ").unwrap();
    let line: usize = rest.split('d').next().unwrap().parse().unwrap();
    let kernels = read("kernels-gpu/solutions/wave2d/shmem/kernels.rs");
    let deleted = kernels.lines().nth(line - 1).unwrap();
    assert_eq!(deleted.trim(), "thread::sync_threads();");
}

/// Instructors see every lab's thresholds in one table.
#[test]
fn the_table_of_thresholds_is_that_of_the_lab_files() {
    let page = read("docs/teach/points.md");
    for lab in host::labs() {
        let spec = embedded(lab.name).unwrap();
        let speed = &spec.performance[0];
        let against = match &speed.against {
            Against::Reference { variant } => format!("`{variant}`"),
            Against::Limit => "limit".to_owned(),
        };
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| {} | {against}", lab.name)))
            .unwrap_or_else(|| panic!("{}: no row for {against}", lab.name));
        let numbers = format!("| {} | {} |", speed.zero, speed.full);
        assert!(row.contains(&numbers), "{row}: not {numbers}");
    }
}
