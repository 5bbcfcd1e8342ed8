//! Kernels whose dependencies are already compiled.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::codegen::{self, Codegen, Reuse};
use crate::compile::{PROFILE, Panics, TARGET, cargo_rustc, fill_in_linked, of_kernels, rustflags};
use crate::process::{Run, capture, command};
use crate::toolchain::Toolchain;
use crate::{Error, NvvmArch};

/// The compiled dependencies of a kernel crate.
///
/// It is serialised for another process, which then compiles against the same files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prebuilt {
    tools: Toolchain,
    arch: NvvmArch,
    oldest: Option<NvvmArch>,
    panics: Panics,
    /// Names and files for `--extern`.
    externs: Vec<(String, PathBuf)>,
    /// These libraries and their dependencies: the compiler reads no other files except the
    /// toolchain's.
    libraries: Vec<PathBuf>,
    /// The folders of these libraries.
    folders: Vec<PathBuf>,
}

/// The functions of libraries that kernels without messages call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Functions {
    /// All are inlined, as nearly always: nothing else of the libraries is read.
    Inlined,
    /// Some are not, such as `sin`: all libraries become part of the module.
    All,
}

/// The crates of the library.
const LIBRARY: [&str; 2] = ["core", "compiler_builtins"];

impl Prebuilt {
    /// Compiles the dependencies of the kernel crate in `folder`, in `target_dir`. Kernels can use
    /// those named in `dependencies`. The network is used only for crates that were never
    /// downloaded.
    ///
    /// # Errors
    /// As [`CudaBuilder::build`](crate::CudaBuilder::build).
    pub fn build(
        folder: &Path,
        dependencies: &[&str],
        (arch, panics): (NvvmArch, Panics),
        target_dir: &Path,
        tools: Toolchain,
    ) -> Result<Self, Error> {
        let folder = std::path::absolute(folder).map_err(Error::io("use", folder))?;
        let target_dir = target_dir.join(format!("{arch}{}", panics.of_folder()));
        let target_dir = std::path::absolute(&target_dir).map_err(Error::io("use", &target_dir))?;
        let compile = |network: &[&str]| {
            capture(
                cargo_rustc(&folder, (arch, &panics.into()), &target_dir, &tools)
                    .arg("--message-format=json-render-diagnostics")
                    .args(network)
                    .arg("--")
                    .args(of_kernels(arch)),
            )
        };
        let mut output = compile(&["--offline"])?;
        if !output.status.success() {
            output = compile(&[])?;
        }
        if !output.status.success() {
            return Err(Error::KernelCompile {
                krate: folder,
                output: String::from_utf8_lossy(&output.stderr).into_owned(),
                hints: Vec::new(),
            });
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        fill_in_kernels(&messages, &target_dir)?;
        let mut libraries = libraries(&messages);
        // cargo names them in the order in which it was done with them.
        libraries.sort();
        let find = |name: &str| {
            let found = libraries.iter().find(|(library, _)| library == name);
            found.cloned().ok_or_else(|| Error::Manifest {
                manifest: folder.join("Cargo.toml"),
                problem: format!("`{name}` is not among its dependencies"),
            })
        };
        let externs: Vec<_> = LIBRARY
            .iter()
            .chain(dependencies)
            .map(|name| find(name))
            .collect::<Result<_, _>>()?;
        let mut folders: Vec<PathBuf> = libraries
            .iter()
            .filter_map(|(_, file)| file.parent().map(Path::to_owned))
            .collect();
        folders.sort();
        folders.dedup();
        Ok(Self {
            tools,
            arch,
            oldest: None,
            panics,
            externs,
            libraries: libraries.into_iter().map(|(_, file)| file).collect(),
            folders,
        })
    }

    /// Has the PTX say what older devices have of it: see
    /// [`CudaBuilder::oldest`](crate::CudaBuilder::oldest). Kernels that ask for their architecture
    /// themselves, by `cfg`, are not for this.
    pub fn oldest(mut self, oldest: NvvmArch) -> Self {
        self.oldest = Some(oldest);
        self
    }

    /// Uses copies of the libraries, with the same names, in folder `to`. The original folder also
    /// holds other build products.
    pub fn moved(mut self, to: &Path) -> Self {
        let moved = |file: &mut PathBuf| {
            *file = to.join(file.file_name().unwrap_or_default());
        };
        self.libraries.iter_mut().for_each(moved);
        self.externs.iter_mut().for_each(|(_, file)| moved(file));
        self.folders = vec![to.to_owned()];
        self
    }

    /// The tools that compile the kernels.
    pub fn tools(&self) -> &Toolchain {
        &self.tools
    }

    /// The folders that the compiler reads, in addition to the toolchain's.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The files in these folders that the compiler reads.
    pub fn libraries(&self) -> &[PathBuf] {
        &self.libraries
    }

    /// Compiles the kernels in `folder`, with the crate root `lib.rs`, and returns their PTX. `run`
    /// runs every program, in `folder`; the programs write nowhere else. File names in messages and
    /// in the PTX are relative to it.
    ///
    /// # Errors
    /// As [`CudaBuilder::build`](crate::CudaBuilder::build).
    pub fn compile(&self, folder: &Path, run: &mut Run<'_>) -> Result<String, Error> {
        match self.compile_with(Functions::Inlined, folder, run) {
            Err(Error::Unresolved { .. }) if self.panics == Panics::Trap => {
                self.compile_with(Functions::All, folder, run)
            }
            first => first,
        }
    }

    fn compile_with(
        &self,
        functions: Functions,
        folder: &Path,
        run: &mut Run<'_>,
    ) -> Result<String, Error> {
        let mut rustc = command(&self.tools.rustc);
        rustc
            .current_dir(folder)
            .env("RUSTC_BOOTSTRAP", "1")
            .args(["--crate-name=kernels", "--edition=2024", "lib.rs"])
            .args(["--crate-type=cdylib", "--color=never", "--out-dir=."])
            .arg(TARGET);
        for (name, value) in PROFILE {
            let option = if name == "debug" { "debuginfo" } else { name };
            rustc.arg(format!("-C{option}={value}"));
        }
        for dependencies in &self.folders {
            rustc.arg(format!("-Ldependency={}", dependencies.display()));
        }
        for (name, file) in &self.externs {
            let options = if LIBRARY.contains(&name.as_str()) {
                "noprelude,nounused:"
            } else {
                "nounused:"
            };
            rustc.arg(format!("--extern={options}{name}={}", file.display()));
        }
        rustc
            .arg("-Zunstable-options")
            .args(rustflags(self.arch, self.panics))
            .args(of_kernels(self.arch));
        if self.panics == Panics::Message || functions == Functions::All {
            // Only what is to be linked has the functions of libraries in its IR.
            rustc.args(["--emit=link", "-Zno-link"]);
        }
        let output = run(&mut rustc).map_err(Error::io("run", &self.tools.rustc))?;
        if !output.status.success() {
            return Err(Error::KernelCompile {
                krate: folder.to_owned(),
                output: String::from_utf8_lossy(&output.stderr).into_owned(),
                hints: Vec::new(),
            });
        }
        let module = folder.join("kernels.ll");
        let mut run_here = |command: &mut std::process::Command| run(command.current_dir(folder));
        let codegen = Codegen {
            arch: self.arch,
            oldest: self.oldest,
            options: &[],
            tools: &self.tools,
            places: codegen::places(folder, &self.tools),
            reuse: Reuse::Nothing,
            panics: self.panics,
        };
        codegen.ptx_of(&module, folder, &mut run_here)
    }
}

/// cargo's messages about the crates that it built or found unchanged, one for each.
fn artifacts(messages: &str) -> impl Iterator<Item = serde_json::Value> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|message: &serde_json::Value| message["reason"] == "compiler-artifact")
}

/// [`fill_in_linked`] for the crate of kernels among cargo's artifacts.
fn fill_in_kernels(messages: &str, target_dir: &Path) -> Result<(), Error> {
    let folder = target_dir.join("nvptx64-nvidia-cuda/release/deps");
    for artifact in artifacts(messages) {
        let Some(name) = artifact["target"]["name"].as_str() else {
            continue;
        };
        if artifact["target"]["crate_types"][0] == "cdylib" {
            fill_in_linked(&folder.join(name.replace('-', "_")).with_extension("ll"))?;
        }
    }
    Ok(())
}

/// The libraries that cargo's messages name, each with its file.
fn libraries(messages: &str) -> Vec<(String, PathBuf)> {
    let library = |message: serde_json::Value| {
        let name = message["target"]["name"].as_str()?.replace('-', "_");
        let files = message["filenames"].as_array()?;
        let file = files
            .iter()
            .filter_map(|file| file.as_str())
            .find(|file| file.ends_with(".rlib") || file.ends_with(std::env::consts::DLL_SUFFIX))?;
        Some((name, PathBuf::from(file)))
    };
    artifacts(messages).filter_map(library).collect()
}
