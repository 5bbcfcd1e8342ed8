//! Compiles the kernels to PTX.

use cuda_builder::CudaBuilder;

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let ptx = std::path::Path::new(&out).join("kernels.ptx");
    if let Err(error) = CudaBuilder::new("kernels").copy_to(&ptx).build() {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=STD_KERNELS_PTX={}", ptx.display());
}
