//! Conditional nodes of graphs. The results are those of an H200 (driver 580).
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint, c_void};

use common::branches::{
    IF, KERNELS, Params, SWITCH, WHILE, add, branch, current_context, graph, handle, instantiate,
    kernel, params, run,
};
use common::{Handle, allocate, context, event, module, read, stream, write};

const INVALID_VALUE: c_int = 1;
const INVALID_CONTEXT: c_int = 201;
const ILLEGAL_ADDRESS: c_int = 700;
const NOT_SUPPORTED: c_int = 801;
const CAPTURE_UNSUPPORTED: c_int = 900;
const UPDATE_FAILURE: c_int = 910;

/// A mode of capture that other threads do not notice.
const RELAXED: c_int = 2;

fn destroy(graph: Handle) -> c_int {
    cu!(cuGraphDestroy(graph => Handle))
}

fn update(executable: Handle, graph: Handle) -> (c_int, usize) {
    let mut info = [0usize; 3];
    let done = cu!(cuGraphExecUpdate_v2(executable => Handle, graph => Handle, &mut info => *mut [usize; 3]));
    (done, info[0] & 0xffff_ffff)
}

/// What `cuGraphInstantiateWithParams` gives: its own result, that of the instantiation, the node.
fn why_not(graph: Handle) -> (c_int, c_int, Handle) {
    let (mut made, mut params) = (0usize, [0u64; 4]);
    let done = cu!(cuGraphInstantiateWithParams(&mut made => *mut Handle, graph => Handle, &mut params => *mut [u64; 4]));
    (done, params[3] as c_int, params[2] as Handle)
}

/// Launches a graph in the default stream.
fn launch(graph: Handle) {
    assert_eq!(run(instantiate(graph).unwrap(), 0), 0);
}

#[test]
fn bodies_run_by_the_value_that_a_kernel_sets() {
    context();
    let kernels = module(KERNELS);
    let [value, counts] = [allocate(4), allocate(20)];
    for (kind, bodies, expected) in [
        (IF, 1, [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]]),
        (IF, 2, [[0, 1, 0], [1, 1, 0], [2, 1, 0], [3, 1, 0]]),
        (SWITCH, 3, [[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 1]]),
    ] {
        write(counts, &[0; 5]);
        let graph = graph();
        let of = handle(graph, None);
        let set = kernel(kernels, "set", graph, &[], &[of, value]);
        let (node, graphs) = branch(graph, &[set], of, kind, bodies).unwrap();
        for (index, body) in (0..).zip(graphs) {
            kernel(kernels, "up", body, &[], &[counts + 4 * index]);
        }
        kernel(kernels, "up", graph, &[node], &[counts + 16]);
        let executable = instantiate(graph).unwrap();
        for (number, counted) in (0..).zip(expected) {
            write(value, &[number]);
            assert_eq!(run(executable, 0), 0);
            let found = read(counts, 5);
            assert_eq!(found[..3], counted, "{kind} of {bodies} at {number}");
            assert_eq!(found[4], number + 1, "the node behind it");
        }
        let mut kind_of_node = 0;
        assert_eq!(
            cu!(cuGraphNodeGetType(node => Handle, &mut kind_of_node => *mut c_int)),
            0
        );
        assert_eq!(kind_of_node, 13);
    }
}

#[test]
fn loops_run_as_often_as_their_values_say_within_each_other_too() {
    context();
    let kernels = module(KERNELS);
    let [outer, inner, count] = [allocate(4), allocate(4), allocate(4)];
    let three = allocate(4);
    write(outer, &[4]);
    write(three, &[3]);
    write(count, &[0]);
    let graph = graph();
    let (of_outer, of_inner) = (handle(graph, Some(1)), handle(graph, Some(1)));
    let (_, rounds) = branch(graph, &[], of_outer, WHILE, 1).unwrap();
    let body = rounds[0];
    // Each round sets the inner loop's count to three, runs it, and counts itself down.
    let copy = {
        let mut node = 0;
        let fill = [inner, 0, 3 | 4 << 32, 1, 1];
        let added = cu!(cuGraphAddMemsetNode(&mut node => *mut Handle, body => Handle, std::ptr::null() => *const Handle, 0 => usize, fill.as_ptr() => *const u64, current_context() => Handle));
        assert_eq!(added, 0);
        node
    };
    let again = kernel(kernels, "set", body, &[copy], &[of_inner, three]);
    let (loops, inside) = branch(body, &[again], of_inner, WHILE, 1).unwrap();
    let up = kernel(kernels, "up", inside[0], &[], &[count]);
    kernel(kernels, "down", inside[0], &[up], &[of_inner, inner]);
    kernel(kernels, "down", body, &[loops], &[of_outer, outer]);
    launch(graph);
    assert_eq!(read(count, 1), [12]);
    assert_eq!(read(outer, 1), [0]);
}

#[test]
fn a_default_counts_at_each_launch() {
    context();
    let kernels = module(KERNELS);
    let [zero, count] = [allocate(4), allocate(4)];
    write(zero, &[0]);
    write(count, &[0]);
    let graph = graph();
    let of = handle(graph, Some(1));
    let (node, bodies) = branch(graph, &[], of, IF, 1).unwrap();
    kernel(kernels, "up", bodies[0], &[], &[count]);
    kernel(kernels, "set", graph, &[node], &[of, zero]);
    let executable = instantiate(graph).unwrap();
    for _ in 0..2 {
        assert_eq!(run(executable, 0), 0);
    }
    assert_eq!(read(count, 1), [2]);
}

#[test]
fn a_body_can_be_captured() {
    context();
    let kernels = module(KERNELS);
    let [value, count, stream] = [allocate(4), allocate(4), stream(1) as u64];
    let stream = stream as Handle;
    write(value, &[3]);
    write(count, &[0]);
    let graph = graph();
    let of = handle(graph, Some(1));
    let (_, bodies) = branch(graph, &[], of, WHILE, 1).unwrap();
    // A node that the body has already is not one of the capture's to join.
    kernel(kernels, "up", bodies[0], &[], &[count]);
    let begun = cu!(cuStreamBeginCaptureToGraph(stream => Handle, bodies[0] => Handle, std::ptr::null() => *const Handle,
        std::ptr::null() => *const u64, 0 => usize, RELAXED => c_int));
    assert_eq!(begun, 0);
    let down = common::function(kernels, "down");
    let args = [common::arg(&of), common::arg(&value)];
    assert_eq!(common::launch(down, 1, stream, &args), 0);
    // Nobody need ask for the graph that is known.
    assert_eq!(
        cu!(cuStreamEndCapture(stream => Handle, std::ptr::null_mut() => *mut Handle)),
        0
    );
    launch(graph);
    assert_eq!(read(count, 1), [3]);
}

#[test]
fn handles_and_bodies_have_rules() {
    let own = context();
    let (graph, other) = (graph(), graph());
    let mut made = 0;
    let mut make = |of: Handle, context: Handle, flags: c_uint| cu!(cuGraphConditionalHandleCreate(&mut made => *mut u64, of => Handle, context => Handle, 0 => c_uint, flags => c_uint));
    assert_eq!(make(graph, own, 2), INVALID_VALUE);
    assert_eq!(make(graph, 0, 1), INVALID_CONTEXT);
    let of_none = add(graph, &[], &mut params(13, &[1, 1 << 32, 0, 0]));
    assert_eq!(of_none, Err(INVALID_CONTEXT));
    assert_eq!(make(0, own, 1), INVALID_VALUE);
    let of = handle(graph, Some(1));
    for (kind, bodies) in [
        (WHILE, 2),
        (WHILE, 0),
        (IF, 3),
        (IF, 0),
        (SWITCH, 0),
        (5, 1),
    ] {
        let added = branch(graph, &[], of, kind, bodies);
        assert_eq!(added, Err(INVALID_VALUE), "{kind} with {bodies}");
    }
    for wrong in [0, 0x12345, handle(other, Some(1))] {
        let added = branch(graph, &[], wrong, IF, 1);
        assert_eq!(added, Err(INVALID_VALUE), "{wrong}");
    }
    let (node, bodies) = branch(graph, &[], of, IF, 1).unwrap();
    // A node has a handle of its own.
    assert_eq!(branch(graph, &[], of, IF, 1), Err(INVALID_VALUE));
    // In a body, a handle may be that of the graph or of the body.
    assert!(branch(bodies[0], &[], handle(graph, Some(0)), IF, 1).is_ok());
    assert!(branch(bodies[0], &[], handle(bodies[0], Some(0)), IF, 1).is_ok());
    let mut copy = 0;
    assert_eq!(
        cu!(cuGraphClone(&mut copy => *mut Handle, graph => Handle)),
        NOT_SUPPORTED
    );
    let as_child = add(other, &[], &mut params(4, &[graph as u64]));
    assert_eq!(as_child, Err(NOT_SUPPORTED));
    assert_eq!(destroy(bodies[0]), INVALID_VALUE);
    assert_eq!(instantiate(bodies[0]), Err(NOT_SUPPORTED));
    let executable = instantiate(graph).unwrap();
    assert_eq!(why_not(graph), (NOT_SUPPORTED, 1, 0));
    let mut changed = params(13, &[of, 1 << 32, 0, own as u64]);
    assert_eq!(
        cu!(cuGraphNodeSetParams(node => Handle, &mut changed => *mut Params)),
        NOT_SUPPORTED
    );
    assert_eq!(
        cu!(cuGraphExecNodeSetParams(executable => Handle, node => Handle, &mut changed => *mut Params)),
        NOT_SUPPORTED
    );
    assert_eq!(cu!(cuGraphExecDestroy(executable => Handle)), 0);
    // Without its node the handle is free again, and the bodies have gone.
    assert_eq!(cu!(cuGraphDestroyNode(node => Handle)), 0);
    let mut count = 0usize;
    let nodes = cu!(cuGraphGetNodes(bodies[0] => Handle, std::ptr::null_mut() => *mut Handle, &mut count => *mut usize));
    assert_ne!(nodes, 0);
    assert!(branch(graph, &[], of, IF, 1).is_ok());
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

#[test]
fn a_body_has_some_kinds_of_nodes_alone() {
    context();
    let unused = graph();
    handle(unused, Some(1));
    assert_eq!(why_not(unused), (INVALID_VALUE, 5, 0));
    let event = event() as u64;
    let call = nothing as *const () as u64;
    let (device, host) = (allocate(64), vec![0u8; 64]);
    let mut copy = [0u64; 2 + 25];
    // From device memory to pageable memory, by `CUDA_MEMCPY3D`.
    (copy[2 + 4], copy[2 + 6]) = (2, device);
    (copy[2 + 15], copy[2 + 16]) = (1, host.as_ptr() as u64);
    (copy[2 + 22], copy[2 + 23], copy[2 + 24]) = (8, 1, 1);
    // To another place in device memory, and to an array of 8 floats.
    let (mut within, mut into) = (copy, copy);
    (within[2 + 15], within[2 + 17]) = (2, device + 32);
    let (mut array, shape) = (0usize, [8u64, 0, 0, 0x20 | 1 << 32, 0]);
    let made = cu!(cuArray3DCreate_v2(&mut array => *mut usize, &shape => *const [u64; 5]));
    assert_eq!(made, 0);
    (into[2 + 15], into[2 + 18]) = (3, array as u64);
    for (kind, words, result) in [
        (3, vec![call, 0], 3),
        (6, vec![event], 3),
        (7, vec![event], 3),
        (10, vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64], 3),
        (5, vec![], 0),
        (1, copy.to_vec(), 4),
        (1, within.to_vec(), 0),
        (1, into.to_vec(), 3),
    ] {
        let graph = graph();
        let (_, bodies) = branch(graph, &[], handle(graph, Some(1)), IF, 1).unwrap();
        let added = add(bodies[0], &[], &mut params(kind, &words));
        let node = added.unwrap_or_else(|code| panic!("node {kind}: {code}"));
        let expected = match result {
            0 => (0, 0, 0),
            _ => (INVALID_VALUE, result, node),
        };
        assert_eq!(why_not(graph), expected, "node {kind}");
    }
    // A child graph in it as well.
    let (graph, child) = (graph(), graph());
    add(child, &[], &mut params(3, &[call, 0])).unwrap();
    let (_, bodies) = branch(graph, &[], handle(graph, Some(1)), IF, 1).unwrap();
    add(bodies[0], &[], &mut params(4, &[child as u64])).unwrap();
    let (done, result, _) = why_not(graph);
    assert_eq!((done, result), (INVALID_VALUE, 3));
}

#[test]
fn a_launch_with_conditions_is_no_part_of_a_capture() {
    context();
    let (graph, stream) = (graph(), stream(1));
    branch(graph, &[], handle(graph, Some(1)), IF, 1).unwrap();
    let executable = instantiate(graph).unwrap();
    assert_eq!(
        cu!(cuStreamBeginCapture_v2(stream => Handle, RELAXED => c_int)),
        0
    );
    assert_eq!(run(executable, stream), CAPTURE_UNSUPPORTED);
}

#[test]
fn an_update_changes_defaults_and_bodies() {
    context();
    let kernels = module(KERNELS);
    let counts = allocate(8);
    write(counts, &[0; 2]);
    let first = graph();
    let (_, bodies) = branch(first, &[], handle(first, Some(1)), IF, 2).unwrap();
    kernel(kernels, "up", bodies[0], &[], &[counts]);
    kernel(kernels, "up", bodies[1], &[], &[counts]);
    let executable = instantiate(first).unwrap();
    let second = graph();
    let (_, others) = branch(second, &[], handle(second, Some(0)), IF, 2).unwrap();
    kernel(kernels, "up", others[1], &[], &[counts + 4]);
    assert_eq!(update(executable, second), (UPDATE_FAILURE, 2));
    kernel(kernels, "up", others[0], &[], &[counts]);
    assert_eq!(update(executable, second), (0, 0));
    assert_eq!(run(executable, 0), 0);
    assert_eq!(read(counts, 2), [0, 1]);
}

#[test]
fn a_handle_outside_of_its_graph_is_an_illegal_address() {
    context();
    let kernels = module(KERNELS);
    let value = allocate(4);
    write(value, &[1]);
    let graph = graph();
    let of = handle(graph, Some(1));
    branch(graph, &[], of, IF, 1).unwrap();
    let set = common::function(kernels, "set");
    let args = [common::arg(&of), common::arg(&value)];
    let launched = common::launch(set, 1, 0, &args);
    let ended = cu!(cuCtxSynchronize());
    assert!([launched, ended].contains(&ILLEGAL_ADDRESS));
}

#[test]
fn a_graph_without_handles_is_as_none() {
    context();
    let kernels = module(KERNELS);
    let value = allocate(4);
    write(value, &[1]);
    let (with, without) = (graph(), graph());
    let of = handle(with, Some(1));
    kernel(kernels, "set", without, &[], &[of, value]);
    let launched = run(instantiate(without).unwrap(), 0);
    let ended = cu!(cuCtxSynchronize());
    assert!([launched, ended].contains(&ILLEGAL_ADDRESS));
}

#[test]
fn a_handle_of_another_graph_is_told_and_does_nothing() {
    context();
    let kernels = module(KERNELS);
    let [value, count] = [allocate(4), allocate(4)];
    write(value, &[1]);
    write(count, &[0]);
    let (graph, other) = (graph(), graph());
    let of_other = handle(other, Some(0));
    let of = handle(graph, Some(0));
    let set = kernel(kernels, "set", graph, &[], &[of_other, value]);
    let (_, bodies) = branch(graph, &[set], of, IF, 1).unwrap();
    kernel(kernels, "up", bodies[0], &[], &[count]);
    launch(graph);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    assert_eq!(read(count, 1), [0]);
}
