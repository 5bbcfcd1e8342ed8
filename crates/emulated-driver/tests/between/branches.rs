//! Conditional nodes of graphs.

use crate::common::branches::{
    IF, KERNELS, WHILE, branch, graph, handle, instantiate, kernel, run,
};
use crate::common::{Handle, module, write};
use crate::told::Program;

/// Launches a graph in a stream.
fn launch(graph: Handle, stream: Handle) {
    assert_eq!(run(instantiate(graph).unwrap(), stream), 0);
}

/// A graph whose loop counts a word down from three, and counts another up.
fn loops(p: &Program, count: u64) -> Handle {
    let kernels = module(KERNELS);
    let rounds = p.memory();
    write(rounds, &[3]);
    let graph = graph();
    let of = handle(graph, Some(1));
    let (_, bodies) = branch(graph, &[], of, WHILE, 1).unwrap();
    let up = kernel(kernels, "up", bodies[0], &[], &[count]);
    kernel(kernels, "down", bodies[0], &[up], &[of, rounds]);
    graph
}

planted! {
    /// A kernel of another stream uses what a loop has made.
    a_stream_meets_a_body,
    wrong: |p: &Program| {
        let [count, out] = [p.memory(), p.memory()];
        let (one, other) = (p.stream(), p.stream());
        launch(loops(p, count), one);
        p.launch("consume", other, &[count, out]);
    },
    right: |p: &Program| {
        let [count, out] = [p.memory(), p.memory()];
        let (one, other) = (p.stream(), p.stream());
        launch(loops(p, count), one);
        p.join(other, one);
        p.launch("consume", other, &[count, out]);
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that kernel `up` writes, and nothing orders the two
      bytes 0..4, of allocation A, 256 bytes
      first: kernel `up` in a graph in stream A
      then: kernel `consume` in stream B
      to order them: record an event in stream A behind `up`, and let stream B wait for it before `consume` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// Nothing orders a kernel of a body and a node beside the conditional one; a node behind it is
    /// ordered.
    a_node_beside_a_body_meets_it,
    wrong: |p: &Program| {
        let (data, stream) = (p.memory(), p.stream());
        let kernels = module(KERNELS);
        let graph = graph();
        let (_, bodies) = branch(graph, &[], handle(graph, Some(1)), IF, 1).unwrap();
        kernel(kernels, "up", bodies[0], &[], &[data]);
        crate::graphs::add(p, graph, &[], "produce", &[data]);
        launch(graph, stream);
    },
    right: |p: &Program| {
        let (data, stream) = (p.memory(), p.stream());
        let kernels = module(KERNELS);
        let graph = graph();
        let (node, bodies) = branch(graph, &[], handle(graph, Some(1)), IF, 1).unwrap();
        kernel(kernels, "up", bodies[0], &[], &[data]);
        crate::graphs::add(p, graph, &[node], "produce", &[data]);
        let executable = instantiate(graph).unwrap();
        for _ in 0..2 {
            assert_eq!(run(executable, stream), 0);
        }
    },
    told: @r#"
    race between commands: kernel `produce` writes bytes that kernel `up` writes, and nothing orders the two
      bytes 0..4, of allocation A, 256 bytes
      first: kernel `up` in a graph in stream A
      then: kernel `produce` in a graph in stream A
      to order them: let the graph's node of `produce` depend on that of `up` (cudaGraphAddDependencies; in a capture, an event that one stream records and the other waits for)
      rule: nodes of a graph have the order of its edges alone (CUDA Programming Guide, "CUDA Graphs")
    "#,
}

planted! {
    /// A kernel sets the value of a node that does not depend on it.
    a_node_looks_at_a_value_too_early,
    wrong: |p: &Program| {
        let (value, stream) = (p.memory(), p.stream());
        let kernels = module(KERNELS);
        let graph = graph();
        let of = handle(graph, Some(1));
        kernel(kernels, "set", graph, &[], &[of, value]);
        branch(graph, &[], of, IF, 1).unwrap();
        launch(graph, stream);
    },
    right: |p: &Program| {
        let (value, stream) = (p.memory(), p.stream());
        let kernels = module(KERNELS);
        let graph = graph();
        let of = handle(graph, Some(1));
        let set = kernel(kernels, "set", graph, &[], &[of, value]);
        branch(graph, &[set], of, IF, 1).unwrap();
        launch(graph, stream);
    },
    told: @r#"
    race between commands: a conditional node reads the value that kernel `set` writes, and nothing orders the two
      the value of conditional handle H
      first: kernel `set` in a graph in stream A
      then: a conditional node in a graph in stream A
      to order them: let the graph's node of the condition depend on that of `set` (cudaGraphAddDependencies; in a capture, an event that one stream records and the other waits for)
      rule: nodes of a graph have the order of its edges alone (CUDA Programming Guide, "CUDA Graphs")
    "#,
}

planted! {
    /// Nothing gives a node its value in a launch.
    a_value_is_undefined,
    wrong: |p: &Program| {
        let stream = p.stream();
        let graph = graph();
        branch(graph, &[], handle(graph, None), IF, 1).unwrap();
        let executable = instantiate(graph).unwrap();
        for _ in 0..2 {
            assert_eq!(run(executable, stream), 0);
        }
    },
    right: |p: &Program| {
        let (value, stream) = (p.memory(), p.stream());
        let kernels = module(KERNELS);
        let graph = graph();
        let of = handle(graph, None);
        let set = kernel(kernels, "set", graph, &[], &[of, value]);
        branch(graph, &[set], of, IF, 1).unwrap();
        launch(graph, stream);
    },
    told: @r#"
    undefined condition: a conditional node looks at handle H, which has no value in this launch
      to have one: create the handle with a default (cudaGraphCondAssignDefault), or let a kernel before the node call cudaGraphSetConditional in each launch
      rule: without a default the value is undefined at the start of each launch, that of an earlier launch does not count (CUDA Programming Guide, "Conditional Handles")
    "#,
}
