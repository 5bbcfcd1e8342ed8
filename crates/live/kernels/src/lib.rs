//! The kernels that run live in a page of the book: those of lab 0, and one for each of its six
//! figures.
//!
//! The page shows a whole file beside what its kernel did, so each is short. Its switches are
//! arguments: one text has the right kernel and the wrong one.

#![no_std]
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "`# Safety` of each kernel says what must hold, and the page lets readers break it"
)]

pub mod add;
pub mod chase;
pub mod diverge;
pub mod grid;
pub mod mirror;
pub mod reverse;
pub mod stage;
pub mod strided;
