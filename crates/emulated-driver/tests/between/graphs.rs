//! Graphs, built and captured.

use std::ffi::{c_int, c_uint, c_void};

use crate::common::{Handle, arg, function};
use crate::cu;
use crate::told::Program;

/// `CUDA_KERNEL_NODE_PARAMS`, of the second version.
#[repr(C)]
struct KernelNode {
    function: Handle,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    parameters: *const *const c_void,
    extra: *const *const c_void,
    kernel: Handle,
    context: Handle,
}

pub fn graph() -> Handle {
    let mut graph = 0;
    assert_eq!(
        cu!(cuGraphCreate(&mut graph => *mut Handle, 0 => c_uint)),
        0
    );
    graph
}

/// Adds a kernel of 32 threads behind nodes.
pub fn add(
    p: &Program,
    graph: Handle,
    behind: &[Handle],
    kernel: &str,
    pointers: &[u64],
) -> Handle {
    let parameters: Vec<*const c_void> = pointers.iter().map(arg).collect();
    let node = KernelNode {
        function: function(p.kernels, kernel),
        grid: [1; 3],
        block: [32, 1, 1],
        shared_bytes: 0,
        parameters: parameters.as_ptr(),
        extra: std::ptr::null(),
        kernel: 0,
        context: 0,
    };
    let mut added = 0;
    let done = cu!(cuGraphAddKernelNode_v2(&mut added => *mut Handle, graph => Handle, behind.as_ptr() => *const Handle, behind.len() => usize, &node => *const KernelNode));
    assert_eq!(done, 0);
    added
}

pub fn executable(graph: Handle) -> Handle {
    let mut executable = 0;
    let made =
        cu!(cuGraphInstantiateWithFlags(&mut executable => *mut Handle, graph => Handle, 0 => u64));
    assert_eq!(made, 0);
    executable
}

pub fn run(executable: Handle, stream: Handle) {
    assert_eq!(
        cu!(cuGraphLaunch(executable => Handle, stream => Handle)),
        0
    );
}

planted! {
    /// A graph lacks an edge.
    a_graph_lacks_an_edge,
    wrong: |p: &Program| {
        let [data, out, stream] = [p.memory(), p.memory(), p.stream() as u64];
        let graph = graph();
        add(p, graph, &[], "produce", &[data]);
        add(p, graph, &[], "consume", &[data, out]);
        run(executable(graph), stream as Handle);
    },
    right: |p: &Program| {
        let [data, out, stream] = [p.memory(), p.memory(), p.stream() as u64];
        let graph = graph();
        let first = add(p, graph, &[], "produce", &[data]);
        add(p, graph, &[first], "consume", &[data, out]);
        let executable = executable(graph);
        for _ in 0..3 {
            run(executable, stream as Handle);
        }
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that kernel `produce` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in a graph in stream A
      then: kernel `consume` in a graph in stream A
      to order them: let the graph's node of `consume` depend on that of `produce` (cudaGraphAddDependencies; in a capture, an event that one stream records and the other waits for)
      rule: nodes of a graph have the order of its edges alone (CUDA Programming Guide, "CUDA Graphs")
    "#,
}

planted! {
    /// Two branches of a graph meet in a buffer; they join behind it.
    branches_of_a_graph_meet,
    wrong: |p: &Program| {
        let [a, b, stream] = [p.memory(), p.memory(), p.stream() as u64];
        let graph = graph();
        let root = add(p, graph, &[], "produce", &[a]);
        let left = add(p, graph, &[root], "update", &[a]);
        let right = add(p, graph, &[root], "consume", &[a, b]);
        add(p, graph, &[left, right], "update", &[b]);
        run(executable(graph), stream as Handle);
    },
    right: |p: &Program| {
        let [a, b, c] = [p.memory(), p.memory(), p.memory()];
        let stream = p.stream();
        let graph = graph();
        let root = add(p, graph, &[], "produce", &[a]);
        let left = add(p, graph, &[root], "consume", &[a, b]);
        let right = add(p, graph, &[root], "consume", &[a, c]);
        add(p, graph, &[left, right], "consume", &[b, c]);
        let executable = executable(graph);
        run(executable, stream);
        run(executable, stream);
        // The stream goes on behind all nodes.
        p.launch("update", stream, &[c]);
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that kernel `update` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `update` in a graph in stream A
      then: kernel `consume` in a graph in stream A
      to order them: let the graph's node of `consume` depend on that of `update` (cudaGraphAddDependencies; in a capture, an event that one stream records and the other waits for)
      rule: nodes of a graph have the order of its edges alone (CUDA Programming Guide, "CUDA Graphs")
    "#,
}

planted! {
    /// A capture forks to two streams that write one buffer, and joins them.
    a_captured_fork_meets,
    wrong: |p: &Program| {
        let data = p.memory();
        let [main, side] = [p.stream(), p.stream()];
        assert_eq!(cu!(cuStreamBeginCapture_v2(main => Handle, 1 => c_int)), 0);
        p.join(side, main);
        p.launch("produce", main, &[data]);
        p.launch("update", side, &[data]);
        p.join(main, side);
        let mut graph = 0;
        assert_eq!(cu!(cuStreamEndCapture(main => Handle, &mut graph => *mut Handle)), 0);
        run(executable(graph), main);
    },
    right: |p: &Program| {
        let data = p.memory();
        let [main, side] = [p.stream(), p.stream()];
        assert_eq!(cu!(cuStreamBeginCapture_v2(main => Handle, 1 => c_int)), 0);
        p.launch("produce", main, &[data]);
        p.join(side, main);
        p.launch("update", side, &[data]);
        p.join(main, side);
        let mut graph = 0;
        assert_eq!(cu!(cuStreamEndCapture(main => Handle, &mut graph => *mut Handle)), 0);
        run(executable(graph), main);
    },
    told: @r#"
    race between commands: kernel `update` writes bytes that kernel `produce` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in a graph in stream A
      then: kernel `update` in a graph in stream A
      to order them: let the graph's node of `update` depend on that of `produce` (cudaGraphAddDependencies; in a capture, an event that one stream records and the other waits for)
      rule: nodes of a graph have the order of its edges alone (CUDA Programming Guide, "CUDA Graphs")
    "#,
}

planted! {
    /// A graph in one stream, a kernel in another.
    a_graph_and_another_stream,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        let graph = graph();
        add(p, graph, &[], "produce", &[data]);
        run(executable(graph), one);
        p.launch("consume", other, &[data, out]);
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        let graph = graph();
        let first = add(p, graph, &[], "produce", &[data]);
        add(p, graph, &[first], "update", &[data]);
        add(p, graph, &[], "update", &[out]);
        run(executable(graph), one);
        p.join(other, one);
        p.launch("consume", other, &[data, out]);
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that kernel `produce` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in a graph in stream A
      then: kernel `consume` in stream B
      to order them: record an event in stream A behind `produce`, and let stream B wait for it before `consume` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// A graph waits for its own launches in any stream; another graph of the same nodes does not.
    a_graph_is_launched_in_two_streams,
    wrong: |p: &Program| {
        let data = p.memory();
        let [one, other] = [p.stream(), p.stream()];
        let graph = graph();
        add(p, graph, &[], "update", &[data]);
        let [first, second] = [executable(graph), executable(graph)];
        run(first, one);
        run(second, other);
    },
    right: |p: &Program| {
        let data = p.memory();
        let [one, other] = [p.stream(), p.stream()];
        let graph = graph();
        add(p, graph, &[], "update", &[data]);
        let executable = executable(graph);
        run(executable, one);
        run(executable, other);
    },
    told: @r#"
    race between commands: kernel `update` writes bytes that kernel `update` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `update` in a graph in stream A
      then: kernel `update` in a graph in stream B
      to order them: record an event in stream A behind `update`, and let stream B wait for it before `update` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

/// A graph in a graph has its own edges, and is a node of the other's.
#[test]
fn a_graph_in_a_graph() {
    let program = |inner_is_right: bool, outer_is_right: bool| {
        move |p: &Program| {
            let [data, out, stream] = [p.memory(), p.memory(), p.stream() as u64];
            let (inner, outer) = (graph(), graph());
            let first = add(p, inner, &[], "produce", &[data]);
            let behind = if inner_is_right { &[first][..] } else { &[] };
            add(p, inner, behind, "update", &[data]);
            add(p, inner, &[], "produce", &[out]);
            let mut child = 0;
            let added = cu!(cuGraphAddChildGraphNode(&mut child => *mut Handle, outer => Handle, 0 => usize, 0 => usize, inner => Handle));
            assert_eq!(added, 0);
            let after = if outer_is_right { &[child][..] } else { &[] };
            add(p, outer, after, "consume", &[data, out]);
            let executable = executable(outer);
            run(executable, stream as Handle);
            run(executable, stream as Handle);
        }
    };
    assert_eq!(crate::told::told(program(true, true)), "");
    let told = crate::told::told(program(false, true));
    assert!(
        told.starts_with("race between commands: kernel `update` writes"),
        "{told}"
    );
    let outer = crate::told::told(program(true, false));
    let expected = [
        "kernel `consume` reads bytes that kernel `update` writes",
        "kernel `consume` writes bytes that kernel `produce` writes",
    ];
    let titles = outer.lines().filter(|line| line.starts_with("race"));
    for (title, words) in titles.zip(expected) {
        assert!(title.contains(words), "{outer}");
    }
    assert_eq!(outer.matches("cudaGraphAddDependencies").count(), 2);
}

/// A graph of one kernel that a stream records, with an event for streams outside of it: recorded
/// behind the kernel, or waited for before it.
fn captured(p: &Program, kernel: &str, pointers: &[u64], event: [Option<Handle>; 2]) -> Handle {
    const EXTERNAL: c_uint = 1;
    let (stream, mut graph) = (p.stream(), 0);
    let [before, behind] = event;
    assert_eq!(
        cu!(cuStreamBeginCapture_v2(stream => Handle, 1 => c_int)),
        0
    );
    if let Some(first) = before {
        let waited = cu!(cuStreamWaitEvent(stream => Handle, first => Handle, EXTERNAL => c_uint));
        assert_eq!(waited, 0);
    }
    p.launch(kernel, stream, pointers);
    if let Some(last) = behind {
        let recorded =
            cu!(cuEventRecordWithFlags(last => Handle, stream => Handle, EXTERNAL => c_uint));
        assert_eq!(recorded, 0);
    }
    let ended = cu!(cuStreamEndCapture(stream => Handle, &mut graph => *mut Handle));
    assert_eq!(ended, 0);
    executable(graph)
}

planted! {
    /// Two graphs, and the second waits for an event that the first does not record.
    graphs_meet_by_an_event_outside_of_them,
    wrong: |p: &Program| {
        let [data, out, event] = [p.memory(), p.memory(), p.event() as u64];
        let produce = captured(p, "produce", &[data], [None, None]);
        let consume = captured(p, "consume", &[data, out], [Some(event as Handle), None]);
        run(produce, p.stream());
        run(consume, p.stream());
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [event, other, one, two] = [p.event(), p.event(), p.stream(), p.stream()];
        let produce = captured(p, "produce", &[data], [Some(other), Some(event)]);
        let consume = captured(p, "consume", &[data, out], [Some(event), Some(other)]);
        for _ in 0..3 {
            run(produce, one);
            run(consume, two);
        }
        // Outside of a graph that a stream records, there is no such event.
        const INVALID: c_int = 1;
        assert_eq!(
            cu!(cuEventRecordWithFlags(event => Handle, one => Handle, 1 => c_uint)),
            INVALID
        );
        assert_eq!(
            cu!(cuStreamWaitEvent(two => Handle, event => Handle, 1 => c_uint)),
            INVALID
        );
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that kernel `produce` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in a graph in stream A
      then: kernel `consume` in a graph in stream B
      to order them: record an event in stream A behind `produce`, and let stream B wait for it before `consume` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}
