//! Memory microbenchmarks: latency, bandwidth, coalescing.
//!
//! Every kernel gives a result that the CPU computes too, so that a load that the compiler dropped,
//! or an access that went elsewhere, shows as a wrong sum or a wrong place, not as a good figure.
//!
//! - `chase`: latency, by loads each of which gives the address of the next.
//! - `bandwidth`: L1, L2, shared and device memory read, written, copied.
//!
//! Coalescing is what the solutions differ in: the same elements summed under different assignments
//! of elements to threads.

#[cfg(feature = "kernels")]
pub mod bandwidth;
#[cfg(feature = "kernels")]
pub mod chase;
#[cfg(feature = "kernels")]
mod total;

pub use crate::random::value;
