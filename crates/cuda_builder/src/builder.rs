//! The builder that build scripts use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::codegen::{self, Codegen, Reuse};
use crate::compile::{KernelCrate, Panics, compile};
use crate::options::{DebugInfo, Options};
use crate::toolchain::{self, Toolchain};
use crate::{Error, NvvmArch};

/// Compiles a kernel crate to PTX, from a build script.
#[derive(Clone, Debug)]
#[must_use = "nothing is built before `build`"]
pub struct CudaBuilder {
    krate: PathBuf,
    arch: NvvmArch,
    oldest: Option<NvvmArch>,
    options: Options,
    features: Option<Vec<String>>,
    copy_to: Option<PathBuf>,
    emit_llvm_ir: bool,
    final_module_path: Option<PathBuf>,
    target_dir: Option<PathBuf>,
}

impl CudaBuilder {
    /// A builder for the kernel crate in folder `krate`, relative to the build script's package.
    ///
    /// The default architecture is [`NvvmArch::Compute80`].
    pub fn new(krate: impl AsRef<Path>) -> Self {
        Self {
            krate: krate.as_ref().to_owned(),
            arch: NvvmArch::default(),
            oldest: None,
            options: Options::default(),
            features: None,
            copy_to: None,
            emit_llvm_ir: false,
            final_module_path: None,
            target_dir: None,
        }
    }

    /// Sets the oldest GPU generation that the PTX is for.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// Has the PTX say what devices have of it that are older than those of
    /// [`CudaBuilder::arch`], from this generation on: all kernels but those that need a newer one,
    /// by their `capability` or by their instructions. `device::Module::for_device` makes the text
    /// for such a device.
    pub fn oldest(mut self, oldest: NvvmArch) -> Self {
        self.oldest = Some(oldest);
        self
    }

    /// Sets what a panic does. By default it executes `trap` and says nothing.
    pub fn panics(mut self, panics: Panics) -> Self {
        self.options.panics = panics;
        self
    }

    /// Sets whether the PTX names source lines. By default it does.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.options.debug = debug;
        self
    }

    /// Flushes subnormal `f32` to zero: operands and results of arithmetic (`.ftz`). Results then
    /// differ from the CPU's where such numbers occur.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.options.ftz = ftz;
        self
    }

    /// Takes the approximate square root of `f32` (`sqrt.approx`) instead of the rounded one.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.options.fast_sqrt = fast_sqrt;
        self
    }

    /// Takes the approximate division of `f32` (`div.approx`) instead of the rounded one.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.options.fast_div = fast_div;
        self
    }

    /// Contracts `a * b + c` to one rounding, in `f32` and `f64`. By default nothing is contracted
    /// but what `mul_add` asks for, so that results equal the CPU's. Rust-CUDA's default is `true`.
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.options.fma_contraction = fma_contraction;
        self
    }

    /// Also writes the LLVM IR that rustc gave, beside the PTX, with the extension `ll`.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit_llvm_ir = emit_llvm_ir;
        self
    }

    /// Also writes the optimised LLVM IR, from which the PTX is made, to this file.
    /// [`CudaBuilder::build_groups`] takes it for a folder, and writes `GROUP.ll` there.
    pub fn final_module_path(mut self, file: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(file.as_ref().to_owned());
        self
    }

    /// Adds arguments for cargo, for example `--locked`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        let args = args.iter().map(|arg| arg.as_ref().to_owned());
        self.options.build_args.extend(args);
        self
    }

    /// Builds with these features of the crate instead of its default ones.
    pub fn features<S: Into<String>>(mut self, features: impl IntoIterator<Item = S>) -> Self {
        self.features = Some(features.into_iter().map(Into::into).collect());
        self
    }

    /// Also writes the PTX to this file.
    pub fn copy_to(mut self, file: impl AsRef<Path>) -> Self {
        self.copy_to = Some(file.as_ref().to_owned());
        self
    }

    /// Builds in this folder. The default is `cuda-builder` in the outer cargo's target folder.
    pub fn target_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.target_dir = Some(folder.as_ref().to_owned());
        self
    }

    /// Builds, and returns the PTX file's path.
    ///
    /// Prints `cargo::rerun-if-changed` for everything that the result depends on, even if the
    /// build fails.
    ///
    /// # Errors
    /// Each way in which a build can fail is a variant of [`Error`] that names the remedy.
    /// [`Error::CodeByArch`] if the PTX is to serve older generations ([`CudaBuilder::oldest`]),
    /// and the code of the crate itself depends on the architecture.
    pub fn build(self) -> Result<PathBuf, Error> {
        let compiled = self.compile()?;
        let ptx = compiled.codegen().ptx_of(
            &compiled.module,
            &compiled.krate.folder,
            &mut Command::output,
        )?;
        let out = self
            .copy_to
            .clone()
            .unwrap_or_else(|| compiled.module.with_extension("ptx"));
        write_if_different(&out, &ptx)?;
        if self.emit_llvm_ir {
            copy(&compiled.module, &out.with_extension("ll"))?;
        }
        if let Some(file) = &self.final_module_path {
            copy(&codegen::optimised(&compiled.module), file)?;
        }
        Ok(out)
    }

    /// Builds a PTX module per group of kernels instead of one of all: `GROUP.ptx` in `folder`.
    /// `group_of` gives the group of a kernel, by its name. Returns the groups with their files.
    ///
    /// A program that needs the kernels of one group reads these alone, and an edit of one group's
    /// kernels generates code for that group alone.
    ///
    /// # Errors
    /// As [`CudaBuilder::build`].
    pub fn build_groups(
        self,
        folder: impl AsRef<Path>,
        group_of: impl Fn(&str) -> String,
    ) -> Result<BTreeMap<String, PathBuf>, Error> {
        let folder = folder.as_ref();
        let compiled = self.compile()?;
        let codegen = compiled.codegen();
        let (krate, run) = (&compiled.krate.folder, &mut Command::output);
        let split = codegen.split(&compiled.module, krate, run)?;
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let modules = codegen.ptx_of_groups(&split, &group_of, run)?;
        let written = modules.into_iter().map(|(group, ptx)| {
            let file = folder.join(format!("{group}.ptx"));
            write_if_different(&file, &ptx)?;
            if let Some(ir) = &self.final_module_path {
                std::fs::create_dir_all(ir).map_err(Error::io("create", ir))?;
                let optimised = codegen::optimised(&split.module_of(&group));
                copy(&optimised, &ir.join(format!("{group}.ll")))?;
            }
            Ok((group, file))
        });
        written.collect()
    }

    /// Compiles the crate to IR, and prints what the result depends on.
    fn compile(&self) -> Result<Compiled, Error> {
        for variable in toolchain::VARIABLES
            .into_iter()
            .chain(["CUDA_BUILDER_TARGET_DIR"])
        {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        // If the build fails, a change of the crate's own files must start it again.
        rerun_if_changed(&self.krate.join("Cargo.toml"));
        rerun_if_changed(&self.krate.join("src"));

        let tools = toolchain::find()?;
        let krate = KernelCrate::open(&self.krate, &tools)?;
        // Absolute, because cargo runs in the kernel crate's folder.
        let target_dir = self.target_root()?.join(self.folder_name());
        let target_dir = std::path::absolute(&target_dir).map_err(Error::io("use", &target_dir))?;
        let compiled = compile(
            &krate,
            (self.arch, &self.options),
            self.features.as_deref(),
            &target_dir,
            &tools,
        )?;
        for source in watched(&compiled.sources, &target_dir) {
            rerun_if_changed(source);
        }
        if self.oldest.is_some() {
            same_for_all(&compiled.sources)?;
        }
        Ok(Compiled {
            module: compiled.module,
            arch: self.arch,
            oldest: self.oldest,
            options: self.options.llvm(),
            panics: self.options.panics,
            krate,
            tools,
        })
    }

    /// A folder for each architecture, set of options and set of features. The IR's file name
    /// depends on none of them: in one folder, cargo would take another build's file for its own.
    fn folder_name(&self) -> String {
        let of_code = format!("{}{}", self.arch, self.options.of_folder());
        match &self.features {
            Some(features) => format!("{of_code}-{}", features.join("-")),
            None => of_code,
        }
    }

    fn target_root(&self) -> Result<PathBuf, Error> {
        let from_env = || std::env::var_os("CUDA_BUILDER_TARGET_DIR").map(PathBuf::from);
        if let Some(folder) = self.target_dir.clone().or_else(from_env) {
            return Ok(folder);
        }
        let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
        let target = std::env::var("TARGET").unwrap_or_default();
        target_folder_of(&out_dir, &target)
            .map(|target| target.join("cuda-builder"))
            .ok_or_else(|| Error::Manifest {
                manifest: self.krate.join("Cargo.toml"),
                problem: "no target folder: call `build` from a build script, or give `target_dir`"
                    .into(),
            })
    }
}

/// A kernel crate's IR, and how to go on.
struct Compiled {
    module: PathBuf,
    arch: NvvmArch,
    oldest: Option<NvvmArch>,
    /// Options of `opt` and `llc`.
    options: Vec<String>,
    panics: Panics,
    krate: KernelCrate,
    tools: Toolchain,
}

impl Compiled {
    fn codegen(&self) -> Codegen<'_> {
        Codegen {
            arch: self.arch,
            oldest: self.oldest,
            options: &self.options,
            tools: &self.tools,
            places: codegen::places(&self.krate.workspace, &self.tools),
            reuse: Reuse::Earlier,
            panics: self.panics,
        }
    }
}

/// Refuses code that is compiled or not by the architecture, except whole kernels by their
/// `capability`: one compile for the newest architecture would give it to the older ones.
fn same_for_all(sources: &[PathBuf]) -> Result<(), Error> {
    // A build script may have named a folder, too.
    for file in sources.iter().filter(|source| source.is_file()) {
        let text = std::fs::read_to_string(file).map_err(Error::io("read", file))?;
        let depends = |line: &str| {
            !line.trim_start().starts_with("//") && BY_ARCH.iter().any(|name| line.contains(name))
        };
        if let Some(line) = text.lines().position(depends) {
            return Err(Error::CodeByArch {
                file: file.clone(),
                line: line + 1,
            });
        }
    }
    Ok(())
}

/// The conditions of `cfg` that name an architecture, in rustc's words and in Rust-CUDA's.
const BY_ARCH: [&str; 2] = ["target_feature = \"sm_", "target_feature = \"compute_"];

/// cargo's target folder, some levels above `OUT_DIR`. cargo marks a folder that it creates with
/// CACHEDIR.TAG; in an existing folder, such as one that `CARGO_TARGET_DIR` names, it writes only
/// what it knows about the compiler.
///
/// With `--target` it marks a folder within, of that name, as well. The kernels are the same for
/// every host, so the outer one has them, compiled once for all.
fn target_folder_of<'p>(out_dir: &'p Path, target: &str) -> Option<&'p Path> {
    let is_target = |folder: &&Path| {
        let marks = ["CACHEDIR.TAG", ".rustc_info.json"];
        marks.iter().any(|mark| folder.join(mark).is_file())
    };
    let found = out_dir.ancestors().find(is_target)?;
    let is_inner = found.file_name().is_some_and(|name| name == target);
    let outer = found.parent().filter(|_| is_inner).filter(is_target);
    Some(outer.unwrap_or(found))
}

/// The sources whose change starts the build script again: all but what the kernel crate's own
/// build script wrote into the kernels' target folder. That is newer than the start of the script
/// that asks, so cargo would take it for changed and run the script a second time; and it changes
/// only with what the inner script reads, which is among the sources too.
fn watched<'s>(
    sources: &'s [PathBuf],
    target_dir: &'s Path,
) -> impl Iterator<Item = &'s Path> + use<'s> {
    let real = |path: &Path| dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let generated = real(target_dir);
    let sources = sources.iter().map(PathBuf::as_path);
    sources.filter(move |source| !real(source).starts_with(&generated))
}

/// Makes `to` what `from` is, and keeps its modification time if it is so already.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let text = std::fs::read_to_string(from).map_err(Error::io("read", from))?;
    write_if_different(to, &text)
}

fn rerun_if_changed(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

/// Keeps the file's modification time if its text is the same, so that nothing that depends on it
/// is rebuilt.
fn write_if_different(file: &Path, text: &str) -> Result<(), Error> {
    if std::fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(file, text).map_err(Error::io("write", file))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Not every user of Windows may make links.
    #[test]
    #[cfg(unix)]
    fn what_the_build_itself_writes_is_not_watched() {
        let temporary = tempfile::tempdir().unwrap();
        let target = temporary.path().join("target/sm_90");
        let generated = target.join("release/build/kernels-1/out/kernels.rs");
        // cargo's dep-info and this crate may reach one folder by two names.
        let named_otherwise = temporary
            .path()
            .join("link/release/build/kernels-1/out/kernels.rs");
        std::fs::create_dir_all(generated.parent().unwrap()).unwrap();
        std::fs::write(&generated, "").unwrap();
        std::os::unix::fs::symlink(&target, temporary.path().join("link")).unwrap();
        let own = temporary.path().join("target/sm_90.rs");
        let gone = temporary.path().join("src/gone.rs");
        let sources = [own.clone(), generated, named_otherwise, gone.clone()];
        let watched: Vec<&Path> = watched(&sources, &target).collect();
        assert_eq!(watched, [own, gone]);
    }

    #[test]
    fn the_target_folder_is_found_by_either_mark() {
        let temporary = tempfile::tempdir().unwrap();
        for mark in ["CACHEDIR.TAG", ".rustc_info.json"] {
            let target = temporary.path().join(mark.trim_start_matches('.'));
            let out_dir = target.join("debug/build/harness-1234/out");
            std::fs::create_dir_all(&out_dir).unwrap();
            assert_eq!(target_folder_of(&out_dir, "here"), None, "{mark}");
            std::fs::write(target.join(mark), "").unwrap();
            let found = target_folder_of(&out_dir, "here");
            assert_eq!(found, Some(target.as_path()), "{mark}");
        }
    }

    #[test]
    fn with_a_target_kernels_are_where_they_are_without() {
        let temporary = tempfile::tempdir().unwrap();
        let target = temporary.path().join("target");
        let inner = target.join("aarch64-unknown-linux-gnu");
        let out_dir = inner.join("debug/build/host-1234/out");
        std::fs::create_dir_all(&out_dir).unwrap();
        std::fs::write(inner.join("CACHEDIR.TAG"), "").unwrap();
        let of = |name| target_folder_of(&out_dir, name);
        assert_eq!(of("aarch64-unknown-linux-gnu"), Some(inner.as_path()));
        std::fs::write(target.join("CACHEDIR.TAG"), "").unwrap();
        assert_eq!(of("aarch64-unknown-linux-gnu"), Some(target.as_path()));
        // A folder that the user named lies in another one by chance.
        assert_eq!(of("x86_64-unknown-linux-gnu"), Some(inner.as_path()));
    }
}
