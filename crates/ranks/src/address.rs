//! The place where ranks meet.

use std::fmt;
use std::net::IpAddr;

/// The port at which rank 0 listens, and the name or address under which the others reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// A name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Address {
    /// Whether only ranks of the same machine can come.
    pub(super) fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

/// A port that all ranks of a job derive from its name. Systems hand out none so low by themselves.
pub(super) fn derived_port(job: &str) -> u16 {
    // FNV-1a: the same in every process and version.
    let hash = job.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    20_000 + (hash % 12_768) as u16
}
