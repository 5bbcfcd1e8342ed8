//! Finding the compiler for kernels.
//!
//! Kernels need a rustc, *its own* library source (to build `core` for the GPU), and `opt` and
//! `llc` of an LLVM at least as new as the one in that rustc. The first complete candidate is
//! taken:
//!
//! 1. the one that environment variables name ([crate docs](crate));
//! 2. a rustup toolchain with the components `rust-src` and `llvm-tools`;
//! 3. the distribution's rustc, its source, and its LLVM (on Debian: `rustc-web`, `rust-web-src`,
//!    `llvm-22`).
//!
//! A stable rustc works too: the builder sets `RUSTC_BOOTSTRAP=1` for kernels, and only for them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::process::{command, stdout_of};
use crate::{Error, narrow_index};

/// A complete set of tools for kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// The name that users read: "rustup toolchain nightly", "distribution".
    pub name: String,
    /// The compiler.
    pub rustc: PathBuf,
    /// The first line of `rustc --version`.
    pub rustc_version: String,
    /// The package manager that goes with it.
    pub cargo: PathBuf,
    /// LLVM's optimiser.
    pub opt: PathBuf,
    /// LLVM's code generator.
    pub llc: PathBuf,
    /// The LLVM tools' major version.
    pub llvm_major: u32,
    /// Whether `llc` computes addresses from narrow signed indices wrongly, as that of LLVM 22.1
    /// does. The optimised IR is then edited.
    pub breaks_narrow_indices: bool,
    /// The folder of the library source, as in the file names of debug information.
    pub library_source: PathBuf,
}

/// The environment variables that choose a toolchain.
pub const VARIABLES: [&str; 2] = ["CUDA_BUILDER_RUSTC", "CUDA_BUILDER_LLVM_BIN"];

/// Finds a toolchain.
///
/// # Errors
/// [`Error::NoToolchain`] with what each candidate lacks; [`Error::LlvmTooOld`] if only the LLVM
/// tools are too old.
pub fn find() -> Result<Toolchain, Error> {
    find_with(&Settings::from_env())
}

/// Where to search, from the environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    pub rustc: Option<PathBuf>,
    pub llvm_bin: Option<PathBuf>,
    /// Folders of rustup toolchains, best first.
    pub rustup_toolchains: Vec<PathBuf>,
    /// Where distributions put `rustc`.
    pub system_rustc: Vec<PathBuf>,
    /// Where distributions put LLVM, newest first.
    pub system_llvm: Vec<PathBuf>,
    /// A cargo for rustcs that come without one.
    pub cargo: PathBuf,
}

impl Settings {
    fn from_env() -> Self {
        let path = |name| {
            std::env::var_os(name)
                .filter(|v| !v.is_empty())
                .map(PathBuf::from)
        };
        let home = path("RUSTUP_HOME")
            .or_else(|| std::env::home_dir().map(|home| home.join(".rustup")))
            .unwrap_or_default();
        Self {
            rustc: path("CUDA_BUILDER_RUSTC"),
            llvm_bin: path("CUDA_BUILDER_LLVM_BIN"),
            rustup_toolchains: rustup_toolchains(&home.join("toolchains")),
            system_rustc: vec!["/usr/bin/rustc".into(), "/usr/local/bin/rustc".into()],
            system_llvm: system_llvm(Path::new("/usr/lib")),
            cargo: path("CARGO").unwrap_or_else(|| "cargo".into()),
        }
    }
}

/// Nightlies first (newest name first), then the others: `-Zbuild-std` is tested on nightlies.
fn rustup_toolchains(folder: &Path) -> Vec<PathBuf> {
    let mut found = list(folder);
    found.sort_by_key(|path| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        (name.starts_with("nightly"), name)
    });
    found.reverse();
    found
}

/// `/usr/lib/llvm-22/bin` and its like, newest first.
fn system_llvm(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = list(folder)
        .into_iter()
        .filter_map(|path| {
            let major = path
                .file_name()?
                .to_str()?
                .strip_prefix("llvm-")?
                .parse()
                .ok()?;
            Some((major, path.join("bin")))
        })
        .collect();
    found.sort();
    found.reverse();
    found.into_iter().map(|(_, path)| path).collect()
}

/// A program in a folder.
fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn list(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}

/// A rustc with its library source.
struct Compiler {
    name: String,
    rustc: PathBuf,
    rustc_version: String,
    llvm_major: u32,
    host: String,
    sysroot: PathBuf,
    library_source: PathBuf,
}

impl Compiler {
    /// Describes the rustc at `path`, or returns what it lacks.
    fn probe(name: &str, path: &Path) -> Result<Self, String> {
        let ask = |arguments: &[&str]| {
            stdout_of(command(path).args(arguments))
                .map_err(|error| format!("{name}: {} does not run: {error}", path.display()))
        };
        let version = ask(&["--version", "--verbose"])?;
        let field = |label: &str| {
            version
                .lines()
                .find_map(|line| line.strip_prefix(label))
                .map(|value| value.trim().to_owned())
        };
        let llvm_major = field("LLVM version:")
            .and_then(|value| value.split('.').next()?.parse().ok())
            .ok_or_else(|| format!("{name}: {} does not tell its LLVM version", path.display()))?;
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
        let library_source = sysroot.join("lib/rustlib/src/rust");
        if !library_source.join("library/core/src/lib.rs").is_file() {
            return Err(format!(
                "{name}: no library source (rust-src) in {}",
                library_source.display()
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            rustc: path.to_owned(),
            rustc_version: version.lines().next().unwrap_or_default().to_owned(),
            llvm_major,
            host: field("host:").unwrap_or_default(),
            sysroot,
            library_source,
        })
    }

    /// The folder of this compiler's own LLVM tools, if it has any (rustup's `llvm-tools`).
    fn own_llvm(&self) -> PathBuf {
        self.sysroot
            .join("lib/rustlib")
            .join(&self.host)
            .join("bin")
    }

    /// Its own cargo, if it has one.
    fn own_cargo(&self) -> Option<PathBuf> {
        let cargo = program(&self.sysroot.join("bin"), "cargo");
        cargo.is_file().then_some(cargo)
    }
}

pub(crate) fn find_with(settings: &Settings) -> Result<Toolchain, Error> {
    let mut tried = Vec::new();
    let mut too_old = None;

    let candidates: Vec<(String, PathBuf)> = match &settings.rustc {
        Some(rustc) => vec![("CUDA_BUILDER_RUSTC".into(), rustc.clone())],
        None => {
            let rustup = settings.rustup_toolchains.iter().map(|folder| {
                let name = folder
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                let rustc = program(&folder.join("bin"), "rustc");
                (format!("rustup toolchain {name}"), rustc)
            });
            let system = settings
                .system_rustc
                .iter()
                .map(|rustc| ("distribution".into(), rustc.clone()));
            rustup
                .chain(system)
                .filter(|(_, rustc)| rustc.is_file())
                .collect()
        }
    };
    if candidates.is_empty() {
        tried.push("no rustc: neither a rustup toolchain nor /usr/bin/rustc".into());
    }

    for (name, rustc) in candidates {
        let compiler = match Compiler::probe(&name, &rustc) {
            Ok(compiler) => compiler,
            Err(lack) => {
                tried.push(lack);
                continue;
            }
        };
        let folders = match &settings.llvm_bin {
            Some(folder) => vec![folder.clone()],
            None => {
                let mut folders = vec![compiler.own_llvm()];
                folders.extend(settings.system_llvm.iter().cloned());
                folders
            }
        };
        match llvm_tools(&compiler, &folders)? {
            LlvmTools::Found {
                opt,
                llc,
                llvm_major,
            } => {
                return Ok(Toolchain {
                    cargo: compiler
                        .own_cargo()
                        .unwrap_or_else(|| settings.cargo.clone()),
                    name: compiler.name,
                    rustc: compiler.rustc,
                    rustc_version: compiler.rustc_version,
                    breaks_narrow_indices: narrow_index::is_broken(&llc),
                    opt,
                    llc,
                    llvm_major,
                    library_source: compiler.library_source,
                });
            }
            LlvmTools::TooOld { llc, llvm_major } => {
                let error = Error::LlvmTooOld {
                    tool: llc,
                    llvm: llvm_major,
                    rustc: compiler.rustc.clone(),
                    rustc_llvm: compiler.llvm_major,
                };
                tried.push(format!("{name}: {error}"));
                too_old.get_or_insert(error);
            }
            LlvmTools::None => {
                let folders: Vec<_> = folders.iter().map(|f| f.display().to_string()).collect();
                tried.push(format!(
                    "{name}: no opt and llc (llvm-tools) in {}",
                    folders.join(", ")
                ));
            }
        }
    }
    // If a compiler lacks only a newer LLVM, that is the simplest thing to fix.
    Err(too_old.unwrap_or(Error::NoToolchain { tried }))
}

/// The result of a search for `opt` and `llc`.
enum LlvmTools {
    Found {
        opt: PathBuf,
        llc: PathBuf,
        llvm_major: u32,
    },
    /// The newest tools found, which are older than the compiler's LLVM.
    TooOld {
        llc: PathBuf,
        llvm_major: u32,
    },
    None,
}

/// `opt` and `llc` from the first folder whose LLVM is new enough.
fn llvm_tools(compiler: &Compiler, folders: &[PathBuf]) -> Result<LlvmTools, Error> {
    let mut newest: Option<(u32, PathBuf)> = None;
    for folder in folders {
        let [opt, llc] = ["opt", "llc"].map(|name| program(folder, name));
        if !opt.is_file() || !llc.is_file() {
            continue;
        }
        let Some(llvm_major) = llvm_major(&stdout_of(command(&llc).arg("--version"))?) else {
            continue;
        };
        if llvm_major >= compiler.llvm_major {
            return Ok(LlvmTools::Found {
                opt,
                llc,
                llvm_major,
            });
        }
        if newest.as_ref().is_none_or(|(best, _)| llvm_major > *best) {
            newest = Some((llvm_major, llc));
        }
    }
    Ok(match newest {
        Some((llvm_major, llc)) => LlvmTools::TooOld { llc, llvm_major },
        None => LlvmTools::None,
    })
}

/// The major version in `llc --version`: "LLVM version 22.1.8" or "Debian LLVM version 22.1.8".
fn llvm_major(text: &str) -> Option<u32> {
    let (_, version) = text.split_once("LLVM version ")?;
    version
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

#[cfg(all(test, unix))]
mod tests;
