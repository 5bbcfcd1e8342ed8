//! The order of commands that streams have to do, as far as each must carry it: see
//! `driver/between`.

use std::sync::{Arc, OnceLock};

use command_order::Moment;

use super::stream::StreamKey;
use crate::site::Site;

/// A stream, where each host thread has its own default stream of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Lane {
    pub(crate) key: StreamKey,
    /// The number of the host thread; 0 where all threads have the stream in common.
    pub(crate) thread: u32,
}

/// The call that sent a command.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) lane: Lane,
    /// Counts up with each call.
    pub(crate) number: u64,
    /// Commands that the host knew to be done.
    pub(crate) knew: Moment,
    /// The function of the driver.
    pub(crate) call: &'static str,
    pub(crate) site: Site,
}

/// The time that an event records, once it has.
pub(crate) type Slot = Arc<OnceLock<Moment>>;
