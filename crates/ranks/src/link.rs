//! Bytes from device to device, for devices without NCCL: emulated ones, and tests.
//!
//! Sending waits for the connection alone, not for the receiver: bytes that are sent and not yet
//! received lie in the receiving process. Receiving waits for a limited time. Between two devices,
//! bytes arrive in the order in which they were sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::error::RanksError;
use super::meeting::seconds;
use super::wire::Kind;

/// The way on which a device sends and receives. Devices have their global numbers.
pub trait Link: Send + Sync {
    /// Sends bytes to a device.
    ///
    /// # Errors
    ///
    /// [`RanksError::Lost`] if a rank is lost.
    fn send(&self, to: usize, bytes: &[u8]) -> Result<(), RanksError>;

    /// Waits for bytes of a device, as many as `into` has.
    ///
    /// # Errors
    ///
    /// [`RanksError::Transfer`] if none come in time or not as many, with both devices and ranks;
    /// [`RanksError::Lost`] if a rank is lost.
    fn receive(&self, from: usize, into: &mut [u8]) -> Result<(), RanksError>;
}

/// The sender and the receiver of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// From a device to a device.
    Devices { from: u32, to: u32 },
    /// From a rank, for barriers and the like.
    Rank(usize),
}

/// The messages that have arrived and were not yet taken.
#[derive(Debug, Default)]
pub struct Mailbox {
    state: Mutex<Arrived>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Arrived {
    queues: HashMap<Key, VecDeque<(Kind, Vec<u8>)>>,
    stopped: Option<RanksError>,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn put(&self, key: Key, kind: Kind, bytes: Vec<u8>) {
        let mut state = self.lock();
        state
            .queues
            .entry(key)
            .or_default()
            .push_back((kind, bytes));
        self.changed.notify_all();
    }

    /// From now on, each thread that waits or comes gets this error.
    pub fn stop(&self, error: RanksError) {
        self.lock().stopped.get_or_insert(error);
        self.changed.notify_all();
    }

    pub fn stopped(&self) -> Result<(), RanksError> {
        self.lock().stopped.clone().map_or(Ok(()), Err)
    }

    /// The oldest under this key. `Ok(None)` if nothing comes within `longest`.
    pub fn take(
        &self,
        key: Key,
        longest: Option<Duration>,
    ) -> Result<Option<(Kind, Vec<u8>)>, RanksError> {
        let deadline = longest.map(|longest| Instant::now() + longest);
        let mut state = self.lock();
        loop {
            if let Some(error) = &state.stopped {
                return Err(error.clone());
            }
            let oldest = state.queues.get_mut(&key).and_then(VecDeque::pop_front);
            if oldest.is_some() {
                return Ok(oldest);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return Ok(None),
                None => { self.changed.wait(state) }.unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// A device among all, which the ranks own in equal numbers.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    pub device: usize,
    pub devices_per_rank: usize,
}

impl Placed {
    pub fn rank_of(self, device: usize) -> usize {
        device / self.devices_per_rank
    }

    fn name(self, device: usize) -> String {
        format!("device {device} (rank {})", self.rank_of(device))
    }

    pub fn receive(
        self,
        mailbox: &Mailbox,
        from: usize,
        longest: Duration,
        into: &mut [u8],
    ) -> Result<(), RanksError> {
        let key = Key::Devices {
            from: from as u32,
            to: self.device as u32,
        };
        let Some((_, bytes)) = mailbox.take(key, Some(longest))? else {
            return Err(RanksError::Transfer(format!(
                "{} sent nothing to {} within {}",
                self.name(from),
                self.name(self.device),
                seconds(longest),
            )));
        };
        if bytes.len() != into.len() {
            return Err(RanksError::Transfer(format!(
                "{} sent {} bytes to {}, which expects {}",
                self.name(from),
                bytes.len(),
                self.name(self.device),
                into.len(),
            )));
        }
        into.copy_from_slice(&bytes);
        Ok(())
    }
}

/// A device's link to devices of the same process, as if they belonged to several ranks.
#[derive(Debug, Clone)]
pub struct ThreadLink {
    placed: Placed,
    mailbox: Arc<Mailbox>,
    longest: Duration,
}

/// The links of all devices of `ranks` emulated ranks, by device. `longest` bounds each receive.
///
/// # Panics
///
/// If `devices_per_rank` is 0.
pub fn thread_links(ranks: usize, devices_per_rank: usize, longest: Duration) -> Vec<ThreadLink> {
    assert!(devices_per_rank > 0, "a rank has devices");
    let mailbox = Arc::new(Mailbox::default());
    (0..ranks * devices_per_rank)
        .map(|device| ThreadLink {
            placed: Placed {
                device,
                devices_per_rank,
            },
            mailbox: Arc::clone(&mailbox),
            longest,
        })
        .collect()
}

impl Link for ThreadLink {
    fn send(&self, to: usize, bytes: &[u8]) -> Result<(), RanksError> {
        let key = Key::Devices {
            from: self.placed.device as u32,
            to: to as u32,
        };
        self.mailbox.put(key, Kind::Data, bytes.to_vec());
        Ok(())
    }

    fn receive(&self, from: usize, into: &mut [u8]) -> Result<(), RanksError> {
        self.placed.receive(&self.mailbox, from, self.longest, into)
    }
}
