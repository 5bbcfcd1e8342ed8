//! Several processes that run one plan: who they are, how they meet, and what they tell each other.
//!
//! A launcher (torchrun, srun, mpirun, `harness launch`) starts the processes, here called ranks, and numbers them from 0.
//! Devices are numbered globally: with `g` devices in each process, rank `r` owns devices `r * g .. (r + 1) * g`.
//!
//! - `world`: the rank of this process and where the ranks meet, from the launcher's variables;
//! - `address`: that place: `tcp://HOST:PORT` or `file:///PATH`;
//! - `hello`: what a rank says of itself, and what differs between ranks;
//! - `meet`: all ranks come to rank 0, or all that came end with one message;
//! - `session`: the connections afterwards: barriers, small data, and who died;
//! - `peer`: one connection's two threads;
//! - `link`: bytes from device to device, for devices without NCCL;
//! - `wire`: messages as bytes.
//!
//! The connections form a star around rank 0. They carry control messages and the fields of emulated devices; the fields of
//! GPUs go through [`nccl`](crate::nccl).

mod address;
mod error;
mod hello;
mod link;
mod meet;
mod peer;
mod session;
#[cfg(test)]
mod tests;
mod wire;
mod world;

use std::time::Duration;

pub use address::Rendezvous;
pub use error::RanksError;
pub use hello::Hello;
pub use link::{Link, SessionLink, ThreadLink, thread_links};
pub use session::Session;
pub use world::World;

/// How long ranks wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// For all ranks to come to the rendezvous.
    pub arrive: Duration,
    /// Between two signs of life. Shorter than `silence`.
    pub heartbeat: Duration,
    /// For a sign of life, before a rank counts as lost.
    pub silence: Duration,
    /// For bytes that a [`Link`] is to receive.
    pub transfer: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            arrive: Duration::from_secs(60),
            heartbeat: Duration::from_secs(1),
            silence: Duration::from_secs(10),
            transfer: Duration::from_secs(60),
        }
    }
}
