//! Build-script helper: compiles a kernel crate to PTX.
//!
//! ```no_run
//! // build.rs
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! let out = std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("kernels.ptx");
//! CudaBuilder::new("../kernels-gpu")
//!     .arch(NvvmArch::Compute80)
//!     .copy_to(&out)
//!     .build()
//!     .unwrap_or_else(|error| panic!("{error}"));
//! println!("cargo::rustc-env=KERNELS_PTX={}", out.display());
//! ```
//!
//! The crate then contains its kernels as text: `include_str!(env!("KERNELS_PTX"))`.
//!
//! # Steps
//!
//! 1. [`toolchain`]: find a rustc with its library source, and `opt` and `llc` of an LLVM that can
//!    read its output.
//! 2. `compile`: `cargo rustc -Zbuild-std=core,alloc --target nvptx64-nvidia-cuda --emit=llvm-ir`,
//!    into its own target folder, so that neither cargo waits for the other.
//! 3. `ir`: edits for what Rust has no syntax for: shared memory and launch bounds.
//! 4. `codegen`: `opt -O3`, `llc`, and a check of the PTX for undefined functions. Between the two,
//!    `narrow_index` makes up for a defect of `llc`, if it has it.
//!
//! The build script reruns only if a source file of the kernel crate or of one of its path
//! dependencies changes, or one of the variables below.
//!
//! # Several generations of GPUs
//!
//! One PTX text is for one architecture and all newer ones, and `llc` writes the same code of a
//! kernel for each that has its instructions. So a crate is built once, for the newest architecture
//! that a kernel needs ([`CudaBuilder::arch`]), and says in comments what devices before it have of
//! that ([`CudaBuilder::oldest`], `generations`). Code that needs, say, compute capability 9.0 says
//! so:
//!
//! - `#[kernel(capability = "9.0")]` makes a kernel that only devices of 9.0 and newer ones have;
//! - `#[cfg(target_feature = "sm_90")]` is the same for any item or expression, in a crate that is
//!   built for one architecture alone. rustc sets it, and the features of all older architectures,
//!   because the builder passes `-Ctarget-cpu`. All rustc versions know the name, so no lint asks
//!   for a declaration. On the host it is false;
//! - `#[cfg(target_feature = "compute_90")]` is Rust-CUDA's name for it. It means the same in the
//!   kernel crate itself; its dependencies do not know the name.
//!
//! Library functions that only such kernels call need neither of the two.
//!
//! # Panics
//!
//! A panic in a kernel is a `trap` and says nothing, so that its message costs no registers and no
//! code ([`Panics::Trap`]). A crate that is built with [`Panics::Message`] says which panic it
//! was, by the driver's `__assertfail`: a GPU prints it, and the emulated device names it. Its
//! kernels are others than those that are fast, so take them for the message alone. `harness grade`
//! does that: kernels without messages decide, and one that panics runs once more, with messages.
//!
//! `#[kernel(no_panic)]` promises that a kernel does not panic. If a branch to a panic is left
//! after optimisation, the build fails and names its line ([`Error::MayPanic`]). A build with
//! messages does not look for it.
//!
//! # Many kernel crates with the same dependencies
//!
//! [`Prebuilt`] compiles the dependencies once, and then each file of kernels with rustc alone: no
//! cargo and no build scripts. The caller runs every program, and may confine it.
//!
//! # Environment variables
//!
//! | variable | meaning |
//! |---|---|
//! | `CUDA_BUILDER_RUSTC` | the rustc for kernels; its sysroot must hold the library source |
//! | `CUDA_BUILDER_LLVM_BIN` | the folder that holds `opt` and `llc` |
//! | `CUDA_BUILDER_TARGET_DIR` | where to build; default: `cuda-builder` in cargo's target folder |
//!
//! If only one of the first two is set, the other part is searched for as usual.

mod arch;
mod builder;
mod codegen;
mod compile;
mod error;
mod generations;
pub mod hints;
mod ir;
mod narrow_index;
mod no_panic;
mod options;
mod prebuilt;
mod process;
pub mod toolchain;

pub use arch::NvvmArch;
pub use builder::CudaBuilder;
pub use compile::Panics;
pub use error::{Error, SETUP};
pub use options::DebugInfo;
pub use prebuilt::Prebuilt;
pub use process::{Run, command};
