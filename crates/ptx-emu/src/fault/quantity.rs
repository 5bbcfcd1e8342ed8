//! Numbers in words.

use std::fmt;

/// A number of bytes in words.
pub(super) struct Bytes(pub(super) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// x, y, z in parentheses.
pub(super) struct Index(pub(super) [u32; 3]);

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x}, {y}, {z})")
    }
}

/// A number of threads in words.
pub(super) struct Threads(pub(super) u32);

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} thread{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}
