//! Small stand-ins for NVIDIA's compilers, and programs that use them, compiled by `cc`.
#![allow(dead_code)] // Each test program uses a part of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A folder with what `cc` makes.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles a text of C.
    pub fn compile(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let made = self.path(name);
        std::fs::create_dir_all(made.parent().unwrap()).unwrap();
        let file = made.with_extension("c");
        std::fs::write(&file, source).unwrap();
        let mut cc = Command::new("cc");
        cc.arg("-w").arg("-o").arg(&made).arg(&file).args(flags);
        let output = cc.current_dir(self.0.path()).output().expect("there is cc");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        made
    }

    /// Compiles a library, with a file's name as the one that programs ask for.
    pub fn library(&self, name: &str, source: &str) -> PathBuf {
        let file = Path::new(name).file_name().unwrap().to_str().unwrap();
        let soname = format!("-Wl,-soname,{file}");
        self.compile(name, source, &["-shared", "-fPIC", &soname])
    }

    /// The standard output of a program into which the library of this crate is loaded.
    pub fn run(&self, program: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("LD_PRELOAD", library())
            .env("LD_LIBRARY_PATH", self.0.path());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{}: {said}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        said
    }
}

/// The library that cargo has built beside the test program.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let path = program.with_file_name("libemulated_compilers.so");
    assert!(path.exists(), "no {}", path.display());
    path
}
