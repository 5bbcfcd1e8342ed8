//! Graphs: pieces of work and the order among them. Streams may record them.

use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::ThreadId;

use super::Handle;
use super::stream::StreamKey;
use super::user_object::{Destructor, References};
use super::work::Work;
use crate::code::{Code, Outcome};
use crate::site::Site;

/// A graph. Nodes are in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    /// The references to objects that it has.
    pub(crate) objects: Vec<References>,
}

/// A piece of work, and the nodes that it follows.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) handle: Handle,
    pub(crate) work: Work,
    pub(crate) behind: Vec<Handle>,
    /// The call that added it, where commands are compared.
    pub(crate) site: Option<Site>,
}

/// A graph that can be launched: each piece of work with its node, in an order that keeps to the
/// graph's.
#[derive(Debug)]
pub(crate) struct ExecutableGraph {
    /// What it was made of.
    pub(crate) graph: Handle,
    /// A launch frees first what an earlier one has allocated, and nothing has freed.
    pub(crate) frees_on_launch: bool,
    pub(crate) nodes: Vec<Handle>,
    pub(crate) work: Arc<GraphWork>,
}

/// The work of a graph that can be launched, in an order that keeps to the graph's.
#[derive(Clone, Debug)]
pub(crate) struct GraphWork {
    /// The same for all launches of a graph: it does not run at the same time as itself.
    pub(crate) id: u64,
    pub(crate) work: Vec<Work>,
    /// The indices of those that each must be behind.
    pub(crate) behind: Vec<Vec<usize>>,
    /// The calls that added the nodes.
    pub(crate) sites: Vec<Option<Site>>,
    /// Objects that stay until the graph has gone, and its last launch has ended.
    #[allow(dead_code)] // Kept for what their end does.
    pub(crate) objects: Vec<Arc<Destructor>>,
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
        all
    }

    /// The memory that its nodes free.
    pub(crate) fn frees(&self) -> impl Iterator<Item = u64> + '_ {
        self.work.iter().filter_map(|work| match work {
            Work::Free(address) => Some(*address),
            _ => None,
        })
    }
}

static IDS: AtomicU64 = AtomicU64::new(0);

impl Graph {
    /// Whether it allocates or frees memory. Such a graph cannot be copied, or lose a node.
    pub(crate) fn has_memory(&self) -> bool {
        let mut work = self.nodes.iter().map(|node| &node.work);
        work.any(|work| matches!(work, Work::Make(_) | Work::Free(_)))
    }

    /// Whether every node stands before one of these, or is one.
    pub(crate) fn are_all_before(&self, last: &[Handle]) -> bool {
        let mut found: HashSet<Handle> = last.iter().copied().collect();
        // A node was added after those that it follows.
        for node in self.nodes.iter().rev() {
            if found.contains(&node.handle) {
                found.extend(&node.behind);
            }
        }
        self.nodes.iter().all(|node| found.contains(&node.handle))
    }

    pub(crate) fn node(&mut self, handle: Handle) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|node| node.handle == handle)
    }

    pub(crate) fn edges(&self) -> impl Iterator<Item = (Handle, Handle)> + '_ {
        self.nodes
            .iter()
            .flat_map(|node| node.behind.iter().map(|from| (*from, node.handle)))
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

    /// The work of a launch.
    pub(crate) fn to_launch(&self) -> Outcome<(Vec<Handle>, GraphWork)> {
        let ordered = self.ordered()?;
        let places: HashMap<Handle, usize> = (0..)
            .zip(&ordered)
            .map(|(at, node)| (node.handle, at))
            .collect();
        let indices = |node: &Node| {
            let known = node.behind.iter().filter_map(|from| places.get(from));
            known.copied().collect()
        };
        let kept = self.objects.iter();
        let work = GraphWork {
            id: IDS.fetch_add(1, Relaxed),
            work: ordered.iter().map(|node| node.work.clone()).collect(),
            behind: ordered.iter().map(|node| indices(node)).collect(),
            sites: ordered.iter().map(|node| node.site.clone()).collect(),
            objects: kept.map(|kept| Arc::clone(&kept.destructor)).collect(),
        };
        Ok((ordered.iter().map(|node| node.handle).collect(), work))
    }
}

impl Work {
    /// The number of `CUgraphNodeType` of a node with this work.
    pub(crate) fn node_type(&self) -> c_int {
        match self {
            Work::Launch(_) => 0,
            Work::Copy(_) | Work::Staged(..) => 1,
            Work::Fill(_) => 2,
            Work::Call(..) | Work::Callback(..) => 3,
            Work::All(_) => 4,
            Work::Nothing => 5,
            Work::Wait(..) | Work::WaitInGraph(_) => 6,
            Work::Record(..) | Work::RecordInGraph(_) => 7,
            Work::Make(_) => 10,
            Work::Free(_) => 11,
            Work::WaitValue { .. } | Work::WriteValue { .. } => 12,
        }
    }
}

/// A graph that streams record.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) graph: Handle,
    pub(crate) origin: StreamKey,
    /// The nodes that the next work of each stream that takes part follows.
    pub(crate) streams: HashMap<StreamKey, Vec<Handle>>,
    pub(crate) is_invalid: bool,
    pub(crate) mode: Mode,
    /// The thread that has begun it.
    pub(crate) thread: ThreadId,
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
    /// The nodes that the next work of a stream follows.
    pub(crate) fn behind(&self, key: StreamKey) -> Vec<Handle> {
        self.streams.get(&key).cloned().unwrap_or_default()
    }
}
