//! The kernel crate to LLVM IR, by cargo and rustc.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::options::{DebugInfo, Options};
use crate::process::{capture, command};
use crate::toolchain::Toolchain;
use crate::{Error, NvvmArch, hints};

/// A kernel crate, as its manifest describes it.
#[derive(Debug)]
pub struct KernelCrate {
    /// The folder that holds Cargo.toml, absolute.
    pub folder: PathBuf,
    /// The library target's name, with underscores.
    pub name: String,
    /// The root of the workspace that it belongs to.
    pub workspace: PathBuf,
}

impl KernelCrate {
    /// Reads the manifest of the crate in `folder`.
    pub fn open(folder: &Path, tools: &Toolchain) -> Result<Self, Error> {
        let manifest = folder.join("Cargo.toml");
        // As cargo names it, in Windows too.
        let manifest = dunce::canonicalize(&manifest).map_err(Error::io("read", &manifest))?;
        let problem = |problem: String| Error::Manifest {
            manifest: manifest.clone(),
            problem,
        };
        let output = capture(
            command(&tools.cargo)
                .env("RUSTC", &tools.rustc)
                .args([
                    "metadata",
                    "--no-deps",
                    "--format-version=1",
                    "--manifest-path",
                ])
                .arg(&manifest),
        )?;
        if !output.status.success() {
            return Err(problem(
                String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            ));
        }
        let metadata: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|e| problem(e.to_string()))?;
        let packages = metadata["packages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let package = packages
            .iter()
            .find(|package| package["manifest_path"].as_str() == manifest.to_str())
            .ok_or_else(|| problem("is not a package".into()))?;
        let targets = package["targets"].as_array().map_or(&[][..], Vec::as_slice);
        let library = targets
            .iter()
            .find(|target| {
                let kinds = target["kind"].as_array().map_or(&[][..], Vec::as_slice);
                kinds
                    .iter()
                    .any(|kind| matches!(kind.as_str(), Some("lib" | "rlib" | "cdylib" | "dylib")))
            })
            .ok_or_else(|| {
                problem("has no library target, and kernels live in a library".into())
            })?;
        Ok(Self {
            folder: manifest.parent().unwrap_or(folder).to_owned(),
            name: library["name"]
                .as_str()
                .unwrap_or_default()
                .replace('-', "_"),
            workspace: metadata["workspace_root"]
                .as_str()
                .unwrap_or_default()
                .into(),
        })
    }
}

/// The result of compiling.
#[derive(Debug)]
pub struct Compiled {
    /// The file that holds the crate's IR, all its dependencies included.
    pub module: PathBuf,
    /// Its source files: the crate's and its path dependencies', and what their build scripts name,
    /// folders too.
    pub sources: Vec<PathBuf>,
}

/// Compiles `krate` in `target_dir`, with its default features or, if given, with `features`. Each
/// architecture and set of features needs a folder of its own, since cargo distinguishes only
/// crates and versions there.
pub fn compile(
    krate: &KernelCrate,
    code: (NvvmArch, &Options),
    features: Option<&[String]>,
    target_dir: &Path,
    tools: &Toolchain,
) -> Result<Compiled, Error> {
    let release = target_dir.join("nvptx64-nvidia-cuda/release");
    let module = release.join("deps").join(format!("{}.ll", krate.name));
    let features = features.map_or_else(Vec::new, |features| {
        vec![
            "--no-default-features".to_owned(),
            format!("--features={}", features.join(",")),
        ]
    });
    let output = capture(
        cargo_rustc(&krate.folder, code, target_dir, tools)
            .args(features)
            .arg("--message-format=json")
            .args(&code.1.build_args)
            .arg("--")
            .args(of_kernels(code.0)),
    )?;
    if !output.status.success() {
        return Err(refused(krate, &output));
    }
    if !module.is_file() {
        return Err(Error::UnexpectedIr {
            what: format!(
                "{} is missing after a build; delete {} and build again",
                module.display(),
                target_dir.display()
            ),
        });
    }
    fill_in_linked(&module)?;
    let sources = sources(&release.join(format!("{}.d", krate.name)))?;
    Ok(Compiled { module, sources })
}

/// Makes the file that linking would have made beside the IR in file `module`, or gives it today's
/// time. No linker runs, and without that file, or with one older than what the crate depends on,
/// cargo would compile the crate again in each build.
pub fn fill_in_linked(module: &Path) -> Result<(), Error> {
    let linked = module.with_extension("ptx");
    let open = File::options().create(true).append(true).open(&linked);
    open.and_then(|file| file.set_modified(SystemTime::now()))
        .map_err(Error::io("write", &linked))
}

/// The error for a crate that does not compile, from cargo's messages in JSON.
fn refused(krate: &KernelCrate, output: &Output) -> Error {
    let (mut text, mut hints) = (String::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(said) = serde_json::from_str::<serde_json::Value>(line) else {
            continue;
        };
        let message = &said["message"];
        text.push_str(message["rendered"].as_str().unwrap_or_default());
        if message["level"] != "error" {
            continue;
        }
        // Files of the workspace have relative names.
        let hint = hints::hint(message, hints::Crate::Own, |file| !file.starts_with('/'));
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    Error::KernelCompile {
        krate: krate.folder.clone(),
        output: text + String::from_utf8_lossy(&output.stderr).trim_end(),
        hints,
    }
}

/// The cargo command for a kernel crate, without the options for what rustc emits.
pub fn cargo_rustc(
    folder: &Path,
    (arch, options): (NvvmArch, &Options),
    target_dir: &Path,
    tools: &Toolchain,
) -> Command {
    let mut cargo = command(&tools.cargo);
    cargo
        .current_dir(folder)
        .env("RUSTC", &tools.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            rustflags(arch, options.panics).join("\x1f"),
        )
        .env("CARGO_TARGET_DIR", target_dir);
    for (name, value) in PROFILE {
        let variable = name.to_uppercase().replace('-', "_");
        cargo.env(format!("CARGO_PROFILE_RELEASE_{variable}"), value);
    }
    if options.debug == DebugInfo::None {
        cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "none");
    }
    cargo
        .args([
            "rustc",
            "--lib",
            "--release",
            "--crate-type=cdylib",
            "--color=never",
        ])
        // `mem`: memcpy, memcmp and the like, which the language itself calls, for example to
        // compare slices.
        .args([
            "-Zbuild-std=core,alloc",
            "-Zbuild-std-features=compiler-builtins-mem",
        ])
        .arg(TARGET);
    cargo
}

/// The target of kernels.
pub const TARGET: &str = "--target=nvptx64-nvidia-cuda";

/// Options for the output of rustc for a kernel crate.
const IR: [&str; 2] = ["--emit=llvm-ir", "-Zcrate-attr=feature(abi_ptx)"];

/// Options of rustc for a kernel crate itself, and not for its dependencies.
pub fn of_kernels(arch: NvvmArch) -> Vec<String> {
    let ir = IR.map(str::to_owned).into_iter();
    ir.chain(arch.capability_options()).collect()
}

/// The profile, in the names of rustc's `-C` options. cargo applies it to dependencies.
pub const PROFILE: [(&str, &str); 8] = [
    ("opt-level", "3"),
    ("lto", "fat"),
    ("codegen-units", "1"),
    ("panic", "abort"),
    ("debug", "line-directives-only"),
    ("debug-assertions", "false"),
    ("overflow-checks", "false"),
    ("strip", "none"),
];

/// Rust has no `#pragma unroll`, and an array stays in registers only if every index into it is a
/// constant after unrolling. Loops of constant length therefore unroll up to this many instructions
/// in all; LLVM's default is 300.
pub const UNROLLING: &str = "-unroll-threshold=1000";

/// The effect of a panic in a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Panics {
    /// It executes `trap`, and says nothing.
    ///
    /// No message is made, which would cost registers and code.
    #[default]
    Trap,
    /// It says which panic it was: its message, its file and line.
    ///
    /// For finding mistakes, on either device, and not for speed: a GPU prints the message, and the
    /// emulated device makes it the text of its fault. A message with floats in it takes some
    /// kilobytes of stack, more than a GPU gives by default (`cuCtxSetLimit`).
    Message,
}

impl Panics {
    /// Its part of the name of a build's folder: each has a `core` of its own.
    pub(crate) fn of_folder(self) -> &'static str {
        match self {
            Self::Trap => "",
            Self::Message => "-messages",
        }
    }
}

/// Flags for every crate of the build, `core` included. They are the same for every kernel crate,
/// so that all crates that share a target folder share one `core`.
pub fn rustflags(arch: NvvmArch, panics: Panics) -> Vec<String> {
    let panic = match panics {
        Panics::Trap => "immediate-abort",
        Panics::Message => "abort",
    };
    vec![
        format!("-Ctarget-cpu={arch}"),
        // PTX has no linker and needs none: rustc writes the IR before it links.
        "-Clinker=true".into(),
        "-Zunstable-options".into(),
        format!("-Cpanic={panic}"),
        // Jump threading copies what follows a branch into both of its arms, even a barrier.
        // Threads of one warp would then reach it at two places, which is undefined for `bar.sync`.
        "-Zmir-enable-passes=-JumpThreading".into(),
        format!("-Cllvm-args={UNROLLING}"),
        // Kernels have no `std`, so no crate needs to say it. One that does is not told that it
        // said it twice.
        "-Zcrate-attr=no_std".into(),
        "-Aunused-attributes".into(),
    ]
}

/// The files that cargo's dep-info file names: `output: file file ...`.
fn sources(dep_info: &Path) -> Result<Vec<PathBuf>, Error> {
    let text = std::fs::read_to_string(dep_info).map_err(Error::io("read", dep_info))?;
    let inputs = text.lines().filter_map(|line| line.split_once(": "));
    Ok(inputs.flat_map(|(_, inputs)| names(inputs)).collect())
}

/// The names in a line of dep-info. Of all characters, cargo escapes blanks alone: a backslash
/// before another one is Windows' separator.
fn names(inputs: &str) -> Vec<PathBuf> {
    let mut names = vec![String::new()];
    let mut characters = inputs.chars().peekable();
    while let Some(c) = characters.next() {
        let name = names.last_mut().expect("there is always one");
        match c {
            '\\' => name.push(characters.next_if_eq(&' ').unwrap_or(c)),
            ' ' => names.push(String::new()),
            _ => name.push(c),
        }
    }
    names.retain(|name| !name.is_empty());
    names.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::names;
    use std::path::Path;

    #[test]
    fn blanks_are_escaped_in_dep_info_and_nothing_else() {
        let read = names(r"C:\course\My\ Files\lib.rs  src/ein\ \ ü.rs C:\b\");
        let expected = [r"C:\course\My Files\lib.rs", "src/ein  ü.rs", r"C:\b\"];
        assert_eq!(read, expected.map(Path::new));
    }
}
