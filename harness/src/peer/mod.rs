//! Programs in other languages that do what a variant does, timed in turns with it.
//!
//! Their sources are beside the solutions that they stand in for, in `kernels-gpu/solutions`, and part of this program. CUDA C++ is compiled when it is asked for, if there is an
//! nvcc (`nvcc`), and its PTX then takes the variant's own way: the same plan, but for the shape of blocks where a kernel
//! wants another, the same driver, inputs, clocks and checks (`cuda`). Python is a process of its own that loads the
//! same inputs, times itself by the driver's events and hands its results back (`python`). All of them compute in the
//! order that the course defines and are compiled without contraction, so that their results are checked to the last bit
//! like those of the variants.

mod cuda;
mod nvcc;
mod python;
#[cfg(test)]
mod tests;

use crate::perf::contender::Peers;

/// The text of a program in another language; none in a copy of the course without solutions.
fn program(file: &str) -> Option<&'static str> {
    let mut programs = host::solutions::PROGRAMS.iter();
    let found = programs.find(|(name, _)| *name == file);
    found.map(|(_, text)| *text)
}

/// The peers of this machine, compiled; and what it lacks for others. A copy of the course without solutions has no peers
/// either.
pub fn find() -> Peers {
    if host::solutions::PROGRAMS.is_empty() {
        return Peers::default();
    }
    let mut peers = Peers::default();
    let nvcc = nvcc::Nvcc::find();
    let compile = |source| cuda::compile(nvcc.as_ref().map_err(String::clone)?, source);
    for source in cuda::SOURCES {
        match compile(source) {
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
        match python::PythonPeer::find("python3".into(), toolkit) {
            Ok(peer) => peers.found.push(Box::new(peer)),
            Err(reason) => peers
                .missing
                .push(format!("Python, {}: {reason}", toolkit.module)),
        }
    }
    peers
}
