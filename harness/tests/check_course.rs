//! The course, tested as its students will test it: each lab's file, starter, a reference, and its handout's commands.

use std::path::Path;
use std::process::Command;

#[test]
fn the_course_is_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let checked = Command::new(env!("CARGO_BIN_EXE_harness"))
        .args(["check-course", "--quick"])
        .current_dir(root)
        .output()
        .unwrap();
    let [said, errors] =
        [&checked.stdout, &checked.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(checked.status.success(), "{said}\n{errors}");
    for lab in host::labs() {
        let lines = || said.lines().filter(|line| line.starts_with(lab.name()));
        for part in ["lab.toml: ", "starter: fails", ": right, ", "harness "] {
            assert!(
                lines().any(|line| line.contains(part)),
                "{}: no `{part}` in\n{said}",
                lab.name()
            );
        }
    }
}
