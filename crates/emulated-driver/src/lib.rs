//! The CUDA driver API on the PTX emulator.
//!
//! # Purpose
//!
//! A shared library that a program finds as its `libcuda.so.1`. Programs that know nothing of
//! this project then run without a GPU, and every access of their kernels is checked: those of
//! `cust`, `cudarc` and other users of the driver API, and those of the CUDA runtime, which is
//! built on the driver. `harness emulate -- PROGRAM` sets it up.
//!
//! # Contract
//!
//! - **A fault of a kernel is told on standard error.** One that a GPU notices is an error of the
//!   context from then on: illegal address, misaligned address, failed assertion, launch failure.
//!   After a race, a read of unset memory, or a barrier in divergent code the launch is repeated
//!   without checks, and the program goes on.
//! - **What is not supported is a named error.** Every function of the driver API exists; one that
//!   is not implemented says its name and returns `CUDA_ERROR_NOT_SUPPORTED`. SASS cannot run: a
//!   module needs PTX, as text or in a fat binary.
//! - **Addresses are unified.** Managed and page-locked memory have one address for host and
//!   kernels, and are one memory: nothing is copied.
//! - **Streams execute in order, at once where they can.** A stream that waits for a value in
//!   memory, and what waits for that stream, goes on at a later call.
//! - The settings are environment variables: see `settings.rs`.
//!
//! # Spine
//!
//! | file | content |
//! |------|---------|
//! | `api.rs` | how a function of the driver is defined, and the list of all |
//! | `driver.rs` | the state behind all functions |
//! | `image.rs` | takes the PTX out of what a program loads |
//! | `module.rs` | modules, libraries, functions, kernels, variables |
//! | `launch.rs` | launches, from the call to the emulator |
//! | `memory.rs`, `copy.rs` | allocations; copies and fills |
//! | `queue.rs` | the work of streams, and when it is done |
//! | `graph.rs`, `capture.rs` | graphs, and streams that record them |
//! | `report.rs` | **tells faults**, and records launches |
//! | `proc_address.rs`, `tables.rs`, `handshake.rs` | asked for by the CUDA runtime |
//!
//! # Limits
//!
//! - A launch tells one fault, its first.
//! - All devices share one memory: that a kernel reaches another device's without peer access is
//!   not found. Races are looked for within a launch, not between streams.
//! - Textures, surfaces, virtual memory management, and inter-process handles are not
//!   supported.

#[cfg(target_os = "linux")]
#[macro_use]
mod api;
#[cfg(target_os = "linux")]
mod array;
#[cfg(target_os = "linux")]
mod attributes;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod code;
#[cfg(target_os = "linux")]
mod context;
#[cfg(target_os = "linux")]
mod copy;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod driver;
#[cfg(target_os = "linux")]
mod event;
#[cfg(target_os = "linux")]
mod graph;
#[cfg(target_os = "linux")]
mod handshake;
#[cfg(target_os = "linux")]
mod image;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod missing;
#[cfg(target_os = "linux")]
mod module;
#[cfg(target_os = "linux")]
mod occupancy;
#[cfg(target_os = "linux")]
mod pool;
#[cfg(target_os = "linux")]
mod proc_address;
#[cfg(target_os = "linux")]
mod queue;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod stream;
#[cfg(target_os = "linux")]
mod tables;
