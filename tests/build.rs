//! Compiles the bad kernels to PTX for the tests, for compute capability 9.0, because some use
//! clusters: as kernels are compiled, and so that a panic says which it is.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch, Panics};

fn main() {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for (variable, panics) in [
        ("BAD_KERNELS_PTX", Panics::Trap),
        ("BAD_KERNELS_WITH_MESSAGES_PTX", Panics::Message),
    ] {
        let ptx = out_dir.join(variable.to_lowercase()).with_extension("ptx");
        let built = CudaBuilder::new("bad-kernels")
            .arch(NvvmArch::Compute90)
            .panics(panics)
            .copy_to(&ptx)
            .build();
        if let Err(error) = built {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
        println!("cargo::rustc-env={variable}={}", ptx.display());
    }
}
