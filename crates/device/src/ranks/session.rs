//! The connections between ranks that have met: barriers, small data, and what becomes of all when one dies.
//!
//! Every rank is connected with rank 0, which passes on what is for others. A rank that dies, falls silent or says that it
//! fails is a loss: rank 0 tells all others, each of which gets the same message, from whatever it waits for and in
//! [`Session::on_loss`]. If rank 0 itself is lost, each notices by itself.

use std::io;
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Timing;
use super::error::RanksError;
use super::hello::Hello;
use super::link::{Key, Mailbox, SessionLink};
use super::meet::{self, seconds};
use super::peer::{Peer, Threads};
use super::wire::{Kind, Message};
use super::world::World;

/// How long a rank that ends waits until others know why.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// This rank's connections. Dropped without [`Session::end`], it counts as failed, and all other ranks end.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    threads: Vec<Threads>,
    is_over: bool,
}

/// What the threads of a session share.
#[derive(Debug)]
pub struct Shared {
    rank: usize,
    pub timing: Timing,
    /// By rank, as far as this rank knows them.
    hosts: Vec<String>,
    pub mailbox: Arc<Mailbox>,
    /// By rank. Rank 0 has all others, and every other has rank 0. Empty once the session has ended.
    peers: Mutex<Vec<Option<Peer>>>,
    state: Mutex<State>,
    changed: Condvar,
}

/// What to do about a loss.
type Act = Box<dyn FnOnce(&str) + Send>;

#[derive(Default)]
struct State {
    loss: Option<String>,
    on_loss: Vec<Act>,
    /// A rank is lost, and others are being told.
    is_losing: bool,
    /// By rank: who has said goodbye.
    gone: Vec<bool>,
    /// Rank 0 knows that this rank ends.
    is_dismissed: bool,
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
    /// [`RanksError::NotMet`] within [`Timing::arrive`] if some do not come; [`RanksError::Differ`] if they do not run the same
    /// or share a GPU; [`RanksError::Rendezvous`] if rank 0 cannot listen there.
    pub fn meet(world: &World, hello: &Hello, timing: Timing) -> Result<Session, RanksError> {
        let connections = match (world.ranks, world.rank) {
            (1, _) => vec![(None, hello.host.clone())],
            (_, 0) => meet::host(world, hello, &timing)?,
            _ => vec![(Some(meet::join(world, hello, &timing)?), String::new())],
        };
        let hosts = connections.iter().map(|(_, host)| host.clone()).collect();
        let shared = Arc::new(Shared {
            rank: world.rank,
            timing,
            hosts,
            mailbox: Arc::default(),
            peers: Mutex::default(),
            state: Mutex::new(State {
                gone: vec![false; world.ranks],
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        let failed = |error: io::Error| {
            RanksError::NotMet(format!("rank {}: {error}; start again", world.rank))
        };
        let mut peers = Vec::new();
        let mut writers = Vec::new();
        for (stream, _) in connections {
            let parts = stream.map(|stream| Peer::new(stream, &timing)).transpose();
            let (peer, writer) = parts.map_err(failed)?.unzip();
            peers.push(peer);
            writers.push(writer);
        }
        let mut threads = Vec::new();
        // Readers pass on to other peers: they wait here until all are in place.
        let mut places = shared.peers();
        for (other, (peer, writer)) in peers.iter().zip(writers).enumerate() {
            if let (Some(peer), Some(writer)) = (peer, writer) {
                let heard = Arc::clone(&shared);
                let started = peer.start(writer, move |message| heard.hear(other, message));
                threads.push(started.map_err(failed)?);
            }
        }
        *places = peers;
        drop(places);
        Ok(Session {
            shared,
            threads,
            is_over: false,
        })
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.shared.rank
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        Shared::lock(&self.shared.state).gone.len()
    }

    /// What to do as soon as a rank is lost, with the message that names it: abort what waits for it. Runs in a thread of the
    /// session before the session's own functions return the loss, and does not use the session; at once, and in this thread, if
    /// a rank is lost already. Dropped unused if this rank fails or ends first.
    pub fn on_loss(&self, act: impl FnOnce(&str) + Send + 'static) {
        let mut state = Shared::lock(&self.shared.state);
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
        self.collect(Kind::Barrier, &[])?;
        self.spread(Kind::Barrier, &[])?;
        Ok(())
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
        SessionLink::new(Arc::clone(&self.shared), device, devices_per_rank)
    }

    /// Ends as it should. Other ranks may go on; rank 0 waits for all of them, since it passes on what they say.
    ///
    /// # Errors
    ///
    /// [`RanksError::Lost`] if a rank was lost.
    pub fn end(mut self) -> Result<(), RanksError> {
        self.is_over = true;
        let shared = &self.shared;
        shared.to_all(|rank| Message::new(Kind::Goodbye, rank, []));
        let ended = shared.wait_for_the_end();
        // Without their queues the writers end; the other side then closes the connection, or this one does.
        let peers = std::mem::take(&mut *shared.peers());
        if shared.rank != 0 || ended.is_err() {
            peers.iter().flatten().for_each(Peer::close);
        }
        drop(peers);
        for Threads { reader, writer } in self.threads.drain(..) {
            // They do not panic, unless an act of `on_loss` does.
            let _ = writer.join();
            let _ = reader.join();
        }
        ended
    }

    /// Ends because of an error, which all other ranks are told: they end too.
    pub fn fail(mut self, why: &str) {
        self.fail_once(why);
    }

    fn fail_once(&mut self, why: &str) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.shared.fail(why);
        let peers = std::mem::take(&mut *self.shared.peers());
        peers.iter().flatten().for_each(Peer::close);
    }

    fn collect(&self, kind: Kind, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, RanksError> {
        let shared = &self.shared;
        shared.mailbox.stopped()?;
        if shared.rank != 0 {
            shared.deliver(Message::new(kind, 0, bytes));
            return Ok(None);
        }
        let others = (1..self.ranks()).map(|rank| shared.expect(rank, kind));
        std::iter::once(Ok(bytes.to_vec()))
            .chain(others)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn spread(&self, kind: Kind, bytes: &[u8]) -> Result<Vec<u8>, RanksError> {
        let shared = &self.shared;
        if shared.rank != 0 {
            return shared.expect(0, kind);
        }
        shared.mailbox.stopped()?;
        shared.to_all(|rank| Message::new(kind, rank, bytes));
        Ok(bytes.to_vec())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.fail_once(match std::thread::panicking() {
            true => "it panicked",
            false => "it ended early",
        });
    }
}

impl Shared {
    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn peers(&self) -> MutexGuard<'_, Vec<Option<Peer>>> {
        Shared::lock(&self.peers)
    }

    fn name(&self, rank: usize) -> String {
        match self.hosts.get(rank).map(String::as_str) {
            None | Some("") => format!("rank {rank}"),
            Some(host) => format!("rank {rank} ({host})"),
        }
    }

    /// Sends a message towards its rank, which may be this one.
    pub fn deliver(&self, message: Message) {
        let rank = message.rank as usize;
        if rank == self.rank {
            let key = Key::Devices {
                from: message.from,
                to: message.to,
            };
            return self.mailbox.put(key, message.kind, message.bytes);
        }
        let next = if self.rank == 0 { rank } else { 0 };
        if let Some(Some(peer)) = self.peers().get(next) {
            peer.send(message);
        }
    }

    /// Sends a message to every rank that this one is connected with.
    fn to_all(&self, message: impl Fn(usize) -> Message) {
        for (rank, peer) in self.peers().iter().enumerate() {
            if let Some(peer) = peer {
                peer.send(message(rank));
            }
        }
    }

    /// [`Shared::to_all`], and waits until it is written where it can be.
    fn to_all_now(&self, message: impl Fn(usize) -> Message) {
        let (written, is_written) = mpsc::channel();
        for (rank, peer) in self.peers().iter().enumerate() {
            if let Some(peer) = peer {
                peer.send_and_tell(message(rank), written.clone());
            }
        }
        drop(written);
        let deadline = Instant::now() + LAST_WORDS;
        let left = || deadline.saturating_duration_since(Instant::now());
        while is_written.recv_timeout(left()).is_ok() {}
    }

    /// The next part of `rank` in what all ranks do together.
    fn expect(&self, rank: usize, kind: Kind) -> Result<Vec<u8>, RanksError> {
        let taken = self.mailbox.take(Key::Rank(rank), None)?;
        match taken {
            Some((got, bytes)) if got == kind => Ok(bytes),
            got => {
                let did = match got {
                    Some((Kind::Goodbye, _)) | None => "has ended".to_owned(),
                    Some((other, _)) => format!("is at a {}", format!("{other:?}").to_lowercase()),
                };
                Err(RanksError::Lost(format!(
                    "rank {} is at a {}, and {} {did}: they do not run the same",
                    self.rank,
                    format!("{kind:?}").to_lowercase(),
                    self.name(rank),
                )))
            }
        }
    }

    /// What `other` said, or why it says no more.
    fn hear(&self, other: usize, message: io::Result<Message>) {
        let message = match message {
            Ok(message) => message,
            Err(error) => return self.fell_silent(other, &error),
        };
        match message.kind {
            Kind::Data => self.deliver(message),
            Kind::Barrier | Kind::Gather | Kind::Broadcast => {
                self.mailbox
                    .put(Key::Rank(other), message.kind, message.bytes);
            }
            Kind::Failed => {
                self.lose(format!("{} failed: {}", self.name(other), message.text()));
            }
            Kind::Lost => self.lose(message.text()),
            Kind::Goodbye => {
                if self.rank == 0 {
                    self.deliver(Message::new(Kind::Farewell, other, []));
                }
                self.mailbox
                    .put(Key::Rank(other), Kind::Goodbye, Vec::new());
                // Last: rank 0 may now close the connections.
                Shared::lock(&self.state).gone[other] = true;
                self.changed.notify_all();
            }
            Kind::Farewell => {
                Shared::lock(&self.state).is_dismissed = true;
                self.changed.notify_all();
            }
            Kind::Greeting | Kind::Welcome | Kind::Verdict | Kind::Heartbeat => {}
        }
    }

    /// The connection is at its end.
    fn fell_silent(&self, other: usize, error: &io::Error) {
        let is_over = {
            let state = Shared::lock(&self.state);
            match self.rank {
                0 => state.gone[other],
                _ => state.is_dismissed,
            }
        };
        if is_over {
            return;
        }
        let what = match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => format!(
                "gave no sign of life for {}: it hangs, or its host cannot be reached",
                seconds(self.timing.silence)
            ),
            _ => "died without a word: see what it and its launcher wrote".to_owned(),
        };
        self.lose(format!("{} {what}", self.name(other)));
    }

    /// Tells all others, then ends everything that waits here: whoever waits may end the process. Only the first loss counts.
    fn lose(&self, loss: String) {
        {
            let mut state = Shared::lock(&self.state);
            if std::mem::replace(&mut state.is_losing, true) {
                return;
            }
        }
        if self.rank == 0 {
            self.to_all_now(|rank| Message::new(Kind::Lost, rank, loss.as_bytes()));
        }
        let acts = {
            let mut state = Shared::lock(&self.state);
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
            let mut state = Shared::lock(&self.state);
            state.on_loss.clear();
            state.is_losing
        };
        match (is_losing, self.rank) {
            (true, _) => {}
            (false, 0) => self.lose(format!("{} failed: {why}", self.name(0))),
            (false, _) => self.to_all(|rank| Message::new(Kind::Failed, rank, why)),
        }
        // Rank 0 tells all, the one that fails too.
        let state = Shared::lock(&self.state);
        let is_untold = |state: &mut State| state.loss.is_none();
        drop(
            self.changed
                .wait_timeout_while(state, LAST_WORDS, is_untold)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    /// Waits until rank 0 knows of the goodbye; at rank 0, until all others have said theirs.
    fn wait_for_the_end(&self) -> Result<(), RanksError> {
        let mut state = Shared::lock(&self.state);
        loop {
            if let Some(loss) = &state.loss {
                return Err(RanksError::Lost(loss.clone()));
            }
            let is_over = match self.rank {
                0 => state.gone[1..].iter().all(|gone| *gone),
                _ => state.is_dismissed,
            };
            if is_over {
                return Ok(());
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
impl Session {
    /// Its connections break, as when the process is killed.
    pub fn dies(mut self) {
        self.is_over = true;
        let peers = std::mem::take(&mut *self.shared.peers());
        peers.iter().flatten().for_each(Peer::close);
    }

    /// Its connections stay, and nothing is written, as when the process is stopped.
    pub fn hangs(mut self) {
        self.is_over = true;
        let peers = std::mem::take(&mut *self.shared.peers());
        std::thread::sleep(self.shared.timing.silence * 2);
        drop(peers);
    }
}
