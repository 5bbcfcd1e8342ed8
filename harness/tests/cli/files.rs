//! Files appear complete or not at all.

use std::time::{Duration, Instant};

use crate::run::{describe, harness, names};

const TINY: [&str; 6] = ["--size", "30x20", "--steps", "20", "--frames", "4"];

#[test]
fn a_gif_is_all_that_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        &["animate", "wave2d", "--out", "wave.gif", "--device", "cpu"],
        &TINY[..],
    ]
    .concat();
    let output = harness(folder.path(), &args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    assert_eq!(names(folder.path()), ["wave.gif"]);
    let bytes = std::fs::read(folder.path().join("wave.gif")).unwrap();
    assert!(bytes.starts_with(b"GIF89a") && bytes.ends_with(b";"));
}

#[test]
fn cpu_and_emulated_device_make_the_same_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let picture = |device: &str, variant: &str| {
        let out = format!("{device}-{variant}.gif");
        let args = [
            "animate",
            "wave2d",
            "--device",
            device,
            "--variant",
            variant,
            "--out",
            &out,
        ];
        let output = harness(folder.path(), &[&args, &TINY[..]].concat())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
        std::fs::read(folder.path().join(out)).unwrap()
    };
    let expected = picture("cpu", "naive");
    assert!(picture("emulated", "naive") == expected);
    assert!(picture("emulated", "shmem") == expected);
}

#[test]
fn a_folder_holds_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        &["animate", "wave2d", "--out", "frames/", "--device", "cpu"],
        &TINY[..],
    ]
    .concat();
    let output = harness(folder.path(), &args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    let frames = ["0000.png", "0001.png", "0002.png", "0003.png"];
    assert_eq!(names(&folder.path().join("frames")), frames);

    let again = harness(folder.path(), &args).output().unwrap();
    insta::assert_snapshot!(describe(&again), @r"
    exit code: 2
    --- stderr ---
    error: --out frames/: the folder is not empty; remove it, or name another
    ");
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for out in ["wave.gif", "frames/"] {
        let args = [
            "animate",
            "wave2d",
            "--out",
            out,
            "--device",
            "cpu",
            "--steps",
            "4000000000",
        ];
        let mut child = harness(folder.path(), &args).spawn().unwrap();
        let began = Instant::now();
        while names(folder.path()).is_empty() {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "it makes no file"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        // The handler is set right after the file is made.
        std::thread::sleep(Duration::from_millis(100));
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(names(folder.path()), [""; 0]);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_the_finished_results() {
    let folder = tempfile::tempdir().unwrap();
    // Far too large to finish.
    let args = "perf wave2d --device cpu --param n_x=3000 --param n_y=3000 --param steps=4000000 --json=p.json";
    let args: Vec<&str> = args.split(' ').collect();
    let mut child = harness(folder.path(), &args)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Its first words say that the measurement has begun, and what Ctrl-C finds.
    let mut first = [0; 3];
    let mut stdout = child.stdout.take().unwrap();
    std::io::Read::read_exact(&mut stdout, &mut first).unwrap();
    assert_eq!(&first, b"cpu");
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(names(folder.path()), ["p.json"]);
    let text = std::fs::read_to_string(folder.path().join("p.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["interrupted"], true);
    assert_eq!(document["cases"].as_array().unwrap().len(), 0);
    assert!(document["cpu"]["cores"].as_u64().unwrap() > 0);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_cases_before() {
    let folder = tempfile::tempdir().unwrap();
    // Every lab in turn: long enough to be interrupted after the first.
    let args = ["perf", "--device=cpu", "--json=p.json"];
    let mut child = harness(folder.path(), &args)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(stdout).map(Result::unwrap);
    // Of the CPU alone, there is a line in the head.
    assert!(lines.any(|line| line.starts_with("  CPU: serial ")));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let text = std::fs::read_to_string(folder.path().join("p.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["interrupted"], true);
    let rows = document["cases"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows[1]["run"]["median_s"].as_f64().unwrap() > 0.0);

    let compare = ["compare", "p.json", "p.json"];
    let output = harness(folder.path(), &compare).output().unwrap();
    let text = describe(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("differs: the old measurement was interrupted"),
        "{text}"
    );
}

#[cfg(unix)]
fn interrupt(child: &std::process::Child) {
    let pid = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status()
        .unwrap();
    assert!(killed.success());
}
