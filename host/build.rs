//! Compiles the kernels to PTX, a module per lab, which become part of every program that uses this
//! crate, and tells where the built-in solutions are.
//!
//! They are compiled once, for the newest GPUs that any of them needs; the text says what older
//! ones have of it (`device::Module::for_device`). Where PTX of the same sources is at hand, it is
//! taken instead ([`prebuilt`]).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, NvvmArch};
use prebuilt::{Modules, Prebuilt};

#[path = "build/prebuilt.rs"]
mod prebuilt;

fn main() {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let built = modules(&out_dir.join("ptx")).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        std::process::exit(1);
    });
    let mut modules = String::new();
    for (lab, text) in built {
        writeln!(modules, "({lab:?}, include_str!({text:?})),").expect("memory takes everything");
    }
    let file = out_dir.join("modules.rs");
    std::fs::write(&file, format!("&[{modules}]")).expect("cargo's folder can be written");
    println!("cargo::rustc-env=MODULES={}", file.display());
    // The build script of `kernels-gpu` finds them; a new one changes this file, and so starts this
    // script.
    let solutions = std::env::var("DEP_KERNELS_GPU_SOLUTIONS").expect("kernels-gpu says it");
    println!("cargo::rerun-if-changed={solutions}");
    println!("cargo::rustc-env=SOLUTIONS={solutions}");
}

/// The modules: those at hand, or else compiled into `compiled`, with the hashes of their sources
/// beside them. Then that folder is what another machine can take.
fn modules(compiled: &Path) -> Result<Modules, String> {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let root = Path::new(&root).parent().expect("it is in the workspace");
    let sources = prebuilt::sources(root).map_err(|error| error.to_string())?;
    let folder = root.join(prebuilt::FOLDER);
    let found = prebuilt::find(root, &sources).map_err(|error| error.to_string())?;
    // A folder that is missing counts as changed, each time.
    if found != Prebuilt::None {
        println!("cargo::rerun-if-changed={}", folder.display());
        for part in prebuilt::DECIDING {
            println!("cargo::rerun-if-changed={}", root.join(part).display());
        }
    }
    let note = match found {
        Prebuilt::Ready(modules) => return Ok(modules),
        Prebuilt::Other(file) => {
            let note = format!(
                "{} has PTX of other sources ({file} differs), so that the kernels must be compiled",
                prebuilt::FOLDER
            );
            println!("cargo::warning={note}");
            format!("\n{note}. It serves again once the sources are those that it was made of")
        }
        Prebuilt::None => String::new(),
    };
    let built = CudaBuilder::new("../kernels-gpu")
        .arch(NvvmArch::Compute90)
        .oldest(NvvmArch::Compute75)
        .build_groups(compiled, lab_of)
        .map_err(|error| format!("{error}{note}"))?;
    let file = compiled.join(prebuilt::SOURCES);
    std::fs::write(&file, sources).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(built)
}

/// The module of a kernel: the lab whose name the kernel's begins with.
fn lab_of(kernel: &str) -> String {
    let lab = kernel.split('_').next();
    lab.unwrap_or_default().to_owned()
}
