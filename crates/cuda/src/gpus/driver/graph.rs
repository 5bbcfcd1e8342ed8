//! Graphs: captured from a stream, and launched with one call.

use std::ptr;

use cust::sys::{self, CUgraph, CUgraphExec, CUstreamCaptureMode};

use super::check;
use super::stream::{SideStream, StreamRef};
use device::DriverError;

/// An instantiated graph. Destroyed when dropped.
#[derive(Debug)]
pub(crate) struct ExecutableGraph(CUgraphExec);

/// `CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY`, since CUDA 11.7: a node has the priority of the
/// stream on which it was captured, as without a graph. Otherwise all nodes have that of the stream
/// in which the graph is launched.
const USE_NODE_PRIORITY: u64 = 8;

impl ExecutableGraph {
    /// Captures what `enqueue` gives the stream, which runs nothing of it, and instantiates it.
    /// `has_priorities` says whether those of its streams count.
    ///
    /// # Errors
    ///
    /// The first of `enqueue` or of the driver.
    pub(crate) fn capture<E: From<DriverError>>(
        has_priorities: bool,
        enqueue: impl FnOnce(StreamRef<'_>) -> Result<(), E>,
    ) -> Result<ExecutableGraph, E> {
        let stream = SideStream::new(SideStream::LAST)?;
        let raw_stream = stream.get().raw();
        // Work of other threads on the legacy stream does not end the capture.
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives until this function returns, and is used here alone.
        let begun = unsafe { sys::cuStreamBeginCapture_v2(raw_stream, mode) };
        check("cuStreamBeginCapture", begun)?;
        let enqueued = enqueue(stream.get());
        let mut captured = Captured(ptr::null_mut());
        // SAFETY: the stream lives, and so does the place for the graph.
        let ended = unsafe { sys::cuStreamEndCapture(raw_stream, &mut captured.0) };
        enqueued?;
        check("cuStreamEndCapture", ended)?;
        let mut graph = ptr::null_mut();
        let flags = if has_priorities { USE_NODE_PRIORITY } else { 0 };
        // SAFETY: the graph was just captured, and `graph` lives until the call returns.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut graph, captured.0, flags) };
        check("cuGraphInstantiate", made)?;
        Ok(ExecutableGraph(graph))
    }

    /// Enqueues everything that was captured.
    ///
    /// # Safety
    ///
    /// The obligations of every captured call hold again, until the stream has finished.
    pub(crate) unsafe fn launch(&self, stream: StreamRef<'_>) -> Result<(), DriverError> {
        // SAFETY: graph and stream are borrowed; the caller keeps what the graph's nodes use.
        let result = unsafe { sys::cuGraphLaunch(self.0, stream.raw()) };
        check("cuGraphLaunch", result)
    }
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // SAFETY: `capture` made the graph, and nothing else destroys it. A failure means that the
        // context is gone, and the graph with it.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

/// A captured graph, from which another is instantiated. Destroyed when dropped.
struct Captured(CUgraph);

impl Drop for Captured {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: the capture made the graph, and nothing else destroys it. An instantiated
            // graph does not need it.
            let _ = unsafe { sys::cuGraphDestroy(self.0) };
        }
    }
}
