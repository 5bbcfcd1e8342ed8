//! Streams, and the events that they record.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::time::Instant;

use super::Handle;
use super::order::Slot;

/// The legacy default stream of a context.
pub(crate) const LEGACY: Handle = 0;
/// The handle that `cuda.h` defines for the legacy stream.
pub(crate) const LEGACY_BY_NAME: Handle = 1;
/// The handle that `cuda.h` defines for the default stream of each thread.
pub(crate) const PER_THREAD: Handle = 2;

/// A stream that was created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) context: Handle,
    /// It and the legacy stream do not wait for each other.
    pub(crate) is_apart: bool,
    pub(crate) priority: c_int,
    /// Which stream of the program it is, in the order in which they were made, from 1 on.
    pub(crate) number: u32,
    /// The program has no handle of it any more; it still has work to do.
    pub(crate) is_destroyed: bool,
}

/// A stream, default ones among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StreamKey {
    pub(crate) context: Handle,
    pub(crate) stream: Handle,
}

/// An event.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) context: Handle,
    pub(crate) has_time: bool,
    /// How often it was to be recorded.
    pub(crate) recorded: u64,
    /// The records that streams have still to make, by number: of two streams, the later may be
    /// first.
    pub(crate) pending: BTreeSet<u64>,
    pub(crate) time: Option<Instant>,
    /// The order of commands that it recorded last.
    pub(crate) moment: Slot,
    /// The capture that recorded it last, and the nodes that it follows.
    pub(crate) captured: Option<(u64, Vec<Handle>)>,
    /// The program has no handle of it any more; a stream has still to record it.
    pub(crate) is_destroyed: bool,
}

impl Event {
    /// Whether its latest record is made, or there was none.
    pub(crate) fn is_done(&self) -> bool {
        !self.pending.contains(&self.recorded)
    }
}
