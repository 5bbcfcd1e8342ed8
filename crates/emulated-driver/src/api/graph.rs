//! Graphs: pieces of work and the order among them.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use crate::api::copy::Copy3D;
use crate::call::{get, put, put_if_wanted, put_list, text};
use crate::code::{Code, Outcome};
use crate::driver::branch::NotLaunchable;
use crate::driver::context::current;
use crate::driver::{Driver, queue, with};
use crate::objects::copy::Fill;
use crate::objects::graph::{At, EdgeData, ExecutableGraph, Graph};
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
pub(crate) unsafe fn add(
    to: *mut Handle,
    graph: Handle,
    behind: *const Handle,
    count: usize,
    work: Work,
) -> Outcome {
    // SAFETY: the caller promises it.
    unsafe {
        let at = place(graph, behind, std::ptr::null(), count)?;
        add_by(to, |driver| driver.add_node(at, work))
    }
}

/// The place that a call gives for a new node.
///
/// # Safety
///
/// There are `count` nodes, and as much data of edges unless the pointer is null.
pub(crate) unsafe fn place(
    graph: Handle,
    behind: *const Handle,
    edges: *const EdgeData,
    count: usize,
) -> Outcome<At> {
    // SAFETY: the caller promises it.
    let (behind, edges) = unsafe { (handles(behind, count)?, edge_data(edges, count)?) };
    Ok(At {
        graph,
        behind,
        edges,
    })
}

/// Adds a node, if there is a place for its handle.
///
/// # Safety
///
/// `to` may be written, unless it is null.
pub(crate) unsafe fn add_by(
    to: *mut Handle,
    add: impl FnOnce(&mut Driver) -> Outcome<Handle>,
) -> Outcome {
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promises it.
    unsafe { put(to, with(add)?) }
}

/// The data of edges; none where all have the default.
///
/// # Safety
///
/// There are `count` of them, unless the pointer is null.
unsafe fn edge_data(from: *const EdgeData, count: usize) -> Outcome<Vec<EdgeData>> {
    if from.is_null() {
        return Ok(Vec::new());
    }
    (0..count)
        .map(|index| {
            // SAFETY: the caller promises it.
            let data = unsafe { get(from.add(index)) }?;
            let [_, to_port, _, reserved @ ..] = data;
            // No kind of node has other ports on this side (`CUgraphEdgeData`).
            let is_valid = to_port == 0 && reserved == [0; 5];
            is_valid.then_some(data).ok_or(Code::INVALID_VALUE)
        })
        .collect()
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const AUTO_FREE_ON_LAUNCH: u64 = 1;

fn instantiate(graph: Handle, flags: u64) -> Result<Handle, NotLaunchable> {
    let made = with(|driver| {
        Ok(driver.launchable(graph).map(|work| {
            let executable = ExecutableGraph {
                graph,
                frees_on_launch: flags & AUTO_FREE_ON_LAUNCH != 0,
                flags,
                work: Arc::new(work),
            };
            let handle = driver.new_handle();
            driver.executable_graphs.insert(handle, executable);
            handle
        }))
    });
    made?
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct InstantiateParams {
    flags: u64,
    stream: Handle,
    node: Handle,
    result: c_int,
}

/// # Safety
///
/// `to` may be written, and `error` unless it is null.
unsafe fn put_instantiated(to: *mut Handle, graph: Handle, error: *mut Handle) -> Outcome {
    let made = instantiate(graph, 0);
    // SAFETY: the caller promises it.
    unsafe {
        put_if_wanted(error, made.err().map_or(0, |wrong| wrong.node));
        put(to, made.map_err(|wrong| wrong.code)?)
    }
}

/// # Safety
///
/// Both pointers may be read and written.
unsafe fn instantiate_with(
    to: *mut Handle,
    graph: Handle,
    params: *mut InstantiateParams,
) -> Outcome {
    // SAFETY: the caller promises it.
    unsafe {
        let given = get(params)?;
        let made = instantiate(graph, given.flags);
        let (node, result) = match &made {
            Ok(_) => (0, 0),
            Err(wrong) => (wrong.node, wrong.result),
        };
        put(
            params,
            InstantiateParams {
                node,
                result,
                ..given
            },
        )?;
        put(to, made.map_err(|wrong| wrong.code)?)
    }
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
pub(crate) unsafe fn kernel_work(given: *const KernelNode, has_kernel: bool) -> Outcome<Work> {
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
    pub(crate) fn work(&self) -> Work {
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
    pub(crate) fn work(&self) -> Outcome<Work> {
        Ok(Work::Call(
            self.function.ok_or(Code::INVALID_VALUE)?,
            self.data,
        ))
    }
}

/// Replaces the work of a node in a graph that can be launched, by work that is alike.
pub(crate) fn replace(executable: Handle, node: Handle, mut work: Work) -> Outcome {
    with(|driver| {
        let graphs = &driver.executable_graphs;
        let graph = graphs.get(&executable).ok_or(Code::INVALID_HANDLE)?;
        let way = graph.work.way_to(node).ok_or(Code::INVALID_VALUE)?;
        if way.is_in_body {
            let checked = driver.check_in_body(node, &work);
            checked.map_err(|wrong| wrong.code)?;
        }
        let changed = { driver.executable_graphs.get_mut(&executable) };
        let all = Arc::make_mut(&mut changed.ok_or(Code::INVALID_HANDLE)?.work);
        let known = all.work_at(&way).ok_or(Code::INVALID_VALUE)?;
        match (&mut work, &*known) {
            (Work::All(own), Work::All(former)) if own.is_alike(former) => {
                Arc::make_mut(own).replace(former);
            }
            (new, former) if new.node_type() != former.node_type() => {
                return Err(Code::INVALID_VALUE);
            }
            (Work::All(_), _) => return Err(Code::GRAPH_EXEC_UPDATE_FAILURE),
            _ => {}
        }
        *known = work;
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
        let new = driver.checked_work(graph);
        let mut new = new.map_err(|wrong| wrong.code)?;
        let known = driver
            .executable_graphs
            .get_mut(&executable)
            .ok_or(Code::INVALID_HANDLE)?;
        if !known.work.is_alike(&new) {
            return Ok(TOPOLOGY_CHANGED);
        }
        if !known.work.makes().eq(new.makes()) || !known.work.frees().eq(new.frees()) {
            return Ok(UPDATE_ERROR);
        }
        new.replace(&known.work);
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
        queue::run_with_loops(|driver| !driver.is_yet_to_free(&work))?;
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
        // Such a graph cannot be part of another.
        if has_memory || !work.conditions.handles.is_empty() {
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

/// Where the results of a call about edges go; those of data may be null.
struct EdgeLists {
    from: *mut Handle,
    to: *mut Handle,
    data: *mut EdgeData,
    count: *mut usize,
}

/// Writes edges: the ends that are wanted, and their data.
///
/// # Errors
///
/// Some edge has more than the default, and data has nowhere to go.
///
/// # Safety
///
/// As [`put_list`].
unsafe fn put_edges(edges: &[(Handle, Handle, EdgeData)], lists: &EdgeLists) -> Outcome {
    let has_data = edges.iter().any(|(.., data)| *data != EdgeData::default());
    let is_wanted = |list: *mut Handle| !list.is_null();
    if lists.data.is_null() && has_data && (is_wanted(lists.from) || is_wanted(lists.to)) {
        return Err(Code::LOSSY_QUERY);
    }
    let starts: Vec<Handle> = edges.iter().map(|(from, ..)| *from).collect();
    let ends: Vec<Handle> = edges.iter().map(|(_, to, _)| *to).collect();
    let data: Vec<EdgeData> = edges.iter().map(|(.., data)| *data).collect();
    // SAFETY: the caller promises it. Each call writes the count that the next one reads.
    unsafe {
        let room = get(lists.count)?;
        put_list(lists.data, lists.count, &data)?;
        put(lists.count, room)?;
        put_list(lists.from, lists.count, &starts)?;
        put(lists.count, room)?;
        put_list(lists.to, lists.count, &ends)
    }
}

/// # Safety
///
/// As [`put_list`].
unsafe fn put_all_edges(
    graph: Handle,
    from: *mut Handle,
    to: *mut Handle,
    data: *mut EdgeData,
    count: *mut usize,
) -> Outcome {
    let edges: Vec<_> = with(|driver| Ok(driver.graph(graph)?.edges().collect()))?;
    let lists = EdgeLists {
        from,
        to,
        data,
        count,
    };
    // SAFETY: the caller promises it.
    unsafe { put_edges(&edges, &lists) }
}

/// Writes the nodes before a node, or behind it.
///
/// # Safety
///
/// As [`put_list`].
unsafe fn put_neighbours(
    node: Handle,
    are_before: bool,
    nodes: *mut Handle,
    data: *mut EdgeData,
    count: *mut usize,
) -> Outcome {
    let edges: Vec<_> = with(|driver| {
        let edges = driver.graph_of(node)?.edges();
        let own = edges.filter(|(from, to, _)| node == if are_before { *to } else { *from });
        Ok(own.collect())
    })?;
    let none = std::ptr::null_mut();
    let (from, to) = if are_before {
        (nodes, none)
    } else {
        (none, nodes)
    };
    let lists = EdgeLists {
        from,
        to,
        data,
        count,
    };
    // SAFETY: the caller promises it.
    unsafe { put_edges(&edges, &lists) }
}

/// The edges that a call gives, with their data.
///
/// # Safety
///
/// There are `count` edges, and as much data unless the pointer is null.
unsafe fn given_edges(
    from: *const Handle,
    to: *const Handle,
    data: *const EdgeData,
    count: usize,
) -> Outcome<Vec<(Handle, Handle, EdgeData)>> {
    // SAFETY: the caller promises it.
    let (starts, ends, data) = unsafe {
        (
            handles(from, count)?,
            handles(to, count)?,
            edge_data(data, count)?,
        )
    };
    let pairs = starts.into_iter().zip(ends).enumerate();
    Ok(pairs
        .map(|(index, (start, end))| (start, end, data.get(index).copied().unwrap_or_default()))
        .collect())
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
    fn cuGraphDestroy(graph: Handle) { with(|driver| driver.destroy_graph(graph)) }
    fn cuGraphClone(to: *mut Handle, graph: Handle) { put(to, with(|driver| driver.clone_graph(graph))?) }
    fn cuGraphNodeFindInClone(to: *mut Handle, node: Handle, clone: Handle) {
        put(to, with(|driver| {
            let mut nodes = driver.graph(clone)?.nodes.iter();
            nodes.find(|known| known.original == Some(node)).map(|known| known.handle).ok_or(Code::INVALID_VALUE)
        })?)
    }
    fn cuGraphNodeGetContainingGraph(node: Handle, to: *mut Handle) { put(to, with(|driver| driver.graph_with(node))?) }
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
    fn cuGraphExecEventRecordNodeSetEvent(executable: Handle, node: Handle, event: Handle) { replace(executable, node, Work::RecordInGraph(event)) }
    fn cuGraphExecEventWaitNodeSetEvent(executable: Handle, node: Handle, event: Handle) { replace(executable, node, Work::WaitInGraph(event)) }
    fn cuGraphDestroyNode(node: Handle) { with(|driver| driver.destroy_node(node)) }
    fn cuGraphGetNodes(graph: Handle, to: *mut Handle, count: *mut usize) { put_list(to, count, &nodes(graph, false)?) }
    fn cuGraphGetRootNodes(graph: Handle, to: *mut Handle, count: *mut usize) { put_list(to, count, &nodes(graph, true)?) }
    fn cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) { put_all_edges(graph, from, to, std::ptr::null_mut(), count) }
    fn cuGraphGetEdges_v2(graph: Handle, from: *mut Handle, to: *mut Handle, data: *mut EdgeData, count: *mut usize) { put_all_edges(graph, from, to, data, count) }
    fn cuGraphNodeGetDependencies(node: Handle, to: *mut Handle, count: *mut usize) { put_neighbours(node, true, to, std::ptr::null_mut(), count) }
    fn cuGraphNodeGetDependencies_v2(node: Handle, to: *mut Handle, data: *mut EdgeData, count: *mut usize) { put_neighbours(node, true, to, data, count) }
    fn cuGraphNodeGetDependentNodes(node: Handle, to: *mut Handle, count: *mut usize) { put_neighbours(node, false, to, std::ptr::null_mut(), count) }
    fn cuGraphNodeGetDependentNodes_v2(node: Handle, to: *mut Handle, data: *mut EdgeData, count: *mut usize) { put_neighbours(node, false, to, data, count) }
    fn cuGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        let edges = given_edges(from, to, std::ptr::null(), count)?;
        with(|driver| driver.add_edges(graph, &edges))
    }
    fn cuGraphAddDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, data: *const EdgeData, count: usize) {
        let edges = given_edges(from, to, data, count)?;
        with(|driver| driver.add_edges(graph, &edges))
    }
    fn cuGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        let edges = given_edges(from, to, std::ptr::null(), count)?;
        with(|driver| driver.remove_edges(graph, &edges))
    }
    fn cuGraphRemoveDependencies_v2(graph: Handle, from: *const Handle, to: *const Handle, data: *const EdgeData, count: usize) {
        let edges = given_edges(from, to, data, count)?;
        with(|driver| driver.remove_edges(graph, &edges))
    }
    fn cuGraphNodeGetType(node: Handle, to: *mut c_int) {
        put(to, with(|driver| Ok(driver.graph_of(node)?.node(node).map_or(5, |node| node.work.node_type())))?)
    }
    fn cuGraphInstantiate(to: *mut Handle, graph: Handle, error: *mut Handle, _log: *mut c_char, _room: usize) { put_instantiated(to, graph, error) }
    fn cuGraphInstantiate_v2(to: *mut Handle, graph: Handle, error: *mut Handle, _log: *mut c_char, _room: usize) { put_instantiated(to, graph, error) }
    fn cuGraphInstantiateWithFlags(to: *mut Handle, graph: Handle, flags: u64) { put(to, instantiate(graph, flags).map_err(|wrong| wrong.code)?) }
    fn cuGraphInstantiateWithParams(to: *mut Handle, graph: Handle, params: *mut InstantiateParams) { instantiate_with(to, graph, params) }
    fn cuGraphExecGetFlags(executable: Handle, to: *mut u64) {
        put(to, with(|driver| driver.executable_graphs.get(&executable).map(|known| known.flags).ok_or(Code::INVALID_HANDLE))?)
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
        let edges: Vec<_> = with(|driver| Ok(driver.graph(graph)?.edges().collect()))?;
        let lines = edges.iter().map(|(from, to, _)| format!("  n{from} -> n{to};\n"));
        let drawing = format!("digraph {{\n{}}}\n", lines.collect::<String>());
        std::fs::write(text(path)?, drawing).map_err(|_| Code::OPERATING_SYSTEM)
    }
}
