//! `harness new`: a crate of one's own, outside of the course.
//!
//! Its files are those of `examples/axpy`, which is compiled and tested with this workspace. They
//! differ in the crate's name, in where the crates that it uses are, and in [`WORKSPACE`].

#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use exit::{CommandError, Ending};
use output_files::{OutputFolder, OutputPath};
use select::course_root;
use terminal::command_line::quoted;
use terminal::stdout::Out;

use crate::new_lab::KEYWORDS;

/// Arguments of `harness new`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "The page \"Your own kernels\" in docs explains the files.\n\
                  cuda_std, ptx-emu and the others are not on crates.io: give --path or --git, or run this in the course's folder."
)]
pub struct NewArgs {
    /// The folder to make; its last part is the crate's name
    folder: OutputPath,
    /// Use the crates of this copy of the repository [default: the one that this folder is in]
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    path: Option<PathBuf>,
    /// Use the crates of the repository at this address
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

macro_rules! template {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../examples/axpy/", $name)))),*]
    };
}

/// The template's folder, in the course's.
pub const TEMPLATE: &str = "examples/axpy";

/// The files of the template, and their texts.
pub const FILES: [(&str, &str); 9] = template![
    ".github/workflows/test.yml",
    ".gitignore",
    "Cargo.toml",
    "README.md",
    "build.rs",
    "kernels/Cargo.toml",
    "kernels/src/lib.rs",
    "src/main.rs",
    "tests/emulated.rs",
];

/// The end of the manifest: what a package within this workspace has from there.
const WORKSPACE: &str = include_str!("workspace.toml");

/// The template's name.
const NAME: &str = "axpy";

/// Makes the crate.
///
/// # Errors
///
/// A name that is invalid; a folder that is not empty or cannot be written; a copy of the
/// repository that is none, or none at all. Then nothing is written.
pub fn run(args: &NewArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let name = name(&args.folder)?;
    let source = Source::of(args)?;
    let folder = OutputFolder::create("new", &args.folder)?;
    let files = files(name, &source);
    for (file, text) in &files {
        let path = folder.path().join(file);
        let written = fs::create_dir_all(path.parent().unwrap_or(folder.path()))
            .and_then(|()| fs::write(&path, text));
        written.map_err(|error| CommandError::not_written(&args.folder.join(file), &error))?;
    }
    let folder = folder.finish()?;
    let look = out.look();
    out.line(look.title(&format!("{name}: {} files", files.len())))?;
    for (file, _) in &files {
        out.line(format!("  {file}"))?;
    }
    out.line(format!(
        "\n  cd {}\n  cargo test    # the kernels on the emulated device, with every check: no GPU\n  \
         cargo run     # on the first GPU: no CUDA toolkit",
        quoted(&folder.display().to_string())
    ))?;
    if let Source::Path(root) = source {
        out.line(format!(
            "\nIt uses the crates in {}. GitHub's machines lack that folder, so the workflow for them is left out: `--git URL` adds it.",
            root.display()
        ))?;
    }
    Ok(Ending::Fine)
}

/// Where the crates are that the new one uses.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// In a copy of this repository.
    Path(PathBuf),
    /// In the repository at this address.
    Git(String),
}

impl Source {
    fn of(args: &NewArgs) -> Result<Source, CommandError> {
        if let Some(url) = &args.git {
            if url.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
                return Err(CommandError::Input(format!(
                    "--git {url:?}: is not an address; write it as in `git clone`, https://HOST/NAME"
                )));
            }
            return Ok(Source::Git(url.clone()));
        }
        let Some(folder) = &args.path else {
            return course_root::find(None, Path::new("."))
                .map(Source::Path)
                .map_err(|_| {
                    CommandError::Environment(
                        "the crates that a new one uses (cuda_std, cuda_builder, ptx-emu) are not on crates.io, and this \
                         is not the course's folder: name a copy of its repository with --path DIR, or its address with \
                         --git URL"
                            .to_owned(),
                    )
                });
        };
        let root = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
        if root.join("crates/cuda_std/Cargo.toml").is_file() {
            Ok(Source::Path(root))
        } else {
            Err(CommandError::Input(format!(
                "--path {}: is not a copy of the course's repository: it has no crates/cuda_std",
                folder.display()
            )))
        }
    }

    /// The dependency on the crate in this folder of the repository, as TOML.
    fn dependency(&self, folder: &str) -> String {
        let (key, value) = match self {
            Source::Path(root) => ("path", root.join(folder).to_string_lossy().into_owned()),
            Source::Git(url) => ("git", url.clone()),
        };
        format!("{key} = {}", toml_edit::Value::from(value))
    }
}

/// The crate's name, if it may be one.
fn name(folder: &Path) -> Result<&str, CommandError> {
    let name = folder
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-'));
    let is_keyword = KEYWORDS.contains(&name);
    if !is_word || is_keyword {
        return Err(CommandError::Input(format!(
            "new {}: a crate's name consists of a-z, 0-9, - and _, begins with a letter, and is not a keyword of Rust",
            folder.display()
        )));
    }
    // Cargo's own folders, and crates that this one uses. To the compiler, - is _.
    let taken = [
        "alloc",
        "anyhow",
        "build",
        "core",
        "cuda_builder",
        "cuda_driver",
        "cuda_std",
        "cust",
        "deps",
        "examples",
        "incremental",
        "proc_macro",
        "ptx_emu",
        "std",
        "test",
    ];
    if taken.contains(&&*name.replace('-', "_")) {
        return Err(CommandError::Input(format!(
            "new {}: cargo, or a crate that the new one uses, has the name `{name}`; take another",
            folder.display()
        )));
    }
    Ok(name)
}

/// The new crate's files and their texts.
fn files(name: &str, source: &Source) -> Vec<(&'static str, String)> {
    let in_repository = |(file, _): &&(&str, &str)| {
        let is_workflow = file.starts_with(".github/");
        !is_workflow || matches!(source, Source::Git(_))
    };
    let text = |file: &str, text: &str| match file {
        "Cargo.toml" => manifest(&format!("{text}{WORKSPACE}"), name, source),
        "kernels/Cargo.toml" => manifest(text, name, source),
        "README.md" => text.replacen(NAME, name, 1),
        _ => text.to_owned(),
    };
    FILES
        .iter()
        .filter(in_repository)
        .map(|&(file, old)| (file, text(file, old)))
        .collect()
}

/// The manifest with the crate's name, and with dependencies on the crates of `source`.
fn manifest(text: &str, name: &str, source: &Source) -> String {
    let named = text.replacen(&format!("name = \"{NAME}"), &format!("name = \"{name}"), 1);
    let mut parts = named.split("path = \"");
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (path, rest) = part.split_once('"').unwrap_or((part, ""));
        new.push_str(&source.dependency(path.trim_start_matches("../")));
        new.push_str(rest);
    }
    new
}
