//! The CUDA driver API on the PTX emulator.
//!
//! # Purpose
//!
//! A shared library that a program finds as its `libcuda.so.1`. Programs that know nothing of
//! this project then run without a GPU, and every access of their kernels is checked: those of
//! `cust`, `cudarc` and other users of the driver API, and those of the CUDA runtime, which is
//! built on the driver. `emulate -- PROGRAM` sets it up.
//!
//! # Contract
//!
//! - **A fault of a kernel is told on standard error.** One that a GPU notices is an error of the
//!   context from then on: illegal address, misaligned address, failed assertion, launch failure.
//!   After one that a GPU does not notice, such as a race or a read of unset memory, the launch is
//!   repeated without checks, and the program goes on (`ptx_emu::FaultKind`).
//! - **What is not supported is a named error.** Every function of the driver API exists; one that
//!   is not implemented says its name and returns `CUDA_ERROR_NOT_SUPPORTED`. SASS cannot run: a
//!   module needs PTX, as text or in a fat binary.
//! - **Conditional nodes of graphs** run by the values that kernels set (`driver/branch.rs`).
//! - **Several parts are linked**, those of `cuLink` and of a program of `nvcc -rdc=true`, as a
//!   GPU's linker does (`ptx::link`): each needs PTX. Of `libcudadevrt`, the functions of
//!   cooperative groups are there; a launch from a kernel is refused by name.
//! - **A copy of memory that there is not is an error**, with a message, before a byte is touched.
//!   The device's side of it is memory that kernels may access.
//! - **Addresses are unified.** Managed and page-locked memory have one address for host and
//!   kernels, and are one memory: nothing is copied.
//! - **Streams execute in order, at once where they can**, or late (`driver/late.rs`). A stream
//!   that waits for a value in memory, and what waits for that stream, goes on at a later call.
//! - **A race between commands is told**, by the rules in the head of `driver/between/mod.rs`, and
//!   one with the program's own accesses. The program goes on.
//! - **No call waits for itself.** A function that a stream calls gets `CUDA_ERROR_NOT_PERMITTED`
//!   from every call, and a process that was forked from one with CUDA
//!   `CUDA_ERROR_NOT_INITIALIZED`. Both are told.
//! - The settings are environment variables: see `settings.rs`. `CUDA_VISIBLE_DEVICES` chooses
//!   among the devices.
//!
//! # Spine
//!
//! | file | content |
//! |------|---------|
//! | `objects/` | what a program has handles of, as data; `work.rs`: the work of streams |
//! | `driver/mod.rs` | the state behind all functions: it owns the objects |
//! | `driver/memory.rs`, `driver/module.rs` | allocations; modules, libraries, their functions |
//! | `driver/copy.rs`, `host.rs` | copies and fills; whether the program has the memory of one |
//! | `driver/launch.rs` | a launch's checks and arguments, and the way to the emulator |
//! | `driver/queue.rs`, `driver/graph.rs` | the work of streams; graphs, and streams that record |
//! | `driver/between/`, `guard.rs` | races between commands, and with the program's accesses |
//! | `report.rs`, `record.rs` | **tells faults**, and records them, so that none is lost |
//! | `call.rs`, `caller.rs` | how a function of the driver is defined; who may call it |
//! | `api/` | the functions, a file for each kind of object |
//! | `api/tables.rs`, `api/handshake.rs` | asked for by the CUDA runtime |
//! | `image.rs`, `fat_binary.rs`, `parts.rs`, `no_ptx.rs` | the PTX of what a program loads and links |
//!
//! Imports go one way: `api` uses `driver`, which uses `objects`.
//!
//! # Limits
//!
//! - A launch tells one fault, its first.
//! - All devices share one memory: that a kernel reaches another device's without peer access is
//!   not found.
//! - Anisotropic filters, virtual memory management, and inter-process handles are not supported.

// The driver's library has another name and other conventions elsewhere, and cargo makes an empty
// one there.
#![cfg(target_os = "linux")]

#[macro_use]
mod call;
mod api;
mod caller;
mod code;
mod driver;
mod fat_binary;
mod guard;
mod host;
mod image;
mod machine_code;
mod no_ptx;
mod objects;
mod parts;
mod record;
mod report;
mod settings;
mod site;
mod stderr;
mod visible;
