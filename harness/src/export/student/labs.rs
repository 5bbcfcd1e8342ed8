//! Every lab's starter, graded on the emulated device. A test fails until its lab is solved:
//! `cargo test LAB` tests one.

use std::fmt;
use std::path::Path;
use std::process::Command;

/// Why a test fails, shown as it is.
struct Unsolved(String);

impl fmt::Debug for Unsolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Grades the lab's starter: anything but full marks for being right is an error, with what went
/// wrong first.
fn grade(lab: &str) -> Result<(), Unsolved> {
    let course = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let starter = format!("labs/{lab}/starter");
    let graded = Command::new(env!("CARGO_BIN_EXE_labs-harness"))
        .current_dir(course)
        .args(["grade", &starter, "--device", "emulated", "--brief"])
        // It is one's own.
        .arg("--without-isolation")
        .output()
        .expect("the harness was built with this test");
    let [said, errors] =
        [&graded.stdout, &graded.stderr].map(|text| String::from_utf8_lossy(text));
    match graded.status.code() {
        // 5: right, and speed is not graded without a GPU.
        Some(0 | 5) => Ok(()),
        Some(1) => Err(Unsolved(format!(
            "{starter} is not solved yet.\n\n{said}\n  what to do   labs/{lab}/README.md\n  \
             all of it    bin/harness grade {starter}\n"
        ))),
        _ => Err(Unsolved(format!("{starter} could not be graded.\n\n{said}{errors}"))),
    }
}

macro_rules! labs {
    ($($lab:ident: $name:literal)*) => {
        $(#[test]
        fn $lab() -> Result<(), Unsolved> {
            grade($name)
        })*
    };
}

labs! {
    LABS
}
