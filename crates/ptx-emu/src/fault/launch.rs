//! Why a launch is not possible.

use crate::memory::global::OutOfMemory;
use crate::names::short_name;

/// Why a launch is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// No such kernel.
    #[error("the module has no kernel `{name}`; it has {}", names(available))]
    NoSuchKernel {
        /// The name requested.
        name: String,
        /// The kernels of the module.
        available: Vec<String>,
    },
    /// Arguments that do not fit the kernel's parameters.
    #[error("launch of `{}`: {error}", short_name(kernel))]
    Arguments {
        /// The kernel.
        kernel: String,
        /// The first that does not.
        #[source]
        error: ptx::ArgsError,
    },
    /// A kernel whose body is wrong.
    #[error("kernel `{}` cannot run: {error}", short_name(kernel))]
    Refused {
        /// The kernel.
        kernel: String,
        /// The place in the text, and what is wrong there.
        #[source]
        error: Box<ptx::Error>,
    },
    /// Wrong size of the parameter block.
    #[error(
        "kernel `{}` takes {expected} bytes of parameters, {given} were given",
        short_name(kernel)
    )]
    Parameters {
        /// The kernel.
        kernel: String,
        /// Bytes that its signature has.
        expected: u32,
        /// Bytes given.
        given: usize,
    },
    /// A shape that does not fit the kernel or the device.
    #[error("launch of `{}`: {error}{}", short_name(kernel), remedy(error))]
    Shape {
        /// The kernel.
        kernel: String,
        /// The first limit that it breaks.
        #[source]
        error: ptx::ShapeError,
    },
    /// Too many blocks.
    #[error("a grid of ({}, {}, {}) blocks; at most {limit} can be run", shape[0], shape[1], shape[2])]
    Blocks {
        /// The grid requested.
        shape: [u32; 3],
        /// The most blocks.
        limit: u64,
    },
    /// Too much local memory.
    #[error(
        "kernel `{}` needs {given} bytes of local memory per thread, for arrays and variables that do not fit in registers; the device allows {limit}",
        short_name(kernel)
    )]
    LocalMemory {
        /// The kernel.
        kernel: String,
        /// Bytes that its frame takes.
        given: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// No room for what the system keeps in device memory for the kernel.
    #[error("memory that the system needs for the kernel: {0}")]
    SystemMemory(#[source] OutOfMemory),
    /// The module belongs to another machine, or was unloaded.
    #[error("the module was not loaded by this machine")]
    ForeignModule,
}

/// The remedy for a shape, in CUDA's and PTX's words.
fn remedy(error: &ptx::ShapeError) -> &'static str {
    match error {
        ptx::ShapeError::LaunchBounds { .. } => {
            "; launch smaller blocks, or raise `__launch_bounds__` (`.maxntid` in PTX)"
        }
        ptx::ShapeError::Registers { .. } => {
            "; launch smaller blocks, or say how large they are with `__launch_bounds__` (`.maxntid` in PTX), so that the compiler takes fewer"
        }
        ptx::ShapeError::StaticSharedMemory { .. } => {
            "; take dynamic shared memory (`extern __shared__`) for more"
        }
        _ => "",
    }
}

fn names(all: &[String]) -> String {
    match all {
        [] => "none".into(),
        _ => all
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}
