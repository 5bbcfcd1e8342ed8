//! Several processes that run one plan: their numbers, how they meet, and what they tell each
//! other.
//!
//! A launcher (torchrun, srun, `harness launch`) starts the processes, here called ranks, and
//! numbers them from 0. Devices are numbered globally: with `g` devices in each process, rank `r`
//! owns devices `r * g .. (r + 1) * g`.
//!
//! - `world`: the rank of this process and where the ranks meet, from the launcher's variables;
//! - `address`: that place;
//! - `hello`: what a rank says of itself, and what differs between ranks;
//! - `meeting`: all ranks come to rank 0, or all that came end with one message;
//! - `session`: the connections afterwards: barriers, small data, and the death of a rank;
//! - `link`: bytes from device to device, for devices without NCCL;
//! - `wire`: messages as bytes.
//!
//! The connections form a star around rank 0. They carry control messages and the fields of
//! emulated devices; the fields of GPUs go through NCCL (`cuda::nccl`). A connection that closes
//! without a goodbye is the death of its rank.

mod address;
mod error;
mod hello;
mod link;
mod meeting;
mod session;
#[cfg(test)]
mod tests;
mod wire;
mod world;

use std::time::Duration;

pub use address::Address;
pub use error::RanksError;
pub use hello::Hello;
pub use link::{Link, ThreadLink, thread_links};
pub use session::{Session, SessionLink};
pub use world::World;

/// How long ranks wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For all ranks to meet.
    pub arrive: Duration,
    /// For bytes that a [`Link`] receives, and for a connection to take what is written.
    pub transfer: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            arrive: Duration::from_secs(60),
            transfer: Duration::from_secs(60),
        }
    }
}
