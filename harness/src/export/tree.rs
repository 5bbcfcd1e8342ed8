//! Which files the copy has, and where each comes from.

use std::fs;
use std::path::{Path, PathBuf};

use super::{manifest, strip};
use crate::failure::Failure;
use crate::output::not_written;

/// Packages of the workspace that the copy has, `crates/` aside.
const PACKAGES: [&str; 3] = ["kernels-gpu", "host", "harness"];

/// Copied as they are, if they are there.
const PLAIN: [&str; 9] = [
    ".cargo/config.toml",
    ".gitignore",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "setup",
    "labs/README.md",
    "docs/grading.md",
    "docs/measuring.md",
    "docs/packing.md",
];

/// Folders of a package that stay behind: tests, and what shows or measures the built-in solutions.
const LEFT: [&str; 5] = ["tests", "benches", "examples", "peers", "snapshots"];

/// What the copy has and the course has not.
const NEW: [(&str, &str); 4] = [
    ("README.md", include_str!("student/README.md")),
    ("tests/Cargo.toml", include_str!("student/tests.toml")),
    ("tests/src/main.rs", include_str!("student/main.rs")),
    ("tests/tests/labs.rs", include_str!("student/labs.rs")),
];

/// Writes the student's copy of the course in `root` to `target`, and counts its files.
///
/// # Errors
///
/// What cannot be read, written or understood.
pub fn export(root: &Path, target: &Path) -> Result<usize, Failure> {
    let mut copy = Copy {
        root,
        target,
        files: 0,
    };
    for name in PLAIN {
        if root.join(name).is_file() {
            copy.plain(Path::new(name))?;
        }
    }
    let mut members = Vec::new();
    for entry in entries(&root.join("crates"))? {
        let name = entry.file_name();
        members.push(format!(
            "crates/{}",
            name.unwrap_or_default().to_string_lossy()
        ));
    }
    members.extend(PACKAGES.map(str::to_owned));
    for package in &members {
        copy.package(Path::new(package))?;
    }
    members.push("tests".to_owned());
    let workspace = copy.read(Path::new("Cargo.toml"))?;
    let workspace = manifest::workspace(&workspace, &members);
    copy.write(Path::new("Cargo.toml"), workspace.as_bytes())?;
    for (name, text) in NEW {
        copy.write(Path::new(name), text.as_bytes())?;
    }
    for lab in host::labs() {
        copy.lab(&Path::new("labs").join(lab.name()))?;
    }
    copy.plain(Path::new("Cargo.lock"))?;
    Ok(copy.files)
}

struct Copy<'a> {
    root: &'a Path,
    target: &'a Path,
    files: usize,
}

impl Copy<'_> {
    /// A package: its manifest, its build script, its sources but for modules that `cfg` leaves out.
    fn package(&mut self, package: &Path) -> Result<(), Failure> {
        let mut files = Vec::new();
        self.files_of(package, &mut files)?;
        let mut stripped = Vec::new();
        let mut gone: Vec<PathBuf> = Vec::new();
        for name in files {
            if name.extension().is_none_or(|extension| extension != "rs") {
                stripped.push((name, None));
                continue;
            }
            let source = strip::strip(&self.read(&name)?)
                .map_err(|reason| Failure::Input(format!("{}: {reason}", name.display())))?;
            // Modules of mod.rs, lib.rs and main.rs are beside these; those of another file are in the folder of its name.
            let stem = name.with_extension("");
            let folder = match stem.file_name().and_then(|stem| stem.to_str()) {
                Some("mod" | "lib" | "main") => stem.parent().unwrap_or(package),
                _ => &stem,
            };
            gone.extend(source.modules.iter().map(|module| folder.join(module)));
            stripped.push((name, Some(source.text)));
        }
        for (name, text) in stripped {
            let stem = name.with_extension("");
            if gone.iter().any(|module| stem.starts_with(module)) {
                continue;
            }
            match text {
                Some(text) => self.write(&name, text.as_bytes())?,
                None if name.ends_with("Cargo.toml") => {
                    let text = manifest::package(&self.read(&name)?);
                    self.write(&name, text.as_bytes())?;
                }
                None => self.plain(&name)?,
            }
        }
        Ok(())
    }

    /// The names of the files in a folder of a package, and in those below it.
    fn files_of(&self, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
        for path in entries(&self.root.join(folder))? {
            let name = folder.join(path.file_name().unwrap_or_default());
            if !path.is_dir() {
                files.push(name);
            } else if !LEFT.iter().any(|left| name.ends_with(left)) {
                self.files_of(&name, files)?;
            }
        }
        Ok(())
    }

    /// A lab: its handout, its starter, and what is graded but for hidden cases.
    fn lab(&mut self, lab: &Path) -> Result<(), Failure> {
        self.plain(&lab.join("README.md"))?;
        for name in ["kernels.rs", "launch.rs"] {
            self.plain(&lab.join("starter").join(name))?;
        }
        let name = lab.join("lab.toml");
        let text = manifest::without_hidden_cases(&self.read(&name)?);
        self.write(&name, text.as_bytes())?;
        let note = b"The instructor's solution, which is not in this copy of the course.\n";
        self.write(&lab.join("solution/README.md"), note)
    }

    fn plain(&mut self, name: &Path) -> Result<(), Failure> {
        let from = self.root.join(name);
        let bytes = fs::read(&from).map_err(|error| unreadable(&from, &error))?;
        self.write(name, &bytes)?;
        // Scripts stay executable.
        let to = self.target.join(name);
        let permissions = fs::metadata(&from).map_err(|error| unreadable(&from, &error))?;
        fs::set_permissions(&to, permissions.permissions())
            .map_err(|error| not_written(&to, &error))
    }

    fn read(&self, name: &Path) -> Result<String, Failure> {
        let from = self.root.join(name);
        fs::read_to_string(&from).map_err(|error| unreadable(&from, &error))
    }

    fn write(&mut self, name: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let to = self.target.join(name);
        let folder = to.parent().unwrap_or(self.target);
        fs::create_dir_all(folder).map_err(|error| not_written(folder, &error))?;
        fs::write(&to, bytes).map_err(|error| not_written(&to, &error))?;
        self.files += 1;
        Ok(())
    }
}

/// What a folder has, sorted, without hidden files and build folders.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect()
    };
    let mut entries = read().map_err(|error| unreadable(folder, &error))?;
    entries.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !name.starts_with('.') && name != "target"
    });
    entries.sort();
    Ok(entries)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("cannot read {}: {error}", path.display()))
}
