//! Discovery, on toolchains made of shell scripts.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Settings, find_with, llvm_major, rustup_toolchains};
use crate::Error;

/// A program that prints `output` for any arguments.
fn program(path: &Path, output: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{output}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A toolchain in `folder` with LLVM `llvm` in its rustc; with the library source if `source`.
fn rustc(folder: &Path, llvm: u32, source: bool) -> PathBuf {
    let rustc = folder.join("bin/rustc");
    program(
        &rustc,
        &format!(
            "case $1 in --version) echo 'rustc 1.99.0'; echo 'host: here'; echo 'LLVM version: {llvm}.1.0';; \
             *) echo {};; esac",
            folder.display()
        ),
    );
    if source {
        let core = folder.join("lib/rustlib/src/rust/library/core/src/lib.rs");
        std::fs::create_dir_all(core.parent().unwrap()).unwrap();
        std::fs::write(core, "").unwrap();
    }
    rustc
}

fn llvm(folder: &Path, version: u32) -> PathBuf {
    for tool in ["opt", "llc"] {
        program(
            &folder.join(tool),
            &format!("echo 'LLVM version {version}.1.8'"),
        );
    }
    folder.to_owned()
}

fn shown(error: &Error, folder: &Path) -> String {
    error
        .to_string()
        .replace(&folder.display().to_string(), "DIR")
}

#[test]
fn the_first_complete_toolchain_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let without_source = dir.path().join("nightly-without-source");
    rustc(&without_source, 22, false);
    let complete = dir.path().join("stable");
    rustc(&complete, 21, true);
    let own = llvm(&complete.join("lib/rustlib/here/bin"), 21);
    let found = find_with(&Settings {
        rustup_toolchains: vec![without_source, complete.clone()],
        system_llvm: vec![llvm(&dir.path().join("llvm-22/bin"), 22)],
        cargo: "outer-cargo".into(),
        ..Settings::default()
    })
    .unwrap();
    assert_eq!(found.name, "rustup toolchain stable");
    assert_eq!(found.rustc, complete.join("bin/rustc"));
    assert_eq!(found.llc, own.join("llc"), "its own LLVM comes first");
    assert_eq!(
        found.cargo,
        Path::new("outer-cargo"),
        "it has none of its own"
    );
}

#[test]
fn a_distributions_parts_go_together() {
    let dir = tempfile::tempdir().unwrap();
    let system = rustc(&dir.path().join("usr"), 22, true);
    let found = find_with(&Settings {
        system_rustc: vec![system],
        system_llvm: vec![
            llvm(&dir.path().join("llvm-23/bin"), 23),
            llvm(&dir.path().join("llvm-14/bin"), 14),
        ],
        ..Settings::default()
    })
    .unwrap();
    assert_eq!(
        (found.name.as_str(), found.llvm_major),
        ("distribution", 23)
    );
}

#[test]
fn an_old_llvm_is_named_with_what_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let system = rustc(&dir.path().join("usr"), 22, true);
    let error = find_with(&Settings {
        system_rustc: vec![system],
        system_llvm: vec![llvm(&dir.path().join("llvm-14/bin"), 14)],
        ..Settings::default()
    })
    .unwrap_err();
    insta::assert_snapshot!(shown(&error, dir.path()), @"DIR/llvm-14/bin/llc is LLVM 14, too old for DIR/usr/bin/rustc, whose LLVM is 22: kernels need opt and llc of LLVM 22 or newer. Remedy: apt-get install llvm-22, or set CUDA_BUILDER_LLVM_BIN");
}

#[test]
fn what_each_candidate_lacks_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let nightly = dir.path().join("nightly");
    rustc(&nightly, 22, true);
    let system = rustc(&dir.path().join("usr"), 22, false);
    let error = find_with(&Settings {
        rustup_toolchains: vec![nightly],
        system_rustc: vec![system],
        ..Settings::default()
    })
    .unwrap_err();
    insta::assert_snapshot!(shown(&error, dir.path()), @r"
    no toolchain can compile kernels. Searched:
      - rustup toolchain nightly: no opt and llc (llvm-tools) in DIR/nightly/lib/rustlib/here/bin
      - distribution: no library source (rust-src) in DIR/usr/lib/rustlib/src/rust
    Remedy: run ./setup, or set CUDA_BUILDER_RUSTC and CUDA_BUILDER_LLVM_BIN
    ");
    let nothing = find_with(&Settings::default()).unwrap_err();
    insta::assert_snapshot!(nothing, @r"
    no toolchain can compile kernels. Searched:
      - no rustc: neither a rustup toolchain nor /usr/bin/rustc
    Remedy: run ./setup, or set CUDA_BUILDER_RUSTC and CUDA_BUILDER_LLVM_BIN
    ");
}

#[test]
fn a_rustc_that_is_named_is_the_only_candidate() {
    let dir = tempfile::tempdir().unwrap();
    let good = dir.path().join("good");
    rustc(&good, 22, true);
    llvm(&good.join("lib/rustlib/here/bin"), 22);
    let settings = Settings {
        rustc: Some(dir.path().join("missing/rustc")),
        rustup_toolchains: vec![good],
        ..Settings::default()
    };
    let error = shown(&find_with(&settings).unwrap_err(), dir.path());
    assert!(
        error.contains("CUDA_BUILDER_RUSTC: DIR/missing/rustc does not run"),
        "{error}"
    );
}

#[test]
fn nightlies_come_first_newest_first() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["stable-x", "nightly-2026-01-01-x", "1.95.0-x", "nightly-x"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    let names: Vec<String> = rustup_toolchains(dir.path())
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(
        names,
        ["nightly-x", "nightly-2026-01-01-x", "stable-x", "1.95.0-x"]
    );
}

#[test]
fn versions_of_all_spellings_are_read() {
    assert_eq!(
        llvm_major("Debian LLVM version 22.1.8\n  Optimized build."),
        Some(22)
    );
    assert_eq!(
        llvm_major("LLVM (http://llvm.org/):\n  LLVM version 21.1.3-rust-1.95.0-stable"),
        Some(21)
    );
    assert_eq!(llvm_major("clang"), None);
}
