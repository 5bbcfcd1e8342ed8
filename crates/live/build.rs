//! Compiles the kernels of the page to PTX, which the library contains as text.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let ptx = out_dir.join("live-kernels.ptx");
    let builder = CudaBuilder::new("kernels").arch(NvvmArch::Compute80);
    if let Err(error) = builder.copy_to(&ptx).build() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=LIVE_KERNELS_PTX={}", ptx.display());
}
