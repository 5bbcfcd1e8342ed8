//! Programs in other languages that do what a variant does, timed in turns with it.
//!
//! Their sources are beside the solutions that they replace, in `kernels-gpu/solutions`, and part
//! of this program. CUDA C++ is compiled for the GPU at hand when it is asked for, if there is an
//! nvcc (`nvcc`), and its PTX then takes the variant's own way: the same plan, except for the shape
//! of blocks where a kernel wants another, the same driver, inputs, clocks and checks (`cuda`).
//! Python is a process of its own that loads the same inputs, times itself by the driver's events
//! and hands its results back (`python`).
//!
//! All of them compute in the order that the course defines and are compiled without contraction,
//! so that their results are checked to the last bit like those of the variants. A CUDA C++ kernel
//! that contraction changes is a second peer, compiled as nvcc does by default: `CUDA C++, FMA`. It
//! rounds differently, and its results are not checked.

mod cuda;
mod nvcc;
mod python;
// Peers are shell scripts there, or need a GPU.
#[cfg(all(test, unix))]
mod tests;

use device::DeviceKind;
use rayon::prelude::*;

use crate::perf::timed_run::Peers;
use select::devices::{Machine, OLDEST, too_old};

/// The oldest compute capability of the machine's GPUs that kernels run on, which PTX is for that
/// all of them can run.
fn compute_capability(machine: &Machine) -> Option<(u32, u32)> {
    let found = machine.found().iter();
    let devices = found.filter_map(|(_, found)| found.as_ref().ok()).flatten();
    let infos = devices.map(|device| device.info());
    let gpus = infos.filter(|info| info.kind == DeviceKind::Cuda);
    let usable = gpus.filter(|info| too_old(info).is_none());
    usable.filter_map(|info| info.compute_capability).min()
}

/// The peers, compiled for this machine; and what it lacks for others. A copy of the course without
/// solutions has no peers either.
pub fn find(machine: &Machine) -> Peers {
    if host::solutions::PROGRAMS.is_empty() {
        return Peers::default();
    }
    let mut peers = Peers::default();
    let nvcc = nvcc::Nvcc::find();
    let compute_capability = compute_capability(machine).unwrap_or(OLDEST);
    let compile = |source| {
        let nvcc = nvcc.as_ref().map_err(String::clone)?;
        cuda::compile(nvcc, source, compute_capability)
    };
    let sources = cuda::sources(host::labs());
    let compiled: Vec<_> = sources.par_iter().map(compile).collect();
    for peers_of_source in compiled {
        match peers_of_source {
            Ok(found) => {
                for peer in found {
                    peers.found.push(Box::new(peer));
                }
            }
            Err(reason) => peers.missing.push(format!("CUDA C++: {reason}")),
        }
    }
    // One line for a compiler that is missing, however many sources it would compile.
    peers.missing.dedup();
    for toolkit in [python::NUMBA, python::CUPY] {
        match toolkit.find("python3".into()) {
            Ok(found) => {
                for peer in python::peers(host::labs(), &found) {
                    peers.found.push(Box::new(peer));
                }
            }
            Err(reason) => peers
                .missing
                .push(format!("Python, {}: {reason}", toolkit.module)),
        }
    }
    peers
}
