//! Graphs: pieces of work and the order among them.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use crate::api::copy::Copy3D;
use crate::call::{get, put, put_if_wanted, put_list, text};
use crate::code::{Code, Outcome};
use crate::driver::context::current;
use crate::driver::{queue, with};
use crate::objects::copy::Fill;
use crate::objects::graph::{ExecutableGraph, Graph, Node};
use crate::objects::launch::Shape;
use crate::objects::work::Work;
use crate::objects::{Handle, HostFunction};

/// Handles that a program gives.
///
/// # Safety
///
/// There are `count` of them.
pub(crate) unsafe fn handles(from: *const Handle, count: usize) -> Outcome<Vec<Handle>> {
    // SAFETY: the caller promises it.
    (0..count)
        .map(|index| unsafe { get(from.add(index)) })
        .collect()
}

/// Adds a node behind the given ones.
///
/// # Safety
///
/// There are `count` nodes, and `to` may be written.
unsafe fn add(
    to: *mut Handle,
    graph: Handle,
    behind: *const Handle,
    count: usize,
    work: Work,
) -> Outcome {
    // SAFETY: the caller promises it.
    let behind = unsafe { handles(behind, count) }?;
    let node = with(|driver| driver.add_node(graph, work, behind))?;
    // SAFETY: the caller promises that it may be written.
    unsafe { put(to, node) }
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const AUTO_FREE_ON_LAUNCH: u64 = 1;

fn instantiate(graph: Handle, flags: u64) -> Outcome<Handle> {
    with(|driver| {
        let (nodes, work) = driver.graph(graph)?.to_launch()?;
        let mut others = driver.executable_graphs.values();
        // Its memory has one address, for one launch at a time.
        if driver.graphs[&graph].has_memory() && others.any(|other| other.graph == graph) {
            return Err(Code::NOT_SUPPORTED);
        }
        let executable = ExecutableGraph {
            graph,
            frees_on_launch: flags & AUTO_FREE_ON_LAUNCH != 0,
            nodes,
            work: Arc::new(work),
        };
        let handle = driver.new_handle();
        driver.executable_graphs.insert(handle, executable);
        Ok(handle)
    })
}

/// `CUDA_KERNEL_NODE_PARAMS`. Its second version goes on with a kernel, which the function may be
/// missing for.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct KernelNode {
    function: Handle,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    parameters: *const *const c_void,
    extra: *const *const c_void,
}

/// The work of a kernel node.
///
/// # Safety
///
/// As [`Driver::prepare`](crate::driver::Driver::prepare); of the second version, the kernel may
/// be read.
unsafe fn kernel_work(given: *const KernelNode, has_kernel: bool) -> Outcome<Work> {
    // SAFETY: the caller promises it.
    let node = unsafe { get(given) }?;
    let function = match node.function {
        // SAFETY: the kernel lies behind.
        0 if has_kernel => unsafe { get(given.add(1).cast::<Handle>()) }?,
        function => function,
    };
    let shape = Shape::new(node.grid, node.block, node.shared_bytes);
    let launch = with(|driver| {
        // SAFETY: the caller promises it.
        unsafe { driver.prepare(function, shape, current(), node.parameters, node.extra) }
    })?;
    Ok(Work::Launch(Arc::new(launch)))
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FillNode {
    to: u64,
    pitch: usize,
    value: c_uint,
    element: c_uint,
    width: usize,
    height: usize,
}

impl FillNode {
    fn work(&self) -> Work {
        Work::Fill(Fill {
            to: self.to,
            pitch: self.pitch as u64,
            value: self.value,
            element: self.element.into(),
            width: self.width as u64,
            height: self.height as u64,
        })
    }
}

/// `CUDA_HOST_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CallNode {
    function: Option<HostFunction>,
    data: usize,
}

impl CallNode {
    fn work(&self) -> Outcome<Work> {
        Ok(Work::Call(
            self.function.ok_or(Code::INVALID_VALUE)?,
            self.data,
        ))
    }
}

/// Replaces the work of a node in a graph that can be launched.
fn replace(executable: Handle, node: Handle, work: Work) -> Outcome {
    with(|driver| {
        let graph = driver
            .executable_graphs
            .get_mut(&executable)
            .ok_or(Code::INVALID_HANDLE)?;
        let index = graph
            .nodes
            .iter()
            .position(|known| *known == node)
            .ok_or(Code::INVALID_VALUE)?;
        Arc::make_mut(&mut graph.work).work[index] = work;
        Ok(())
    })
}

/// Nodes of memory cannot be updated; a graph has other nodes.
const UPDATE_ERROR: c_int = 1;
const TOPOLOGY_CHANGED: c_int = 2;

/// The result of a call that updates, by what came of it.
fn updated(result: c_int) -> Outcome {
    if result == 0 {
        Ok(())
    } else {
        Err(Code::GRAPH_EXEC_UPDATE_FAILURE)
    }
}

/// Takes the work of another graph of the same kinds of nodes. Gives a `CUgraphExecUpdateResult`.
fn update(executable: Handle, graph: Handle) -> Outcome<c_int> {
    with(|driver| {
        let (_, new) = driver.graph(graph)?.to_launch()?;
        let known = driver
            .executable_graphs
            .get_mut(&executable)
            .ok_or(Code::INVALID_HANDLE)?;
        let kinds = |work: &[Work]| work.iter().map(Work::node_type).collect::<Vec<_>>();
        if kinds(&known.work.work) != kinds(&new.work) {
            return Ok(TOPOLOGY_CHANGED);
        }
        if !known.work.makes().eq(new.makes()) || !known.work.frees().eq(new.frees()) {
            return Ok(UPDATE_ERROR);
        }
        known.work = Arc::new(new);
        Ok(0)
    })
}

fn launch(executable: Handle, stream: Handle) -> Outcome {
    let (work, frees_on_launch) = with(|driver| {
        let graph = { driver.executable_graphs.get(&executable) }.ok_or(Code::INVALID_HANDLE)?;
        Ok((Arc::clone(&graph.work), graph.frees_on_launch))
    })?;
    let has_memory = work.makes().chain(work.frees()).next().is_some();
    if has_memory {
        queue::run_until(|driver| !driver.is_yet_to_free(&work))?;
    }
    let work = with(|driver| {
        let key = driver.stream(stream)?;
        if driver.capture_of(key).is_none() {
            let left = driver.memory_is_launched(&work, frees_on_launch)?;
            let launched = driver.launched(&work)?;
            return Ok(if left.is_empty() {
                launched
            } else {
                Arc::new(launched.freeing(&left))
            });
        }
        if has_memory {
            driver.refuse_while_recording(key)?;
        }
        // In a stream that records it is a node of another graph, and launched with that.
        Ok(work)
    })?;
    queue::submit(stream, Work::All(work))
}

fn nodes(graph: Handle, only_roots: bool) -> Outcome<Vec<Handle>> {
    with(|driver| {
        let nodes = driver.graph(graph)?.nodes.iter();
        let wanted = nodes.filter(|node| !only_roots || node.behind.is_empty());
        Ok(wanted.map(|node| node.handle).collect())
    })
}

/// Writes the two ends of each edge.
///
/// # Safety
///
/// As [`put_list`].
unsafe fn put_edges(
    graph: Handle,
    from: *mut Handle,
    to: *mut Handle,
    count: *mut usize,
) -> Outcome {
    let (starts, ends): (Vec<_>, Vec<_>) = with(|driver| Ok(driver.graph(graph)?.edges().unzip()))?;
    // SAFETY: the caller promises it. The first call writes the count that the second reads.
    unsafe {
        let room = get(count)?;
        put_list(from, count, &starts)?;
        put(count, room)?;
        put_list(to, count, &ends)
    }
}

/// The nodes before a node, or behind it.
fn neighbours(node: Handle, are_before: bool) -> Outcome<Vec<Handle>> {
    with(|driver| {
        let edges = driver.graph_of(node)?.edges();
        Ok(edges
            .filter_map(|(from, to)| {
                if are_before {
                    (to == node).then_some(from)
                } else {
                    (from == node).then_some(to)
                }
            })
            .collect())
    })
}

/// The event of a node.
fn event_of(node: Handle) -> Outcome<Handle> {
    with(|driver| match driver.graph_of(node)?.node(node) {
        Some(Node {
            work: Work::RecordInGraph(event) | Work::WaitInGraph(event),
            ..
        }) => Ok(*event),
        _ => Err(Code::INVALID_VALUE),
    })
}

fn set_event(node: Handle, work: Work) -> Outcome {
    event_of(node)?;
    with(|driver| {
        let known = driver.graph_of(node)?.node(node);
        known.ok_or(Code::INVALID_VALUE)?.work = work;
        Ok(())
    })
}

/// # Safety
///
/// There are `count` edges.
unsafe fn add_edges(
    graph: Handle,
    from: *const Handle,
    to: *const Handle,
    count: usize,
) -> Outcome {
    for index in 0..count {
        // SAFETY: the caller promises it.
        let (from, to) = unsafe { (get(from.add(index))?, get(to.add(index))?) };
        with(|driver| {
            let graph = driver.graph(graph)?;
            graph.node(from).ok_or(Code::INVALID_VALUE)?;
            graph.node(to).ok_or(Code::INVALID_VALUE)?.behind.push(from);
            Ok(())
        })?;
    }
    Ok(())
}

driver_api! {
    fn cuGraphCreate(to: *mut Handle, _flags: c_uint) {
        put(to, with(|driver| {
            driver.compare_commands();
            let graph = driver.new_handle();
            driver.graphs.insert(graph, Graph::default());
            Ok(graph)
        })?)
    }
    fn cuGraphDestroy(graph: Handle) { with(|driver| driver.graphs.remove(&graph).map(|_| ()).ok_or(Code::INVALID_HANDLE)) }
    fn cuGraphClone(to: *mut Handle, graph: Handle) {
        put(to, with(|driver| {
            let copy = driver.graph_without_memory(graph)?.clone();
            let handle = driver.new_handle();
            driver.graphs.insert(handle, copy);
            Ok(handle)
        })?)
    }
    fn cuGraphAddKernelNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, node: *const KernelNode) {
        add(to, graph, behind, count, kernel_work(node, false)?)
    }
    fn cuGraphAddKernelNode_v2(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, node: *const KernelNode) {
        add(to, graph, behind, count, kernel_work(node, true)?)
    }
    fn cuGraphAddMemcpyNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, copy: *const Copy3D, _context: Handle) {
        add(to, graph, behind, count, Work::Copy(get(copy)?.work()?))
    }
    fn cuGraphAddMemsetNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, fill: *const FillNode, _context: Handle) {
        add(to, graph, behind, count, get(fill)?.work())
    }
    fn cuGraphAddHostNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, call: *const CallNode) {
        add(to, graph, behind, count, get(call)?.work()?)
    }
    fn cuGraphAddEmptyNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize) {
        add(to, graph, behind, count, Work::Nothing)
    }
    fn cuGraphAddEventRecordNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, event: Handle) {
        add(to, graph, behind, count, Work::RecordInGraph(event))
    }
    fn cuGraphAddEventWaitNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, event: Handle) {
        add(to, graph, behind, count, Work::WaitInGraph(event))
    }
    fn cuGraphEventRecordNodeGetEvent(node: Handle, to: *mut Handle) { put(to, event_of(node)?) }
    fn cuGraphEventWaitNodeGetEvent(node: Handle, to: *mut Handle) { put(to, event_of(node)?) }
    fn cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) { set_event(node, Work::RecordInGraph(event)) }
    fn cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle) { set_event(node, Work::WaitInGraph(event)) }
    fn cuGraphExecEventRecordNodeSetEvent(executable: Handle, node: Handle, event: Handle) { replace(executable, node, Work::RecordInGraph(event)) }
    fn cuGraphExecEventWaitNodeSetEvent(executable: Handle, node: Handle, event: Handle) { replace(executable, node, Work::WaitInGraph(event)) }
    fn cuGraphAddChildGraphNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, child: Handle) {
        let (_, child) = with(|driver| driver.graph_without_memory(child)?.to_launch())?;
        add(to, graph, behind, count, Work::All(Arc::new(child)))
    }
    fn cuGraphDestroyNode(node: Handle) {
        with(|driver| {
            let graph = driver.graph_of(node)?;
            if graph.has_memory() {
                return Err(Code::NOT_SUPPORTED);
            }
            graph.nodes.retain(|known| known.handle != node);
            for known in &mut graph.nodes {
                known.behind.retain(|from| *from != node);
            }
            Ok(())
        })
    }
    fn cuGraphGetNodes(graph: Handle, to: *mut Handle, count: *mut usize) { put_list(to, count, &nodes(graph, false)?) }
    fn cuGraphGetRootNodes(graph: Handle, to: *mut Handle, count: *mut usize) { put_list(to, count, &nodes(graph, true)?) }
    fn cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) { put_edges(graph, from, to, count) }
    fn cuGraphGetEdges_v2(graph: Handle, from: *mut Handle, to: *mut Handle, _data: *mut u64, count: *mut usize) { put_edges(graph, from, to, count) }
    fn cuGraphNodeGetDependencies(node: Handle, to: *mut Handle, count: *mut usize) { put_list(to, count, &neighbours(node, true)?) }
    fn cuGraphNodeGetDependencies_v2(node: Handle, to: *mut Handle, _data: *mut u64, count: *mut usize) { put_list(to, count, &neighbours(node, true)?) }
    fn cuGraphNodeGetDependentNodes(node: Handle, to: *mut Handle, count: *mut usize) { put_list(to, count, &neighbours(node, false)?) }
    fn cuGraphNodeGetDependentNodes_v2(node: Handle, to: *mut Handle, _data: *mut u64, count: *mut usize) { put_list(to, count, &neighbours(node, false)?) }
    fn cuGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) { add_edges(graph, from, to, count) }
    fn cuGraphAddDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, _data: *const u64, count: usize) { add_edges(graph, from, to, count) }
    fn cuGraphNodeGetType(node: Handle, to: *mut c_int) {
        put(to, with(|driver| Ok(driver.graph_of(node)?.node(node).map_or(5, |node| node.work.node_type())))?)
    }
    fn cuGraphInstantiate(to: *mut Handle, graph: Handle, _error: *mut Handle, _log: *mut c_char, _room: usize) { put(to, instantiate(graph, 0)?) }
    fn cuGraphInstantiate_v2(to: *mut Handle, graph: Handle, _error: *mut Handle, _log: *mut c_char, _room: usize) { put(to, instantiate(graph, 0)?) }
    fn cuGraphInstantiateWithFlags(to: *mut Handle, graph: Handle, flags: u64) { put(to, instantiate(graph, flags)?) }
    fn cuGraphInstantiateWithParams(to: *mut Handle, graph: Handle, params: *mut u64) {
        // The flags come first.
        put(to, instantiate(graph, get(params)?)?)
    }
    fn cuGraphExecDestroy(executable: Handle) {
        with(|driver| driver.executable_graphs.remove(&executable).map(|_| ()).ok_or(Code::INVALID_HANDLE))
    }
    fn cuGraphUpload(executable: Handle, _stream: Handle) {
        with(|driver| driver.executable_graphs.get(&executable).map(|_| ()).ok_or(Code::INVALID_HANDLE))
    }
    fn cuGraphLaunch(executable: Handle, stream: Handle) {
        launch(executable, stream)
    }
    fn cuGraphExecKernelNodeSetParams(executable: Handle, node: Handle, given: *const KernelNode) { replace(executable, node, kernel_work(given, false)?) }
    fn cuGraphExecKernelNodeSetParams_v2(executable: Handle, node: Handle, given: *const KernelNode) { replace(executable, node, kernel_work(given, true)?) }
    fn cuGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, copy: *const Copy3D, _context: Handle) {
        replace(executable, node, Work::Copy(get(copy)?.work()?))
    }
    fn cuGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, fill: *const FillNode, _context: Handle) {
        replace(executable, node, get(fill)?.work())
    }
    fn cuGraphExecHostNodeSetParams(executable: Handle, node: Handle, call: *const CallNode) { replace(executable, node, get(call)?.work()?) }
    fn cuGraphExecUpdate(executable: Handle, graph: Handle, error: *mut Handle, result: *mut c_int) {
        let came = update(executable, graph)?;
        put_if_wanted(error, 0);
        put_if_wanted(result, came);
        updated(came)
    }
    fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, info: *mut [usize; 3]) {
        let came = update(executable, graph)?;
        put_if_wanted(info, [came as usize, 0, 0]);
        updated(came)
    }
    fn cuGraphDebugDotPrint(graph: Handle, path: *const c_char, _flags: c_uint) {
        let edges: Vec<(Handle, Handle)> = with(|driver| Ok(driver.graph(graph)?.edges().collect()))?;
        let lines = edges.iter().map(|(from, to)| format!("  n{from} -> n{to};\n"));
        let drawing = format!("digraph {{\n{}}}\n", lines.collect::<String>());
        std::fs::write(text(path)?, drawing).map_err(|_| Code::OPERATING_SYSTEM)
    }
}
