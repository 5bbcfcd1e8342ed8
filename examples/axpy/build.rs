//! Compiles the kernels to PTX, which the program contains as text.

use std::path::PathBuf;

use cuda_builder::CudaBuilder;

fn main() {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let ptx = out_dir.join("kernels.ptx");
    if let Err(error) = CudaBuilder::new("kernels").copy_to(&ptx).build() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=KERNELS_PTX={}", ptx.display());
}
