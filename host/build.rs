//! Compiles the kernels to PTX, a module per lab, which become part of every program that uses this
//! crate, and tells where the built-in solutions are.
//!
//! The kernels are compiled for two generations of GPUs: some of them need the newer one
//! (`host::kernels`).

use std::fmt::Write as _;
use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    const ARCHS: [NvvmArch; 2] = [NvvmArch::Compute80, NvvmArch::Compute90];
    let built = CudaBuilder::new("../kernels-gpu")
        .build_groups(&out_dir, &ARCHS, lab_of)
        .unwrap_or_else(|error| {
            eprintln!("error: {error}");
            std::process::exit(1);
        });
    let [older, newer] = ARCHS.map(|arch| &built[&arch]);
    let mut modules = String::new();
    for (lab, text) in newer {
        // Where all kernels of a lab need the newer generation, that text serves both.
        let older = older.get(lab).unwrap_or(text);
        writeln!(
            modules,
            "({lab:?}, include_str!({older:?}), include_str!({text:?})),"
        )
        .expect("memory takes everything");
    }
    let file = out_dir.join("modules.rs");
    std::fs::write(&file, format!("&[{modules}]")).expect("cargo's folder can be written");
    println!("cargo::rustc-env=MODULES={}", file.display());
    // The build script of `kernels-gpu` finds them; a new one changes this file, and so starts this
    // script.
    let solutions = std::env::var("DEP_KERNELS_GPU_SOLUTIONS").expect("kernels-gpu says it");
    println!("cargo::rerun-if-changed={solutions}");
    println!("cargo::rustc-env=SOLUTIONS={solutions}");
}

/// The module of a kernel: the lab whose name the kernel's begins with.
fn lab_of(kernel: &str) -> String {
    let lab = kernel.split('_').next();
    lab.unwrap_or_default().to_owned()
}
