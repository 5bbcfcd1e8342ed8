//! Compiles the kernels to PTX, which becomes part of every program that uses this crate.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let ptx = out_dir.join("kernels.ptx");
    let mut builder = CudaBuilder::new("../kernels-gpu")
        .arch(NvvmArch::Compute80)
        .copy_to(&ptx);
    if std::env::var_os("CARGO_FEATURE_SOLUTIONS").is_none() {
        builder = builder.features(["instruments"]);
    }
    let built = builder.build();
    if let Err(error) = built {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=KERNELS_PTX={}", ptx.display());
}
