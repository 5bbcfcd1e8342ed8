//! Memory of graphs: its beginning, and its end.

use std::ffi::c_int;

use crate::common::Handle;
use crate::cu;
use crate::graphs::{add, executable, graph, run};
use crate::told::Program;

/// `CUDA_MEM_ALLOC_NODE_PARAMS` in words of 8 bytes, for 256 bytes of device 0.
fn allocation() -> [u64; 15] {
    let mut params = [0; 15];
    (params[0], params[1], params[13]) = (1, 1, 256);
    params
}

/// A graph with a node that allocates; gives the node and the address.
fn with_memory() -> (Handle, Handle, u64) {
    let (graph, mut node, mut params) = (graph(), 0, allocation());
    let added = cu!(cuGraphAddMemAllocNode(&mut node => *mut Handle, graph => Handle, std::ptr::null() => *const Handle, 0 => usize, params.as_mut_ptr() => *mut u64));
    assert_eq!(added, 0);
    (graph, node, params[14])
}

fn free(address: u64, stream: Handle) {
    assert_eq!(cu!(cuMemFreeAsync(address => u64, stream => Handle)), 0);
}

/// In each order, those that are right use their memory while it is there.
#[test]
fn twins_are_silent() {
    for right in [
        a_node_uses_memory_beside_its_allocation_not,
        a_stream_uses_memory_before_its_graph_has_it_not,
        a_launch_frees_memory_that_a_stream_uses_not,
        a_branch_uses_memory_that_another_frees_not,
    ] {
        assert_eq!(crate::told::told(right), "");
    }
}

/// The right twin of that.
fn a_node_uses_memory_beside_its_allocation_not(p: &Program) {
    let (graph, node, data) = with_memory();
    let stream = p.stream();
    add(p, graph, &[node], "produce", &[data]);
    let executable = executable(graph);
    for _ in 0..3 {
        run(executable, stream);
        p.launch("update", stream, &[data]);
        free(data, stream);
    }
}

/// The right twin of that.
fn a_stream_uses_memory_before_its_graph_has_it_not(p: &Program) {
    let [one, other] = [p.stream(), p.stream()];
    let (graph, _, data) = with_memory();
    let executable = executable(graph);
    for _ in 0..2 {
        run(executable, one);
        p.join(other, one);
        p.launch("produce", other, &[data]);
        free(data, other);
    }
}

/// The right twin of that.
fn a_launch_frees_memory_that_a_stream_uses_not(p: &Program) {
    let [one, other] = [p.stream(), p.stream()];
    let (graph, node, data) = with_memory();
    add(p, graph, &[node], "produce", &[data]);
    let mut executable = 0;
    assert_eq!(
        cu!(cuGraphInstantiateWithFlags(&mut executable => *mut Handle, graph => Handle, 1 => u64)),
        0
    );
    run(executable, one);
    // Launches of a graph have an order by themselves.
    run(executable, other);
    p.launch("update", other, &[data]);
    p.join(one, other);
    run(executable, one);
}

/// The right twin of that.
fn a_branch_uses_memory_that_another_frees_not(p: &Program) {
    let [one, other] = [p.stream(), p.stream()];
    let executable = captured(p, one, other, true);
    run(executable, one);
    run(executable, other);
}

/// Captures an allocation, a use of it in a stream that joins, and its free.
fn captured(p: &Program, stream: Handle, other: Handle, waits: bool) -> Handle {
    let (mut data, mut graph) = (0u64, 0);
    const RELAXED: c_int = 2;
    assert_eq!(
        cu!(cuStreamBeginCapture_v2(stream => Handle, RELAXED => c_int)),
        0
    );
    assert_eq!(
        cu!(cuMemAllocAsync(&mut data => *mut u64, 256 => usize, stream => Handle)),
        0
    );
    p.join(other, stream);
    p.launch("produce", other, &[data]);
    if waits {
        p.join(stream, other);
    }
    free(data, stream);
    p.join(stream, other);
    assert_eq!(
        cu!(cuStreamEndCapture(stream => Handle, &mut graph => *mut Handle)),
        0
    );
    executable(graph)
}

/// Programs that fault in some orders: memory is not there yet, or any more.
mod wrong {
    use super::*;

    planted! {
        /// A node lacks an edge from the one that allocates.
        a_node_uses_memory_beside_its_allocation,
        wrong: |p: &Program| {
            let (graph, _, data) = with_memory();
            add(p, graph, &[], "produce", &[data]);
            run(executable(graph), p.stream());
        },
        right: a_node_uses_memory_beside_its_allocation_not,
        told: @r#"
        memory used before its allocation: nothing orders kernel `produce` behind the allocation of cuGraphLaunch
          allocation A, 256 bytes
          first: the allocation of cuGraphLaunch in a graph in stream A
          then: kernel `produce` in a graph in stream A
          to order them: let the graph's node of `produce` depend on that of the allocation of cuGraphLaunch (cudaGraphAddDependencies; in a capture, an event that one stream records and the other waits for)
          rule: nodes of a graph have the order of its edges alone (CUDA Programming Guide, "CUDA Graphs")
        "#,
    }

    planted! {
        /// A stream uses what a graph in another one allocates.
        a_stream_uses_memory_before_its_graph_has_it,
        wrong: |p: &Program| {
            let [one, other] = [p.stream(), p.stream()];
            let (graph, _, data) = with_memory();
            run(executable(graph), one);
            p.launch("produce", other, &[data]);
            p.synchronize(other);
            free(data, one);
        },
        right: a_stream_uses_memory_before_its_graph_has_it_not,
        told: @r#"
        memory used before its allocation: nothing orders kernel `produce` behind the allocation of cuGraphLaunch
          allocation A, 256 bytes
          first: the allocation of cuGraphLaunch in a graph in stream A
          then: kernel `produce` in stream B
          to order them: record an event in stream A behind the allocation of cuGraphLaunch, and let stream B wait for it before `produce` (cudaEventRecord, cudaStreamWaitEvent)
          rule: memory of cudaMallocAsync may be accessed behind its allocation in the order of streams (CUDA Driver API, "Stream Ordered Memory Allocator")
        "#,
    }

    planted! {
        /// A graph that frees on launch is launched while a stream uses its memory.
        a_launch_frees_memory_that_a_stream_uses,
        wrong: |p: &Program| {
            let [one, other] = [p.stream(), p.stream()];
            let (graph, _, data) = with_memory();
            let mut executable = 0;
            assert_eq!(cu!(cuGraphInstantiateWithFlags(&mut executable => *mut Handle, graph => Handle, 1 => u64)), 0);
            run(executable, one);
            p.join(other, one);
            p.launch("produce", other, &[data]);
            run(executable, one);
        },
        right: a_launch_frees_memory_that_a_stream_uses_not,
        told: @r#"
        memory freed in use: nothing orders kernel `produce` before the free of cuGraphLaunch
          bytes 0..128, of allocation A, 256 bytes
          first: kernel `produce` in stream A
          then: the free of cuGraphLaunch in a graph in stream B
          to order them: record an event in stream A behind `produce`, and let stream B wait for it before the free of cuGraphLaunch (cudaEventRecord, cudaStreamWaitEvent)
          rule: all accesses must be done before the free in the order of streams (CUDA Driver API, "Stream Ordered Memory Allocator")
        "#,
    }

    planted! {
        /// A captured stream frees memory that a branch of its graph uses.
        a_branch_uses_memory_that_another_frees,
        wrong: |p: &Program| {
            let [one, other] = [p.stream(), p.stream()];
            let executable = captured(p, one, other, false);
            run(executable, one);
        },
        right: a_branch_uses_memory_that_another_frees_not,
        told: @r#"
        memory freed in use: nothing orders kernel `produce` before the free of cuGraphLaunch
          bytes 0..128, of allocation A, 256 bytes
          first: kernel `produce` in a graph in stream A
          then: the free of cuGraphLaunch in a graph in stream A
          to order them: let the graph's node of the free of cuGraphLaunch depend on that of `produce` (cudaGraphAddDependencies; in a capture, an event that one stream records and the other waits for)
          rule: nodes of a graph have the order of its edges alone (CUDA Programming Guide, "CUDA Graphs")
        "#,
    }
}
