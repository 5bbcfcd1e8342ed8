//! Nodes of graphs whatever their kind, by `CUgraphNodeParams`; and conditional nodes.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use super::graph::{CallNode, FillNode, KernelNode, add_by, kernel_work, place, replace};
use super::graph_memory::add_allocation;
use crate::api::copy::Copy3D;
use crate::call::{get, put};
use crate::code::{Code, Outcome};
use crate::driver::with;
use crate::objects::Handle;
use crate::objects::branch::BranchKind;
use crate::objects::graph::{At, EdgeData};
use crate::objects::work::Work;
use crate::report::{Need, unsupported};

/// `CUgraphNodeType`.
const KERNEL: c_int = 0;
const COPY: c_int = 1;
const FILL: c_int = 2;
const CALL: c_int = 3;
const CHILD: c_int = 4;
const EMPTY: c_int = 5;
const WAIT: c_int = 6;
const RECORD: c_int = 7;
const MAKE: c_int = 10;
const FREE: c_int = 11;
const BRANCH: c_int = 13;

/// `CUgraphNodeParams`: the kind, and behind it what a node of that kind has.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct NodeParams {
    kind: c_int,
    reserved: [c_int; 3],
    own: [u64; 29],
    end: u64,
}

const _: () = assert!(size_of::<NodeParams>() == 256);

/// `CUDA_MEMCPY_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct CopyNode {
    flags: [c_int; 2],
    context: Handle,
    copy: Copy3D,
}

/// `CUDA_CHILD_GRAPH_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct ChildNode {
    graph: Handle,
    ownership: c_int,
}

/// `CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE`: the node has a copy of the graph.
const CLONE: c_int = 0;
/// `CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE`: the node has the graph.
const MOVE: c_int = 1;

/// `CUDA_CONDITIONAL_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct BranchNode {
    handle: u64,
    kind: c_int,
    bodies: c_uint,
    graphs: *const Handle,
    context: Handle,
}

/// What a node of that kind has.
///
/// # Safety
///
/// `given` may be read, and has a `T`.
unsafe fn own<T: Copy>(given: *const NodeParams) -> Outcome<T> {
    // SAFETY: the caller promises it.
    unsafe { get((&raw const (*given).own).cast()) }
}

/// The work of a node that has nothing but work. `None` for other kinds.
///
/// # Safety
///
/// `given` is what a program gives, and its kind is that of the rest.
unsafe fn work_of(given: *const NodeParams) -> Outcome<Option<Work>> {
    // SAFETY: the caller promises it.
    unsafe {
        Ok(Some(match get(given)?.kind {
            KERNEL => kernel_work((&raw const (*given).own).cast::<KernelNode>(), true)?,
            COPY => Work::Copy(own::<CopyNode>(given)?.copy.work()?),
            FILL => own::<FillNode>(given)?.work(),
            CALL => own::<CallNode>(given)?.work()?,
            EMPTY => Work::Nothing,
            WAIT => Work::WaitInGraph(own(given)?),
            RECORD => Work::RecordInGraph(own(given)?),
            _ => return Ok(None),
        }))
    }
}

/// Adds a node of any kind.
///
/// # Safety
///
/// `given` may be read and written and is what a program gives, `to` may be written, and there are
/// `count` nodes and, unless the pointer is null, data of edges.
unsafe fn add_any(
    to: *mut Handle,
    graph: Handle,
    (behind, edges, count): (*const Handle, *const EdgeData, usize),
    given: *mut NodeParams,
) -> Outcome {
    // SAFETY: the caller promises it.
    unsafe {
        let at = place(graph, behind, edges, count)?;
        match get(given)?.kind {
            CHILD => add_child(to, at, own(given)?),
            MAKE => add_allocation(to, at, (&raw mut (*given).own).cast()),
            FREE => {
                let address = own(given)?;
                add_by(to, |driver| driver.add_free(at, address))
            }
            BRANCH => add_branch(to, at, given),
            kind => match work_of(given)? {
                Some(work) => add_by(to, |driver| driver.add_node(at, work)),
                None if (KERNEL..=BRANCH + 2).contains(&kind) => Err(no_node(kind)),
                None => Err(Code::INVALID_VALUE),
            },
        }
    }
}

fn no_node(kind: c_int) -> Code {
    unsupported(
        Need::Function,
        &format!("a graph's node of type {kind} (CUgraphNodeType) is not supported"),
    );
    Code::NOT_SUPPORTED
}

/// # Safety
///
/// As [`add_by`].
unsafe fn add_child(to: *mut Handle, at: At, node: ChildNode) -> Outcome {
    let is_moved = match node.ownership {
        CLONE => false,
        MOVE => true,
        _ => return Err(Code::INVALID_VALUE),
    };
    // SAFETY: the caller promises it.
    unsafe { add_by(to, |driver| driver.add_child(at, node.graph, is_moved)) }
}

/// # Safety
///
/// As [`add_any`].
unsafe fn add_branch(to: *mut Handle, at: At, given: *mut NodeParams) -> Outcome {
    // SAFETY: the caller promises it.
    let node = unsafe { own::<BranchNode>(given) }?;
    let kind = BranchKind::of(node.kind, node.bodies)?;
    let of = (node.handle, kind, node.bodies);
    let mut graphs = std::ptr::null();
    // SAFETY: the caller promises it.
    unsafe {
        add_by(to, |driver| {
            let (added, bodies) = driver.add_branch(at, of, node.context)?;
            // The graphs are those of the node, and stay as long as it does.
            graphs = bodies.as_ptr();
            Ok(added)
        })?;
        let filled = BranchNode { graphs, ..node };
        put((&raw mut (*given).own).cast(), filled)
    }
}

/// Gives a node of a graph other work of its kind.
///
/// # Safety
///
/// As [`work_of`].
unsafe fn set(node: Handle, given: *const NodeParams) -> Outcome {
    // SAFETY: the caller promises it.
    let (kind, work) = unsafe { (get(given)?.kind, work_of(given)?) };
    set_work(node, kind, work)
}

/// Gives a node of a graph other work of its kind; `None` where that is not possible.
pub(crate) fn set_work(node: Handle, kind: c_int, work: Option<Work>) -> Outcome {
    with(|driver| {
        let known = driver.node(node)?;
        if known.work.node_type() != kind {
            return Err(Code::INVALID_VALUE);
        }
        known.work = work.ok_or(Code::NOT_SUPPORTED)?;
        Ok(())
    })
}

/// The event of a node of a kind.
fn event_of(node: Handle, kind: c_int) -> Outcome<Handle> {
    with(|driver| match (kind, &driver.node(node)?.work) {
        (RECORD, Work::RecordInGraph(event)) | (WAIT, Work::WaitInGraph(event)) => Ok(*event),
        _ => Err(Code::INVALID_VALUE),
    })
}

/// Gives a node of a graph that can be launched other work of its kind.
///
/// # Safety
///
/// As [`work_of`].
unsafe fn set_executable(executable: Handle, node: Handle, given: *const NodeParams) -> Outcome {
    // SAFETY: the caller promises it.
    unsafe {
        match (get(given)?.kind, work_of(given)?) {
            (_, Some(work)) => replace(executable, node, work),
            (CHILD, None) => replace_child(executable, node, own::<ChildNode>(given)?.graph),
            (_, None) => Err(Code::NOT_SUPPORTED),
        }
    }
}

/// Gives a child node of a graph that can be launched the work of another graph, which is alike.
fn replace_child(executable: Handle, node: Handle, child: Handle) -> Outcome {
    let work = with(|driver| driver.checked_work(child).map_err(|wrong| wrong.code))?;
    replace(executable, node, Work::All(Arc::new(work)))
}

driver_api! {
    fn cuGraphAddNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, given: *mut NodeParams) {
        add_any(to, graph, (behind, std::ptr::null(), count), given)
    }
    fn cuGraphAddNode_v2(to: *mut Handle, graph: Handle, behind: *const Handle, edges: *const EdgeData, count: usize, given: *mut NodeParams) {
        add_any(to, graph, (behind, edges, count), given)
    }
    fn cuGraphAddNode_v3(to: *mut Handle, graph: Handle, behind: *const Handle, edges: *const EdgeData, count: usize, given: *mut NodeParams) {
        add_any(to, graph, (behind, edges, count), given)
    }
    fn cuGraphNodeSetParams(node: Handle, given: *const NodeParams) { set(node, given) }
    fn cuGraphNodeSetParams_v2(node: Handle, given: *const NodeParams) { set(node, given) }
    fn cuGraphExecNodeSetParams(executable: Handle, node: Handle, given: *const NodeParams) { set_executable(executable, node, given) }
    fn cuGraphAddChildGraphNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, child: Handle) {
        let at = place(graph, behind, std::ptr::null(), count)?;
        add_child(to, at, ChildNode { graph: child, ownership: CLONE })
    }
    fn cuGraphChildGraphNodeGetGraph(node: Handle, to: *mut Handle) { put(to, with(|driver| driver.child_graph(node))?) }
    fn cuGraphExecChildGraphNodeSetParams(executable: Handle, node: Handle, child: Handle) { replace_child(executable, node, child) }
    fn cuGraphConditionalHandleCreate(to: *mut u64, graph: Handle, context: Handle, default: c_uint, flags: c_uint) {
        /// `CU_GRAPH_COND_ASSIGN_DEFAULT`.
        const ASSIGN_DEFAULT: c_uint = 1;
        if to.is_null() || flags & !ASSIGN_DEFAULT != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let default = (flags & ASSIGN_DEFAULT != 0).then_some(default);
        put(to, with(|driver| driver.new_condition(graph, context, default))?)
    }
    fn cuGraphKernelNodeSetParams(node: Handle, given: *const KernelNode) { set_work(node, KERNEL, Some(kernel_work(given, false)?)) }
    fn cuGraphKernelNodeSetParams_v2(node: Handle, given: *const KernelNode) { set_work(node, KERNEL, Some(kernel_work(given, true)?)) }
    fn cuGraphMemcpyNodeSetParams(node: Handle, copy: *const Copy3D) { set_work(node, COPY, Some(Work::Copy(get(copy)?.work()?))) }
    fn cuGraphMemsetNodeSetParams(node: Handle, fill: *const FillNode) { set_work(node, FILL, Some(get(fill)?.work())) }
    fn cuGraphEventRecordNodeGetEvent(node: Handle, to: *mut Handle) { put(to, event_of(node, RECORD)?) }
    fn cuGraphEventWaitNodeGetEvent(node: Handle, to: *mut Handle) { put(to, event_of(node, WAIT)?) }
    fn cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) { set_work(node, RECORD, Some(Work::RecordInGraph(event))) }
    fn cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle) { set_work(node, WAIT, Some(Work::WaitInGraph(event))) }
    fn cuGraphHostNodeSetParams(node: Handle, call: *const CallNode) { set_work(node, CALL, Some(get(call)?.work()?)) }
}
