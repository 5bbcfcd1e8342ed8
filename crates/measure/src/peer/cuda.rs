//! Kernels in CUDA C++ instead of a variant's.

use device::BufferPool;
use device::{Device, Module, NamedBuffers};
use lab::{Counterpart, CudaKernels, Lab, LabCase, Relaunch, Variant};
use plan::{Command, Plan};

use super::nvcc::{Build, Nvcc};
use crate::perf::timed_run::{About, Peer, RunError, TimedRun};
use host::solutions::program;
use output_files::digest::sha256;
use results::Language;

/// A source, and the kernels in it that replace those of variants.
#[derive(Debug)]
pub struct Source {
    pub file: &'static str,
    lab: &'static Lab,
    kernels: Vec<(&'static Variant, &'static CudaKernels)>,
}

/// The sources that the variants of these labs name.
pub fn sources(labs: &[&'static Lab]) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for &lab in labs {
        for (variant, kernels) in lab.variants.iter().flat_map(of_variant) {
            let file = kernels.file;
            match sources.iter_mut().find(|source| source.file == file) {
                Some(source) => source.kernels.push((variant, kernels)),
                None => sources.push(Source {
                    file,
                    lab,
                    kernels: vec![(variant, kernels)],
                }),
            }
        }
    }
    sources
}

fn of_variant(
    variant: &'static Variant,
) -> impl Iterator<Item = (&'static Variant, &'static CudaKernels)> {
    let kernels = variant.counterparts.iter().filter_map(|it| match it {
        Counterpart::Cuda(kernels) => Some(kernels),
        Counterpart::Python(_) => None,
    });
    kernels.map(move |kernels| (variant, kernels))
}

/// Compiled kernels that replace a variant's.
#[derive(Debug)]
pub struct CudaPeer {
    about: About,
    relaunch: Option<Relaunch>,
    module: Module,
}

/// Compiles a source for GPUs of this compute capability, without contraction and with it: the
/// peers in it, or nvcc's message.
pub fn compile(
    nvcc: &Nvcc,
    source: &Source,
    compute_capability: (u32, u32),
) -> Result<Vec<CudaPeer>, String> {
    let text = program(source.file).ok_or("its source is not in this copy of the course")?;
    let build = |fuses| Build {
        compute_capability,
        fuses,
    };
    let compile = |fuses| nvcc.compile(source.file, text, build(fuses));
    let [plain, fused] = [compile(false)?, compile(true)?];
    let mut peers = Vec::new();
    for &(variant, kernels) in &source.kernels {
        let peer = |ptx: &str, fuses: bool| CudaPeer {
            about: About {
                language: Language::cuda_cpp(
                    kernels.form.into_iter().chain(fuses.then_some("FMA")),
                ),
                built_by: nvcc.names(build(fuses)),
                lab: source.lab.name,
                variant: &variant.name,
                code_sha256: Some(sha256(ptx)),
                rounds_differently: fuses,
            },
            relaunch: kernels.relaunch,
            module: Module::new(source.file, ptx.to_owned()),
        };
        peers.push(peer(&plain, false));
        let kernel = &kernels.kernel;
        let missing = || format!("{} has no kernel `{kernel}`", source.file);
        let operations = |ptx| fused_operations(ptx, kernel).ok_or_else(missing);
        if operations(&fused)? > operations(&plain)? {
            peers.push(peer(&fused, true));
        }
    }
    Ok(peers)
}

/// How many instructions of a kernel multiply and add at once; none of a kernel that is not there.
fn fused_operations(ptx: &str, kernel: &str) -> Option<usize> {
    let (_, rest) = ptx.split_once(&format!(".entry {kernel}("))?;
    let body = rest.split("\n}").next()?;
    Some(body.matches("fma.rn.").count())
}

impl CudaPeer {
    /// The variant's plan in its shape, with these kernels: the same buffers and arguments, in the
    /// same order.
    fn record(&self, case: &dyn LabCase, launched: &Variant) -> Result<Plan, device::Error> {
        let plan = launched.record(case)?;
        let mut new = plan.map(|new, command| match command {
            Command::Launch(launch) => {
                let (kernel, config) = match self.relaunch {
                    Some(relaunch) => relaunch(&launch)?,
                    None => (launch.kernel.to_owned(), launch.config),
                };
                new.launch(&kernel, config, launch.args.to_vec())
            }
            other => new.push(other),
        })?;
        new.rename(format!("{}, {}", plan.name(), self.about.language));
        Ok(new)
    }
}

impl Peer for CudaPeer {
    fn about(&self) -> &About {
        &self.about
    }

    fn prepare<'p>(
        &'p self,
        device: &'p dyn Device,
        case: &dyn LabCase,
        launched: &Variant,
        inputs: &'p NamedBuffers,
        memory: &BufferPool,
    ) -> Result<TimedRun<'p>, RunError> {
        let plan = self.record(case, launched)?;
        TimedRun::prepare(device, &self.module, plan, inputs, memory)
    }
}

#[cfg(test)]
mod tests {
    use host::labs;
    use results::Language;

    use super::sources;

    /// Without nvcc, nothing else sees that a kernel has another name now.
    #[test]
    fn what_stands_in_for_a_labs_kernel_has_its_name() {
        for source in sources(labs()) {
            let program = source.lab.module.executable().unwrap().program();
            for (_, kernels) in source.kernels {
                let has_same = program.kernel(&kernels.kernel).is_some();
                assert_eq!(has_same, kernels.relaunch.is_none(), "{}", kernels.kernel);
            }
        }
    }

    #[test]
    fn the_books_page_of_peers_has_every_kernel() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/measure/peers.md");
        let page = std::fs::read_to_string(page).unwrap();
        for source in sources(labs()) {
            let lab = source.lab.name;
            let file = format!("kernels-gpu/solutions/{lab}/{}", source.file);
            assert!(page.contains(&file), "the page lacks {file}");
            for (variant, kernels) in source.kernels {
                let language = Language::cuda_cpp(kernels.form);
                let row = format!("| {lab} | `{}` | {language} |", variant.name);
                assert!(page.contains(&row), "the page lacks {row}");
            }
        }
    }
}
