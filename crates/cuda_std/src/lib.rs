//! Device library for kernels written in Rust.
//!
//! A kernel is a `pub unsafe fn` marked [`#[kernel]`](macro@kernel). `cuda_builder` compiles the
//! kernel's crate to PTX; this crate offers the functions that the GPU has beyond `core`:
//!
//! | module | what for |
//! |---|---|
//! | [`thread`](mod@thread) | which thread am I, barriers, fences |
//! | [`warp`] | shuffles, votes and reductions among the 32 threads of a warp |
//! | [`cluster`] | blocks that run together: their barrier, and each other's shared memory |
//! | [`grid`] | a barrier of all blocks of a launch |
//! | [`shared`] | shared memory, static and dynamic |
//! | [`disjoint`] | a slice, or a matrix, that gives each thread elements of its own |
//! | [`atomic`] | atomics on floats, and those of `core` |
//! | [`float`] | `sin`, `exp`, `mul_add` and their like; approximate functions of the hardware |
//! | [`async_copy`] | copies from global to shared memory beside other work |
//! | [`mbarrier`] | barriers in shared memory that threads and bulk copies arrive at |
//! | [`bulk_copy`] | copies of whole rows between global and shared memory |
//! | [`mem`] | loads with a cache operator, vector loads and stores |
//! | [`l2`] | accesses that say how long L2 should keep what they touch |
//! | [`io`] | `println!`, `dbg!` |
//! | [`clock`] | cycle and nanosecond counters |
//! | [`intrinsics`] | the functions of libdevice, under its names |
//! | [`mod@ptr`], [`misc`] | state spaces of pointers, breakpoints |
//!
//! Names follow the Rust-CUDA project's `cuda_std` wherever it has one.
//!
//! # Features
//!
//! | feature | what for |
//! |---|---|
//! | `math` (default) | functions of `float` that are more than an instruction, and `FloatExt` |
//! | `alloc` | `Vec`, `Box`, `String` and `format!` in kernels, by `mem::CUDAAllocator` |
//! | `glam` | the crate `glam`, whose vectors the index functions then return |
//! | `half` | `f16` and `bf16` of the crate `half`, and their conversions as instructions |
//!
//! # Compiled for the host
//!
//! The crate builds for any target, so that kernels type-check, lint and complete in an editor
//! with stable Rust. Functions that only a GPU can perform panic there.
//!
//! # Panics in kernels
//!
//! A panic executes `trap`: the launch fails and the CUDA context is lost. A GPU gives no message,
//! and `device` names the kernels that can panic, with their lines. The emulated device names the
//! kernel, the thread and the source line. The message is not there: an index that is out of range,
//! or the text of `panic!`, costs no register.
//!
//! A crate that is compiled with `cuda_builder`'s `Panics::Message` says which panic it was, with
//! its message and its line, on both devices: the driver prints it, and the crate `device` makes it
//! the text of its error. Its kernels are larger and slower, and its checks are the same. `harness
//! grade` compiles a submission so a second time where one of its kernels has panicked, for the
//! message alone.
//!
//! Integer overflow wraps, as in release builds. The division of the least number by -1 panics.

#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, link_llvm_intrinsics, repr_simd),
    allow(internal_features)
)]

#[cfg(feature = "alloc")]
extern crate alloc;
// The macros name this crate, here too.
extern crate self as cuda_std;
#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub use core::{assert_eq, assert_ne};

pub use cuda_std_macros::{address_space, dbg, gpu_only, kernel, print, println, shared_array};
#[cfg(feature = "glam")]
pub use glam;
#[cfg(feature = "half")]
pub use half::{self, bf16, f16};

mod argument;
pub mod async_copy;
pub mod atomic;
#[cfg(target_arch = "nvptx64")]
mod builtins;
pub mod bulk_copy;
pub mod clock;
pub mod cluster;
pub mod disjoint;
pub mod float;
#[cfg(feature = "math")]
mod float_ext;
pub mod grid;
#[cfg(feature = "half")]
mod half_ext;
pub mod hint;
pub mod intrinsics;
pub mod io;
pub mod l2;
mod llvm;
pub mod mbarrier;
pub mod mem;
pub mod misc;
#[cfg(target_arch = "nvptx64")]
mod panic;
pub mod ptr;
pub mod shared;
pub mod thread;
mod vector;
pub mod warp;

pub use argument::KernelArgument;
pub use disjoint::{DisjointMatrix, DisjointSlice};
pub use float::GpuFloat;
#[cfg(feature = "math")]
pub use float_ext::FloatExt;
#[cfg(feature = "half")]
pub use half_ext::HalfExt;
pub use llvm::gpu_only;
pub use vector::{UVec2, UVec3};

/// The names that most kernels use: `use cuda_std::prelude::*;`.
pub mod prelude {
    pub use crate::disjoint::{DisjointMatrix, DisjointSlice};
    #[cfg(feature = "half")]
    pub use crate::f16;
    pub use crate::float::GpuFloat;
    pub use crate::{async_copy, atomic, bulk_copy, clock, cluster, grid, kernel, mbarrier, mem};
    #[cfg(feature = "alloc")]
    pub use alloc::{
        borrow::ToOwned,
        boxed::Box,
        format,
        rc::Rc,
        string::{String, ToString},
        vec,
        vec::Vec,
    };
    // On the host `std` has them in its own prelude.
    #[cfg(target_arch = "nvptx64")]
    pub use crate::{dbg, print, println};
    pub use crate::{shared, shared_array, thread, warp};
}
