//! A plan as a CUDA graph: captured once, replayed with one call to the driver.

use std::ptr;
use std::time::{Duration, Instant};

use cust::sys::{self, CUgraph, CUgraphExec, CUstream, CUstreamCaptureMode};

use super::launches::Launches;
use crate::device::DriverError;
use crate::driver::check;

/// The longest plan that is made a graph. A node takes some 3 to 8 us to make (H100, driver 580), and a plan of more
/// commands than this takes long enough by itself to go by stream.
pub const MAX_NODES: usize = 32_768;

/// An instantiated graph; destroyed when dropped.
#[derive(Debug)]
pub struct Graph {
    raw: CUgraphExec,
    /// Its commands.
    pub nodes: u64,
    /// How long capture and instantiation took.
    pub made_in: Duration,
}

/// Why there is no graph.
#[derive(Debug)]
pub enum NotMade {
    /// The driver refused the command at this position.
    Refused(usize, DriverError),
    /// It failed otherwise.
    Failed(DriverError),
}

impl From<DriverError> for NotMade {
    fn from(cause: DriverError) -> NotMade {
        NotMade::Failed(cause)
    }
}

impl Graph {
    /// Captures the commands in their order, and instantiates them.
    ///
    /// # Safety
    ///
    /// As [`Launches::enqueue`], with the graph's replays in place of the stream.
    pub unsafe fn new(launches: &mut Launches) -> Result<Graph, NotMade> {
        let began = Instant::now();
        let stream = CaptureStream::new()?;
        // SAFETY: the stream is this function's own. It does not wait for the legacy stream, so that what other threads do
        // there meanwhile does not end the capture.
        let begun = unsafe {
            sys::cuStreamBeginCapture_v2(
                stream.0,
                CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            )
        };
        check("cuStreamBeginCapture", begun)?;
        // SAFETY: the caller's; nothing runs yet.
        let enqueued = unsafe { launches.enqueue(stream.0) };
        let mut template = Template(ptr::null_mut());
        // SAFETY: the stream is capturing, and the graph may be written.
        let ended = unsafe { sys::cuStreamEndCapture(stream.0, &mut template.0) };
        if let Err((position, function, result)) = enqueued {
            let cause = check(function, result).expect_err("a refusal");
            return Err(NotMade::Refused(position, cause));
        }
        check("cuStreamEndCapture", ended)?;
        let mut raw = ptr::null_mut();
        // SAFETY: the graph was just captured.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut raw, template.0, 0) };
        check("cuGraphInstantiate", made)?;
        Ok(Graph {
            raw,
            nodes: launches.len() as u64,
            made_in: began.elapsed(),
        })
    }

    /// Enqueues all commands.
    ///
    /// # Safety
    ///
    /// As [`Launches::enqueue`].
    pub unsafe fn enqueue(&self, stream: CUstream) -> Result<(), DriverError> {
        // SAFETY: the caller's.
        check("cuGraphLaunch", unsafe {
            sys::cuGraphLaunch(self.raw, stream)
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: nothing replays it any more. A failure means that the context is gone, and the graph with it.
        unsafe {
            let _ = sys::cuGraphExecDestroy(self.raw);
        }
    }
}

/// What is instantiated.
struct Template(CUgraph);

impl Drop for Template {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: an instantiated graph does not need it.
            unsafe {
                let _ = sys::cuGraphDestroy(self.0);
            }
        }
    }
}

/// A stream that nothing ever runs on.
struct CaptureStream(CUstream);

impl CaptureStream {
    fn new() -> Result<CaptureStream, DriverError> {
        const NON_BLOCKING: u32 = 1;
        let mut stream = ptr::null_mut();
        // SAFETY: the stream may be written, and the context is current.
        let made = unsafe { sys::cuStreamCreateWithPriority(&mut stream, NON_BLOCKING, 0) };
        check("cuStreamCreateWithPriority", made)?;
        Ok(CaptureStream(stream))
    }
}

impl Drop for CaptureStream {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and not in use.
        unsafe {
            let _ = sys::cuStreamDestroy_v2(self.0);
        }
    }
}
