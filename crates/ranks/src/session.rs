//! The connections between ranks that have met: barriers, small data, and the end of all when one
//! dies.
//!
//! Every rank is connected with rank 0, which passes on what is for others. A rank is lost when it
//! says that it fails, or when its connection closes without a goodbye. Rank 0 tells all others.
//! Each gets the same message, from the function in which it waits and in [`Session::on_loss`]. If
//! rank 0 itself is lost, each notices by itself.
//!
//! Messages are written by the thread that sends them, and each connection has a thread that reads.
//! Readers of other ranks wait for nothing but their connection, and rank 0's for these alone, so
//! that every write comes to its end.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Timeouts;
use super::error::RanksError;
use super::hello::Hello;
use super::link::{Key, Link, Mailbox, Placed};
use super::meeting;
use super::wire::{Kind, Message};
use super::world::World;

/// How long a rank that fails waits until others know why.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A field of a GPU's size, and more.
const MAX_BYTES: u64 = 1 << 40;

/// This rank's connections. Dropped without [`Session::end`], it counts as failed, and all other
/// ranks end.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    readers: Vec<JoinHandle<()>>,
    is_over: bool,
}

/// The state that the threads of a session share.
#[derive(Debug)]
struct Shared {
    rank: usize,
    ranks: usize,
    host: String,
    timeouts: Timeouts,
    mailbox: Mailbox,
    /// Rank 0 has all others, and every other has rank 0 alone.
    peers: Vec<Peer>,
    state: Mutex<State>,
    changed: Condvar,
}

/// A connection to a rank.
#[derive(Debug)]
struct Peer {
    rank: usize,
    /// Empty where it is not known.
    host: String,
    stream: TcpStream,
    /// Held while a message is written.
    writing: Mutex<()>,
}

/// An act upon a loss.
type Act = Box<dyn FnOnce(&str) + Send>;

#[derive(Default)]
struct State {
    loss: Option<String>,
    on_loss: Vec<Act>,
    /// A rank is lost, and others are being told.
    is_losing: bool,
    /// By rank: those that have said goodbye.
    gone: Vec<bool>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("loss", &self.loss)
            .field("gone", &self.gone)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Meets the other ranks, and returns when all have come and may work together.
    ///
    /// # Errors
    ///
    /// [`RanksError::NotMet`] if some do not come within [`Timeouts::arrive`];
    /// [`RanksError::Differ`] if they do not run the same or share a GPU; [`RanksError::Address`]
    /// if rank 0 cannot listen there.
    pub fn meet(world: &World, hello: &Hello, timeouts: Timeouts) -> Result<Session, RanksError> {
        let connections: Vec<(usize, TcpStream, String)> = match (world.ranks, world.rank) {
            (1, _) => Vec::new(),
            (_, 0) => meeting::host(world, hello, &timeouts)?
                .into_iter()
                .zip(1..)
                .map(|((stream, host), rank)| (rank, stream, host))
                .collect(),
            _ => vec![(0, meeting::join(world, hello, &timeouts)?, String::new())],
        };
        let failed = |error: std::io::Error| {
            RanksError::NotMet(format!("rank {}: {error}; start again", world.rank))
        };
        let peers = connections.into_iter().map(|(rank, stream, host)| {
            stream.set_read_timeout(None)?;
            stream.set_write_timeout(Some(timeouts.transfer))?;
            Ok(Peer {
                rank,
                host,
                stream,
                writing: Mutex::default(),
            })
        });
        let shared = Arc::new(Shared {
            rank: world.rank,
            ranks: world.ranks,
            host: hello.host.clone(),
            timeouts,
            mailbox: Mailbox::default(),
            peers: peers.collect::<Result<_, _>>().map_err(failed)?,
            state: Mutex::new(State {
                gone: vec![false; world.ranks],
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        let readers = (0..shared.peers.len()).map(|peer| {
            let shared = Arc::clone(&shared);
            let reader = thread::Builder::new().name("rank-reader".to_owned());
            reader.spawn(move || shared.read(&shared.peers[peer]))
        });
        Ok(Session {
            readers: readers.collect::<Result<_, _>>().map_err(failed)?,
            shared,
            is_over: false,
        })
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.shared.rank
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.shared.ranks
    }

    /// An act for the case that a rank is lost, with the message that names it: abort what waits
    /// for it. It runs in a thread of the session before the session's own functions return the
    /// loss, and does not use the session. If a rank is lost already, it runs at once, in this
    /// thread. It is dropped unused if this rank fails or ends first.
    pub fn on_loss(&self, act: impl FnOnce(&str) + Send + 'static) {
        let mut state = self.shared.state();
        match state.loss.clone() {
            None => state.on_loss.push(Box::new(act)),
            Some(loss) => {
                drop(state);
                act(&loss);
            }
        }
    }

    /// Whether all ranks are there, as far as this one knows.
    ///
    /// # Errors
    ///
    /// [`RanksError::Lost`] with the message that names the lost rank.
    pub fn check(&self) -> Result<(), RanksError> {
        self.shared.mailbox.stopped()
    }

    /// Waits until all ranks are here.
    ///
    /// # Errors
    ///
    /// [`RanksError::Lost`].
    pub fn barrier(&self) -> Result<(), RanksError> {
        self.meet_all(Kind::Barrier)
    }

    /// Every rank's bytes, by rank, at rank 0; `None` elsewhere. For small data.
    ///
    /// # Errors
    ///
    /// [`RanksError::Lost`].
    pub fn gather(&self, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, RanksError> {
        self.collect(Kind::Gather, bytes)
    }

    /// Rank 0's bytes, at every rank; those of the others are not used. For small data.
    ///
    /// # Errors
    ///
    /// [`RanksError::Lost`].
    pub fn broadcast(&self, bytes: &[u8]) -> Result<Vec<u8>, RanksError> {
        self.spread(Kind::Broadcast, bytes)
    }

    /// A link for a device of this rank. Every rank has `devices_per_rank` devices.
    ///
    /// # Panics
    ///
    /// If the device belongs to another rank.
    pub fn link(&self, device: usize, devices_per_rank: usize) -> SessionLink {
        let owner = device.checked_div(devices_per_rank);
        assert_eq!(owner, Some(self.rank()), "device {device} is this rank's");
        SessionLink {
            placed: Placed {
                device,
                devices_per_rank,
            },
            shared: Arc::clone(&self.shared),
        }
    }

    /// Ends as it should, together with all other ranks.
    ///
    /// # Errors
    ///
    /// [`RanksError::Lost`] if a rank was lost, or does not end.
    pub fn end(mut self) -> Result<(), RanksError> {
        let ended = self.meet_all(Kind::Goodbye);
        match &ended {
            Ok(()) => self.is_over = true,
            Err(error) => self.fail_once(&error.to_string()),
        }
        self.shared.close();
        for reader in self.readers.drain(..) {
            // It does not panic, unless an act of `on_loss` does.
            let _ = reader.join();
        }
        ended
    }

    /// Ends because of an error, which all other ranks are told: they end too.
    pub fn fail(mut self, why: &str) {
        self.fail_once(why);
    }

    fn fail_once(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.shared.fail(why);
            self.shared.close();
        }
    }

    fn meet_all(&self, kind: Kind) -> Result<(), RanksError> {
        self.collect(kind, &[])?;
        self.spread(kind, &[])?;
        Ok(())
    }

    fn collect(&self, kind: Kind, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, RanksError> {
        let shared = &self.shared;
        shared.mailbox.stopped()?;
        if shared.rank != 0 {
            shared.to_all(kind, bytes);
            return Ok(None);
        }
        let others = shared.peers.iter().map(|peer| shared.expect(peer, kind));
        std::iter::once(Ok(bytes.to_vec()))
            .chain(others)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn spread(&self, kind: Kind, bytes: &[u8]) -> Result<Vec<u8>, RanksError> {
        let shared = &self.shared;
        if shared.rank != 0 {
            return shared.expect(&shared.peers[0], kind);
        }
        shared.mailbox.stopped()?;
        shared.to_all(kind, bytes);
        Ok(bytes.to_vec())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.fail_once(if std::thread::panicking() {
            "it panicked"
        } else {
            "it ended early"
        });
    }
}

impl Peer {
    /// `rank 3 (its host)`.
    fn name(&self) -> String {
        match self.host.as_str() {
            "" => format!("rank {}", self.rank),
            host => format!("rank {} ({host})", self.rank),
        }
    }

    /// Writes a message. If the connection is gone, or takes nothing, its reader says so.
    fn send(&self, message: &Message) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if message.write(&mut &self.stream).is_err() {
            // Half of a message may be out: nothing can follow it.
            self.close();
        }
    }

    /// Ends the connection, and with it the reader.
    fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.peers.iter().for_each(Peer::close);
    }

    /// Sends a message towards its rank, which may be this one.
    fn deliver(&self, message: Message) {
        let rank = message.rank as usize;
        if rank == self.rank {
            let key = Key::Devices {
                from: message.from,
                to: message.to,
            };
            return self.mailbox.put(key, message.kind, message.bytes);
        }
        let next = if self.rank == 0 { rank } else { 0 };
        if let Some(peer) = self.peers.iter().find(|peer| peer.rank == next) {
            peer.send(&message);
        }
    }

    /// Sends a message to every rank that this one is connected with.
    fn to_all(&self, kind: Kind, bytes: &[u8]) {
        for peer in &self.peers {
            peer.send(&Message::new(kind, peer.rank, bytes));
        }
    }

    /// The next part of a rank in what all ranks do together.
    fn expect(&self, peer: &Peer, kind: Kind) -> Result<Vec<u8>, RanksError> {
        let doing = |last: Option<Kind>| match last {
            Some(Kind::Barrier) => "is at a barrier",
            Some(Kind::Gather) => "is at a gather",
            Some(Kind::Broadcast) => "is at a broadcast",
            _ => "has ended",
        };
        let (got, bytes) = self.mailbox.take(Key::Rank(peer.rank), None)?.unzip();
        if got == Some(kind) {
            return Ok(bytes.unwrap_or_default());
        }
        Err(RanksError::Lost(format!(
            "rank {} {}, and {} {}: they do not run the same",
            self.rank,
            doing(Some(kind)),
            peer.name(),
            doing(got),
        )))
    }

    /// Reads what a rank says until it says no more.
    fn read(&self, peer: &Peer) {
        while let Ok(message) = Message::read(&mut &peer.stream, MAX_BYTES) {
            let rank = Key::Rank(peer.rank);
            match message.kind {
                Kind::Data => self.deliver(message),
                Kind::Barrier | Kind::Gather | Kind::Broadcast => {
                    self.mailbox.put(rank, message.kind, message.bytes);
                }
                Kind::Goodbye => {
                    self.state().gone[peer.rank] = true;
                    self.mailbox.put(rank, message.kind, message.bytes);
                }
                Kind::Failed => self.lose(match self.rank {
                    0 => format!("{} failed: {}", peer.name(), message.text()),
                    _ => message.text(),
                }),
                Kind::Greeting | Kind::Welcome | Kind::Verdict => {}
            }
        }
        if !self.state().gone[peer.rank] {
            self.lose(format!(
                "{} died without a word: see what it and its launcher wrote",
                peer.name()
            ));
        }
    }

    /// Tells all others, and after that ends everything that waits here: a thread that waits may
    /// end the process. The first loss alone counts.
    fn lose(&self, loss: String) {
        if std::mem::replace(&mut self.state().is_losing, true) {
            return;
        }
        if self.rank == 0 {
            self.to_all(Kind::Failed, loss.as_bytes());
        }
        let acts = {
            let mut state = self.state();
            state.loss = Some(loss.clone());
            std::mem::take(&mut state.on_loss)
        };
        acts.into_iter().for_each(|act| act(&loss));
        self.changed.notify_all();
        self.mailbox.stop(RanksError::Lost(loss));
    }

    /// Tells all that this rank fails, and waits a little until they know.
    fn fail(&self, why: &str) {
        let is_losing = {
            let mut state = self.state();
            state.on_loss.clear();
            state.is_losing
        };
        match (is_losing, self.rank) {
            (true, _) => {}
            (false, 0) => self.lose(format!("rank 0 ({}) failed: {why}", self.host)),
            (false, _) => self.to_all(Kind::Failed, why.as_bytes()),
        }
        // Rank 0 tells all, the one that fails too.
        let is_untold = |state: &mut State| state.loss.is_none();
        let waited = self
            .changed
            .wait_timeout_while(self.state(), LAST_WORDS, is_untold);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// A device's link to devices of all ranks, through the session's connections.
#[derive(Debug, Clone)]
pub struct SessionLink {
    placed: Placed,
    shared: Arc<Shared>,
}

impl Link for SessionLink {
    fn send(&self, to: usize, bytes: &[u8]) -> Result<(), RanksError> {
        self.shared.mailbox.stopped()?;
        self.shared.deliver(Message {
            from: self.placed.device as u32,
            to: to as u32,
            ..Message::new(Kind::Data, self.placed.rank_of(to), bytes)
        });
        Ok(())
    }

    fn receive(&self, from: usize, into: &mut [u8]) -> Result<(), RanksError> {
        let longest = self.shared.timeouts.transfer;
        self.placed
            .receive(&self.shared.mailbox, from, longest, into)
    }
}

#[cfg(test)]
impl Session {
    /// Its connections break, as when the process is killed.
    pub fn dies(mut self) {
        self.is_over = true;
        // A process that is killed does not tell of the connections that break with it.
        self.shared.state().is_losing = true;
        self.shared.close();
    }
}
