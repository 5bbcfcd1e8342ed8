//! Nodes of graphs by `CUgraphNodeParams`, their edges, copies and updates.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint};

use common::branches::{Params, add, graph, instantiate, params, run};
use common::{
    Handle, KERNELS, allocate, arg, context, event, function, module, read, stream, write,
};

const INVALID_VALUE: c_int = 1;
const LOSSY_QUERY: c_int = 402;
const NOT_SUPPORTED: c_int = 801;

/// A mode of capture that other threads do not notice.
const RELAXED: c_int = 2;

/// `CUgraphEdgeData`: the node behind may begin when the one before says so.
const PROGRAMMATIC: [u8; 8] = [1, 0, 1, 0, 0, 0, 0, 0];

/// What a node has that fills words with a value.
fn fill(to: u64, value: u32, count: u64) -> Params {
    params(2, &[to, 0, u64::from(value) | 4 << 32, count, 1, 0])
}

/// What a node has that adds to a word of memory.
fn adds(kernel: Handle, pointers: &[*const std::ffi::c_void; 2]) -> Params {
    let one = 1 | 1 << 32;
    params(
        0,
        &[kernel as u64, one, one, one, 0, pointers.as_ptr() as u64],
    )
}

fn edges(graph: Handle, with_data: bool) -> Result<Vec<(Handle, Handle, [u8; 8])>, c_int> {
    let (mut from, mut to, mut data, mut count) = ([0; 8], [0; 8], [[0u8; 8]; 8], 8usize);
    let at = if with_data {
        data.as_mut_ptr()
    } else {
        std::ptr::null_mut()
    };
    let got = cu!(cuGraphGetEdges_v2(graph => Handle, from.as_mut_ptr() => *mut Handle, to.as_mut_ptr() => *mut Handle, at => *mut [u8; 8], &mut count => *mut usize));
    if got != 0 {
        return Err(got);
    }
    Ok((0..count)
        .map(|index| (from[index], to[index], data[index]))
        .collect())
}

#[test]
fn nodes_of_each_kind_are_added_and_changed() {
    context();
    let add_kernel = function(module(KERNELS), "add");
    let data = allocate(16);
    write(data, &[0; 4]);
    let (five, seven) = (5u32, 7u32);
    let pointers = |amount| [arg(&data), arg(amount)];
    let own = graph();
    let filled = add(own, &[], &mut fill(data, 1, 4)).unwrap();
    let (by_five, by_seven) = (pointers(&five), pointers(&seven));
    let added = add(own, &[filled], &mut adds(add_kernel, &by_five)).unwrap();
    let empty = add(own, &[added], &mut params(5, &[])).unwrap();
    let recorded = add(own, &[empty], &mut params(7, &[event() as u64])).unwrap();
    assert!(add(own, &[recorded], &mut params(6, &[event() as u64])).is_ok());
    let executable = instantiate(own).unwrap();
    assert_eq!(run(executable, 0), 0);
    assert_eq!(read(data, 4), [6, 1, 1, 1]);
    // Nodes of an executable graph, and of a graph.
    let set = |node: Handle, given: &Params| cu!(cuGraphNodeSetParams(node => Handle, given => *const Params));
    let set_executable = |node: Handle, given: &Params| cu!(cuGraphExecNodeSetParams(executable => Handle, node => Handle, given => *const Params));
    assert_eq!(set_executable(filled, &fill(data, 2, 4)), 0);
    assert_eq!(set_executable(added, &adds(add_kernel, &by_seven)), 0);
    assert_eq!(run(executable, 0), 0);
    assert_eq!(read(data, 4), [9, 2, 2, 2]);
    assert_eq!(set(filled, &fill(data, 3, 4)), 0);
    assert_eq!(run(instantiate(own).unwrap(), 0), 0);
    assert_eq!(read(data, 4), [8, 3, 3, 3]);
    // The kind stays.
    assert_eq!(set(added, &fill(data, 3, 4)), INVALID_VALUE);
    assert_eq!(set_executable(added, &fill(data, 3, 4)), INVALID_VALUE);
    assert_eq!(add(own, &[], &mut params(77, &[])), Err(INVALID_VALUE));
    // What a GPU's driver has and this one has not is named.
    assert_eq!(add(own, &[], &mut params(12, &[])), Err(NOT_SUPPORTED));
}

#[test]
fn edges_keep_their_data() {
    context();
    let add_kernel = function(module(KERNELS), "add");
    let (data, one) = (allocate(16), 1u32);
    let pointers = [arg(&data), arg(&one)];
    let own = graph();
    let [first, second] =
        [(); 2].map(|()| add(own, &[], &mut adds(add_kernel, &pointers)).unwrap());
    let mut third = 0;
    let both = [first, second];
    let given = [PROGRAMMATIC, [0; 8]];
    let mut node = adds(add_kernel, &pointers);
    let add_with = |with: &[[u8; 8]; 2], to: &mut Handle, own_params: &mut Params| cu!(cuGraphAddNode_v2(to => *mut Handle, own => Handle, both.as_ptr() => *const Handle, with.as_ptr() => *const [u8; 8], 2 => usize, own_params => *mut Params));
    assert_eq!(add_with(&given, &mut third, &mut node), 0);
    let expected = vec![(first, third, PROGRAMMATIC), (second, third, [0; 8])];
    assert_eq!(edges(own, true), Ok(expected));
    assert_eq!(edges(own, false), Err(LOSSY_QUERY));
    let wrong = [[0, 3, 0, 0, 0, 0, 0, 0], [0; 8]];
    assert_eq!(add_with(&wrong, &mut 0, &mut node), INVALID_VALUE);
    let remove = |from: Handle| cu!(cuGraphRemoveDependencies_v2(own => Handle, &from => *const Handle, &third => *const Handle, std::ptr::null() => *const u64, 1 => usize));
    assert_eq!(remove(first), 0);
    assert_eq!(edges(own, false), Ok(vec![(second, third, [0; 8])]));
    assert_eq!(remove(first), INVALID_VALUE);
}

#[test]
fn copies_of_graphs_have_nodes_of_their_own() {
    context();
    let data = allocate(4);
    let (original, child) = (graph(), graph());
    let inner = add(child, &[], &mut fill(data, 1, 1)).unwrap();
    let node = add(original, &[], &mut params(4, &[child as u64])).unwrap();
    // The child is a copy: what changes there later is not in it.
    let set = |of: Handle, value: u32| cu!(cuGraphNodeSetParams(of => Handle, &fill(data, value, 1) => *const Params));
    assert_eq!(set(inner, 2), 0);
    let found = |of: Handle, within: Handle| {
        let mut copy = 0;
        let done =
            cu!(cuGraphNodeFindInClone(&mut copy => *mut Handle, of => Handle, within => Handle));
        if done == 0 { Ok(copy) } else { Err(done) }
    };
    let child_of = |of: Handle| {
        let mut graph = 0;
        let done = cu!(cuGraphChildGraphNodeGetGraph(of => Handle, &mut graph => *mut Handle));
        assert_eq!(done, 0);
        graph
    };
    let mut clone = 0;
    assert_eq!(
        cu!(cuGraphClone(&mut clone => *mut Handle, original => Handle)),
        0
    );
    let of_clone = found(node, clone).unwrap();
    assert_ne!(of_clone, node);
    assert_eq!(found(of_clone, original), Err(INVALID_VALUE));
    let own = child_of(node);
    assert_ne!(child_of(of_clone), own);
    let in_child = found(inner, own).unwrap();
    // A change of the child's graph is one of the node.
    assert_eq!(set(in_child, 7), 0);
    for (graph, expected) in [(clone, 1), (original, 7)] {
        assert_eq!(run(instantiate(graph).unwrap(), 0), 0);
        assert_eq!(read(data, 1), [expected]);
    }
    // A node in a child can be changed where it is executed.
    let executable = instantiate(original).unwrap();
    let given = fill(data, 9, 1);
    assert_eq!(
        cu!(cuGraphExecNodeSetParams(executable => Handle, in_child => Handle, &given => *const Params)),
        0
    );
    assert_eq!(run(executable, 0), 0);
    assert_eq!(read(data, 1), [9]);
    assert_eq!(cu!(cuGraphDestroy(own => Handle)), INVALID_VALUE);
    assert_eq!(cu!(cuGraphDestroy(original => Handle)), 0);
    assert_ne!(cu!(cuGraphDestroy(own => Handle)), 0);
}

#[test]
fn a_recorded_launch_is_a_child_with_a_graph() {
    context();
    let (data, stream) = (allocate(4), stream(1));
    let inner = graph();
    add(inner, &[], &mut fill(data, 4, 1)).unwrap();
    let executable = instantiate(inner).unwrap();
    assert_eq!(
        cu!(cuStreamBeginCapture_v2(stream => Handle, RELAXED => c_int)),
        0
    );
    assert_eq!(run(executable, stream), 0);
    let (mut outer, mut node, mut count) = (0, 0, 1usize);
    assert_eq!(
        cu!(cuStreamEndCapture(stream => Handle, &mut outer => *mut Handle)),
        0
    );
    let got =
        cu!(cuGraphGetNodes(outer => Handle, &mut node => *mut Handle, &mut count => *mut usize));
    assert_eq!((got, count), (0, 1));
    let mut graph = 0;
    assert_eq!(
        cu!(cuGraphChildGraphNodeGetGraph(node => Handle, &mut graph => *mut Handle)),
        0
    );
    let inside =
        cu!(cuGraphGetNodes(graph => Handle, &mut node => *mut Handle, &mut count => *mut usize));
    assert_eq!((inside, count), (0, 1));
    let mut kind: c_uint = 0;
    assert_eq!(
        cu!(cuGraphNodeGetType(node => Handle, &mut kind => *mut c_uint)),
        0
    );
    assert_eq!(kind, 2);
    assert_eq!(run(instantiate(outer).unwrap(), 0), 0);
    assert_eq!(read(data, 1), [4]);
}
