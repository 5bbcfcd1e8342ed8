//! Every lab's starter, graded on the emulated device. A test fails until its lab is solved: `cargo test LAB` tests one.

use std::path::Path;
use std::process::Command;

/// What `harness grade` says of the lab's starter; the test fails if that is not full marks for being right.
fn grade(lab: &str) {
    let course = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let graded = Command::new(env!("CARGO_BIN_EXE_labs-harness"))
        .current_dir(course)
        .args([
            "grade",
            &format!("labs/{lab}/starter"),
            "--device",
            "emulated",
        ])
        .output()
        .expect("the harness was built with this test");
    println!("{}", String::from_utf8_lossy(&graded.stdout));
    eprintln!("{}", String::from_utf8_lossy(&graded.stderr));
    // 5: right, and speed is not graded without a GPU.
    assert!(
        matches!(graded.status.code(), Some(0 | 5)),
        "labs/{lab}/starter is not solved yet: see above, and labs/{lab}/README.md"
    );
}

macro_rules! labs {
    ($($lab:ident)*) => {
        $(#[test]
        fn $lab() {
            grade(stringify!($lab));
        })*
    };
}

labs! { matadd membench wave2d poisson wave3d }
