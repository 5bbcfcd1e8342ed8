//! One connection: a thread that writes, and one that reads.
//!
//! The writer takes messages from a queue, so that nobody who sends waits for the network, and writes a heartbeat where there
//! is nothing else to write. The reader never waits for anybody but the network, so that whoever writes gets on.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Timing;
use super::wire::{Kind, Message};

/// A field of a GPU's size, and more.
const MOST_BYTES: u64 = 1 << 40;

/// A message to be written, and whom to tell when it is.
type Outgoing = (Message, Option<Sender<()>>);

/// A connection to a rank.
#[derive(Debug)]
pub struct Peer {
    queue: Sender<Outgoing>,
    stream: TcpStream,
}

/// The threads of a connection.
#[derive(Debug)]
pub struct Threads {
    pub reader: JoinHandle<()>,
    pub writer: JoinHandle<()>,
}

impl Peer {
    /// A connection, and what its writer needs.
    pub fn new(stream: TcpStream, timing: &Timing) -> io::Result<(Peer, Writer)> {
        stream.set_read_timeout(Some(timing.silence))?;
        stream.set_write_timeout(Some(timing.silence))?;
        let (queue, outgoing) = mpsc::channel();
        let writer = Writer {
            outgoing,
            stream: stream.try_clone()?,
            heartbeat: timing.heartbeat,
        };
        Ok((Peer { queue, stream }, writer))
    }

    /// Starts the threads. `heard` gets each message, and in the end why there are no more.
    pub fn start(
        &self,
        writer: Writer,
        mut heard: impl FnMut(io::Result<Message>) + Send + 'static,
    ) -> io::Result<Threads> {
        let mut stream = self.stream.try_clone()?;
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let reader = named("rank-reader").spawn(move || {
            loop {
                match Message::read(&mut stream, MOST_BYTES) {
                    Ok(message) if message.kind == Kind::Heartbeat => {}
                    Ok(message) => heard(Ok(message)),
                    Err(error) => return heard(Err(error)),
                }
            }
        })?;
        let writer = named("rank-writer").spawn(move || writer.run())?;
        Ok(Threads { reader, writer })
    }

    /// Enqueues a message. If the connection is gone, the reader says so.
    pub fn send(&self, message: Message) {
        let _ = self.queue.send((message, None));
    }

    /// Enqueues a message, and tells `written` when it is written; drops `written` if it never will be.
    pub fn send_and_tell(&self, message: Message, written: Sender<()>) {
        let _ = self.queue.send((message, Some(written)));
    }

    /// Ends the connection; the reader ends.
    pub fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// What the writing thread owns.
#[derive(Debug)]
pub struct Writer {
    outgoing: Receiver<Outgoing>,
    stream: TcpStream,
    heartbeat: Duration,
}

impl Writer {
    /// Writes until the peer is dropped or the connection is gone.
    fn run(mut self) {
        loop {
            let (message, written) = match self.outgoing.recv_timeout(self.heartbeat) {
                Ok(outgoing) => outgoing,
                Err(RecvTimeoutError::Timeout) => (Message::new(Kind::Heartbeat, 0, []), None),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if message.write(&mut self.stream).is_err() {
                // Half of a message may be out: nothing can follow it.
                let _ = self.stream.shutdown(Shutdown::Both);
                return;
            }
            if let Some(written) = written {
                let _ = written.send(());
            }
        }
    }
}
