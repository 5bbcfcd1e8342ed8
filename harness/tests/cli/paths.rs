//! Files with Windows' line ends, in folders whose names have blanks and letters beyond ASCII: each
//! command does with them what it does with others.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{describe, harness_of_course};

const FOLDER: &str = "ein Ordner mit ü";

/// Files in two folders: as they are in the course, and with other line ends in such a folder.
struct Twice {
    _folder: tempfile::TempDir,
    usual: PathBuf,
    odd: PathBuf,
}

impl Twice {
    fn new() -> Twice {
        let folder = tempfile::tempdir().unwrap();
        let [usual, odd] = ["folder", FOLDER].map(|name| folder.path().join(name));
        for made in [&usual, &odd] {
            fs::create_dir(made).unwrap();
        }
        Twice {
            _folder: folder,
            usual,
            odd,
        }
    }

    /// Takes a file of the course under this name.
    fn take(&self, from: &str, name: &str) {
        let course = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = fs::read_to_string(course.join(from)).unwrap();
        assert!(!text.contains('\r'), "{from}");
        for (folder, as_there) in [
            (&self.usual, &text),
            (&self.odd, &text.replace('\n', "\r\n")),
        ] {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, as_there).unwrap();
        }
    }

    /// Takes lab matadd's starter.
    fn take_starter(&self, name: &str) {
        for file in ["kernels.rs", "launch.rs"] {
            self.take(
                &format!("labs/matadd/starter/{file}"),
                &format!("{name}/{file}"),
            );
        }
    }

    /// The text of the command in either folder, which must be equal.
    fn say(&self, args: &[&str]) -> String {
        let [usual, odd] = [&self.usual, &self.odd].map(|folder| {
            let output = harness_of_course(folder, args).output().unwrap();
            let shown = folder.display().to_string();
            describe(&output).replace(&shown, "FOLDER")
        });
        assert_eq!(usual, odd, "{args:?}");
        odd
    }
}

#[test]
fn a_grade_and_its_files() {
    let twice = Twice::new();
    twice.take_starter("own");
    twice.take("labs/matadd/lab.toml", "lab.toml");
    let grade = [
        "grade",
        "own",
        "--lab-file=lab.toml",
        "--device=emulated",
        "--seed=7",
        "--brief",
    ];
    let said = twice.say(
        &[
            &grade[..],
            &["-o", "report ü.json", "--html", "page ü.html"],
        ]
        .concat(),
    );
    assert!(said.contains("wrong_result"), "{said}");
    let [usual, odd] = [&twice.usual, &twice.odd].map(|folder| {
        assert!(folder.join("page ü.html").is_file());
        let text = fs::read_to_string(folder.join("report ü.json")).unwrap();
        let mut report: serde_json::Value = serde_json::from_str(&text).unwrap();
        // The submission as the sandbox got it, by its content.
        report["submission"]["sha256"].take()
    });
    assert!(usual.is_string());
    assert_eq!(usual, odd);
}

#[test]
fn a_bundle() {
    let twice = Twice::new();
    twice.take_starter("mein ü");
    let output = [
        "pack",
        "mein ü",
        "--lab=matadd",
        "--draw=7",
        "-o",
        "mein ü.bundle",
    ];
    for folder in [&twice.usual, &twice.odd] {
        let packed = harness_of_course(folder, &output).output().unwrap();
        assert_eq!(packed.status.code(), Some(0), "{}", describe(&packed));
    }
    let grade = [
        "grade",
        "mein ü.bundle",
        "--lab=matadd",
        "--draw=7",
        "--seed=7",
        "--brief",
    ];
    let said = twice.say(&[&grade[..], &["--device=emulated"]].concat());
    assert!(said.contains("wrong_result"), "{said}");
}

#[test]
fn a_submission_beside_variants_and_on_every_save() {
    let twice = Twice::new();
    twice.take_starter("mein ü");
    let test = [
        "test",
        "matadd",
        "--device=emulated",
        "--param=n_x=37",
        "--param=n_y=5",
    ];
    let said = twice.say(&[&test[..], &["--submission=mein ü"]].concat());
    assert!(
        said.contains("mein ü") && said.contains("exit code: 1"),
        "{said}"
    );
    let watch = ["watch", "mein ü", "--lab=matadd", "--once"];
    let [usual, odd] = [&twice.usual, &twice.odd].map(|folder| {
        let output = harness_of_course(folder, &watch).output().unwrap();
        // Without what differs from one secret seed, and from one time, to the next.
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter(|line| {
            !["seed", "expected", " s"]
                .iter()
                .any(|own| line.contains(own))
        });
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(usual, odd);
    assert!(
        odd.iter().any(|line| line.contains("wrong_result")),
        "{odd:?}"
    );
}

#[test]
fn a_file_of_ptx() {
    let twice = Twice::new();
    for name in ["blocks-store-to-one-word", "bytes-of-one-word"] {
        let file = format!("mein ü {name}.ptx");
        twice.take(&format!("crates/ptx-emu/tests/ui/races/{name}.ptx"), &file);
        twice.say(&["emulate", &file]);
    }
    let launch = ["--kernel=wrong", "--grid=2", "u32[64]=0"];
    let said = twice.say(
        &[
            &["emulate", "mein ü blocks-store-to-one-word.ptx"],
            &launch[..],
        ]
        .concat(),
    );
    assert!(
        said.contains("exit code: 1") && said.contains("src/lab.rs:20"),
        "{said}"
    );
}

#[test]
fn baselines_pictures_and_a_new_crate() {
    let twice = Twice::new();
    twice.take("tests/counts/matadd.json", "baseline ü.json");
    let counted = twice.say(&["counts", "matadd", "--baseline=baseline ü.json"]);
    assert!(counted.contains("exit code: 0"), "{counted}");
    let run = [
        "run",
        "wave2d",
        "--device=emulated",
        "--shape=40,30",
        "--steps=20",
    ];
    for folder in [&twice.usual, &twice.odd] {
        let args = [&run[..], &["--gif", "mein ü.gif"]].concat();
        let output = harness_of_course(folder, &args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    }
    let [usual, odd] = [&twice.usual, &twice.odd].map(|folder| fs::read(folder.join("mein ü.gif")));
    assert_eq!(usual.unwrap(), odd.unwrap());
    twice.take("README.md", "mein ü/README.md");
    let course = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let said = twice.say(&["new", "mein ü/own-kernels", "--path", course]);
    assert!(said.contains("cd 'mein ü/own-kernels'"), "{said}");
    assert!(
        twice
            .odd
            .join("mein ü/own-kernels/kernels/src/lib.rs")
            .is_file()
    );
}
