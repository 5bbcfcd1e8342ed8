//! Compiles the kernels to PTX, with `llc`'s optimisations and without, and the random functions as
//! many modules; the documentation's examples; the kernels that panic twice, with messages and
//! without.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::{CudaBuilder, DebugInfo, NvvmArch, Panics};

fn main() {
    let arch = NvvmArch::default();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for (krate, of_crate, panics, variable) in [
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
        let ptx = out.join(variable).with_extension("ptx");
        let builder = CudaBuilder::new(krate)
            .arch(of_crate)
            .panics(panics)
            .final_module_path(ptx.with_extension("ll"))
            .copy_to(&ptx);
        if let Err(error) = builder.build() {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
        println!("cargo::rustc-env={variable}={}", ptx.display());
    }
    let optimised = out.join("STD_KERNELS_PTX.ptx");
    let ptx = out.join("unoptimised.ptx");
    without_optimisation(arch, &optimised.with_extension("ll"), &optimised, &ptx);
    println!("cargo::rustc-env=STD_KERNELS_UNOPTIMISED={}", ptx.display());
    random(arch, &out.join("random"));
}

/// Compiles the random functions, a module per kernel, in this folder.
fn random(arch: NvvmArch, folder: &Path) {
    // Their own build script reads these.
    for variable in ["RANDOM_FUNCTIONS", "RANDOM_SEED"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let built = CudaBuilder::new("random")
        .arch(arch)
        .debug(DebugInfo::None)
        .final_module_path(folder)
        .build_groups(folder, str::to_owned)
        .unwrap_or_else(|error| {
            eprintln!("error: {error}");
            std::process::exit(1);
        });
    let mut modules = String::new();
    for (kernel, ptx) in &built {
        let unoptimised = ptx.with_extension("unoptimised.ptx");
        without_optimisation(arch, &ptx.with_extension("ll"), ptx, &unoptimised);
        writeln!(
            modules,
            "({kernel:?}, include_str!({ptx:?}), include_str!({unoptimised:?})),"
        )
        .expect("memory takes everything");
    }
    let file = folder.join("modules.rs");
    std::fs::write(&file, format!("&[{modules}]")).expect("cargo's folder can be written");
    println!("cargo::rustc-env=RANDOM_MODULES={}", file.display());
}

/// Writes the PTX of this IR, of `llc -O0`, with what `cuda_builder` says about the kernels in the
/// PTX `optimised`.
fn without_optimisation(arch: NvvmArch, ir: &Path, optimised: &Path, ptx: &Path) {
    let tools = cuda_builder::toolchain::find().expect("the builder has found it");
    let output = Command::new(&tools.llc)
        .arg("-O0")
        .args(arch.llvm_options())
        .args(["-o", "-"])
        .arg(ir)
        .output()
        .expect("llc runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", ir.display());
    let optimised = std::fs::read_to_string(optimised).expect("the builder has written it");
    let (conditions, parameters): (Vec<&str>, Vec<&str>) = optimised
        .lines()
        .filter(|line| line.starts_with("// cuda_std."))
        .partition(|line| line.starts_with("// cuda_std.requires "));
    let code = String::from_utf8(output.stdout).expect("PTX is text");
    // Conditions are read at the start of a file.
    let text = format!(
        "{}\n{code}{}\n",
        conditions.join("\n"),
        parameters.join("\n")
    );
    std::fs::write(ptx, text).expect("cargo's folder can be written");
}
