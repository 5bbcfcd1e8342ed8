//! Compiles the kernels to PTX, and the documentation's examples; the kernels that panic twice, with
//! messages and without.

use std::path::Path;

use cuda_builder::{CudaBuilder, NvvmArch, Panics};

fn main() {
    let arch = NvvmArch::default();
    for (krate, arch, panics, variable) in [
        ("kernels", arch, Panics::Trap, "STD_KERNELS_PTX"),
        ("panics", arch, Panics::Trap, "STD_TRAPS_PTX"),
        // Clusters and bulk copies are of 9.0.
        (
            "examples",
            NvvmArch::Compute90,
            Panics::Trap,
            "STD_EXAMPLES_PTX",
        ),
        // The other kernels with messages are for 9.0 too, and share one `core` with these.
        (
            "panics",
            NvvmArch::Compute90,
            Panics::Message,
            "STD_PANICS_PTX",
        ),
    ] {
        let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
        let ptx = Path::new(&out).join(variable).with_extension("ptx");
        let builder = CudaBuilder::new(krate)
            .arch(arch)
            .panics(panics)
            .copy_to(&ptx);
        if let Err(error) = builder.build() {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
        println!("cargo::rustc-env={variable}={}", ptx.display());
    }
}
