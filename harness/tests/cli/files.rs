//! Files appear complete or not at all.

use crate::run::{describe, harness, names};

const TINY: [&str; 6] = ["--shape", "30,20", "--steps", "20", "--frames", "4"];

#[test]
fn a_gif_is_all_that_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        &["run", "wave2d", "--gif", "wave.gif", "--device", "cpu"],
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
    let picture = |device: &str, variant: Option<&str>| {
        let out = format!("{device}-{}.gif", variant.unwrap_or("reference"));
        let mut args = vec!["run", "wave2d", "--device", device, "--gif", &out];
        args.extend(variant.iter().flat_map(|variant| ["--variant", variant]));
        let output = harness(folder.path(), &[&args, &TINY[..]].concat())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
        std::fs::read(folder.path().join(out)).unwrap()
    };
    let expected = picture("cpu", None);
    assert!(picture("emulated", Some("naive")) == expected);
    assert!(picture("emulated", Some("shmem")) == expected);
}

#[test]
fn a_folder_holds_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        &["run", "wave2d", "--gif", "frames/", "--device", "cpu"],
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
    error: --gif frames/: the folder is not empty; remove it, or name another
    ");
}
