//! Compiles the kernels.

use cuda_builder::CudaBuilder;

fn main() {
    let out = std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("kernels.ptx");
    CudaBuilder::new("kernels")
        .copy_to(&out)
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    println!("cargo::rustc-env=KERNELS_PTX={}", out.display());
}
