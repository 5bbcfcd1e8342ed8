//! Where ranks meet.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where rank 0 waits for the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rendezvous {
    /// `tcp://HOST:PORT`: rank 0 listens at this port, and the others reach it under this name or address.
    Tcp {
        /// A name, or an address without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// `file:///PATH`, in a folder that all ranks see: rank 0 listens at any free port, and writes there where that is.
    File(PathBuf),
}

impl Rendezvous {
    /// Whether only ranks of the same machine can come.
    pub(super) fn is_loopback(host: &str) -> bool {
        host == "localhost"
            || host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Rendezvous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rendezvous::Tcp { host, port } if host.contains(':') => {
                write!(f, "tcp://[{host}]:{port}")
            }
            Rendezvous::Tcp { host, port } => write!(f, "tcp://{host}:{port}"),
            Rendezvous::File(path) => write!(f, "file://{}", path.display()),
        }
    }
}

impl FromStr for Rendezvous {
    type Err = String;

    fn from_str(text: &str) -> Result<Rendezvous, String> {
        let wrong =
            || format!("`{text}` is no rendezvous: write tcp://HOST:PORT or file:///SHARED/PATH");
        if let Some(path) = text.strip_prefix("file://") {
            if path.ends_with('/') || !path.starts_with('/') {
                return Err(wrong());
            }
            return Ok(Rendezvous::File(path.into()));
        }
        let (host, port) = text
            .strip_prefix("tcp://")
            .and_then(|place| place.rsplit_once(':'))
            .ok_or_else(wrong)?;
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        let port: u16 = port.parse().map_err(|_| wrong())?;
        let is_host = !host.is_empty() && !host.contains(['/', '[', ']', ' ']);
        if !is_host || port == 0 || (host.contains(':') && bare.is_none()) {
            return Err(wrong());
        }
        Ok(Rendezvous::Tcp {
            host: host.to_owned(),
            port,
        })
    }
}

/// A port that all ranks of a job derive from what they know of it, below those that systems hand out by themselves.
pub(super) fn derived_port(job: &str) -> u16 {
    // FNV-1a: the same in every process and version.
    let hash = job.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    20_000 + (hash % 12_768) as u16
}
