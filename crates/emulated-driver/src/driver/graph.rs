//! Graphs, and the streams that record them instead of doing their work.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::Arc;

use super::{Driver, unsafe_calls};
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::graph::{At, Branch, Capture, EdgeData, Graph, GraphWork, Mode, Node, Place};
use crate::objects::order::Slot;
use crate::objects::stream::{LEGACY, StreamKey};
use crate::objects::work::Work;
use crate::report::refused;
use crate::site::Site;

/// The most graphs that may be within one another here: what follows them does so level by level.
const MOST_LEVELS: usize = 128;

/// Graphs.
impl Driver {
    pub(crate) fn graph(&mut self, graph: Handle) -> Outcome<&mut Graph> {
        self.graphs.get_mut(&graph).ok_or(Code::INVALID_HANDLE)
    }

    /// Adds a node. The graphs within it know then where they are.
    pub(crate) fn add_node(&mut self, at: At, work: Work) -> Outcome<Handle> {
        self.check_place(&at, self.levels_within(&work))?;
        let has_graphs = !work.graphs().is_empty();
        let handle = self.new_handle();
        let site = self.between.is_active().then(Site::here);
        let mut node = Node {
            handle,
            work,
            behind: Vec::new(),
            edges: HashMap::new(),
            original: None,
            site,
        };
        for (from, data) in at.behind.iter().zip(at.edges) {
            node.note_edge(*from, data);
        }
        node.behind = at.behind;
        self.graph(at.graph)?.nodes.push(node);
        if has_graphs {
            self.own_graphs(at.graph);
        }
        Ok(handle)
    }

    /// Checks that a node can be added there, within which graphs have `levels` levels.
    ///
    /// # Errors
    ///
    /// The graph is not known, or has none of the nodes that the new one is to follow, or is too
    /// deep within others.
    pub(crate) fn check_place(&self, at: &At, levels: usize) -> Outcome {
        let known = self.graphs.get(&at.graph).ok_or(Code::INVALID_HANDLE)?;
        let has_node = |from: &Handle| known.nodes.iter().any(|node| node.handle == *from);
        if !at.behind.iter().all(has_node) {
            return Err(Code::INVALID_VALUE);
        }
        if levels > 0 && self.around(at.graph).count() + levels > MOST_LEVELS {
            return Err(refused(&format!(
                "graphs are within one another {MOST_LEVELS} times at the most here: child graphs, and bodies of conditional nodes"
            )));
        }
        Ok(())
    }

    /// How many graphs are within one another in a node with this work.
    fn levels_within(&self, work: &Work) -> usize {
        let inner = work.graphs().iter().map(|graph| self.levels_of(*graph));
        inner.max().unwrap_or(0).max(work.levels())
    }

    /// How many graphs are within one another in a graph, itself among them.
    fn levels_of(&self, graph: Handle) -> usize {
        let nodes = self
            .graphs
            .get(&graph)
            .map_or(&[][..], |known| &known.nodes);
        let inner = nodes.iter().map(|node| self.levels_within(&node.work));
        1 + inner.max().unwrap_or(0)
    }

    /// A graph, and those that it is within, from the inside to the outside.
    pub(crate) fn around(&self, graph: Handle) -> impl Iterator<Item = Handle> + '_ {
        std::iter::successors(Some(graph), |inner| {
            Some(self.graphs.get(inner)?.within?.graph)
        })
    }

    /// The graph that a graph is within, in the end.
    pub(crate) fn root(&self, graph: Handle) -> Handle {
        self.around(graph).last().unwrap_or(graph)
    }

    /// The graph with this handle, unless a node owns it.
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
            is_moved: false,
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

    /// Adds a node with a graph within it: a copy of one, or itself, so that it is the program's
    /// own no longer.
    pub(crate) fn add_child(&mut self, at: At, child: Handle, is_moved: bool) -> Outcome<Handle> {
        self.check_place(&at, self.levels_of(child))?;
        if !is_moved {
            let copy = self.clone_graph(child)?;
            return self.add_node(at, Work::Within(copy));
        }
        self.check_moved(child, at.graph)?;
        let added = self.add_node(at, Work::Within(child))?;
        self.graph(child)?.is_moved = true;
        Ok(added)
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
            objects: work.objects.clone(),
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

    /// Checks that a graph can be moved into another.
    ///
    /// # Errors
    ///
    /// It is within another, or that is within it. It has conditional handles, and so perhaps
    /// nodes, which would lose them: no child may have such nodes (`CUDA_CHILD_GRAPH_NODE_PARAMS`).
    /// Memory of it is not supported.
    fn check_moved(&mut self, graph: Handle, to: Handle) -> Outcome {
        let is_around = self.root(to) == graph;
        let known = self.outer_graph(graph)?;
        if is_around {
            return Err(refused(
                "a graph cannot be moved into itself (CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE), nor into a child or a body within it",
            ));
        }
        if known.has_memory() || !known.conditions.is_empty() {
            return Err(Code::NOT_SUPPORTED);
        }
        Ok(())
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
        let at = capture.place(key);
        let node = self.add_node(at, work.clone())?;
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
        let has_made_graph = graph.is_none();
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
            has_made_graph,
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
        let error = match (ended.is_invalid, graph.are_all_before(ended.first, &last)) {
            (true, _) => Code::STREAM_CAPTURE_INVALIDATED,
            (false, false) => Code::STREAM_CAPTURE_UNJOINED,
            (false, true) => return Ok(ended.graph),
        };
        if ended.has_made_graph {
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
