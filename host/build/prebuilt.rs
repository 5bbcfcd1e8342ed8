//! PTX of the kernels that another machine has compiled.
//!
//! PTX is the same on every machine, so that a release has it as a file, and who does not change a
//! kernel needs no compiler for kernels. `setup` unpacks it into the folder [`FOLDER`]:
//!
//! ```text
//! kernels-ptx/SOURCES     the hash of each source, as `sha256sum` writes and checks it
//! kernels-ptx/matadd.ptx  a module for each lab
//! ```
//!
//! It is used only where the sources here have these hashes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The folder in the workspace.
pub const FOLDER: &str = "kernels-ptx";

/// The file that has the sources' hashes.
pub const SOURCES: &str = "SOURCES";

/// The files and folders of the workspace that decide the PTX: the kernels, and what compiles them.
pub const DECIDING: [&str; 8] = [
    "crates/cuda_builder/src",
    "crates/cuda_std/Cargo.toml",
    "crates/cuda_std/src",
    "crates/cuda_std_macros/Cargo.toml",
    "crates/cuda_std_macros/src",
    "kernels-gpu/Cargo.toml",
    "kernels-gpu/solutions",
    "kernels-gpu/src",
];

/// Files beside the kernels of a solution that are compiled for the host alone.
const OF_THE_HOST: [&str; 3] = ["launch.rs", "tests.rs", "variants.rs"];

/// A module of PTX for each lab.
pub type Modules = BTreeMap<String, PathBuf>;

/// The content of [`FOLDER`].
#[derive(Debug, PartialEq, Eq)]
pub enum Prebuilt {
    /// Modules of these sources.
    Ready(Modules),
    /// Modules of other sources: the first file that differs.
    Other(String),
    /// The folder is missing.
    None,
}

/// Reads the folder of the workspace `root`, whose sources are `sources` (see [`sources`]).
///
/// # Errors
/// If it cannot be read, or has no modules.
pub fn find(root: &Path, sources: &str) -> io::Result<Prebuilt> {
    let folder = root.join(FOLDER);
    let theirs = match fs::read_to_string(folder.join(SOURCES)) {
        Ok(theirs) => theirs,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Prebuilt::None),
        Err(error) => return Err(named(&folder.join(SOURCES), &error)),
    };
    if let Some(file) = first_difference(sources, &theirs) {
        return Ok(Prebuilt::Other(file));
    }
    let modules = modules(&folder)?;
    if modules.is_empty() {
        return Err(named(&folder, &io::Error::other("it has no modules")));
    }
    Ok(Prebuilt::Ready(modules))
}

/// The modules in a folder, by lab.
fn modules(folder: &Path) -> io::Result<Modules> {
    let mut modules = Modules::new();
    for entry in fs::read_dir(folder).map_err(|error| named(folder, &error))? {
        let file = entry?.path();
        if let (Some(lab), Some("ptx")) =
            (name(&file, Path::file_stem), name(&file, Path::extension))
        {
            modules.insert(lab.to_owned(), file.clone());
        }
    }
    Ok(modules)
}

/// The hashes of all sources in the workspace `root` that decide the PTX: a line each, with the
/// path from there, ordered by path.
///
/// # Errors
/// If a source cannot be read.
pub fn sources(root: &Path) -> io::Result<String> {
    let mut files = BTreeSet::new();
    for part in DECIDING {
        collect(root, part, &mut files)?;
    }
    let mut text = String::new();
    for file in &files {
        let path = root.join(file);
        let hash = Sha256::digest(fs::read(&path).map_err(|error| named(&path, &error))?);
        for byte in hash {
            write!(text, "{byte:02x}").expect("memory takes everything");
        }
        writeln!(text, "  {file}").expect("memory takes everything");
    }
    Ok(text)
}

/// Adds the sources below `part`, a file or folder that may be missing.
fn collect(root: &Path, part: &str, files: &mut BTreeSet<String>) -> io::Result<()> {
    let path = root.join(part);
    if path.is_dir() {
        for entry in fs::read_dir(&path).map_err(|error| named(&path, &error))? {
            if let Some(name) = entry?.file_name().to_str() {
                collect(root, &format!("{part}/{name}"), files)?;
            }
        }
    } else if decides(&path) {
        files.insert(part.to_owned());
    }
    Ok(())
}

/// Whether a file decides the PTX. The solutions' folders have programs in other languages too.
fn decides(file: &Path) -> bool {
    let name = name(file, Path::file_name).unwrap_or_default();
    let source = name.ends_with(".rs") && !OF_THE_HOST.contains(&name);
    file.is_file() && (source || name == "Cargo.toml")
}

/// The first file, by path, whose line is in one of the two texts alone.
fn first_difference(ours: &str, theirs: &str) -> Option<String> {
    let [ours, theirs] = [ours, theirs].map(|text| text.lines().collect::<BTreeSet<_>>());
    let files = ours.symmetric_difference(&theirs);
    let files = files.map(|line| line.split_once("  ").map_or(*line, |(_, file)| file));
    files.min().map(str::to_owned)
}

fn name(path: &Path, part: fn(&Path) -> Option<&std::ffi::OsStr>) -> Option<&str> {
    part(path)?.to_str()
}

/// An error with the path that it is about.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
