//! Finds the built-in solutions: every folder below `solutions` that has a `launch.rs`.
//!
//! A solution's kernels are in the `kernels.rs` beside its `launch.rs`, or, if several solutions
//! share them, in the folder above. A lab's folder also has `variants.rs`, which lists the
//! variants, `tests.rs`, and programs in other languages (`.cu`, `.py`).
//!
//! The script writes two files: `kernels.rs`, modules of this crate, and `solutions.rs`, modules of
//! `host`. Without a folder `solutions`, as in a student's copy of the course, both lists are
//! empty.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> std::io::Result<()> {
    let variable = |name: &str| PathBuf::from(env::var_os(name).expect("cargo sets it"));
    let root = variable("CARGO_MANIFEST_DIR").join("solutions");
    let out = variable("OUT_DIR");

    let (mut kernels, mut solutions) = (String::new(), String::new());
    let (mut arms, mut programs) = (String::new(), String::new());
    let mut sources = String::new();
    for lab in entries(&root)? {
        let name = name(&lab);
        kernel_modules(&lab, &mut kernels)?;
        source_texts(&lab, &root, &mut sources)?;
        solution_modules(&lab, "::kernels_gpu::solutions", None, &mut solutions)?;
        if lab.join("variants.rs").is_file() {
            writeln!(
                arms,
                "({name}) => {{ $crate::solutions::{name}::variants::variants() }};"
            )
            .unwrap();
        }
        for file in entries(&lab)? {
            if file
                .extension()
                .is_some_and(|extension| extension == "cu" || extension == "py")
            {
                let file_name = file.file_name().unwrap_or_default();
                writeln!(programs, "({file_name:?}, include_str!({file:?})),").unwrap();
            }
        }
    }
    writeln!(
        solutions,
        "/// The variants of the lab of this module, as `variants.rs` lists them.\n\
         macro_rules! built_in {{ {arms} ($lab:ident) => {{ Vec::new() }}; }}\n\
         pub(crate) use built_in;\n\
         /// Programs in other languages that do what a variant does: each file's name and text.\n\
         pub static PROGRAMS: &[(&str, &str)] = &[{programs}];\n\
         /// Every `kernels.rs` and `launch.rs`: its path from the solutions, and its text.\n\
         pub static SOURCES: &[(&str, &str)] = &[{sources}];"
    )
    .unwrap();
    // cargo takes a folder with its own time, so that it notices a file that is gone.
    let watched = if root.is_dir() { "solutions" } else { "." };
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={watched}");
    fs::write(out.join("kernels.rs"), kernels)?;
    fs::write(out.join("solutions.rs"), solutions)?;
    println!(
        "cargo::metadata=SOLUTIONS={}",
        out.join("solutions.rs").display()
    );
    Ok(())
}

/// The folder's `kernels.rs`, and those of the folders below, as modules.
fn kernel_modules(folder: &Path, text: &mut String) -> std::io::Result<()> {
    writeln!(text, "pub mod {} {{", name(folder)).unwrap();
    module(folder, "pub mod kernels;", text);
    for below in entries(folder)?.iter().filter(|path| path.is_dir()) {
        kernel_modules(below, text)?;
    }
    writeln!(text, "}}").unwrap();
    Ok(())
}

/// The texts of the folder's `kernels.rs` and `launch.rs`, and of those in the folders below.
fn source_texts(folder: &Path, root: &Path, text: &mut String) -> std::io::Result<()> {
    for entry in entries(folder)? {
        if entry.is_dir() {
            source_texts(&entry, root, text)?;
        } else if entry.ends_with("kernels.rs") || entry.ends_with("launch.rs") {
            let name = entry.strip_prefix(root).unwrap_or(&entry);
            writeln!(text, "({name:?}, include_str!({entry:?})),").unwrap();
        }
    }
    Ok(())
}

/// The folder's other files, and those of the folders below, as modules. `super::kernels` of a
/// launch is the folder's own module of kernels, or else `kernels`.
fn solution_modules(
    folder: &Path,
    above: &str,
    kernels: Option<&str>,
    text: &mut String,
) -> std::io::Result<()> {
    let path = format!("{above}::{}", name(folder));
    let kernels = if folder.join("kernels.rs").is_file() {
        Some(path.as_str())
    } else {
        kernels
    };
    writeln!(text, "pub mod {} {{", name(folder)).unwrap();
    if let Some(found) = kernels {
        writeln!(text, "#[allow(unused_imports)] pub use {found}::kernels;").unwrap();
    }
    module(folder, "pub mod launch;", text);
    module(folder, "pub mod variants;", text);
    module(folder, "#[cfg(test)] mod tests;", text);
    for below in entries(folder)?.iter().filter(|entry| entry.is_dir()) {
        solution_modules(below, &path, kernels, text)?;
    }
    writeln!(text, "}}").unwrap();
    Ok(())
}

/// Declares `pub mod NAME;` if the folder has such a file.
fn module(folder: &Path, declaration: &str, text: &mut String) {
    let name = declaration.split(' ').next_back().unwrap_or_default();
    let file = folder.join(name.replace(';', ".rs"));
    if file.is_file() {
        writeln!(text, "#[path = {file:?}] {declaration}").unwrap();
    }
}

/// The folder's entries, sorted; none if the folder does not exist.
fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut entries = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

fn name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
