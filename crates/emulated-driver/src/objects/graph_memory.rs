//! Memory that a graph allocates and frees while it runs.

use std::ffi::c_int;

use super::Handle;
use crate::site::Site;

/// `CUmemAccessDesc`: the kind of place, its number, and what it may do.
pub(crate) type Access = [c_int; 3];

/// The memory of an allocation node. Its addresses are the node's for good; memory is there from
/// the node on until something frees it.
#[derive(Debug)]
pub(crate) struct GraphMemory {
    pub(crate) bytes: u64,
    pub(crate) context: Handle,
    pub(crate) device: i32,
    /// The graph that allocates it.
    pub(crate) graph: Handle,
    /// A pool of its own, for the devices that may access it.
    pub(crate) pool: Handle,
    /// What the program said of those.
    pub(crate) access: Box<[Access]>,
    /// Where the node was added, if leaks are to be told.
    pub(crate) site: Option<Site>,
    /// The nodes that free it, if there are any.
    pub(crate) freed: Option<Freed>,
    /// By the program's calls, a launch has allocated it, and nothing has freed it.
    pub(crate) is_held: bool,
}

/// Where memory of a graph is freed by nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freed {
    Here,
    InOtherGraphs,
}

/// The unit in which graphs take memory of the device for good (seen on an H200, driver 580).
const UNIT: u64 = 32 << 20;

/// What graphs have of a device's memory, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    /// Of allocations that are there.
    live: u64,
    /// What was taken, and is kept for later launches.
    taken: u64,
    /// The most since the program has reset it: in use, and taken.
    most: [u64; 2],
}

impl Share {
    /// Takes as much as a new allocation needs.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.live += bytes;
        self.taken = self.taken.max(self.live.next_multiple_of(UNIT));
        self.most = self.most.map(|most| most.max(self.taken));
    }

    pub(crate) fn remove(&mut self, bytes: u64) {
        self.live -= bytes;
    }

    /// Gives back what no allocation needs.
    pub(crate) fn trim(&mut self) {
        self.taken = self.live.next_multiple_of(UNIT);
    }

    /// The value of `CUgraphMem_attribute`, if it is one.
    pub(crate) fn attribute(&self, attribute: c_int) -> Option<u64> {
        match attribute {
            0 | 2 => Some(self.taken),
            1 => Some(self.most[0].max(self.taken)),
            3 => Some(self.most[1].max(self.taken)),
            _ => None,
        }
    }

    /// Forgets a value that was the most; false if the attribute is none.
    pub(crate) fn reset(&mut self, attribute: c_int) -> bool {
        match attribute {
            1 => self.most[0] = 0,
            3 => self.most[1] = 0,
            _ => return false,
        }
        true
    }
}
