//! The work that streams have to do, in the order in which they have it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::copy::{Copy, Fill};
use super::graph::{Branch, GraphWork};
use super::launch::Launch;
use super::order::{Sent, Slot};
use super::stream::StreamKey;
use super::{Handle, HostFunction};

/// A function that the program gave to `cuStreamAddCallback`, called with the stream and its state.
pub(crate) type Callback = unsafe extern "C" fn(Handle, c_int, *mut c_void);

/// The comparisons of `cuStreamWaitValue32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    AtLeast,
    Equal,
    And,
    Nor,
}

impl Condition {
    /// Whether a value in memory, of 4 or 8 bytes, is as asked for.
    pub(crate) fn holds(self, found: u64, value: u64, bytes: u32) -> bool {
        let mask = if bytes == 4 {
            u64::from(u32::MAX)
        } else {
            u64::MAX
        };
        match self {
            // Cyclic, as documented: the difference has no sign.
            Condition::AtLeast if bytes == 4 => (found.wrapping_sub(value) as u32 as i32) >= 0,
            Condition::AtLeast => found.wrapping_sub(value) as i64 >= 0,
            Condition::Equal => found == value & mask,
            Condition::And => found & value != 0,
            Condition::Nor => !(found | value) & mask != 0,
        }
    }
}

/// A piece of work.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Nothing,
    Launch(Arc<Launch>),
    Copy(Copy),
    /// A copy whose bytes were taken out of its source at the call.
    Staged(Copy, Arc<[u8]>),
    Fill(Fill),
    /// The second is the address that it is called with.
    Call(HostFunction, usize),
    /// The stream is that of the call which enqueued it.
    Callback(Callback, Handle, usize),
    /// Records an event, for the time of this number.
    Record(Handle, u64, Slot),
    /// Waits until the event was recorded that often.
    Wait(Handle, u64, Slot),
    /// Nodes for an event of a stream outside of the graph: what they record or wait for is known
    /// when the graph is launched.
    RecordInGraph(Handle),
    WaitInGraph(Handle),
    WaitValue {
        address: u64,
        value: u64,
        bytes: u32,
        condition: Condition,
    },
    WriteValue {
        address: u64,
        value: u64,
        bytes: u32,
    },
    /// What an allocation node of a graph does, for the memory at an address.
    Make(u64),
    Free(u64),
    /// The work of a graph.
    All(Arc<GraphWork>),
    /// A node's own graph. A launch has its work.
    Within(Handle),
    /// A conditional node.
    Branch(Arc<Branch>),
}

/// A piece of work in a stream.
#[derive(Debug)]
pub(crate) struct Item {
    /// Counts up with each call.
    pub(crate) ticket: u64,
    pub(crate) work: Work,
    /// The call that sent it, where commands are compared.
    pub(crate) sent: Option<Arc<Sent>>,
    /// The graph that it launches, or that was launched with it as a part.
    pub(crate) graph: Option<Arc<GraphWork>>,
    /// Its place in the launch of a graph.
    pub(crate) node: Option<NodeOf>,
    /// How many rounds of a loop have begun, where this is the loop behind one; else 0.
    pub(crate) rounds: u64,
}

/// The place of work in the launch of a graph, by the launch's number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeOf {
    /// The node of this index.
    Node(u64, usize),
    /// The end, behind all nodes.
    End(u64),
}

/// The work that streams have to do.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    pub(crate) streams: BTreeMap<StreamKey, VecDeque<Item>>,
    /// Streams whose first work is a function of the program that runs now.
    pub(crate) calling: BTreeSet<StreamKey>,
    next_ticket: u64,
}

impl Queues {
    /// Leaves out everything that streams of a context have to do.
    pub(crate) fn forget(&mut self, context: Handle) {
        self.streams.retain(|key, _| key.context != context);
    }

    /// Leaves out, after a fault, what streams of a context have to do. Callbacks stay, which are
    /// called then too, and `Nothing`, the mark of a call under way.
    pub(crate) fn keep_callbacks(&mut self, context: Handle) {
        for (key, queue) in &mut self.streams {
            if key.context == context {
                queue.retain(|item| matches!(item.work, Work::Callback(..) | Work::Nothing));
            }
        }
    }

    pub(crate) fn push(&mut self, key: StreamKey, work: Work, sent: Option<Arc<Sent>>) {
        self.next_ticket += 1;
        let ticket = self.next_ticket;
        let graph = match &work {
            Work::All(graph) => Some(Arc::clone(graph)),
            _ => None,
        };
        let queue = self.streams.entry(key).or_default();
        queue.push_back(Item {
            ticket,
            work,
            sent,
            graph,
            node: None,
            rounds: 0,
        });
    }

    /// Whether no stream has anything to do.
    pub(crate) fn are_empty(&self) -> bool {
        self.calling.is_empty() && self.streams.values().all(VecDeque::is_empty)
    }

    /// How much streams have to do.
    pub(crate) fn count(&self) -> usize {
        self.streams.values().map(VecDeque::len).sum()
    }

    pub(crate) fn is_empty(&self, key: StreamKey) -> bool {
        self.streams.get(&key).is_none_or(VecDeque::is_empty)
    }
}
