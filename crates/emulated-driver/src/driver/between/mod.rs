//! Races between commands: kernels, copies, fills, frees that access the same bytes, and that the
//! program does not order. Work is done here in the order of the calls, so that results show
//! nothing of such a race.
//!
//! # Rules
//!
//! By NVIDIA's CUDA Driver API ("Stream synchronization behavior", "API synchronization behavior",
//! and the pages of functions) and the CUDA Programming Guide. Where they leave something open,
//! commands count as ordered.
//!
//! - **A stream** is a chain of commands. Commands of two streams have no order by themselves
//!   (Programming Guide, 2.3 "Asynchronous Execution").
//! - **The legacy stream** waits for all blocking streams of its context, and they wait for it; one
//!   with `CU_STREAM_NON_BLOCKING` does neither ("Stream synchronization behavior", "Legacy default
//!   stream"). **The default stream of a thread** is a blocking stream of that thread alone
//!   ("Per-thread default stream").
//! - **An event** records the commands that its stream has at the call, in the legacy stream those
//!   of the blocking ones too. A wait is for the latest record before the call (`cuEventRecord`,
//!   `cuStreamWaitEvent`).
//! - **The host** waits for a stream, an event or a context by synchronising, and by a query that
//!   succeeds (`cuEventQuery`: such a result is as a synchronisation); likewise by a time between
//!   events. All that it sends later is behind that. Host threads are one host, in the order of
//!   their calls: how they tell each other of events is not seen here.
//! - **Calls that copy** wait for the copy, except from device to device. **Calls that fill** do
//!   not wait, except in memory of the host or managed memory ("API synchronization behavior").
//!   From pageable memory to the device they wait for what the stream has before, and until the
//!   values are staged: "the DMA to final destination may not have completed" (there, "Memcpy",
//!   synchronous, 1). Of asynchronous copies, pageable memory is not looked at: they "might be
//!   synchronous".
//! - **Copies between contexts** by a call without a stream are behind and before everything in
//!   both (`cuMemcpyPeer`).
//! - **Allocating and freeing** device memory or page-locked memory synchronises all streams (4.3
//!   "Stream-Ordered Memory Allocator", "Implicit Synchronization").
//! - **Memory in the order of a stream** may be accessed behind its allocation, and before its free
//!   ("Stream Ordered Memory Allocator").
//! - **A graph** is launched behind its stream's commands and its own earlier launches
//!   (`cuGraphLaunch`). Its nodes are behind those that they depend on. The body of a conditional
//!   node is as the node is, each round of a loop behind the last one; a kernel that sets the value
//!   is before the node that looks at it ("Conditional Graph Nodes").
//! - **A function of the program** that a stream calls may tell the host that it has run: the host
//!   counts as having waited for what is before it.
//! - **The host's own accesses**: see `host.rs`.
//! - **A value in memory** that a stream waits for was written by somebody: the stream is behind
//!   the latest writers of the word (`cuStreamWaitValue32`). Kernels that have fences, and see each
//!   other's atomics, count as ordered. Strong stores to memory that the host sees may tell the
//!   host.

mod accesses;
mod graphs;
mod guards;
mod host;
mod peers;
mod told;

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use command_order::{Chain, Commands, Stamp};

use super::Driver;
use crate::caller;
use crate::code::Outcome;
use crate::objects::Handle;
use crate::objects::graph::GraphWork;
use crate::objects::launch::Launch;
use crate::objects::order::{Lane, Sent, Slot};
use crate::objects::stream::{LEGACY, PER_THREAD, StreamKey};
use crate::objects::work::{Item, NodeOf, Work};
use crate::site::Site;
pub(crate) use accesses::HostWaits;
pub(super) use accesses::MemoryOf;
use graphs::Graphs;
use guards::Guards;

/// The commands of the program, where they are compared.
#[derive(Debug)]
pub(crate) struct Between {
    is_wanted: bool,
    /// Commands may run at the same time: the program has made a stream, or a graph. A program
    /// with the legacy stream alone pays nothing.
    is_active: bool,
    commands: Commands<Label>,
    lanes: BTreeMap<Lane, Known>,
    graphs: Graphs,
    /// Memory that is guarded against the host.
    guards: Guards,
    streams: u32,
    calls: u64,
    /// The races that were told: both commands, and the buffer.
    told: HashSet<(String, String, u64)>,
}

/// A stream that has had commands.
#[derive(Clone, Copy, Debug)]
struct Known {
    chain: Chain,
    is_blocking: bool,
    /// Which stream of the program it is; 0 of default streams.
    number: u32,
}

/// A command, for messages.
#[derive(Clone, Debug)]
struct Label {
    what: What,
    sent: Arc<Sent>,
    /// Its place among the nodes of its graph, and the call that added it.
    node: Option<(Vec<usize>, Option<Site>)>,
}

/// The kind of a command.
#[derive(Clone, Debug)]
enum What {
    Launch(Arc<Launch>),
    Copy,
    Fill,
    /// A conditional node, which looks at its value.
    Branch,
    Make,
    Free,
    Value,
    Function,
}

/// A command that has begun.
#[derive(Debug)]
pub(crate) struct Begun {
    chain: Chain,
    stamp: Option<Stamp>,
    node: Option<NodeOf>,
}

impl Between {
    pub(super) fn new(is_wanted: bool) -> Between {
        Between {
            is_wanted,
            is_active: false,
            commands: Commands::default(),
            lanes: BTreeMap::new(),
            graphs: Graphs::default(),
            guards: Guards::default(),
            streams: 0,
            calls: 0,
            told: HashSet::new(),
        }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.is_active
    }

    /// Forgets the accesses to a range, whose memory has ended.
    pub(super) fn forget(&mut self, range: Range<u64>) {
        if self.is_active {
            self.commands.forget(range);
        }
    }

    /// Begins the launch of a graph; gives its number.
    pub(super) fn begin_run(&mut self, work: &Arc<GraphWork>, begun: &Begun) -> u64 {
        let (chain, node) = (begun.chain, begun.node);
        self.graphs.begin_run(&mut self.commands, work, chain, node)
    }

    /// The call that added the node which work is of, where commands are compared.
    pub(super) fn site_of(&self, item: &Item) -> Option<Site> {
        match item.node {
            Some(NodeOf::Node(run, node)) => self.graphs.site_of_node(run, node),
            _ => None,
        }
    }

    /// The number of a new stream.
    pub(crate) fn new_stream(&mut self) -> u32 {
        self.streams += 1;
        self.streams
    }

    /// Lets commands of a stream wait for those that they are behind by the rules of default
    /// streams.
    fn enter(&mut self, lane: Lane, chain: Chain) {
        let is_blocking = self.lanes.get(&lane).is_none_or(|known| known.is_blocking);
        let legacy = Lane {
            key: StreamKey {
                stream: LEGACY,
                ..lane.key
            },
            thread: 0,
        };
        if lane == legacy {
            let context = lane.key.context;
            let others = self
                .lanes
                .iter()
                .filter(|(other, _)| other.key.context == context);
            for (_, other) in others.filter(|(_, known)| known.is_blocking) {
                self.commands.wait_for(chain, other.chain);
            }
        } else if let Some(known) = self.lanes.get(&legacy).filter(|_| is_blocking) {
            self.commands.wait_for(chain, known.chain);
        }
    }
}

thread_local! {
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

/// The number of this thread, from 1 on.
fn thread() -> u32 {
    static THREADS: AtomicU32 = AtomicU32::new(0);
    THREAD.with(|own| {
        if own.get() == 0 {
            own.set(1 + THREADS.fetch_add(1, Relaxed));
        }
        own.get()
    })
}

/// The stream that this thread means.
fn lane_of(key: StreamKey) -> Lane {
    let is_own = key.stream == PER_THREAD;
    Lane {
        key,
        thread: if is_own { thread() } else { 0 },
    }
}

/// Calls.
impl Driver {
    /// Begins to compare commands, since they may run at the same time from now on.
    pub(crate) fn compare_commands(&mut self) {
        let between = &mut self.between;
        if between.is_wanted && !between.is_active {
            between.is_active = true;
            self.machine.watch_accesses();
        }
    }

    /// The call that this thread makes, as one that sends commands to a stream.
    pub(super) fn sent(&mut self, key: StreamKey) -> Option<Arc<Sent>> {
        if key.stream == PER_THREAD {
            self.compare_commands();
        }
        if !self.between.is_active {
            return None;
        }
        self.between.calls += 1;
        Some(Arc::new(Sent {
            lane: lane_of(key),
            number: self.between.calls,
            knew: self.between.commands.host(),
            call: caller::function(),
            site: Site::here(),
        }))
    }

    fn known_lane(&mut self, lane: Lane) -> Known {
        if let Some(known) = self.between.lanes.get(&lane) {
            return *known;
        }
        let known = Known {
            chain: self.between.commands.chain(),
            is_blocking: self.is_blocking(lane.key),
            number: { self.streams.get(&lane.key.stream) }.map_or(0, |stream| stream.number),
        };
        self.between.lanes.insert(lane, known);
        known
    }

    /// The host has waited for a stream.
    pub(crate) fn host_waits_for_stream(&mut self, key: StreamKey) {
        if !self.between.is_active {
            return;
        }
        let lane = lane_of(key);
        let chain = self.known_lane(lane).chain;
        self.between.enter(lane, chain);
        self.between.commands.host_waits_for(chain);
        self.settle();
    }

    /// The host has waited for all streams of a context.
    pub(crate) fn host_waits_for_context(&mut self, context: Handle) {
        if !self.between.is_active {
            return;
        }
        let Between {
            lanes, commands, ..
        } = &mut self.between;
        let own = lanes.iter().filter(|(lane, _)| lane.key.context == context);
        for (_, known) in own {
            commands.host_waits_for(known.chain);
        }
        self.settle();
    }

    /// The host has waited for all streams.
    pub(crate) fn host_waits_for_all(&mut self) {
        let Between {
            lanes, commands, ..
        } = &mut self.between;
        for known in lanes.values() {
            commands.host_waits_for(known.chain);
        }
        self.settle();
    }

    /// The host has waited for an event, which recorded this.
    pub(crate) fn host_waits(&mut self, moment: &Slot) {
        if let (true, Some(moment)) = (self.between.is_active, moment.get()) {
            self.between.commands.host_waits(moment);
            self.settle();
        }
    }

    /// The host has waited for an event.
    pub(crate) fn host_waits_for_event(&mut self, event: Handle) {
        if let Some(moment) = self.events.get(&event).map(|event| event.moment.clone()) {
            self.host_waits(&moment);
        }
    }

    /// Forgets what is done, unless a command that was sent earlier has still to be.
    fn settle(&mut self) {
        self.open_known();
        if self.queues.are_empty() {
            self.between.commands.settle();
            // Streams that the program has destroyed have nothing left to do.
            let streams = &self.streams;
            let is_there = |lane: &Lane| {
                lane.key.stream <= PER_THREAD || streams.contains_key(&lane.key.stream)
            };
            self.between.lanes.retain(|lane, _| is_there(lane));
        }
    }

    /// A stream makes memory of a range, in its order.
    pub(crate) fn stream_makes(&mut self, key: StreamKey, address: u64, bytes: u64) {
        if let Some(sent) = self.sent(key) {
            let chain = self.known_lane(sent.lane).chain;
            self.between.enter(sent.lane, chain);
            let label = Label {
                what: What::Make,
                sent: Arc::clone(&sent),
                node: None,
            };
            let commands = &mut self.between.commands;
            let stamp = commands.begin(chain, &sent.knew, label);
            commands.make(stamp, address..address + bytes);
            commands.end();
        }
    }
}

/// Commands, as streams come to them.
impl Driver {
    /// Begins a stream's work; `None` if it is not compared with others.
    pub(super) fn begin_command(&mut self, item: &Item) -> Option<Begun> {
        let sent = item.sent.as_ref().filter(|_| self.between.is_active)?;
        let chain = match item.node {
            Some(NodeOf::Node(run, node)) => {
                let Between {
                    graphs, commands, ..
                } = &mut self.between;
                graphs.begin_node(commands, run, node)?
            }
            _ => {
                let chain = self.known_lane(sent.lane).chain;
                self.between.enter(sent.lane, chain);
                chain
            }
        };
        let begun = |stamp| Begun {
            chain,
            stamp,
            node: item.node,
        };
        let what = match &item.work {
            Work::Nothing => {
                if let Some(NodeOf::End(run)) = item.node {
                    let Between {
                        graphs, commands, ..
                    } = &mut self.between;
                    graphs.end_run(commands, run, chain);
                }
                return Some(begun(None));
            }
            Work::All(_) | Work::Within(_) | Work::RecordInGraph(_) | Work::WaitInGraph(_) => {
                return Some(begun(None));
            }
            Work::Record(_, _, moment) => {
                let _ = moment.set(self.between.commands.moment(chain));
                return Some(begun(None));
            }
            Work::Wait(_, _, moment) => {
                if let Some(moment) = moment.get() {
                    self.between.commands.wait(chain, moment);
                }
                return Some(begun(None));
            }
            Work::Launch(launch) => What::Launch(Arc::clone(launch)),
            Work::Copy(_) | Work::Staged(..) => What::Copy,
            Work::Fill(_) => What::Fill,
            Work::Branch(_) => What::Branch,
            Work::Make(_) => What::Make,
            Work::Free(_) => What::Free,
            Work::WaitValue { address, bytes, .. } => {
                let word = *address..address + u64::from(*bytes);
                self.between.commands.wait_for_writers(chain, word);
                What::Value
            }
            Work::WriteValue { .. } => What::Value,
            Work::Call(..) | Work::Callback(..) => What::Function,
        };
        let node = match item.node {
            Some(NodeOf::Node(run, node)) => {
                let graphs = &self.between.graphs;
                Some((graphs.place(run, node), graphs.site_of_node(run, node)))
            }
            _ => None,
        };
        let label = Label {
            what,
            sent: Arc::clone(sent),
            node,
        };
        let stamp = self.between.commands.begin(chain, &sent.knew, label);
        if let Work::Make(address) = item.work
            && let Some(made) = self.graph_memory.get(&address)
        {
            self.between
                .commands
                .make(stamp, address..address + made.bytes);
        }
        if let Work::Free(address) = item.work
            && let Some(allocation) = self.allocations.get(&address)
        {
            // Its memory is known now, and not after it.
            let range = address..address + allocation.bytes;
            self.between.commands.unmake(stamp, range);
            let found = self.between.commands.end();
            self.judge(stamp, chain, found);
        }
        Some(begun(Some(stamp)))
    }

    /// Ends it: tells the races that it has with earlier commands.
    ///
    /// # Errors
    ///
    /// A kernel has accessed what a GPU does not let it access: see `peers.rs`.
    pub(super) fn end_command(&mut self, work: &Work, begun: Option<&Begun>) -> Outcome {
        let Some(begun) = begun else { return Ok(()) };
        let mut outcome = Ok(());
        if let Some(stamp) = begun.stamp {
            outcome = self.note_accesses(work, begun.chain, stamp);
            self.guard_against_host(work, stamp);
            self.open_known();
            let found = self.between.commands.end();
            self.judge(stamp, begun.chain, found);
        }
        if let Some(NodeOf::Node(run, node)) = begun.node
            && !matches!(work, Work::All(_))
        {
            let Between {
                graphs, commands, ..
            } = &mut self.between;
            graphs.end_node(commands, run, node, begun.chain);
        }
        outcome
    }

    /// A stream comes to a function of the program, which may tell the host.
    pub(super) fn function_begins(&mut self, begun: Option<&Begun>) {
        if let Some(begun) = begun {
            self.between.commands.host_waits_for(begun.chain);
            self.open_known();
        }
    }
}

impl Label {
    /// The place of a command in the order of the calls.
    fn place(&self) -> (u64, &[usize]) {
        let node = self.node.as_ref().map(|(place, _)| &**place);
        (self.sent.number, node.unwrap_or_default())
    }
}
