//! Compiles the bad kernels to PTX for the tests, for compute capability 9.0, because some use
//! clusters.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let ptx = out_dir.join("bad_kernels.ptx");
    let built = CudaBuilder::new("bad-kernels")
        .arch(NvvmArch::Compute90)
        .copy_to(&ptx)
        .build();
    if let Err(error) = built {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=BAD_KERNELS_PTX={}", ptx.display());
}
