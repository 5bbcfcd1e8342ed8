//! Compiles the kernels to PTX, which becomes part of every program that uses this crate, and tells where the built-in
//! solutions are.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let ptx = out_dir.join("kernels.ptx");
    let built = CudaBuilder::new("../kernels-gpu")
        .arch(NvvmArch::Compute80)
        .copy_to(&ptx)
        .build();
    if let Err(error) = built {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=KERNELS_PTX={}", ptx.display());
    // The build script of `kernels-gpu` finds them; a new one changes this file, and so starts this script.
    let solutions = std::env::var("DEP_KERNELS_GPU_SOLUTIONS").expect("kernels-gpu says it");
    println!("cargo::rerun-if-changed={solutions}");
    println!("cargo::rustc-env=SOLUTIONS={solutions}");
}
