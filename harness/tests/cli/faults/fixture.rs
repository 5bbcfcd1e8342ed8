//! The files and folders that the rows read.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use output_files::digest::sha256;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

const PTX: &str = "\
.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) { ret; }
";

const COUNTS: &str =
    r#"{"schema_version": 1, "command": "counts", "of": "k.ptx", "case": "", "kernels": []}"#;

/// Files of a course that `new` and `new-lab` need beside the template. None is large.
const COURSE: [&str; 10] = [
    "Cargo.toml",
    "crates/cuda_std/Cargo.toml",
    "crates/plan/Cargo.toml",
    "crates/plan/src/interface.rs",
    "crates/plan/src/lib.rs",
    "labs/matadd/lab.toml",
    "host/Cargo.toml",
    "host/src/lib.rs",
    "kernels-gpu/Cargo.toml",
    "kernels-gpu/src/lib.rs",
];

const TEMPLATE: &str = "harness/examples/new-lab";

/// Makes all of it in this folder.
pub fn make(folder: &Path) {
    let at = |name: &str| folder.join(name);
    let write = |name: &str, bytes: &[u8]| {
        let path = at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let copy = |from: &str, to: &str| {
        let from = Path::new(ROOT).join(from);
        let bytes = fs::read(&from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        write(to, &bytes);
    };
    write("k.ptx", PTX.as_bytes());
    write("known", b"race in global memory  *.cu\n");
    write("b.json", COUNTS.as_bytes());
    write("grades.csv", b"Student,ID,matadd (1)\nAda,7,\n");
    write("m.npy", &npy(20));
    write("prog", b"#!/bin/sh\nexit 0\n");
    fs::set_permissions(at("prog"), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["p.json", "q.json"] {
        copy("docs/results/h200.json", name);
    }
    copy("labs/matadd/lab.toml", "lab.toml");
    for below in ["sub", "class/ada"] {
        for file in ["kernels.rs", "launch.rs"] {
            copy(
                &format!("labs/matadd/starter/{file}"),
                &format!("{below}/{file}"),
            );
        }
    }
    for file in COURSE {
        copy(file, &format!("course/{file}"));
    }
    for entry in fs::read_dir(Path::new(ROOT).join(TEMPLATE)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let file = format!("{TEMPLATE}/{name}");
        copy(&file, &format!("course/{file}"));
    }
    for name in ["cache", "tmp"] {
        fs::create_dir(at(name)).unwrap();
    }
}

/// A cube of speeds, as NumPy writes it.
fn npy(n: usize) -> Vec<u8> {
    let head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, {n}, {n}), }}");
    let head = format!("{head:<117}\n");
    let length = u16::try_from(head.len()).unwrap().to_le_bytes();
    let values = std::iter::repeat_n(2000f32.to_le_bytes(), n * n * n);
    let parts = [b"\x93NUMPY\x01\x00", &length[..], head.as_bytes()];
    [parts.concat(), values.flatten().collect()].concat()
}

/// The digests of all files in a folder, by path. Pipes and links are there without one.
pub fn digests(folder: &Path) -> BTreeMap<PathBuf, Option<String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            found.extend(digests(&path));
        } else {
            let bytes = kind.is_file().then(|| fs::read(&path).ok()).flatten();
            found.insert(path, bytes.map(sha256));
        }
    }
    found
}
