//! Compiles the kernels to PTX, which becomes part of every program that uses this crate, and tells
//! where the built-in solutions are.
//!
//! The kernels are compiled for two generations of GPUs: some of them need the newer one
//! (`host::kernels`).

use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, Error, NvvmArch};

fn main() {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (ptx, newer) = (out_dir.join("kernels.ptx"), out_dir.join("kernels-90.ptx"));
    // Both have folders of their own, so neither waits for the other.
    let built = std::thread::scope(|scope| {
        let newer = scope.spawn(|| build(NvvmArch::Compute90, &newer));
        let older = build(NvvmArch::Compute80, &ptx);
        older.and(newer.join().expect("no panic"))
    });
    if let Err(error) = built {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=KERNELS_PTX={}", ptx.display());
    println!("cargo::rustc-env=NEWER_KERNELS_PTX={}", newer.display());
    // The build script of `kernels-gpu` finds them; a new one changes this file, and so starts this
    // script.
    let solutions = std::env::var("DEP_KERNELS_GPU_SOLUTIONS").expect("kernels-gpu says it");
    println!("cargo::rerun-if-changed={solutions}");
    println!("cargo::rustc-env=SOLUTIONS={solutions}");
}

fn build(arch: NvvmArch, ptx: &Path) -> Result<PathBuf, Error> {
    CudaBuilder::new("../kernels-gpu")
        .arch(arch)
        .copy_to(ptx)
        .build()
}
