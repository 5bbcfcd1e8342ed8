//! Conditional nodes of graphs: their handles, bodies, and values.
//!
//! By the CUDA Programming Guide, "Conditional Graph Nodes", and the pages of `cuGraphAddNode` and
//! `cuGraphConditionalHandleCreate`. What a GPU's driver answers to misuse was seen on an H200
//! (driver 580); where the text of an error would be a number alone, the reason is told.

use std::collections::BTreeSet;
use std::sync::Arc;

use ptx_emu::ConditionHandles;

use super::Driver;
use super::between::MemoryOf;
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::branch::{BranchKind, Condition, Value};
use crate::objects::graph::{At, Branch, Graph, GraphWork};
use crate::objects::work::{Item, Work};
use crate::report::{self, CommandFault, Side, refused};
use crate::site::Site;

/// Why a graph cannot be made one that can be launched: `CUgraphInstantiateResult`, the node, and
/// the result of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotLaunchable {
    pub(crate) result: i32,
    pub(crate) node: Handle,
    pub(crate) code: Code,
}

impl From<Code> for NotLaunchable {
    fn from(code: Code) -> NotLaunchable {
        const ERROR: i32 = 1;
        NotLaunchable {
            result: ERROR,
            node: 0,
            code,
        }
    }
}

const NODE_NOT_SUPPORTED: i32 = 3;
const SEVERAL_CONTEXTS: i32 = 4;
const HANDLE_UNUSED: i32 = 5;

/// The most bodies of a conditional node: each is a graph.
const MOST_BODIES: u32 = 1 << 16;

/// The kind of a fault, as records have it.
const UNSET: &str = "undefined condition";

/// Handles and nodes.
impl Driver {
    /// Makes a conditional handle for a node of a graph, or of one of those within it.
    pub(crate) fn new_condition(
        &mut self,
        graph: Handle,
        context: Handle,
        default: Option<u32>,
    ) -> Outcome<u64> {
        if !self.graphs.contains_key(&graph) {
            return Err(Code::INVALID_VALUE);
        }
        self.context(context)?;
        self.last_condition += 1;
        let handle = self.last_condition;
        let root = self.root(graph);
        self.graph(root)?.conditions.push(Condition {
            handle,
            context,
            default,
        });
        Ok(handle)
    }

    /// Adds a conditional node, whose bodies are empty.
    pub(crate) fn add_branch(
        &mut self,
        at: At,
        (handle, kind, bodies): (u64, BranchKind, u32),
        context: Handle,
    ) -> Outcome<(Handle, Arc<[Handle]>)> {
        self.graph(at.graph)?;
        self.context(context)?;
        let root = self.root(at.graph);
        let mut known = self.graph(root)?.conditions.iter();
        let Some(known) = known.find(|known| known.handle == handle) else {
            let is_known = (1..=self.last_condition).contains(&handle);
            return Err(refused(&if is_known {
                format!(
                    "conditional handle {handle:#x} is of another graph: a conditional node needs one that cudaGraphConditionalHandleCreate made for its own graph, or for one around it"
                )
            } else {
                format!(
                    "{handle:#x} is not a conditional handle: cudaGraphConditionalHandleCreate gives them"
                )
            }));
        };
        if known.context != context {
            return Err(refused(&format!(
                "conditional handle {handle:#x} was made for another context than that of its node"
            )));
        }
        if self.handles_with_nodes(root).contains(&handle) {
            return Err(refused(&format!(
                "conditional handle {handle:#x} has a node already: each conditional node needs a handle of its own"
            )));
        }
        if bodies > MOST_BODIES {
            return Err(refused(&format!(
                "a conditional node with {bodies} bodies: here it has {MOST_BODIES} at the most"
            )));
        }
        self.check_place(&at, 1)?;
        let graphs: Arc<[Handle]> = (0..bodies)
            .map(|_| {
                let body = self.new_handle();
                self.graphs.insert(body, Graph::default());
                body
            })
            .collect();
        let branch = Branch {
            handle,
            kind,
            graphs: Arc::clone(&graphs),
            bodies: Vec::new(),
        };
        let node = self.add_node(at, Work::Branch(Arc::new(branch)))?;
        Ok((node, graphs))
    }

    /// The conditional handles that have a node, in a graph and in those within it.
    fn handles_with_nodes(&self, graph: Handle) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let mut graphs = vec![graph];
        while let Some(inner) = graphs.pop() {
            let nodes = self
                .graphs
                .get(&inner)
                .map_or(&[][..], |known| &known.nodes);
            for node in nodes {
                graphs.extend(node.work.graphs());
                if let Work::Branch(branch) = &node.work {
                    found.insert(branch.handle);
                }
            }
        }
        found
    }

    /// The work of a graph, to be launched: its rules are kept.
    pub(crate) fn launchable(&self, graph: Handle) -> Result<GraphWork, NotLaunchable> {
        let known = self.graphs.get(&graph).ok_or(Code::INVALID_HANDLE)?;
        let work = self.checked_work(graph)?;
        let with_nodes = self.handles_with_nodes(graph);
        let mut others = self.executable_graphs.values();
        // Its memory has one address, and its handles one value, for one launch at a time.
        if (!with_nodes.is_empty() || known.has_memory())
            && others.any(|other| other.graph == graph)
        {
            return Err(Code::NOT_SUPPORTED.into());
        }
        let mut conditions = known.conditions.iter();
        if let Some(unused) = conditions.find(|one| !with_nodes.contains(&one.handle)) {
            return Err(NotLaunchable {
                result: HANDLE_UNUSED,
                node: 0,
                code: refused(&format!(
                    "conditional handle {:#x} has no conditional node: a graph cannot be instantiated with a handle that no node of it has",
                    unused.handle
                )),
            });
        }
        Ok(work)
    }

    /// The work of a graph that is launched, or that changes one which can be: its bodies keep to
    /// the rules.
    ///
    /// # Errors
    ///
    /// They do not, or the graph cannot be used apart from its node: it was moved into that
    /// (`CUgraphChildGraphNodeOwnership`), or is a body, or within one.
    pub(crate) fn checked_work(&self, graph: Handle) -> Result<GraphWork, NotLaunchable> {
        let known = self.graphs.get(&graph).ok_or(Code::INVALID_HANDLE)?;
        let is_body = |one| self.graphs.get(&one).is_some_and(|one| self.is_body(one));
        if known.is_moved || self.around(graph).any(is_body) {
            return Err(Code::NOT_SUPPORTED.into());
        }
        self.check_bodies(graph, false)?;
        Ok(self.to_launch(graph)?)
    }

    fn is_body(&self, graph: &Graph) -> bool {
        let owner = graph.within.and_then(|place| {
            let nodes = &self.graphs.get(&place.graph)?.nodes;
            nodes.iter().find(|node| node.handle == place.node)
        });
        owner.is_some_and(|node| matches!(node.work, Work::Branch(_)))
    }

    /// Checks that the bodies in a graph have nodes of the kinds alone that they may have
    /// ("Conditional Node Body Graph Requirements").
    fn check_bodies(&self, graph: Handle, is_body: bool) -> Result<(), NotLaunchable> {
        let known = self.graphs.get(&graph).ok_or(Code::INVALID_HANDLE)?;
        for node in &known.nodes {
            if is_body {
                self.check_in_body(node.handle, &node.work)?;
            }
            let is_body = is_body || matches!(node.work, Work::Branch(_));
            for inner in node.work.graphs() {
                self.check_bodies(*inner, is_body)?;
            }
        }
        Ok(())
    }

    pub(crate) fn check_in_body(&self, node: Handle, work: &Work) -> Result<(), NotLaunchable> {
        let wrong = |result, what: &str| {
            Err(NotLaunchable {
                result,
                node,
                code: refused(&format!(
                    "the body of a conditional node has {what}: it may have kernels, copies and fills of device memory or page-locked memory, empty nodes, child graphs, and conditional nodes (CUDA Programming Guide, \"Conditional Node Body Graph Requirements\")"
                )),
            })
        };
        let kind = match work {
            Work::Copy(copy) => {
                let mut sides = [copy.from, copy.to].into_iter();
                if sides.any(|side| self.memory_of(side.address) == MemoryOf::Pageable) {
                    return wrong(SEVERAL_CONTEXTS, "a copy of pageable memory");
                }
                let starts = [copy.from, copy.to].map(|side| self.allocation(side.address));
                let mut starts = starts.into_iter().flatten();
                let is_array = |start| self.arrays.values().any(|array| array.address == start);
                if !starts.any(|(start, _)| is_array(start)) {
                    return Ok(());
                }
                "a copy of a CUDA array"
            }
            Work::All(child) => {
                let nodes = child.nodes.iter().zip(&child.work);
                return { nodes }.try_for_each(|(_, inner)| self.check_in_body(node, inner));
            }
            Work::Call(..) | Work::Callback(..) => "a host function",
            Work::WaitInGraph(_) | Work::Wait(..) => "a wait for an event",
            Work::RecordInGraph(_) | Work::Record(..) => "the record of an event",
            Work::Make(_) => "an allocation of memory",
            Work::Free(_) => "a free of memory",
            Work::WaitValue { .. } | Work::WriteValue { .. } => "an operation on a value in memory",
            Work::Nothing
            | Work::Launch(_)
            | Work::Staged(..)
            | Work::Fill(_)
            | Work::Within(_)
            | Work::Branch(_) => return Ok(()),
        };
        wrong(NODE_NOT_SUPPORTED, kind)
    }
}

/// Values, as launches go on.
impl Driver {
    /// A launch of a graph begins: handles have their default values, and the others none.
    pub(super) fn begin_conditions(&mut self, work: &GraphWork) {
        for (handle, default) in &work.conditions.defaults {
            let former = self.conditions.get(handle).map_or(0, |known| known.value);
            let value = Value {
                value: default.unwrap_or(former),
                is_set: default.is_some(),
            };
            self.conditions.insert(*handle, value);
        }
    }

    /// Says which handles the kernel may set that is launched now.
    pub(super) fn let_kernel_set(&mut self, item: &Item) {
        if self.last_condition > 0 {
            let own = item.graph.as_ref().map(|graph| &graph.conditions.handles);
            self.machine.set_condition_handles(ConditionHandles {
                own: own.filter(|handles| !handles.is_empty()).map(Arc::clone),
                last: self.last_condition,
            });
        }
    }

    /// The value of a conditional node.
    pub(super) fn condition(&mut self, branch: &Branch, site: Option<&Site>) -> u32 {
        let known = self.conditions.get(&branch.handle).copied();
        if known.is_none_or(|known| !known.is_set) {
            self.tell_unset(branch, site);
        }
        known.map_or(0, |known| known.value)
    }

    /// Tells that the value of a conditional node is undefined. The node then does what the last
    /// launch has left, or else has the value 0, as on an H200.
    fn tell_unset(&mut self, branch: &Branch, site: Option<&Site>) {
        let what = |handle: &str| {
            format!(
                "a conditional node looks at handle {handle}, which has no value in this launch"
            )
        };
        let rules = [
            "to have one: create the handle with a default (cudaGraphCondAssignDefault), or let a kernel before the node call cudaGraphSetConditional in each launch",
            "rule: without a default the value is undefined at the start of each launch, that of an earlier launch does not count (CUDA Programming Guide, \"Conditional Handles\")",
        ];
        self.tell_of_branch(branch, UNSET, site, what, rules);
    }

    /// Tells a fault of a conditional node, once for each handle and kind: what it is, where the
    /// node was added, and what to do by which rule.
    pub(super) fn tell_of_branch(
        &mut self,
        branch: &Branch,
        kind: &'static str,
        site: Option<&Site>,
        what: impl FnOnce(&str) -> String,
        rules: [&str; 2],
    ) {
        let key = (format!("condition {}", branch.handle), kind, 0);
        if !self.told.insert(key) {
            return;
        }
        let what = what(&format!("{:#x}", branch.handle));
        let mut lines = vec![format!("{kind}: {what}")];
        let added = site.and_then(Site::place);
        lines.extend(added.map(|place| format!("the node was added at {place}")));
        lines.extend(rules.map(str::to_owned));
        let place = site
            .and_then(Site::line)
            .map(|line| Side { role: "node", line });
        report::command_fault(&CommandFault {
            command: "conditional node".to_owned(),
            grid: [1; 3],
            block: [1; 3],
            kind,
            text: lines.join("\n  "),
            places: place.into_iter().collect(),
        });
    }

    /// Takes the values that a kernel has set. Gives their handles.
    pub(super) fn kernel_has_set(&mut self) -> Vec<u64> {
        let set = self.machine.take_conditions();
        for (handle, value) in &set {
            let value = Value {
                value: *value,
                is_set: true,
            };
            self.conditions.insert(*handle, value);
        }
        set.into_keys().collect()
    }
}
