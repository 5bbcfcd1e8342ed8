//! Memory microbenchmarks: latency, bandwidth, coalescing.
//!
//! Every kernel gives a result that the CPU computes too. If the compiler drops a load, or an
//! access goes elsewhere, the sum or place is wrong: no good figure results.
//!
//! - `chase`: latency, by loads that each give the address of the next.
//! - `lines`: latency of single lines of L2, from every multiprocessor.
//! - `bandwidth`: L1, L2, shared and device memory read, written, copied.
//!
//! The solutions show coalescing: they sum the same elements under different mappings of elements
//! to threads.

#[cfg(feature = "kernels")]
pub mod bandwidth;
#[cfg(feature = "kernels")]
pub mod chase;
#[cfg(feature = "kernels")]
pub mod lines;
#[cfg(feature = "kernels")]
mod total;

pub use crate::random::value;
