//! Graphs, and the streams that record them instead of doing their work.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

use super::{Driver, unsafe_calls};
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::graph::{Branch, Capture, EdgeData, Graph, GraphWork, Mode, Node, Place};
use crate::objects::order::Slot;
use crate::objects::stream::{LEGACY, StreamKey};
use crate::objects::work::Work;
use crate::site::Site;

/// Graphs.
impl Driver {
    pub(crate) fn graph(&mut self, graph: Handle) -> Outcome<&mut Graph> {
        self.graphs.get_mut(&graph).ok_or(Code::INVALID_HANDLE)
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
            edges: HashMap::new(),
            original: None,
            site,
        });
        Ok(handle)
    }

    /// The graph with this handle that a node owns none of.
    fn outer_graph(&mut self, graph: Handle) -> Outcome<&mut Graph> {
        let known = self.graph(graph)?;
        if known.within.is_some() {
            return Err(Code::INVALID_VALUE);
        }
        Ok(known)
    }

    /// Ends a graph, and those within it.
    pub(crate) fn destroy_graph(&mut self, graph: Handle) -> Outcome {
        self.outer_graph(graph)?;
        self.remove_graph(graph);
        Ok(())
    }

    fn remove_graph(&mut self, graph: Handle) {
        let Some(removed) = self.graphs.remove(&graph) else {
            return;
        };
        for inner in removed.nodes.iter().flat_map(|node| node.work.graphs()) {
            self.remove_graph(*inner);
        }
    }

    /// Takes a node out of its graph.
    pub(crate) fn destroy_node(&mut self, node: Handle) -> Outcome {
        let handle = self.graph_with(node)?;
        let graph = self.graph(handle)?;
        if graph.has_memory() {
            return Err(Code::NOT_SUPPORTED);
        }
        let at = graph.nodes.iter().position(|known| known.handle == node);
        let removed = graph.nodes.remove(at.ok_or(Code::INVALID_HANDLE)?);
        for known in &mut graph.nodes {
            known.behind.retain(|from| *from != node);
            known.edges.remove(&node);
        }
        for inner in removed.work.graphs() {
            self.remove_graph(*inner);
        }
        let root = self.root(handle);
        for condition in &mut self.graph(root)?.conditions {
            condition.node = condition.node.filter(|of| *of != node);
        }
        Ok(())
    }

    /// A copy of a graph, whose nodes are new.
    ///
    /// # Errors
    ///
    /// It has memory, or conditional nodes: such a graph cannot be copied, or be part of another
    /// (`cuGraphClone`, `cuGraphAddChildGraphNode`).
    pub(crate) fn clone_graph(&mut self, graph: Handle) -> Outcome<Handle> {
        let original = self.graph(graph)?;
        let mut works = original.nodes.iter().map(|node| &node.work);
        if original.has_memory() || works.any(|work| matches!(work, Work::Branch(_))) {
            return Err(Code::NOT_SUPPORTED);
        }
        let mut copy = Graph {
            within: None,
            conditions: Vec::new(),
            ..original.clone()
        };
        let handle = self.new_handle();
        let new: HashMap<Handle, Handle> = { copy.nodes.iter() }
            .map(|node| (node.handle, self.new_handle()))
            .collect();
        for node in &mut copy.nodes {
            node.original = Some(node.handle);
            node.handle = new[&node.handle];
            node.behind = node.behind.iter().map(|from| new[from]).collect();
            let edges = std::mem::take(&mut node.edges).into_iter();
            node.edges = edges.map(|(from, data)| (new[&from], data)).collect();
            if let Work::Within(inner) = node.work {
                node.work = Work::Within(self.clone_graph(inner)?);
            }
        }
        self.graphs.insert(handle, copy);
        self.own_graphs(handle);
        Ok(handle)
    }

    /// Lets the graphs of nodes know their place.
    fn own_graphs(&mut self, graph: Handle) {
        let Some(own) = self.graphs.get(&graph) else {
            return;
        };
        let places: Vec<(Handle, Handle)> = { own.nodes.iter() }
            .flat_map(|node| node.work.graphs().iter().map(|inner| (*inner, node.handle)))
            .collect();
        for (inner, node) in places {
            if let Some(inner) = self.graphs.get_mut(&inner) {
                inner.within = Some(Place { graph, node });
            }
        }
    }

    /// Adds a node with graphs of its own.
    pub(crate) fn add_node_with_graphs(
        &mut self,
        graph: Handle,
        work: Work,
        behind: Vec<Handle>,
    ) -> Outcome<Handle> {
        let inner = work.graphs().to_vec();
        let added = self.add_node(graph, work, behind);
        match added {
            Ok(_) => self.own_graphs(graph),
            Err(_) => inner.into_iter().for_each(|one| self.remove_graph(one)),
        }
        added
    }

    /// The graph of a child node. That of a launch which a stream has recorded is made here.
    pub(crate) fn child_graph(&mut self, node: Handle) -> Outcome<Handle> {
        let graph = self.graph_with(node)?;
        let known = self.graph(graph)?.node(node).ok_or(Code::INVALID_HANDLE)?;
        match &known.work {
            Work::Within(child) => Ok(*child),
            Work::All(work) => {
                let work = Arc::clone(work);
                let child = self.graph_of_work(&work);
                self.node(node)?.work = Work::Within(child);
                self.own_graphs(graph);
                Ok(child)
            }
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// A new graph that does this work.
    fn graph_of_work(&mut self, work: &GraphWork) -> Handle {
        let handles: Vec<Handle> = work.work.iter().map(|_| self.new_handle()).collect();
        let nodes = (0..work.work.len()).map(|index| Node {
            handle: handles[index],
            work: work.work[index].clone(),
            behind: { work.behind[index].iter() }
                .map(|from| handles[*from])
                .collect(),
            edges: HashMap::new(),
            original: None,
            site: work.sites[index].clone(),
        });
        let graph = Graph {
            nodes: nodes.collect(),
            ..Graph::default()
        };
        let handle = self.new_handle();
        self.graphs.insert(handle, graph);
        handle
    }

    /// The work of a graph that is launched, and of those within it.
    pub(crate) fn to_launch(&self, graph: Handle) -> Outcome<GraphWork> {
        let known = self.graphs.get(&graph).ok_or(Code::INVALID_HANDLE)?;
        known.to_launch(|work| {
            Ok(match work {
                Work::Within(child) => Work::All(Arc::new(self.to_launch(*child)?)),
                Work::Branch(branch) => {
                    let graphs = branch.graphs.iter();
                    let bodies = graphs.map(|body| self.to_launch(*body).map(Arc::new));
                    Work::Branch(Arc::new(Branch {
                        bodies: bodies.collect::<Outcome<_>>()?,
                        ..(**branch).clone()
                    }))
                }
                other => other.clone(),
            })
        })
    }

    /// Adds edges to a graph.
    pub(crate) fn add_edges(
        &mut self,
        graph: Handle,
        edges: &[(Handle, Handle, EdgeData)],
    ) -> Outcome {
        let graph = self.graph(graph)?;
        for (from, to, data) in edges {
            graph.node(*from).ok_or(Code::INVALID_VALUE)?;
            let node = graph.node(*to).ok_or(Code::INVALID_VALUE)?;
            node.behind.push(*from);
            node.note_edge(*from, *data);
        }
        Ok(())
    }

    /// Takes edges out of a graph.
    pub(crate) fn remove_edges(
        &mut self,
        graph: Handle,
        edges: &[(Handle, Handle, EdgeData)],
    ) -> Outcome {
        let graph = self.graph(graph)?;
        for (from, to, _) in edges {
            let node = graph.node(*to).ok_or(Code::INVALID_VALUE)?;
            let at = node.behind.iter().position(|known| known == from);
            node.behind.remove(at.ok_or(Code::INVALID_VALUE)?);
            node.edges.remove(from);
        }
        Ok(())
    }

    /// Notes the data of the edges of a new node.
    pub(crate) fn set_edges(
        &mut self,
        node: Handle,
        behind: &[Handle],
        data: &[EdgeData],
    ) -> Outcome {
        if !data.is_empty() {
            let node = self.node(node)?;
            for (from, one) in behind.iter().zip(data) {
                node.note_edge(*from, *one);
            }
        }
        Ok(())
    }

    /// A graph that becomes the child of a node, and is its own no longer.
    ///
    /// # Errors
    ///
    /// It is within another, or has conditional nodes; memory of it is not supported.
    pub(crate) fn moved_graph(&mut self, graph: Handle) -> Outcome<Handle> {
        let known = self.outer_graph(graph)?;
        let mut works = known.nodes.iter().map(|node| &node.work);
        if known.has_memory() || works.any(|work| matches!(work, Work::Branch(_))) {
            return Err(Code::NOT_SUPPORTED);
        }
        Ok(graph)
    }

    /// The graph that a node is in.
    pub(crate) fn graph_of(&mut self, node: Handle) -> Outcome<&mut Graph> {
        let graph = self.graph_with(node)?;
        self.graph(graph)
    }

    /// The handle of the graph that a node is in.
    pub(crate) fn graph_with(&self, node: Handle) -> Outcome<Handle> {
        let has_node = |graph: &Graph| graph.nodes.iter().any(|known| known.handle == node);
        let mut graphs = self.graphs.iter();
        let found = graphs.find(|(_, graph)| has_node(graph));
        found.map(|(handle, _)| *handle).ok_or(Code::INVALID_HANDLE)
    }

    /// The node of this handle, wherever it is.
    pub(crate) fn node(&mut self, node: Handle) -> Outcome<&mut Node> {
        self.graph_of(node)?.node(node).ok_or(Code::INVALID_HANDLE)
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
        let first = self.graph(graph)?.nodes.len();
        let capture = Capture {
            graph,
            origin: key,
            first,
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
        let is_within = graph.within.is_some();
        let error = match (ended.is_invalid, graph.are_all_before(ended.first, &last)) {
            (true, _) => Code::STREAM_CAPTURE_INVALIDATED,
            (false, false) => Code::STREAM_CAPTURE_UNJOINED,
            (false, true) => return Ok(ended.graph),
        };
        // The graph of a node ends with that.
        if !is_within {
            self.remove_graph(ended.graph);
        }
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
