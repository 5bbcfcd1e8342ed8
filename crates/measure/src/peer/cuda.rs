//! Kernels in CUDA C++ instead of a variant's.

use device::BufferPool;
use device::{Device, Module, NamedBuffers};
use lab::{LabCase, Variant};
use plan::{Arg, Command, Launch, LaunchConfig, Plan, PlanError};

use super::nvcc::{Build, Nvcc};
use crate::perf::timed_run::{About, Peer, RunError, TimedRun};
use host::solutions::program;
use output_files::digest::sha256;

#[derive(Debug)]
pub struct Source {
    pub file: &'static str,
    lab: &'static str,
    kernels: &'static [Counterpart],
}

/// Kernels that replace a variant's.
#[derive(Debug)]
struct Counterpart {
    variant: &'static str,
    /// Its name in rows, built without contraction.
    language: &'static str,
    /// The kernel that computes, after its lab's name: it is built with contraction too, where that
    /// changes it.
    kernel: &'static str,
    /// The launch instead of one of the variant's.
    relaunch: Relaunch,
}

/// Another kernel's name, and another shape.
type Relaunch = fn(&Launch<'_>) -> Result<(String, LaunchConfig), PlanError>;

pub const SOURCES: &[Source] = &[
    Source {
        file: "wave2d.cu",
        lab: "wave2d",
        kernels: &[
            plain("naive"),
            Counterpart {
                variant: "naive",
                language: "CUDA C++, shared tile",
                kernel: "tile",
                relaunch: wave2d_tile,
            },
            plain("shmem"),
            Counterpart {
                kernel: "fast_t16",
                ..plain("fast")
            },
            Counterpart {
                kernel: "wavefront_t16",
                ..plain("wavefront")
            },
        ],
    },
    Source {
        file: "wave3d.cu",
        lab: "wave3d",
        kernels: &[
            plain("single"),
            Counterpart {
                variant: "fast",
                language: "CUDA C++",
                kernel: "fast_t4_r4_y8",
                relaunch: same,
            },
        ],
    },
    Source {
        file: "poisson.cu",
        lab: "poisson",
        kernels: &[
            plain("reads_source"),
            plain("computes_source"),
            Counterpart {
                variant: "fast",
                language: "CUDA C++",
                kernel: "fast_t3_r4_w8_s6",
                relaunch: same,
            },
        ],
    },
    Source {
        file: "stencil25.cu",
        lab: "stencil25",
        kernels: &[
            plain("gmem"),
            plain("st_reg_fixed"),
            Counterpart {
                kernel: "two_steps_y20_z64_a2",
                ..plain("two_steps")
            },
        ],
    },
];

/// The same algorithm as the variant's, in kernels of the same names.
const fn plain(variant: &'static str) -> Counterpart {
    Counterpart {
        variant,
        language: "CUDA C++",
        kernel: variant,
        relaunch: same,
    }
}

/// The kernel of the same name, in blocks of the same shape.
fn same(launch: &Launch<'_>) -> Result<(String, LaunchConfig), PlanError> {
    Ok((launch.kernel.to_owned(), launch.config))
}

/// Blocks of `TILE_X` by `TILE_Y` threads. The arguments are those of the naive kernel: u0, u1,
/// n_x, n_y, ...
fn wave2d_tile(launch: &Launch<'_>) -> Result<(String, LaunchConfig), PlanError> {
    const TILE: (u32, u32) = (32, 16);
    let &[_, _, Arg::U32(n_x), Arg::U32(n_y), ..] = launch.args else {
        return Err(PlanError::unsupported(format!(
            "`{}` does not take the extents as its third and fourth argument",
            launch.kernel
        )));
    };
    let config = LaunchConfig::covering((n_x, n_y), TILE)?;
    Ok(("wave2d_tile".to_owned(), config))
}

/// Compiled kernels that replace a variant's.
#[derive(Debug)]
pub struct CudaPeer {
    about: About,
    relaunch: Relaunch,
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
    for counterpart in source.kernels {
        let peer = |ptx: &str, fuses: bool| CudaPeer {
            about: About {
                language: if fuses {
                    format!("{}, FMA", counterpart.language)
                } else {
                    counterpart.language.to_owned()
                },
                built_by: nvcc.names(build(fuses)),
                lab: source.lab,
                variant: counterpart.variant,
                code_sha256: Some(sha256(ptx)),
                rounds_differently: fuses,
            },
            relaunch: counterpart.relaunch,
            module: Module::new(source.file, ptx.to_owned()),
        };
        peers.push(peer(&plain, false));
        let kernel = format!("{}_{}", source.lab, counterpart.kernel);
        let missing = || format!("{} has no kernel `{kernel}`", source.file);
        let operations = |ptx| fused_operations(ptx, &kernel).ok_or_else(missing);
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
                let (kernel, config) = (self.relaunch)(&launch)?;
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
    use host::find_lab;

    use super::{SOURCES, same};

    /// Without nvcc, nothing else sees that a kernel has another name now.
    #[test]
    fn what_stands_in_for_a_labs_kernel_has_its_name() {
        for source in SOURCES {
            let module = &find_lab(source.lab).unwrap().module;
            let program = module.executable().unwrap().program();
            for counterpart in source.kernels {
                let kernel = format!("{}_{}", source.lab, counterpart.kernel);
                let is_same = std::ptr::fn_addr_eq(counterpart.relaunch, same as super::Relaunch);
                assert_eq!(program.kernel(&kernel).is_some(), is_same, "{kernel}");
            }
        }
    }

    #[test]
    fn the_books_page_of_peers_has_every_kernel() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/measure/peers.md");
        let page = std::fs::read_to_string(page).unwrap();
        for source in SOURCES {
            let file = format!("kernels-gpu/solutions/{}/{}", source.lab, source.file);
            assert!(page.contains(&file), "the page lacks {file}");
            for kernel in source.kernels {
                let (lab, variant, language) = (source.lab, kernel.variant, kernel.language);
                let row = format!("| {lab} | `{variant}` | {language} |");
                assert!(page.contains(&row), "the page lacks {row}");
            }
        }
    }
}
