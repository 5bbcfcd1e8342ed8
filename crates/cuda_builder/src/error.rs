//! Errors, each with its remedy.

use std::path::PathBuf;

use crate::{NvvmArch, hints};

/// The script, in the project's folder, that installs what compiling kernels needs on this system.
pub const SETUP: &str = if cfg!(windows) {
    r".\setup.ps1"
} else {
    "./setup"
};

/// Why a kernel crate did not become PTX.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No compiler for kernels was found.
    #[error(
        "no toolchain can compile kernels. Searched:\n{}\nRemedy: run {SETUP}, or set CUDA_BUILDER_RUSTC and \
         CUDA_BUILDER_LLVM_BIN",
        .tried.iter().map(|t| format!("  - {t}")).collect::<Vec<_>>().join("\n")
    )]
    NoToolchain {
        /// Each candidate, and what it lacks.
        tried: Vec<String>,
    },

    /// The LLVM tools are older than rustc's LLVM.
    #[error(
        "{} is LLVM {llvm}, too old for {}, whose LLVM is {rustc_llvm}: kernels need opt and llc of LLVM \
         {rustc_llvm} or newer. Remedy: apt-get install llvm-{rustc_llvm}, or set CUDA_BUILDER_LLVM_BIN",
        .tool.display(), .rustc.display()
    )]
    LlvmTooOld {
        /// The tool that was found.
        tool: PathBuf,
        /// Its LLVM's major version.
        llvm: u32,
        /// The rustc that needs it.
        rustc: PathBuf,
        /// That rustc's LLVM's major version.
        rustc_llvm: u32,
    },

    /// The kernel crate does not compile.
    #[error(
        "the kernels in {} do not compile:\n{output}{}", .krate.display(),
        .hints.iter().map(|hint| format!("\n\nhint: {hint}")).collect::<String>()
    )]
    KernelCompile {
        /// The kernel crate's folder.
        krate: PathBuf,
        /// The messages of cargo and rustc, with file and line.
        output: String,
        /// Hints: the things that kernels have instead, each once.
        hints: Vec<&'static str>,
    },

    /// The kernels call a function that nothing defines.
    #[error(
        "the kernels call {}, which nothing defines: PTX is not linked, so every function must be in the kernel crate or \
         its Rust dependencies{}",
        .functions.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", "),
        .functions.iter().filter_map(|f| hints::of_undefined(f)).map(|hint| format!(". {hint}")).collect::<String>()
    )]
    Unresolved {
        /// The functions' names, demangled.
        functions: Vec<String>,
    },

    /// The crate compiled, but has no kernel.
    #[error("{} has no kernel: mark a `pub unsafe fn` with #[kernel]", .krate.display())]
    NoKernels {
        /// The kernel crate's folder.
        krate: PathBuf,
    },

    /// A kernel for an architecture without clusters uses them.
    #[error(
        "`{function}` uses thread block clusters, which {arch} does not have: mark the kernel \
         `#[kernel(capability = \"9.0\")]`"
    )]
    NoClusters {
        /// The function whose code, inlined calls included, uses clusters.
        function: String,
        /// The architecture.
        arch: NvvmArch,
    },

    /// Code depends on the architecture, in a crate that is compiled once for several.
    #[error(
        "{}:{line}: `cfg(target_feature = \"sm_..\")` makes the code of one architecture, and this crate is compiled once for \
         several. Remedy: mark the whole kernel `#[kernel(capability = \"..\")]`, or build for each architecture by itself, without `oldest`",
        .file.display()
    )]
    CodeByArch {
        /// The source file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },

    /// A kernel that promises not to panic may do it.
    #[error(
        "kernel `{kernel}` is marked `no_panic`, and may panic:\n{}\nRemedy: check what the panic is about before, for \
         example an index with `if i < x.len()`",
        .places.iter().map(|place| format!("  {place}")).collect::<Vec<_>>().join("\n")
    )]
    MayPanic {
        /// The kernel.
        kernel: String,
        /// The places of the panics: `file:line:column`.
        places: Vec<String>,
    },

    /// A tool failed on what should have been good input: a bug here or in LLVM.
    #[error("{} failed ({status}), a bug in the kernels' build:\n{output}", .tool.display())]
    Tool {
        /// The tool.
        tool: PathBuf,
        /// Its exit status.
        status: String,
        /// The tool's output.
        output: String,
    },

    /// The LLVM IR does not look as expected: a bug here.
    #[error("rustc's LLVM IR is not in the form that cuda_builder knows: {what}")]
    UnexpectedIr {
        /// The expectation, and the line found.
        what: String,
    },

    /// The kernel crate's folder has no manifest that can be used.
    #[error("{}: {problem}", .manifest.display())]
    Manifest {
        /// The Cargo.toml.
        manifest: PathBuf,
        /// The manifest's problem.
        problem: String,
    },

    /// A file or program could not be used.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The attempted action: "read", "write", "run".
        action: &'static str,
        /// The file or program.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

impl Error {
    /// For `map_err`: makes an I/O error on `path`.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
