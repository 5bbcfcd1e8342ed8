//! Streams and events: `cust`'s streams wait for the legacy stream, and its events keep their
//! handle to themselves.

use std::marker::PhantomData;
use std::ptr;

use cust::stream::Stream;
use cust::sys::{self, CUevent, CUstream};

use super::check;
use device::DriverError;

/// A stream that lives, borrowed from its owner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamRef<'s> {
    raw: CUstream,
    owner: PhantomData<&'s ()>,
}

impl StreamRef<'_> {
    /// The driver's handle. It is valid as long as the owner lives.
    pub(crate) fn raw(self) -> CUstream {
        self.raw
    }

    /// Waits until the stream has finished.
    pub(crate) fn synchronize(self) -> Result<(), DriverError> {
        // SAFETY: the stream is borrowed.
        let result = unsafe { sys::cuStreamSynchronize(self.raw) };
        check("cuStreamSynchronize", result)
    }

    /// Makes the stream wait for what the event was last recorded after. They may be of different
    /// contexts.
    pub(crate) fn wait(self, event: &Event) -> Result<(), DriverError> {
        // SAFETY: stream and event are borrowed.
        let result = unsafe { sys::cuStreamWaitEvent(self.raw, event.0, 0) };
        check("cuStreamWaitEvent", result)
    }
}

impl<'s> From<&'s Stream> for StreamRef<'s> {
    fn from(stream: &'s Stream) -> StreamRef<'s> {
        StreamRef {
            raw: stream.as_inner(),
            owner: PhantomData,
        }
    }
}

/// An event without a time. Destroyed when dropped.
#[derive(Debug)]
pub(crate) struct Event(CUevent);

impl Event {
    /// A new event of the current context.
    pub(crate) fn new() -> Result<Event, DriverError> {
        const DISABLE_TIMING: u32 = 2;
        let mut event = ptr::null_mut();
        // SAFETY: `event` lives until the call returns.
        let made = unsafe { sys::cuEventCreate(&mut event, DISABLE_TIMING) };
        check("cuEventCreate", made)?;
        Ok(Event(event))
    }

    /// Records the event after what the stream has to do. Both are of one context.
    pub(crate) fn record(&self, stream: StreamRef<'_>) -> Result<(), DriverError> {
        // SAFETY: stream and event are borrowed.
        let result = unsafe { sys::cuEventRecord(self.0, stream.raw) };
        check("cuEventRecord", result)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: `new` made the event, and nothing else destroys it. A stream that still waits for
        // it goes on waiting.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// A stream that does not wait for the legacy stream, as no stream of a capture may. Destroyed when
/// dropped.
#[derive(Debug)]
pub(crate) struct SideStream(CUstream);

impl SideStream {
    /// The rank of streams whose kernels can wait.
    pub(crate) const LAST: u32 = u32::MAX;

    /// A new stream of the current context. Blocks of its kernels come before those of streams of a
    /// larger rank. Of ranks a GPU has few, six at present: from there on, all are the last.
    pub(crate) fn new(rank: u32) -> Result<SideStream, DriverError> {
        const NON_BLOCKING: u32 = 1;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both numbers live until the call returns.
        let asked = unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) };
        check("cuCtxGetStreamPriorityRange", asked)?;
        // The greatest priority is the least number.
        let priority = greatest.saturating_add_unsigned(rank).min(least);
        let mut stream = ptr::null_mut();
        // SAFETY: `stream` lives until the call returns.
        let made = unsafe { sys::cuStreamCreateWithPriority(&mut stream, NON_BLOCKING, priority) };
        check("cuStreamCreateWithPriority", made)?;
        Ok(SideStream(stream))
    }

    /// The stream, borrowed.
    pub(crate) fn get(&self) -> StreamRef<'_> {
        StreamRef {
            raw: self.0,
            owner: PhantomData,
        }
    }
}

impl Drop for SideStream {
    fn drop(&mut self) {
        // SAFETY: `new` made the stream, and nothing else destroys it. It finishes what it has to
        // do.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}
