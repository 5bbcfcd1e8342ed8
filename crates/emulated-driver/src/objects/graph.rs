//! Graphs: pieces of work and the order among them. Streams may record them.

use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::ThreadId;

use super::Handle;
use super::branch::{BranchKind, Condition, Conditions};
use super::stream::StreamKey;
use super::user_object::References;
use super::work::Work;
use crate::code::{Code, Outcome};
use crate::site::Site;

/// A graph. Nodes are in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// The references to objects that it has.
    pub(crate) objects: Vec<References>,
    /// The node whose child or body it is, and the graph that this is in.
    pub(crate) within: Option<Place>,
    /// The conditional handles of the nodes in it, and in the graphs within it. Those have none.
    pub(crate) conditions: Vec<Condition>,
    /// It became a node's child itself, and cannot be used apart from that.
    pub(crate) is_moved: bool,
}

/// A node, and the graph that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) graph: Handle,
    pub(crate) node: Handle,
}

/// What is not the default of an edge, as `CUgraphEdgeData` has it.
pub(crate) type EdgeData = [u8; 8];

/// Where a node is to be added.
#[derive(Clone, Debug, Default)]
pub(crate) struct At {
    pub(crate) graph: Handle,
    /// The nodes that it follows.
    pub(crate) behind: Vec<Handle>,
    /// The data of those edges; none where all have the default.
    pub(crate) edges: Vec<EdgeData>,
}

/// A piece of work, and the nodes that it follows.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) handle: Handle,
    pub(crate) work: Work,
    pub(crate) behind: Vec<Handle>,
    /// The data of edges that have any, by the node that they come from. All edges order the whole
    /// nodes here: one that orders less would let more run at the same time.
    pub(crate) edges: HashMap<Handle, EdgeData>,
    /// The node that it is a copy of.
    pub(crate) original: Option<Handle>,
    /// The call that added it, where commands are compared.
    pub(crate) site: Option<Site>,
}

impl Node {
    /// Notes the data of an edge, unless it is the default.
    pub(crate) fn note_edge(&mut self, from: Handle, data: EdgeData) {
        if data != EdgeData::default() {
            self.edges.insert(from, data);
        }
    }
}

/// A graph that can be launched.
#[derive(Debug)]
pub(crate) struct ExecutableGraph {
    /// What it was made of.
    pub(crate) graph: Handle,
    /// A launch frees first what an earlier one has allocated, and nothing has freed.
    pub(crate) frees_on_launch: bool,
    /// The flags of `cuGraphInstantiateWithFlags`.
    pub(crate) flags: u64,
    pub(crate) work: Arc<GraphWork>,
}

/// The work of a graph that can be launched, in an order that keeps to the graph's.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphWork {
    /// The same for all launches of a graph: it does not run at the same time as itself.
    pub(crate) id: u64,
    pub(crate) work: Vec<Work>,
    /// The nodes that it is of. Work that a launch adds has none.
    pub(crate) nodes: Vec<Handle>,
    /// The indices of those that each must be behind.
    pub(crate) behind: Vec<Vec<usize>>,
    /// The calls that added the nodes.
    pub(crate) sites: Vec<Option<Site>>,
    /// Objects that stay until the graph has gone, and its last launch has ended.
    pub(crate) objects: Vec<References>,
    /// The conditional handles of the graph and of those in it.
    pub(crate) conditions: Conditions,
    /// How many graphs are within one another in it, itself among them.
    pub(crate) levels: usize,
}

impl GraphWork {
    /// The memory that its nodes allocate.
    pub(crate) fn makes(&self) -> impl Iterator<Item = u64> + '_ {
        self.work.iter().filter_map(|work| match work {
            Work::Make(address) => Some(*address),
            _ => None,
        })
    }

    /// This work, behind the free of memory that it allocates.
    pub(crate) fn freeing(&self, memory: &[u64]) -> GraphWork {
        let count = memory.len();
        let mut all = GraphWork {
            work: memory.iter().map(|address| Work::Free(*address)).collect(),
            behind: vec![Vec::new(); count],
            sites: vec![None; count],
            nodes: vec![0; count],
            ..self.clone()
        };
        for (work, behind) in self.work.iter().zip(&self.behind) {
            let mut behind: Vec<usize> = behind.iter().map(|before| before + count).collect();
            if let Work::Make(address) = work {
                behind.extend(memory.iter().position(|freed| freed == address));
            }
            all.work.push(work.clone());
            all.behind.push(behind);
        }
        all.sites.extend(self.sites.iter().cloned());
        all.nodes.extend(&self.nodes);
        all
    }

    /// Whether another graph has the same kinds of nodes, in the graphs within it too.
    pub(crate) fn is_alike(&self, other: &GraphWork) -> bool {
        let mut pairs = self.work.iter().zip(&other.work);
        self.work.len() == other.work.len()
            && pairs.all(|pair| match pair {
                (Work::All(one), Work::All(new)) => one.is_alike(new),
                (Work::Branch(one), Work::Branch(new)) => one.is_alike(new),
                (one, new) => one.node_type() == new.node_type(),
            })
    }

    /// Takes the place of the work that a graph had before, which is alike: it is known by the
    /// same nodes, and its launches are behind those of the former.
    pub(crate) fn replace(&mut self, former: &GraphWork) {
        (self.id, self.nodes) = (former.id, former.nodes.clone());
        for (work, old) in self.work.iter_mut().zip(&former.work) {
            let pairs = work.within_mut().iter_mut().zip(old.within());
            pairs.for_each(|(own, one)| Arc::make_mut(own).replace(one));
        }
    }

    /// The way to a node, in the graphs within it too.
    pub(crate) fn way_to(&self, node: Handle) -> Option<Way> {
        let is_in_body = false;
        if let Some(index) = self.nodes.iter().position(|known| *known == node) {
            let through = Vec::new();
            return Some(Way {
                through,
                index,
                is_in_body,
            });
        }
        self.work.iter().enumerate().find_map(|(index, work)| {
            let mut inner = work.within().iter().enumerate();
            let (number, mut way) =
                inner.find_map(|(at, graph)| Some((at, graph.way_to(node)?)))?;
            way.through.insert(0, (index, number));
            way.is_in_body |= matches!(work, Work::Branch(_));
            Some(way)
        })
    }

    /// The work of the node at the end of a way.
    pub(crate) fn work_at(&mut self, way: &Way) -> Option<&mut Work> {
        let mut graph = self;
        for (index, number) in &way.through {
            let within = graph.work.get_mut(*index)?.within_mut();
            graph = Arc::make_mut(within.get_mut(*number)?);
        }
        graph.work.get_mut(way.index)
    }

    /// The memory that its nodes free.
    pub(crate) fn frees(&self) -> impl Iterator<Item = u64> + '_ {
        self.work.iter().filter_map(|work| match work {
            Work::Free(address) => Some(*address),
            _ => None,
        })
    }
}

/// The way to a node in the work of a graph.
#[derive(Debug)]
pub(crate) struct Way {
    /// The nodes around it, and which of the graphs within each is on the way.
    through: Vec<(usize, usize)>,
    index: usize,
    /// One of them is a conditional node.
    pub(crate) is_in_body: bool,
}

/// A conditional node.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) handle: u64,
    pub(crate) kind: BranchKind,
    /// Its bodies, which the program fills with nodes.
    pub(crate) graphs: Arc<[Handle]>,
    /// The work of them, once the graph around it can be launched.
    pub(crate) bodies: Vec<Arc<GraphWork>>,
}

impl Branch {
    /// The body that a value chooses.
    pub(crate) fn chosen(&self, value: u32) -> Option<&Arc<GraphWork>> {
        self.bodies.get(self.kind.chosen(value))
    }

    /// Whether another has bodies with the same kinds of nodes, and chooses them in the same way.
    fn is_alike(&self, other: &Branch) -> bool {
        let mut pairs = self.bodies.iter().zip(&other.bodies);
        self.kind == other.kind
            && self.bodies.len() == other.bodies.len()
            && pairs.all(|(one, new)| one.is_alike(new))
    }
}

static IDS: AtomicU64 = AtomicU64::new(0);

impl Graph {
    /// Whether it allocates or frees memory. Such a graph cannot be copied, or lose a node.
    pub(crate) fn has_memory(&self) -> bool {
        let mut work = self.nodes.iter().map(|node| &node.work);
        work.any(|work| matches!(work, Work::Make(_) | Work::Free(_)))
    }

    /// Whether every node behind the first ones stands before one of these, or is one.
    pub(crate) fn are_all_before(&self, first: usize, last: &[Handle]) -> bool {
        let mut found: HashSet<Handle> = last.iter().copied().collect();
        // A node was added after those that it follows.
        for node in self.nodes.iter().rev() {
            if found.contains(&node.handle) {
                found.extend(&node.behind);
            }
        }
        let mut own = self.nodes.iter().skip(first);
        own.all(|node| found.contains(&node.handle))
    }

    pub(crate) fn node(&mut self, handle: Handle) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|node| node.handle == handle)
    }

    /// The two ends of each edge, and its data.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (Handle, Handle, EdgeData)> + '_ {
        self.nodes.iter().flat_map(|node| {
            node.behind.iter().map(|from| {
                let data = node.edges.get(from).copied().unwrap_or_default();
                (*from, node.handle, data)
            })
        })
    }

    /// The nodes in an order in which each stands behind what it must. An error if there is none.
    fn ordered(&self) -> Outcome<Vec<&Node>> {
        let mut done = HashSet::new();
        let mut ordered = Vec::with_capacity(self.nodes.len());
        while ordered.len() < self.nodes.len() {
            let before = ordered.len();
            for node in &self.nodes {
                if !done.contains(&node.handle)
                    && node.behind.iter().all(|from| done.contains(from))
                {
                    done.insert(node.handle);
                    ordered.push(node);
                }
            }
            if ordered.len() == before {
                return Err(Code::INVALID_VALUE);
            }
        }
        Ok(ordered)
    }

    /// The work of a launch, in which nodes that have graphs within them have that of the graphs.
    ///
    /// # Errors
    ///
    /// Its nodes follow one another in a circle.
    pub(crate) fn to_launch(
        &self,
        mut work_of: impl FnMut(&Work) -> Outcome<Work>,
    ) -> Outcome<GraphWork> {
        let ordered = self.ordered()?;
        let places: HashMap<Handle, usize> = (0..)
            .zip(&ordered)
            .map(|(at, node)| (node.handle, at))
            .collect();
        let indices = |node: &Node| {
            let known = node.behind.iter().filter_map(|from| places.get(from));
            known.copied().collect()
        };
        let work = ordered.iter().map(|node| work_of(&node.work));
        let work = work.collect::<Outcome<Vec<Work>>>()?;
        Ok(GraphWork {
            id: IDS.fetch_add(1, Relaxed),
            levels: 1 + work.iter().map(Work::levels).max().unwrap_or(0),
            work,
            nodes: ordered.iter().map(|node| node.handle).collect(),
            behind: ordered.iter().map(|node| indices(node)).collect(),
            sites: ordered.iter().map(|node| node.site.clone()).collect(),
            objects: self.objects.clone(),
            conditions: Conditions::of(&self.conditions),
        })
    }
}

impl Work {
    /// The work of the graphs within a node of a launch.
    pub(crate) fn within(&self) -> &[Arc<GraphWork>] {
        match self {
            Work::All(own) => std::slice::from_ref(own),
            Work::Branch(branch) => &branch.bodies,
            _ => &[],
        }
    }

    fn within_mut(&mut self) -> &mut [Arc<GraphWork>] {
        match self {
            Work::All(own) => std::slice::from_mut(own),
            Work::Branch(branch) => &mut Arc::make_mut(branch).bodies,
            _ => &mut [],
        }
    }

    /// How many graphs are within one another in a node of a launch.
    pub(crate) fn levels(&self) -> usize {
        let within = self.within().iter();
        within.map(|graph| graph.levels).max().unwrap_or(0)
    }

    /// The graphs that a node with this work owns.
    pub(crate) fn graphs(&self) -> &[Handle] {
        match self {
            Work::Within(child) => std::slice::from_ref(child),
            Work::Branch(branch) => &branch.graphs,
            _ => &[],
        }
    }

    /// The number of `CUgraphNodeType` of a node with this work.
    pub(crate) fn node_type(&self) -> c_int {
        match self {
            Work::Launch(_) => 0,
            Work::Copy(_) | Work::Staged(..) => 1,
            Work::Fill(_) => 2,
            Work::Call(..) | Work::Callback(..) => 3,
            Work::All(_) | Work::Within(_) => 4,
            Work::Nothing => 5,
            Work::Wait(..) | Work::WaitInGraph(_) => 6,
            Work::Record(..) | Work::RecordInGraph(_) => 7,
            Work::Make(_) => 10,
            Work::Free(_) => 11,
            Work::WaitValue { .. } | Work::WriteValue { .. } => 12,
            Work::Branch(_) => 13,
        }
    }
}

/// A graph that streams record.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) graph: Handle,
    pub(crate) origin: StreamKey,
    /// How many nodes the graph had before it.
    pub(crate) first: usize,
    /// The nodes that the next work of each stream that takes part follows.
    pub(crate) streams: HashMap<StreamKey, Vec<Handle>>,
    pub(crate) is_invalid: bool,
    pub(crate) mode: Mode,
    /// The thread that has begun it.
    pub(crate) thread: ThreadId,
    /// The graph is its own, and not one that the program gave.
    pub(crate) has_made_graph: bool,
}

/// `CUstreamCaptureMode`: which threads may not make unsafe calls meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All, that which records among them.
    Global,
    /// The one that records.
    ThreadLocal,
    Relaxed,
}

impl Mode {
    pub(crate) fn of(number: c_int) -> Outcome<Mode> {
        match number {
            0 => Ok(Mode::Global),
            1 => Ok(Mode::ThreadLocal),
            2 => Ok(Mode::Relaxed),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

impl Capture {
    /// The place of the next node that a stream adds.
    pub(crate) fn place(&self, key: StreamKey) -> At {
        At {
            graph: self.graph,
            behind: self.behind(key),
            edges: Vec::new(),
        }
    }

    /// The nodes that the next work of a stream follows.
    pub(crate) fn behind(&self, key: StreamKey) -> Vec<Handle> {
        self.streams.get(&key).cloned().unwrap_or_default()
    }
}
