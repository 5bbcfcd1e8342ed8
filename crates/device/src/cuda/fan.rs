//! Streams on which independent commands run at once: they begin when the main stream gets to the group, and the main stream
//! goes on when all of them have finished. Both hold in a capture too, which makes branches of a graph of them.

use std::ptr;

use cust::sys::{self, CUevent, CUstream};

use crate::device_error::DriverError;
use crate::driver::check;

/// The most streams beside the main one. A GPU runs up to 128 kernels at once, but few fit it that are worth launching.
const MOST: usize = 7;

/// Streams beside the main one; none by default.
#[derive(Debug, Default)]
pub struct Fan {
    lanes: Vec<Lane>,
    /// The main stream has got to the group.
    fork: Option<Event>,
}

#[derive(Debug)]
struct Lane {
    stream: SideStream,
    /// Its commands of the group have finished.
    done: Event,
}

impl Fan {
    /// Streams for groups of up to so many commands. The context is current.
    pub fn new(commands: usize) -> Result<Fan, DriverError> {
        if commands < 2 {
            return Ok(Fan::default());
        }
        let lanes = (1..commands).take(MOST).map(|_| {
            Ok(Lane {
                stream: SideStream::new()?,
                done: Event::new()?,
            })
        });
        Ok(Fan {
            lanes: lanes.collect::<Result<_, DriverError>>()?,
            fork: Some(Event::new()?),
        })
    }

    /// The streams that a group of so many commands runs on, the main one first: they wait until it gets there.
    ///
    /// # Safety
    ///
    /// The context of all streams is current.
    pub unsafe fn fork(
        &self,
        main: CUstream,
        commands: usize,
    ) -> Result<Vec<CUstream>, DriverError> {
        let mut streams = vec![main];
        let Some(fork) = self.fork.as_ref().filter(|_| commands > 1) else {
            return Ok(streams);
        };
        // SAFETY: the caller's.
        unsafe { record(fork, main) }?;
        for lane in self.lanes.iter().take(commands - 1) {
            // SAFETY: the caller's; the event was recorded.
            unsafe { wait(lane.stream.0, fork) }?;
            streams.push(lane.stream.0);
        }
        Ok(streams)
    }

    /// Makes the main stream, the first of those that [`Fan::fork`] gave, wait for the others.
    ///
    /// # Safety
    ///
    /// As [`Fan::fork`].
    pub unsafe fn join(&self, streams: &[CUstream]) -> Result<(), DriverError> {
        for (&stream, lane) in streams[1..].iter().zip(&self.lanes) {
            // SAFETY: the caller's.
            unsafe { record(&lane.done, stream) }?;
            // SAFETY: the caller's; the event was just recorded.
            unsafe { wait(streams[0], &lane.done) }?;
        }
        Ok(())
    }
}

/// Records the event after what the stream has to do.
///
/// # Safety
///
/// Both are of one context, and live.
pub unsafe fn record(event: &Event, stream: CUstream) -> Result<(), DriverError> {
    // SAFETY: the caller's; the event lives.
    let result = unsafe { sys::cuEventRecord(event.0, stream) };
    check("cuEventRecord", result)
}

/// Makes the stream wait for what the event was last recorded after.
///
/// # Safety
///
/// Both live. They may be of different contexts.
pub unsafe fn wait(stream: CUstream, event: &Event) -> Result<(), DriverError> {
    // SAFETY: the caller's; the event lives.
    let result = unsafe { sys::cuStreamWaitEvent(stream, event.0, 0) };
    check("cuStreamWaitEvent", result)
}

/// An event without a time: `cust` keeps its own to itself. Destroyed when dropped, in its context.
#[derive(Debug)]
pub struct Event(CUevent);

impl Event {
    /// A new one. The context is current.
    pub fn new() -> Result<Event, DriverError> {
        const DISABLE_TIMING: u32 = 2;
        let mut event = ptr::null_mut();
        // SAFETY: the event may be written, and the context is current.
        let made = unsafe { sys::cuEventCreate(&mut event, DISABLE_TIMING) };
        check("cuEventCreate", made)?;
        Ok(Event(event))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made by `new`; a stream that still waits for it goes on waiting.
        unsafe {
            let _ = sys::cuEventDestroy_v2(self.0);
        }
    }
}

/// A stream that does not wait for the legacy stream, as every stream of a capture must not; `cust`'s streams do. Destroyed when
/// dropped, in its context.
#[derive(Debug)]
pub struct SideStream(pub CUstream);

impl SideStream {
    /// A new one. The context is current.
    pub fn new() -> Result<SideStream, DriverError> {
        SideStream::of_priority(false)
    }

    /// A new one, whose kernels' blocks come before those of other streams if it is urgent. The context is current.
    pub fn of_priority(is_urgent: bool) -> Result<SideStream, DriverError> {
        const NON_BLOCKING: u32 = 1;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both may be written, and the context is current.
        let asked = unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) };
        check("cuCtxGetStreamPriorityRange", asked)?;
        let priority = if is_urgent { greatest } else { least };
        let mut stream = ptr::null_mut();
        // SAFETY: the stream may be written, and the context is current.
        let made = unsafe { sys::cuStreamCreateWithPriority(&mut stream, NON_BLOCKING, priority) };
        check("cuStreamCreateWithPriority", made)?;
        Ok(SideStream(stream))
    }
}

impl Drop for SideStream {
    fn drop(&mut self) {
        // SAFETY: made by `new`; what it still does goes on.
        unsafe {
            let _ = sys::cuStreamDestroy_v2(self.0);
        }
    }
}
