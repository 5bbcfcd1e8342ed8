//! PTX where a program asks its compiler for machine code.
//!
//! # Purpose
//!
//! Numba, CuPy, cuda.core and Triton compile kernels while the program runs. They have PTX in their
//! hands, ask NVIDIA's compilers for the machine code of a GPU, and give the driver that alone,
//! which no emulator of PTX can run. `emulate -- PROGRAM` loads this library into the program and
//! its processes (`LD_PRELOAD`), where it exchanges what such a compiler hands out:
//!
//! | compiler | where it hands out machine code |
//! |---|---|
//! | `libnvrtc`, of any version | `nvrtcGetCUBIN` |
//! | `libnvJitLink`, of any version | `nvJitLinkGetLinkedCubin` |
//! | `ptxas` of Triton and of `nvcc --cubin` | the file that it writes |
//!
//! # Contract
//!
//! - **The real compiler does all of its work**, and all functions but those above are its own. Its
//!   errors, logs and version are thus what they are on a machine with a GPU, and a function that
//!   is newer than this library works.
//! - **A library that is not installed is not there.** Nothing is put in its place: a function is
//!   exchanged when the program asks for it by `dlsym`, and only if the real one was found; a
//!   program that was linked with the library finds ours first.
//! - **Other processes notice nothing.** Every `dlsym` costs a comparison of the name, and a
//!   process that is neither `nvcc` nor `ptxas` runs none of this code when it starts. Programs
//!   that are built by `nvcc` or `ptxas` get their machine code: it is exchanged for `nvcc
//!   --cubin` and Triton alone.
//!
//! # Spine
//!
//! | file | content |
//! |------|---------|
//! | `dlsym.rs` | `dlsym`: whether the program asks for one of the functions |
//! | `symbols.rs` | functions by name |
//! | `nvrtc.rs` | those of NVRTC |
//! | `jit_link.rs` | those of nvJitLink |
//! | `text.rs` | several texts of PTX as one |
//! | `tools.rs` | `nvcc` and `ptxas` |
//!
//! # Limits
//!
//! - JAX's plugin and PyTorch have compilers within, and cuBLAS, cuDNN, cuFFT come as machine code:
//!   the driver says so when they load it.
//! - A program that is linked with nvJitLink, instead of looking its functions up, or with the
//!   static form of a compiler, gets machine code as before.
//! - A program without libc's loader (linked statically), or whose environment loses `LD_PRELOAD`,
//!   gets machine code as before.

// NVIDIA's compilers need Linux with glibc, on these processors. Cargo makes an empty library
// elsewhere.
#![cfg(target_os = "linux")]
#![cfg(target_env = "gnu")]
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod dlsym;
mod jit_link;
mod nvrtc;
mod symbols;
mod text;
mod tools;
