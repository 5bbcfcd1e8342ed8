//! Takes the examples out of the documentation of `cuda_std` and its macros, and the kernels out of
//! the book's page on them: each becomes a module.
//!
//! An example is a block of code in a doc comment, with the lines that rustdoc hides (`# `). It has
//! a kernel, or is the body of a hidden one. `tests/examples.rs` launches each. A block that is not
//! Rust is marked `text`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let variable = |name: &str| PathBuf::from(env::var_os(name).expect("cargo sets it"));
    let crates = variable("CARGO_MANIFEST_DIR").join("../../../crates");
    let (mut modules, mut kernels) = (String::new(), String::new());
    for sources in ["cuda_std/src", "cuda_std_macros/src"] {
        println!("cargo::rerun-if-changed={}", crates.join(sources).display());
        for file in files(&crates.join(sources)) {
            let text = fs::read_to_string(&file).expect("a source");
            let place = file.strip_prefix(&crates).expect("below it").display();
            for (line, example) in examples(&text) {
                let kernel = kernel(&example).unwrap_or_else(|| {
                    panic!(
                        "crates/{place}:{line}: the example has no kernel, so no test can launch it: \
                         make it the body of one whose head is hidden (`# #[kernel]`)"
                    )
                });
                writeln!(modules, "pub mod {kernel} {{\n{example}}}").unwrap();
                writeln!(kernels, "({kernel:?}, \"crates/{place}:{line}\"),").unwrap();
            }
        }
    }
    let page = crates.join("../docs/kernel-api.md");
    println!("cargo::rerun-if-changed={}", page.display());
    let page = fs::read_to_string(&page).expect("the page");
    for (line, code) in blocks(&page) {
        // The code of the host is in tests/all/page.rs.
        if let Some(kernel) = kernel(&code) {
            let prelude =
                "use cuda_std::prelude::*;\n#[allow(unused_imports)]\nuse cuda_std::println;";
            writeln!(modules, "pub mod {kernel} {{\n{prelude}\n{code}}}").unwrap();
            writeln!(kernels, "({kernel:?}, \"docs/kernel-api.md:{line}\"),").unwrap();
        }
    }
    let text = format!(
        "{modules}\n/// The kernel of each example, and the example's place.\n\
         pub const EXAMPLES: &[(&str, &str)] = &[{kernels}];\n"
    );
    fs::write(variable("OUT_DIR").join("examples.rs"), text).expect("cargo's folder");
}

/// All files in a folder and those below it, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("its entry").path())
        .collect();
    paths.sort();
    let below = |path: PathBuf| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    };
    paths.into_iter().flat_map(below).collect()
}

/// The blocks of code in doc comments, as rustdoc compiles them, each with the line of its first
/// fence.
fn examples(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, &str, String)> = None;
    for (number, line) in (1..).zip(source.lines()) {
        let line = line.trim_start();
        let Some(line) = line.strip_prefix("///").or(line.strip_prefix("//!")) else {
            continue;
        };
        let line = line.strip_prefix(' ').unwrap_or(line);
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((number, language, String::new())),
            (Some(_), Some(_)) => {
                let (first, language, text) = open.take().expect("it is open");
                if language != "text" {
                    found.push((first, text));
                }
            }
            (Some((_, _, text)), None) => {
                let hidden = line.strip_prefix("# ").or((line == "#").then_some(""));
                writeln!(text, "{}", hidden.unwrap_or(line)).unwrap();
            }
            (None, None) => {}
        }
    }
    found
}

/// The blocks of Rust of a page, each with the line of its first fence.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(page.lines()) {
        match (&mut open, line) {
            (None, "```rust") => open = Some((number, String::new())),
            (Some(_), "```") => found.extend(open.take()),
            (Some((_, text)), _) => writeln!(text, "{line}").unwrap(),
            (None, _) => {}
        }
    }
    found
}

/// The name of an example's kernel.
fn kernel(example: &str) -> Option<&str> {
    let (_, head) = example.split_once("#[kernel")?;
    let (_, name) = head.split_once("fn ")?;
    name.split('(').next()
}
