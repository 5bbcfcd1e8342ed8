//! Prebuilt PTX is taken where it was made of the sources at hand, and nowhere else.

use std::fs;
use std::path::Path;
use std::process::Command;

use prebuilt::{Prebuilt, find, sources};
use tempfile::TempDir;

#[path = "../../../host/build/prebuilt.rs"]
mod prebuilt;

/// Sources of a workspace: of kernels, of what compiles them, and of the host.
const FILES: [&str; 6] = [
    "crates/cuda_builder/src/ir.rs",
    "crates/cuda_std/Cargo.toml",
    "kernels-gpu/src/real.rs",
    "kernels-gpu/solutions/matadd/kernels.rs",
    "kernels-gpu/solutions/matadd/launch.rs",
    "kernels-gpu/solutions/matadd/peer.cu",
];

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A workspace with `setup`, and prebuilt PTX of its sources in its folder `given`.
fn workspace() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in FILES {
        write(root.path(), file, file);
    }
    let hashes = sources(root.path()).unwrap();
    write(root.path(), "given/SOURCES", &hashes);
    write(root.path(), "given/matadd.ptx", "the first text");
    let setup = concat!(env!("CARGO_MANIFEST_DIR"), "/../setup");
    fs::copy(setup, root.path().join("setup")).unwrap();
    root
}

/// Whether `setup` succeeds, and the text that it prints.
fn setup(root: &Path, kernels_ptx: &str) -> (bool, String) {
    let output = Command::new("./setup")
        .current_dir(root)
        .env("KERNELS_PTX", kernels_ptx)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

fn found(root: &Path) -> Prebuilt {
    find(root, &sources(root).unwrap()).unwrap()
}

#[test]
fn what_is_compiled_for_the_host_alone_does_not_decide_the_ptx() {
    let root = workspace();
    let hashes = sources(root.path()).unwrap();
    let files: Vec<_> = hashes.lines().map(|line| &line[66..]).collect();
    assert_eq!(files, [FILES[0], FILES[1], FILES[3], FILES[2]], "{hashes}");
}

#[test]
fn ptx_of_these_sources_is_taken() {
    let root = workspace();
    let root = root.path();
    assert_eq!(found(root), Prebuilt::None);
    let (taken, said) = setup(root, "given");
    assert!(taken, "{said}");
    let Prebuilt::Ready(modules) = found(root) else {
        panic!("{:?}", found(root));
    };
    assert_eq!(
        fs::read_to_string(&modules["matadd"]).unwrap(),
        "the first text"
    );
}

#[test]
fn a_release_file_is_taken_as_its_folder_is() {
    let root = workspace();
    let root = root.path();
    let tar = ["-czf", "file.tar.gz", "given"];
    assert!(
        Command::new("tar")
            .args(tar)
            .current_dir(root)
            .status()
            .unwrap()
            .success()
    );
    let (taken, said) = setup(root, "file.tar.gz");
    assert!(taken, "{said}");
    assert!(matches!(found(root), Prebuilt::Ready(_)));
}

#[test]
fn ptx_of_other_sources_is_refused_by_setup_and_named_by_the_build() {
    let root = workspace();
    let root = root.path();
    setup(root, "given");
    write(root, FILES[3], "changed");
    fs::write(root.join("given/matadd.ptx"), "another text").unwrap();
    let (taken, said) = setup(root, "given");
    assert!(!taken, "{said}");
    assert!(
        said.contains("kernels-gpu/solutions/matadd/kernels.rs"),
        "{said}"
    );
    // The modules of an earlier run are untouched.
    let kept = root.join(prebuilt::FOLDER).join("matadd.ptx");
    assert_eq!(fs::read_to_string(kept).unwrap(), "the first text");
    assert_eq!(found(root), Prebuilt::Other(FILES[3].to_owned()));
}

#[test]
fn a_new_source_and_one_that_is_gone_differ() {
    let root = workspace();
    let root = root.path();
    setup(root, "given");
    write(root, "kernels-gpu/src/added.rs", "");
    assert_eq!(
        found(root),
        Prebuilt::Other("kernels-gpu/src/added.rs".to_owned())
    );
    fs::remove_file(root.join("kernels-gpu/src/added.rs")).unwrap();
    fs::remove_file(root.join(FILES[2])).unwrap();
    assert_eq!(found(root), Prebuilt::Other(FILES[2].to_owned()));
}

#[test]
fn what_is_no_prebuilt_ptx_is_refused_with_its_name() {
    let root = workspace();
    for (given, says) in [
        ("missing", "KERNELS_PTX=missing does not exist"),
        ("kernels-gpu", "KERNELS_PTX=kernels-gpu has no list SOURCES"),
        (
            "setup",
            "KERNELS_PTX=setup is neither a folder nor a .tar.gz",
        ),
    ] {
        let (taken, said) = setup(root.path(), given);
        assert!(!taken && said.contains(says), "{said}");
    }
}

#[test]
fn a_folder_without_modules_is_an_error_that_names_it() {
    let root = workspace();
    let root = root.path();
    fs::remove_file(root.join("given/matadd.ptx")).unwrap();
    setup(root, "given");
    let error = find(root, &sources(root).unwrap()).unwrap_err();
    assert!(error.to_string().contains(prebuilt::FOLDER), "{error}");
}
