//! Graphs, and the streams that record them instead of doing their work.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

use super::{Driver, unsafe_calls};
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::graph::{Capture, Graph, GraphWork, Mode, Node};
use crate::objects::order::Slot;
use crate::objects::stream::{LEGACY, StreamKey};
use crate::objects::work::Work;
use crate::site::Site;

/// Graphs.
impl Driver {
    pub(crate) fn graph(&mut self, graph: Handle) -> Outcome<&mut Graph> {
        self.graphs.get_mut(&graph).ok_or(Code::INVALID_HANDLE)
    }

    /// A graph, to be part of another: one with memory cannot be.
    pub(crate) fn graph_without_memory(&mut self, graph: Handle) -> Outcome<&mut Graph> {
        let graph = self.graph(graph)?;
        if graph.has_memory() {
            return Err(Code::NOT_SUPPORTED);
        }
        Ok(graph)
    }

    /// Adds a node.
    pub(crate) fn add_node(
        &mut self,
        graph: Handle,
        work: Work,
        behind: Vec<Handle>,
    ) -> Outcome<Handle> {
        let handle = self.new_handle();
        let site = self.between.is_active().then(Site::here);
        let graph = self.graph(graph)?;
        if !behind
            .iter()
            .all(|from| graph.nodes.iter().any(|node| node.handle == *from))
        {
            return Err(Code::INVALID_VALUE);
        }
        graph.nodes.push(Node {
            handle,
            work,
            behind,
            site,
        });
        Ok(handle)
    }

    /// The graph that a node is in.
    pub(crate) fn graph_of(&mut self, node: Handle) -> Outcome<&mut Graph> {
        let has_node = |graph: &Graph| graph.nodes.iter().any(|known| known.handle == node);
        let mut graphs = self.graphs.values_mut();
        graphs
            .find(|graph| has_node(graph))
            .ok_or(Code::INVALID_HANDLE)
    }
}

/// Captures.
impl Driver {
    /// The capture that a stream takes part in.
    pub(crate) fn capture_of(&mut self, key: StreamKey) -> Option<(u64, &mut Capture)> {
        let mut captures = self.captures.iter_mut();
        captures
            .find(|(_, capture)| capture.streams.contains_key(&key))
            .map(|(id, capture)| (*id, capture))
    }

    /// The capture that a stream takes part in, if there is one; an error if it is invalid.
    pub(crate) fn valid_capture_of(
        &mut self,
        key: StreamKey,
    ) -> Outcome<Option<(u64, &mut Capture)>> {
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
        let Some((_, capture)) = self.valid_capture_of(key)? else {
            return Ok(false);
        };
        let (graph, behind) = (capture.graph, capture.behind(key));
        let node = self.add_node(graph, work.clone(), behind)?;
        self.follow(key, node);
        Ok(true)
    }

    /// Lets the next work that a stream records follow this node alone.
    pub(crate) fn follow(&mut self, key: StreamKey, node: Handle) {
        if let Some((_, capture)) = self.capture_of(key) {
            capture.streams.insert(key, vec![node]);
        }
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
        let nodes = capture.behind(key);
        self.event(event)?.captured = Some((id, nodes));
        Ok(true)
    }

    /// The work that records an event, sent now.
    pub(crate) fn begin_record(&mut self, handle: Handle) -> Outcome<Work> {
        let event = self.event(handle)?;
        event.captured = None;
        event.recorded += 1;
        event.pending.insert(event.recorded);
        event.moment = Slot::default();
        Ok(Work::Record(handle, event.recorded, event.moment.clone()))
    }

    /// The work that waits for an event's latest record.
    pub(crate) fn wait_for(&mut self, handle: Handle) -> Outcome<Work> {
        let event = self.event(handle)?;
        Ok(Work::Wait(handle, event.recorded, event.moment.clone()))
    }

    /// Adds an event of streams outside of a graph to that which the stream records, as its node.
    pub(crate) fn event_in_graph(&mut self, key: StreamKey, work: Work) -> Outcome<Option<Work>> {
        if self.record_in_graph(key, &work)? {
            Ok(None)
        } else {
            Err(Code::INVALID_VALUE)
        }
    }

    /// The work of a launch: its nodes record events, and wait for them, as calls would now.
    pub(crate) fn launched(&mut self, graph: &Arc<GraphWork>) -> Outcome<Arc<GraphWork>> {
        let mut launched = Arc::clone(graph);
        for (index, node) in graph.work.iter().enumerate() {
            let own = match node {
                Work::RecordInGraph(event) => self.begin_record(*event)?,
                Work::WaitInGraph(event) => self.wait_for(*event)?,
                Work::All(child) => {
                    let own = self.launched(child)?;
                    if Arc::ptr_eq(&own, child) {
                        continue;
                    }
                    Work::All(own)
                }
                _ => continue,
            };
            Arc::make_mut(&mut launched).work[index] = own;
        }
        Ok(launched)
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

    pub(crate) fn begin_capture(
        &mut self,
        key: StreamKey,
        mode: Mode,
        graph: Option<(Handle, Vec<Handle>)>,
    ) -> Outcome {
        if key.stream == LEGACY {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.capture_of(key).is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        self.compare_commands();
        let (graph, behind) = match graph {
            Some(given) => given,
            None => {
                let new = self.new_handle();
                self.graphs.insert(new, Graph::default());
                (new, Vec::new())
            }
        };
        let capture = Capture {
            graph,
            origin: key,
            streams: HashMap::from([(key, behind)]),
            is_invalid: false,
            mode,
            thread: std::thread::current().id(),
        };
        unsafe_calls::begin();
        let id = self.new_handle() as u64;
        self.captures.insert(id, capture);
        Ok(())
    }

    pub(crate) fn end_capture(&mut self, key: StreamKey) -> Outcome<Handle> {
        let (id, capture) = self.capture_of(key).ok_or(Code::ILLEGAL_STATE)?;
        if capture.origin != key {
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        let ended = self.captures.remove(&id).ok_or(Code::UNKNOWN)?;
        let last = ended.behind(key);
        let graph = self.graphs.get(&ended.graph).ok_or(Code::INVALID_HANDLE)?;
        let error = match (ended.is_invalid, graph.are_all_before(&last)) {
            (true, _) => Code::STREAM_CAPTURE_INVALIDATED,
            (false, false) => Code::STREAM_CAPTURE_UNJOINED,
            (false, true) => return Ok(ended.graph),
        };
        self.graphs.remove(&ended.graph);
        Err(error)
    }

    /// Status, number, graph, and the nodes that the stream's next work stands behind.
    pub(crate) fn capture_info(
        &mut self,
        stream: Handle,
    ) -> Outcome<(c_int, u64, Handle, Vec<Handle>)> {
        let key = self.stream(stream)?;
        Ok(match self.capture_of(key) {
            None => (0, 0, 0, Vec::new()),
            // "Valid data" is that of a capture which is active alone.
            Some((_, capture)) if capture.is_invalid => (2, 0, 0, Vec::new()),
            Some((id, capture)) => (1, id, capture.graph, capture.behind(key)),
        })
    }
}
