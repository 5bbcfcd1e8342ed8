//! Whether `llc` computes something else at -O3 than at -O0: every built-in kernel of the labs, in
//! all their small cases, must give the same bits on the emulated device from either PTX.
//!
//! ```text
//! cargo run -p host --example levels [LAB] ...
//! ```
//!
//! Reads the optimised IR that the build of `host` has left in the target folder. Exit status 1 if
//! anything differs. The kernels of `cuda_std`'s tests are compared with the host's results:
//! `STD_KERNELS_LEVEL=0 cargo test -p cuda-std-tests` takes their PTX of -O0.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::NvvmArch;
use device::run::{Outcome, run_once};
use device::{Device, EmulatedDevice, Module};
use lab::{Lab, LabCase, Variant};

/// The optimised IR of a lab's kernels, for the newest GPUs: it has all kernels.
fn optimised(lab: &str) -> PathBuf {
    let program = std::env::current_exe().expect("this program has a file");
    let target = program.ancestors().nth(3).expect("target/debug/examples");
    target
        .join("cuda-builder/sm_90/nvptx64-nvidia-cuda/release/deps")
        .join(format!("kernels_gpu-{lab}-sm_90.optimised.ll"))
}

/// The PTX of this IR without any of `llc`'s optimisations.
fn without_optimisation(ir: &Path) -> String {
    let tools = cuda_builder::toolchain::find().unwrap_or_else(|error| panic!("{error}"));
    let output = Command::new(&tools.llc)
        .arg("-O0")
        .args(NvvmArch::Compute90.llvm_options())
        .args(["-o", "-"])
        .arg(ir)
        .output()
        .expect("llc runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", ir.display());
    String::from_utf8(output.stdout).expect("PTX is text")
}

/// The variant's case on the emulated device, with the kernels of `module`.
fn run(
    device: &EmulatedDevice,
    case: &dyn LabCase,
    variant: &Variant,
    module: &Module,
) -> Result<Outcome, device::Error> {
    let plan = variant.record_on(case, device)?;
    let mut session = device.prepare(module, &plan)?;
    run_once(session.as_mut(), &plan, &case.inputs()?)
}

/// The variant as it is launched by default, and in each shape.
fn with_shapes(variant: &Variant) -> impl Iterator<Item = &Variant> {
    std::iter::once(variant).chain(&variant.shapes)
}

/// How many cases were compared, and those that differ.
fn compare(lab: &Lab) -> (usize, Vec<String>) {
    let device = EmulatedDevice::default();
    let module = Module::new(lab.name, without_optimisation(&optimised(lab.name)));
    let (mut compared, mut wrong) = (0, Vec::new());
    for variant in lab.variants.iter().flat_map(with_shapes) {
        for case in lab.small_cases() {
            let name = format!("{} {}: {case}", lab.name, variant.name);
            let Ok(optimised) = run(&device, case.as_ref(), variant, &variant.module) else {
                println!("not run: {name}");
                continue;
            };
            compared += 1;
            match run(&device, case.as_ref(), variant, &module) {
                Ok(plain) => {
                    let pairs = optimised.outputs.iter().zip(&plain.outputs);
                    wrong.extend(
                        pairs
                            .filter(|((_, a), (_, b))| !a.is_same(b))
                            .map(|((output, _), _)| format!("{name}: {output} differs")),
                    );
                }
                Err(error) => wrong.push(format!("{name}: {error} at -O0 alone")),
            }
        }
    }
    (compared, wrong)
}

fn main() {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let mut all = Vec::new();
    for lab in host::labs() {
        if named.is_empty() || named.iter().any(|name| name == lab.name) {
            let (compared, wrong) = compare(lab);
            println!("{}: {compared} cases, {} differ", lab.name, wrong.len());
            all.extend(wrong);
        }
    }
    if !all.is_empty() {
        eprintln!("{}", all.join("\n"));
        std::process::exit(1);
    }
}
