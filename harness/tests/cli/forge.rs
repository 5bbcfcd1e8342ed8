//! Faults for editors and forges: where they are, in a folder with a blank in its name.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run::harness_of_course;

/// A solution of wave2d whose barrier is missing, in the folder `my work` of a folder.
fn submission(folder: &Path) {
    let solution = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../kernels-gpu/solutions/wave2d/shmem"
    );
    fs::create_dir(folder.join("my work")).unwrap();
    for file in ["kernels.rs", "launch.rs"] {
        let text = fs::read_to_string(Path::new(solution).join(file)).unwrap();
        let barrier = "        thread::sync_threads();\n";
        let text = text.replacen(barrier, "", usize::from(file == "kernels.rs"));
        fs::write(folder.join("my work").join(file), text).unwrap();
    }
}

/// Runs the command on the submission, and checks each form: a race is shown at the line that it
/// names, and at the other side's.
fn each_form_has_both_sides(command: &[&str], rule: &str) {
    let folder = tempfile::tempdir().unwrap();
    submission(folder.path());
    let forms = [
        "--annotate",
        "github",
        "--sarif",
        "s.sarif",
        "--junit",
        "j.xml",
    ];
    let output = harness_of_course(folder.path(), &[command, &forms].concat())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");

    let log = fs::read_to_string(folder.path().join("s.sarif")).unwrap();
    let log: Value = serde_json::from_str(&log).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let race = results
        .iter()
        .find(|result| result["ruleId"] == rule)
        .unwrap();
    let region = |location: &Value| {
        let physical = &location["physicalLocation"];
        assert_eq!(physical["artifactLocation"]["uri"], "my%20work/kernels.rs");
        physical["region"]["startLine"].as_u64().unwrap()
    };
    let line = region(&race["locations"][0]);
    let message = race["message"]["text"].as_str().unwrap();
    assert!(message.contains(&format!("kernels.rs:{line}")), "{message}");
    let related = race["relatedLocations"].as_array().unwrap();
    let earlier = related.iter().find(|it| {
        it["message"]["text"]
            .as_str()
            .unwrap()
            .starts_with("earlier")
    });
    let earlier = region(earlier.expect("a race has an earlier side"));

    let title = rule.replace('-', " ");
    let annotation = format!("::error title={title},file=my work/kernels.rs,line={line},");
    assert!(text.contains(&annotation), "{annotation}\n{text}");
    let other_side = format!("file=my work/kernels.rs,line={earlier},");
    assert!(text.contains(&other_side), "{other_side}\n{text}");

    let junit = fs::read_to_string(folder.path().join("j.xml")).unwrap();
    let place = format!("file=\"my work/kernels.rs\" line=\"{line}\"");
    assert!(junit.contains(&place), "{place}\n{junit}");
}

#[test]
fn test_names_both_sides_of_a_race() {
    each_form_has_both_sides(
        &[
            "test",
            "wave2d",
            "--submission",
            "my work",
            "--device",
            "emulated",
        ],
        "race-in-shared-memory",
    );
}

#[test]
fn grade_names_both_sides_of_a_race() {
    each_form_has_both_sides(
        &[
            "grade", "my work", "--lab", "wave2d", "--device", "emulated", "--brief",
        ],
        "race",
    );
}

#[test]
fn annotations_and_json_do_not_share_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let output = harness_of_course(
        folder.path(),
        &["test", "matadd", "--annotate", "github", "--json"],
    )
    .output()
    .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("--annotate") && said.contains("--json=FILE"),
        "{said}"
    );
}
