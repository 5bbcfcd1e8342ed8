//! Kernels with the mistakes that students make, each beside its correction.
//!
//! `tests/kernels` launches them on the emulated device. `NAME` must fail, with a message that
//! leads to the mistake; `NAME_fixed` must compute the right numbers from the same input. The
//! comment `//~ fault` marks the lines that the message may name.
//!
//! | module | mistakes |
//! |---|---|
//! | [`bounds`] | accesses outside memory, misaligned, through null, to read-only data |
//! | [`unwritten`] | reads of memory that was not written |
//! | [`shared_races`] | missing barriers between accesses to shared memory |
//! | [`global_races`] | threads, warps and blocks that share global memory without order |
//! | [`clusters`] | blocks of a cluster that share memory without order, or while one is missing |
//! | [`grids`] | blocks that compute several steps in one launch, and do not wait for each other |
//! | [`copies`] | asynchronous copies without a wait, or of the wrong size |
//! | [`barriers`] | barriers that only a part of the block reaches |
//! | [`warps`] | shuffles with lanes missing |
//! | [`endings`] | panics, endless loops, too much stack, too large blocks, unknown instructions |
//! | [`counted`] | none: traffic that is computed by hand |

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]
#![allow(
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc,
    clippy::manual_is_multiple_of,
    reason = "wrong on purpose, and written as a beginner writes"
)]

pub mod barriers;
pub mod bounds;
pub mod clusters;
pub mod copies;
pub mod counted;
pub mod endings;
pub mod global_races;
pub mod grids;
pub mod shared_races;
pub mod unwritten;
pub mod warps;
