//! Kernels in CUDA C++ in place of a variant's.

use host::device::SharedMemory;
use host::plan::{Arg, Command, Launch, LaunchConfig, Plan, PlanError};
use host::{Case, Device, Module, NamedBuffers};

use super::nvcc::{FLAGS, Nvcc};
use super::program;
use crate::digest::sha256;
use crate::perf::contender::{About, Peer, PlanRun, TimedRun, Trouble};

#[derive(Debug)]
pub struct Source {
    pub file: &'static str,
    lab: &'static str,
    kernels: &'static [Counterpart],
}

/// What stands in for a variant's kernels: the variant, the language, and the launch in place of one of the variant's.
type Counterpart = (&'static str, &'static str, Relaunch);

/// Another kernel's name, and another shape.
type Relaunch = fn(&Launch<'_>) -> Result<(String, LaunchConfig), PlanError>;

const PLAIN: &str = "CUDA C++";

pub const SOURCES: &[Source] = &[
    Source {
        file: "wave2d.cu",
        lab: "wave2d",
        kernels: &[
            ("naive", PLAIN, same),
            ("naive", "CUDA C++, shared tile", wave2d_tile),
            ("shmem", PLAIN, same),
        ],
    },
    Source {
        file: "wave3d.cu",
        lab: "wave3d",
        kernels: &[("single", PLAIN, same)],
    },
    Source {
        file: "poisson.cu",
        lab: "poisson",
        kernels: &[
            ("reads_source", PLAIN, same),
            ("computes_source", PLAIN, same),
        ],
    },
];

/// The kernel of the same name, in blocks of the same shape.
fn same(launch: &Launch<'_>) -> Result<(String, LaunchConfig), PlanError> {
    Ok((launch.kernel.to_owned(), launch.config))
}

/// Blocks of `TILE_X` by `TILE_Y` threads. The arguments are those of the naive kernel: u0, u1, n_x, n_y, ...
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

/// Compiled kernels that stand in for a variant's.
#[derive(Debug)]
pub struct CudaPeer {
    about: About,
    relaunch: Relaunch,
    module: Module,
}

/// Compiles a source: the peers in it, or nvcc's message.
pub fn compile(nvcc: &Nvcc, source: &Source) -> Result<Vec<CudaPeer>, String> {
    let text = program(source.file).ok_or("its source is not in this copy of the course")?;
    let ptx = nvcc.compile(source.file, text)?;
    let peers = source.kernels.iter();
    let peers = peers.map(|&(variant, language, relaunch)| CudaPeer {
        about: About {
            language: language.to_owned(),
            built_by: format!("nvcc {} {}", nvcc.version, FLAGS[1..].join(" ")),
            lab: source.lab,
            variant,
            code_sha256: Some(sha256(&ptx)),
        },
        relaunch,
        module: Module::new(source.file, ptx.clone()),
    });
    Ok(peers.collect())
}

impl CudaPeer {
    /// The variant's plan, with these kernels: the same buffers and arguments, in the same order.
    fn record(&self, case: &dyn Case) -> Result<Plan, host::Error> {
        let plan = case.record(self.about.variant)?;
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
        case: &dyn Case,
        inputs: &'p NamedBuffers,
        memory: &SharedMemory,
    ) -> Result<Box<dyn TimedRun + 'p>, Trouble> {
        PlanRun::prepare(device, &self.module, self.record(case)?, inputs, memory)
    }
}
