//! Streams that record a graph instead of doing their work.

use std::collections::HashMap;
use std::ffi::c_int;

use crate::api::{Handle, Outcome, get, put, put_if_wanted};
use crate::code::Code;
use crate::driver::{Driver, with};
use crate::graph::Graph;
use crate::queue::Work;
use crate::stream::{LEGACY, StreamKey};

/// A graph that streams record.
#[derive(Debug)]
pub(crate) struct Capture {
    graph: Handle,
    origin: StreamKey,
    /// Of each stream that takes part: the nodes that its next work stands behind.
    streams: HashMap<StreamKey, Vec<Handle>>,
    is_invalid: bool,
}

impl Driver {
    /// The capture that a stream takes part in.
    fn capture_of(&mut self, key: StreamKey) -> Option<(u64, &mut Capture)> {
        let mut captures = self.captures.iter_mut();
        captures
            .find(|(_, capture)| capture.streams.contains_key(&key))
            .map(|(id, capture)| (*id, capture))
    }

    /// The same, which must be valid.
    fn valid_capture_of(&mut self, key: StreamKey) -> Outcome<Option<(u64, &mut Capture)>> {
        match self.capture_of(key) {
            Some((_, capture)) if capture.is_invalid => Err(Code::STREAM_CAPTURE_INVALIDATED),
            found => Ok(found),
        }
    }

    /// Adds work to the graph that the stream records; false if it records none.
    pub(crate) fn record_in_graph(&mut self, key: StreamKey, work: &Work) -> Outcome<bool> {
        if key.stream == LEGACY {
            return self.refuse_legacy(key).map(|()| false);
        }
        let Some((id, capture)) = self.valid_capture_of(key)? else {
            return Ok(false);
        };
        let graph = capture.graph;
        let dependencies = capture.streams.get(&key).cloned().unwrap_or_default();
        let node = self.add_node(graph, work.clone(), dependencies)?;
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.streams.insert(key, vec![node]);
        }
        Ok(true)
    }

    /// The legacy stream waits for all blocking streams, so that it can do nothing while one of
    /// them records.
    fn refuse_legacy(&mut self, key: StreamKey) -> Outcome {
        let recording: Vec<(u64, StreamKey)> = self
            .captures
            .iter()
            .flat_map(|(id, capture)| capture.streams.keys().map(|stream| (*id, *stream)))
            .collect();
        for (id, stream) in recording {
            if stream.context == key.context && self.is_blocking(stream) {
                if let Some(capture) = self.captures.get_mut(&id) {
                    capture.is_invalid = true;
                }
                return Err(Code::STREAM_CAPTURE_IMPLICIT);
            }
        }
        Ok(())
    }

    /// An error for what cannot be done while a stream records. It ends the recording.
    pub(crate) fn refuse_while_recording(&mut self, key: StreamKey) -> Outcome {
        match self.capture_of(key) {
            Some((_, capture)) => {
                capture.is_invalid = true;
                Err(Code::STREAM_CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }

    /// Notes the event's place in the graph that the stream records; false if it records none.
    pub(crate) fn record_event_in_graph(&mut self, key: StreamKey, event: Handle) -> Outcome<bool> {
        let Some((id, capture)) = self.valid_capture_of(key)? else {
            return Ok(false);
        };
        let nodes = capture.streams.get(&key).cloned().unwrap_or_default();
        self.event(event)?.captured = Some((id, nodes));
        Ok(true)
    }

    /// Makes a stream take part in the capture of an event that it waits for; false if no capture
    /// has recorded the event.
    pub(crate) fn join_capture(&mut self, key: StreamKey, event: Handle) -> Outcome<bool> {
        let captured = self.event(event)?.captured.clone();
        let own = self.valid_capture_of(key)?.map(|(id, _)| id);
        let Some((id, nodes)) = captured else {
            return match own {
                // It would wait for work outside the graph.
                Some(_) => Err(Code::STREAM_CAPTURE_ISOLATION),
                None => Ok(false),
            };
        };
        if own.is_some_and(|own| own != id) {
            return Err(Code::STREAM_CAPTURE_MERGE);
        }
        let capture = self.captures.get_mut(&id).ok_or(Code::CAPTURED_EVENT)?;
        let behind = capture.streams.entry(key).or_default();
        behind.extend(nodes);
        behind.sort_unstable();
        behind.dedup();
        Ok(true)
    }

    fn begin_capture(&mut self, key: StreamKey, graph: Option<(Handle, Vec<Handle>)>) -> Outcome {
        if key.stream == LEGACY {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.capture_of(key).is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        let (graph, behind) = match graph {
            Some(given) => given,
            None => {
                let graph = self.new_handle();
                self.graphs.insert(graph, Graph::default());
                (graph, Vec::new())
            }
        };
        let capture = Capture {
            graph,
            origin: key,
            streams: HashMap::from([(key, behind)]),
            is_invalid: false,
        };
        let id = self.new_handle() as u64;
        self.captures.insert(id, capture);
        Ok(())
    }

    fn end_capture(&mut self, key: StreamKey) -> Outcome<Handle> {
        let (id, capture) = self.capture_of(key).ok_or(Code::ILLEGAL_STATE)?;
        if capture.origin != key {
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        let capture = self.captures.remove(&id).ok_or(Code::UNKNOWN)?;
        let last = capture.streams.get(&key).cloned().unwrap_or_default();
        let graph = self
            .graphs
            .get(&capture.graph)
            .ok_or(Code::INVALID_HANDLE)?;
        let error = match (capture.is_invalid, graph.are_all_before(&last)) {
            (true, _) => Code::STREAM_CAPTURE_INVALIDATED,
            (false, false) => Code::STREAM_CAPTURE_UNJOINED,
            (false, true) => return Ok(capture.graph),
        };
        self.graphs.remove(&capture.graph);
        Err(error)
    }

    /// Status, number, graph, and the nodes that the stream's next work stands behind.
    fn capture_info(&mut self, stream: Handle) -> Outcome<(c_int, u64, Handle, Vec<Handle>)> {
        let key = self.stream(stream)?;
        Ok(match self.capture_of(key) {
            None => (0, 0, 0, Vec::new()),
            Some((id, capture)) => {
                let status = if capture.is_invalid { 2 } else { 1 };
                let behind = capture.streams.get(&key).cloned().unwrap_or_default();
                (status, id, capture.graph, behind)
            }
        })
    }
}

/// Where the results of `cuStreamGetCaptureInfo` go.
struct Places {
    status: *mut c_int,
    id: *mut u64,
    graph: *mut Handle,
    nodes: *mut *const Handle,
    count: *mut usize,
}

/// # Safety
///
/// As [`put_if_wanted`].
unsafe fn put_info(stream: Handle, to: Places) -> Outcome {
    thread_local! {
        /// The nodes that a caller was given last: they are valid until its next call.
        static NODES: std::cell::RefCell<Vec<Handle>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    let (status, id, graph, nodes) = with(|driver| driver.capture_info(stream))?;
    // SAFETY: the caller promises it.
    unsafe {
        put(to.status, status)?;
        put_if_wanted(to.id, id);
        put_if_wanted(to.graph, graph);
        put_if_wanted(to.count, nodes.len());
        NODES.with_borrow_mut(|kept| {
            *kept = nodes;
            put_if_wanted(to.nodes, kept.as_ptr());
        });
    }
    Ok(())
}

/// # Safety
///
/// There are `count` nodes.
unsafe fn set_behind(
    stream: Handle,
    nodes: *const Handle,
    count: usize,
    replaces: bool,
) -> Outcome {
    // SAFETY: the caller promises it.
    let given: Outcome<Vec<Handle>> = (0..count)
        .map(|index| unsafe { get(nodes.add(index)) })
        .collect();
    let given = given?;
    with(|driver| {
        let key = driver.stream(stream)?;
        let (_, capture) = driver.valid_capture_of(key)?.ok_or(Code::ILLEGAL_STATE)?;
        let behind = capture.streams.entry(key).or_default();
        if replaces {
            behind.clear();
        }
        behind.extend(given);
        Ok(())
    })
}

driver_api! {
    fn cuStreamBeginCapture(stream: Handle) { with(|driver| { let key = driver.stream(stream)?; driver.begin_capture(key, None) }) }
    fn cuStreamBeginCapture_v2(stream: Handle, _mode: c_int) { with(|driver| { let key = driver.stream(stream)?; driver.begin_capture(key, None) }) }
    fn cuStreamBeginCaptureToGraph(stream: Handle, graph: Handle, nodes: *const Handle, _edges: *const u64, count: usize, _mode: c_int) {
        let behind: Outcome<Vec<Handle>> = (0..count).map(|index| get(nodes.add(index))).collect();
        let behind = behind?;
        with(|driver| {
            driver.graph(graph)?;
            let key = driver.stream(stream)?;
            driver.begin_capture(key, Some((graph, behind)))
        })
    }
    fn cuStreamEndCapture(stream: Handle, to: *mut Handle) {
        let ended = with(|driver| { let key = driver.stream(stream)?; driver.end_capture(key) });
        put(to, *ended.as_ref().unwrap_or(&0))?;
        ended.map(|_| ())
    }
    fn cuStreamIsCapturing(stream: Handle, to: *mut c_int) { put(to, with(|driver| driver.capture_info(stream))?.0) }
    fn cuStreamGetCaptureInfo(stream: Handle, status: *mut c_int, id: *mut u64) {
        let (nodes, graph, count) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        put_info(stream, Places { status, id, graph, nodes, count })
    }
    fn cuStreamGetCaptureInfo_v2(stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle, count: *mut usize) {
        put_info(stream, Places { status, id, graph, nodes, count })
    }
    fn cuStreamGetCaptureInfo_v3(stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle, edges: *mut usize, count: *mut usize) {
        put_if_wanted(edges, 0);
        put_info(stream, Places { status, id, graph, nodes, count })
    }
    fn cuStreamUpdateCaptureDependencies(stream: Handle, nodes: *const Handle, count: usize, flags: u32) { set_behind(stream, nodes, count, flags == 1) }
    fn cuStreamUpdateCaptureDependencies_v2(stream: Handle, nodes: *const Handle, _edges: *const u64, count: usize, flags: u32) { set_behind(stream, nodes, count, flags == 1) }
    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_int) {
        thread_local! { static MODE: std::cell::Cell<c_int> = const { std::cell::Cell::new(0) }; }
        put(mode, MODE.replace(get(mode)?))
    }
}
