//! Kernels in CUDA C++ in place of a variant's.

use host::plan::{Arg, Launch, LaunchConfig, Plan, PlanError};
use host::{Case, Device, Module, NamedBuffers};

use super::nvcc::{FLAGS, Nvcc};
use super::program;
use super::relaunch::relaunched;
use crate::digest::sha256;
use crate::perf::contender::{Peer, PlanRun, TimedRun, Trouble};

/// A file of kernels.
#[derive(Debug)]
pub struct Source {
    /// The file's name.
    pub file: &'static str,
    lab: &'static str,
    kernels: &'static [Counterpart],
}

/// What stands in for a variant's kernels.
#[derive(Debug, Clone, Copy)]
struct Counterpart {
    variant: &'static str,
    language: &'static str,
    /// The launch in place of one of the variant's.
    launch: fn(&Launch<'_>) -> Result<(String, LaunchConfig), PlanError>,
}

const PLAIN: &str = "CUDA C++";

/// All of them.
pub const SOURCES: &[Source] = &[
    Source {
        file: "wave2d.cu",
        lab: "wave2d",
        kernels: &[
            Counterpart {
                variant: "naive",
                language: PLAIN,
                launch: same,
            },
            Counterpart {
                variant: "naive",
                language: "CUDA C++, shared tile",
                launch: wave2d_tile,
            },
            Counterpart {
                variant: "shmem",
                language: PLAIN,
                launch: same,
            },
        ],
    },
    Source {
        file: "wave3d.cu",
        lab: "wave3d",
        kernels: &[Counterpart {
            variant: "single",
            language: PLAIN,
            launch: same,
        }],
    },
    Source {
        file: "poisson.cu",
        lab: "poisson",
        kernels: &[
            Counterpart {
                variant: "reads_source",
                language: PLAIN,
                launch: same,
            },
            Counterpart {
                variant: "computes_source",
                language: PLAIN,
                launch: same,
            },
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
    lab: &'static str,
    counterpart: Counterpart,
    built_by: String,
    module: Module,
}

/// Compiles a source, and gives the peers in it.
///
/// # Errors
///
/// What nvcc says.
pub fn compile(nvcc: &Nvcc, source: &Source) -> Result<Vec<CudaPeer>, String> {
    let text = program(source.file).ok_or("its source is not in this copy of the course")?;
    let ptx = nvcc.compile(source.file, text)?;
    let peers = source.kernels.iter().map(|&counterpart| CudaPeer {
        lab: source.lab,
        counterpart,
        built_by: format!("nvcc {} {}", nvcc.version, FLAGS[1..].join(" ")),
        module: Module::new(source.file, ptx.clone()),
    });
    Ok(peers.collect())
}

impl CudaPeer {
    /// The variant's plan, with these kernels.
    ///
    /// # Errors
    ///
    /// What recording answers.
    pub fn record(&self, case: &dyn Case) -> Result<Plan, host::Error> {
        let plan = case.record(self.counterpart.variant)?;
        let name = format!("{}, {}", plan.name(), self.counterpart.language);
        Ok(relaunched(&plan, name, self.counterpart.launch)?)
    }

    /// The kernels.
    pub fn module(&self) -> &Module {
        &self.module
    }
}

impl Peer for CudaPeer {
    fn language(&self) -> &str {
        self.counterpart.language
    }

    fn built_by(&self) -> &str {
        &self.built_by
    }

    fn lab(&self) -> &str {
        self.lab
    }

    fn variant(&self) -> &str {
        self.counterpart.variant
    }

    fn code_sha256(&self) -> Option<String> {
        Some(sha256(self.module.ptx()))
    }

    fn prepare<'p>(
        &'p self,
        device: &'p dyn Device,
        case: &dyn Case,
        inputs: &'p NamedBuffers,
    ) -> Result<Box<dyn TimedRun + 'p>, Trouble> {
        let plan = self.record(case)?;
        Ok(Box::new(PlanRun::prepare(
            device,
            &self.module,
            plan,
            inputs,
        )?))
    }
}
