//! Sends and receives between GPUs of several processes, through NVIDIA's NCCL.
//!
//! NCCL is not part of this program: [`Nccl::open`] loads `libnccl.so.2` when it is needed. A
//! [`Comm`] is one GPU's membership among all; ranks here are NCCL's, one for each GPU. Its unique
//! id comes from rank 0 and reaches the others by
//! [`Session::broadcast`](ranks::Session::broadcast).
//!
//! Communicators are nonblocking. A call that has to wait for other ranks returns at once, and is
//! asked about until a deadline: a rank that never comes hangs no other. Work that is enqueued on a
//! stream does wait there; [`Comm::abort`], from any thread, ends that.

mod comm;
mod error;
mod library;
#[cfg(test)]
mod tests;

pub use comm::{Comm, Group, Member, abort, settle};
pub use error::NcclError;
pub use library::{Nccl, UniqueId};
