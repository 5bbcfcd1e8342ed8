//! The examples of `cuda_std`'s documentation, word for word: the build script takes them out.

#![no_std]
#![allow(
    missing_docs,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc,
    clippy::shadow_unrelated,
    reason = "an example shows one thing; the documentation around it says the rest"
)]

include!(concat!(env!("OUT_DIR"), "/examples.rs"));
