//! A gate that holds a stream until all of a timed region is enqueued.
//!
//! An idle stream starts each command as soon as it is enqueued. The time between two events would
//! then include the host's calls: some microseconds, which differ between processes. So the stream
//! first waits for a word in host memory, which the host writes when everything is enqueued.
//! nvbench holds its streams too, by a kernel (`nvbench/blocking_kernel.cuh`).

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cust::memory::LockedBuffer;
use cust::sys::CUdeviceptr;

use super::driver::stream::StreamRef;
use super::driver::{call, check};
use device::DriverError;

/// The longest time for which a stream is held. Where each launch waits for the device (under a
/// sanitizer or a profiler, or because the driver's queue is full), enqueuing would otherwise never
/// end.
pub const LONGEST: Duration = Duration::from_millis(50);

/// The gate of a device's stream.
#[derive(Debug, Clone)]
pub struct Gate(Arc<Word>);

#[derive(Debug)]
struct Word {
    /// One `u32`, which the device reads: tickets up to it may pass.
    open_to: LockedBuffer<u32>,
    last_ticket: AtomicU32,
    is_usable: AtomicBool,
}

impl Gate {
    /// An open gate. The context is current.
    pub fn new() -> Result<Gate, DriverError> {
        Ok(Gate(Arc::new(Word {
            open_to: check("cuMemAllocHost", LockedBuffer::new(&0, 1))?,
            last_ticket: AtomicU32::new(0),
            is_usable: AtomicBool::new(true),
        })))
    }

    /// Makes the stream wait until [`Held::release`]. `None` if the driver does not support it, or
    /// if holding once took too long. The context is current, and stays so until the stream goes
    /// on.
    pub fn hold(&self, stream: StreamRef<'_>) -> Option<Held> {
        let word = &self.0;
        if !word.is_usable.load(Ordering::Relaxed) {
            return None;
        }
        let ticket = word.last_ticket.fetch_add(1, Ordering::Relaxed) + 1;
        if word.wait_for(ticket, stream).is_err() {
            word.is_usable.store(false, Ordering::Relaxed);
            return None;
        }
        let (released, is_released) = mpsc::channel();
        let word = Arc::clone(word);
        let watched = Arc::clone(&word);
        let opened = Arc::new(OnceLock::new());
        let opened_by_watch = Arc::clone(&opened);
        let watch = thread::spawn(move || {
            if is_released.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                watched.is_usable.store(false, Ordering::Relaxed);
                opened_by_watch.get_or_init(|| watched.open_to(ticket));
            }
        });
        Some(Held {
            word,
            ticket,
            opened,
            released: Some(released),
            watch: Some(watch),
        })
    }
}

impl Word {
    /// Enqueues the wait.
    fn wait_for(&self, ticket: u32, stream: StreamRef<'_>) -> Result<(), DriverError> {
        let address = self.open_to.as_ptr() as CUdeviceptr;
        // SAFETY: page-locked memory has the same address on host and device. The word outlives the
        // wait: a held stream is synchronised before the device is dropped.
        unsafe { call::wait_for_value(stream, address, ticket) }
    }

    /// Opens the gate, and returns when that was.
    fn open_to(&self, ticket: u32) -> Instant {
        // SAFETY: the word is aligned, lives as long as `self`, and the host writes it here alone,
        // atomically.
        let word = unsafe { AtomicU32::from_ptr(self.open_to.as_ptr().cast_mut()) };
        // Others may hold the stream too: never close the gate again for earlier tickets.
        let now = Instant::now();
        word.fetch_max(ticket, Ordering::SeqCst);
        now
    }
}

/// A stream that waits. It goes on when this is dropped.
#[derive(Debug)]
pub struct Held {
    word: Arc<Word>,
    ticket: u32,
    opened: Arc<OnceLock<Instant>>,
    released: Option<Sender<()>>,
    watch: Option<JoinHandle<()>>,
}

impl Held {
    /// Lets the stream go on, and returns when that was: now, or earlier if it had been held for
    /// too long.
    pub fn release(&self) -> Instant {
        *self.opened.get_or_init(|| self.word.open_to(self.ticket))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
        drop(self.released.take());
        if let Some(watch) = self.watch.take() {
            // It only writes two words: it does not panic.
            let _ = watch.join();
        }
    }
}
