//! The labs' kernels, and the physics that kernel and CPU reference share.
//!
//! Compiled for `nvptx64-nvidia-cuda` by `cuda_builder`, this crate is the course's PTX. Compiled
//! for the host, it gives the CPU references the same scenes, coefficients and one-cell updates.
//! Scheme and order of operations are thus written once.
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
//! With [`inbox`] the blocks of a cluster send each other values; with [`cache_line`] threads begin
//! at the start of a line. With [`boxes`] the blocks of the whole device exchange rows, and with
//! [`meet`](mod@meet) blocks of several devices wait for each other.
//! [`limits`] measures the rates of arithmetic, which no lab does.
//!
//! The parts for submissions are always there: scenes, coefficients, one-cell updates. Feature
//! `kernels` adds parts that no submission gets:
//!
//! - kernels that measure the device or a run;
//! - [`solutions`]: the kernels of the built-in variants, from the folders of
//!   `kernels-gpu/solutions`. Each of these files is unchanged a submission's `kernels.rs`, and
//!   therefore names this crate `kernels_gpu`. A student's copy of the course does not have that
//!   folder.

#![no_std]
// A `match` on a bool and an `if` come out of LLVM as different PTX, and these kernels were
// measured as they are.
#![allow(clippy::match_bool)]
// In formulas, as a kernel has them, `x` in a closure is the axis that `x` is outside of it.
#![allow(clippy::shadow_same, clippy::shadow_unrelated)]

// A kernel file thus uses the same names here and in a submission for the parts shared with the
// references.
extern crate self as kernels_gpu;

#[cfg(test)]
extern crate std;

pub mod blocks;
pub mod boxes;
pub mod cache_line;
pub mod inbox;
#[cfg(feature = "kernels")]
pub mod limits;
pub mod matadd;
pub mod meet;
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
