//! The labs' kernels, and the physics that kernel and CPU reference share.
//!
//! Compiled for `nvptx64-nvidia-cuda` by `cuda_builder`, this crate is the course's PTX. Compiled
//! for the host, it gives the CPU references the same scenes, coefficients and one-cell updates, so
//! that scheme and order of operations are written once.
//!
//! | lab | module |
//! |---|---|
//! | 2D wave equation | [`wave2d`] |
//! | Poisson's equation in a cube | [`poisson`] |
//! | 3D wave equation, damped, layered medium | [`wave3d`] |
//! | acoustic wave, 25-point stencil, absorbing shell | [`stencil25`] |
//! | matrix addition: launch configuration | [`matadd`] |
//! | memory microbenchmarks | [`membench`] |
//!
//! [`inbox`] is how the blocks of a cluster send each other values, [`cache_line`] how threads
//! begin where a line does. [`limits`] measures what no lab does: the rates of arithmetic.
//! [`gather`] is what receivers of a run record.
//!
//! What every submission may use is always there: scenes, coefficients, one-cell updates. Feature
//! `kernels` adds what no submission gets:
//!
//! - kernels that measure the device or a run;
//! - [`solutions`]: the kernels of the built-in variants, from the folders of
//!   `kernels-gpu/solutions`. Each of these files is a submission's `kernels.rs` as it stands,
//!   which is why it names this crate `kernels_gpu`. A student's copy of the course does not have
//!   that folder.

#![no_std]

// So that a kernel file names what it shares with the references alike here and in a submission.
extern crate self as kernels_gpu;

#[cfg(test)]
extern crate std;

pub mod cache_line;
#[cfg(feature = "kernels")]
pub mod gather;
pub mod inbox;
#[cfg(feature = "kernels")]
pub mod limits;
pub mod matadd;
pub mod membench;
pub mod poisson;
pub mod random;
pub mod real;
pub mod stencil25;
pub mod wave2d;
pub mod wave3d;

/// The kernels of the built-in solutions, as `build.rs` finds them: `solutions/LAB/NAME/kernels.rs`
/// is module `LAB::NAME::kernels`.
#[cfg(feature = "kernels")]
#[allow(missing_docs)]
pub mod solutions {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}
