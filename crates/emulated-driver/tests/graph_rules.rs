//! What may be within what in graphs, and what stays of them when a call fails.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::c_int;

use common::branches::{
    IF, KERNELS, SWITCH, add, branch, graph, handle, instantiate, kernel, params,
};
use common::{Handle, allocate, context, event, module, stream};

const INVALID_VALUE: c_int = 1;
const NOT_SUPPORTED: c_int = 801;
const CAPTURE_INVALIDATED: c_int = 901;

/// A mode of capture that other threads do not notice.
const RELAXED: c_int = 2;

/// `CUgraphNodeType`.
const CHILD: c_int = 4;
const EMPTY: c_int = 5;
const WAIT: c_int = 6;
const RECORD: c_int = 7;

/// `CUgraphChildGraphNodeOwnership`.
const CLONE: u64 = 0;
const MOVE: u64 = 1;

/// Adds a graph to another, behind a node of it.
fn add_child(
    to: Handle,
    behind: &[Handle],
    child: Handle,
    ownership: u64,
) -> Result<Handle, c_int> {
    add(to, behind, &mut params(CHILD, &[child as u64, ownership]))
}

fn child_graph(node: Handle) -> Handle {
    let mut child = 0;
    let got = cu!(cuGraphChildGraphNodeGetGraph(node => Handle, &mut child => *mut Handle));
    assert_eq!(got, 0);
    child
}

fn is_there(graph: Handle) -> bool {
    let mut count = 0usize;
    cu!(cuGraphGetNodes(graph => Handle, std::ptr::null_mut() => *mut Handle, &mut count => *mut usize))
        == 0
}

fn count(graph: Handle) -> usize {
    let mut count = 0usize;
    let got = cu!(cuGraphGetNodes(graph => Handle, std::ptr::null_mut() => *mut Handle, &mut count => *mut usize));
    assert_eq!(got, 0);
    count
}

fn update(executable: Handle, graph: Handle) -> c_int {
    let mut info = [0usize; 3];
    cu!(cuGraphExecUpdate_v2(executable => Handle, graph => Handle, &mut info => *mut [usize; 3]))
}

#[test]
fn a_graph_does_not_move_into_itself() {
    context();
    let own = graph();
    let inner = child_graph(add_child(own, &[], graph(), CLONE).unwrap());
    assert_eq!(add_child(own, &[], own, MOVE), Err(INVALID_VALUE));
    assert_eq!(add_child(inner, &[], own, MOVE), Err(INVALID_VALUE));
    assert!(instantiate(own).is_ok());
    // A copy is another graph.
    assert!(add_child(own, &[], own, CLONE).is_ok());
    let (_, bodies) = branch(own, &[], handle(own, Some(1)), IF, 1).unwrap();
    assert!(add_child(bodies[0], &[], own, MOVE).is_err());
    assert!(is_there(own));
}

#[test]
fn a_graph_that_cannot_be_moved_stays() {
    context();
    let (own, moved) = (graph(), graph());
    for ownership in [7, u64::from(u32::MAX)] {
        let added = add_child(own, &[], moved, ownership);
        assert_eq!(added, Err(INVALID_VALUE), "{ownership}");
    }
    assert_eq!(add_child(own, &[12345], moved, MOVE), Err(INVALID_VALUE));
    assert_eq!(add_child(12345, &[], moved, MOVE), Err(400));
    assert!(is_there(moved));
    assert!(add_child(own, &[], moved, MOVE).is_ok());
    assert_eq!(add_child(own, &[], moved, MOVE), Err(INVALID_VALUE));
    // Its handles would be those of no graph.
    let with_handle = graph();
    handle(with_handle, Some(1));
    assert_eq!(add_child(own, &[], with_handle, MOVE), Err(NOT_SUPPORTED));
    let outer = graph();
    let inner = child_graph(add_child(outer, &[], graph(), CLONE).unwrap());
    branch(inner, &[], handle(outer, Some(1)), IF, 1).unwrap();
    assert_eq!(add_child(own, &[], outer, MOVE), Err(NOT_SUPPORTED));
}

#[test]
fn a_graph_of_the_program_outlives_a_capture_that_fails() {
    context();
    let (own, stream) = (graph(), stream(1));
    let begun = cu!(cuStreamBeginCaptureToGraph(stream => Handle, own => Handle, std::ptr::null() => *const Handle,
        std::ptr::null() => *const u64, 0 => usize, RELAXED => c_int));
    assert_eq!(begun, 0);
    assert_ne!(cu!(cuStreamSynchronize(stream => Handle)), 0);
    let end = |to: &mut Handle| cu!(cuStreamEndCapture(stream => Handle, to => *mut Handle));
    assert_eq!(end(&mut 0), CAPTURE_INVALIDATED);
    assert!(is_there(own));
    // The graph that a capture has made ends with it.
    let mut made = 0;
    assert_eq!(
        cu!(cuStreamBeginCapture_v2(stream => Handle, RELAXED => c_int)),
        0
    );
    let (mut status, mut id) = (0, 0u64);
    let null = std::ptr::null_mut::<Handle>();
    let known = cu!(cuStreamGetCaptureInfo_v2(stream => Handle, &mut status => *mut c_int, &mut id => *mut u64,
        &mut made => *mut Handle, null => *mut Handle, null => *mut Handle));
    assert_eq!(known, 0);
    assert!(is_there(made));
    assert_ne!(cu!(cuStreamSynchronize(stream => Handle)), 0);
    assert_eq!(end(&mut 0), CAPTURE_INVALIDATED);
    assert!(!is_there(made));
}

#[test]
fn bodies_and_levels_have_bounds() {
    context();
    let own = graph();
    let of = handle(own, Some(0));
    for bodies in [u32::MAX, (1 << 16) + 1] {
        assert_eq!(
            branch(own, &[], of, SWITCH, bodies),
            Err(INVALID_VALUE),
            "{bodies}"
        );
    }
    assert_eq!(branch(own, &[12345], of, IF, 1), Err(INVALID_VALUE));
    assert!(branch(own, &[], of, SWITCH, 1 << 16).is_ok());
    // Bodies within bodies.
    let deep = graph();
    let mut at = deep;
    let mut levels = 1;
    let refused = loop {
        match branch(at, &[], handle(deep, Some(0)), IF, 1) {
            Ok((_, bodies)) => at = bodies[0],
            Err(code) => break code,
        }
        levels += 1;
        assert!(levels < 10_000);
    };
    assert_eq!(refused, INVALID_VALUE);
    assert!(levels >= 100, "{levels}");
    // Children within children, from within.
    let mut outer = graph();
    let too_deep = (0..10_000).find_map(|_| {
        let inner = std::mem::replace(&mut outer, graph());
        add_child(outer, &[], inner, MOVE).err()
    });
    assert_eq!(too_deep, Some(INVALID_VALUE));
}

#[test]
fn a_handle_is_free_when_its_node_has_gone_with_what_was_around_it() {
    context();
    let own = graph();
    let (of_outer, of_inner) = (handle(own, Some(0)), handle(own, Some(0)));
    let (outer, bodies) = branch(own, &[], of_outer, IF, 1).unwrap();
    branch(bodies[0], &[], of_inner, IF, 1).unwrap();
    assert_eq!(branch(own, &[], of_inner, IF, 1), Err(INVALID_VALUE));
    assert_eq!(cu!(cuGraphDestroyNode(outer => Handle)), 0);
    assert_eq!(instantiate(own), Err(INVALID_VALUE));
    assert!(branch(own, &[], of_inner, IF, 1).is_ok());
    assert!(branch(own, &[], of_outer, IF, 1).is_ok());
    assert!(instantiate(own).is_ok());
}

#[test]
fn bodies_keep_their_rules_when_they_are_changed() {
    context();
    let kernels = module(KERNELS);
    let word = allocate(4);
    let host = [0u32; 1];
    let copy = |to: u64, is_device: bool| {
        let mut copy = [0u64; 2 + 25];
        (copy[2 + 4], copy[2 + 6]) = (2, word);
        if is_device {
            (copy[2 + 15], copy[2 + 17]) = (2, to);
        } else {
            (copy[2 + 15], copy[2 + 16]) = (1, to);
        }
        (copy[2 + 22], copy[2 + 23], copy[2 + 24]) = (4, 1, 1);
        params(1, &copy)
    };
    let with_copy = |to: u64, is_device: bool| {
        let own = graph();
        let (_, bodies) = branch(own, &[], handle(own, Some(1)), IF, 1).unwrap();
        let node = add(bodies[0], &[], &mut copy(to, is_device)).unwrap();
        (own, bodies[0], node)
    };
    let pageable = host.as_ptr() as u64;
    let (own, body, node) = with_copy(allocate(4), true);
    let (wrong, ..) = with_copy(pageable, false);
    let executable = instantiate(own).unwrap();
    assert_eq!(update(executable, wrong), INVALID_VALUE);
    let set = |given: &mut common::branches::Params| cu!(cuGraphExecNodeSetParams(executable => Handle, node => Handle, given => *mut common::branches::Params));
    assert_eq!(set(&mut copy(pageable, false)), INVALID_VALUE);
    assert_eq!(set(&mut copy(allocate(4), true)), 0);
    assert_eq!(update(executable, own), 0);
    // A body is part of its graph, and so is what is in it.
    let inner = child_graph(add_child(body, &[], graph(), CLONE).unwrap());
    assert_eq!(instantiate(inner), Err(NOT_SUPPORTED));
    let same = graph();
    add(same, &[], &mut copy(word, true)).unwrap();
    let of_copy = instantiate(same).unwrap();
    let (_, alike, _) = with_copy(allocate(4), true);
    assert_eq!(update(of_copy, alike), NOT_SUPPORTED);
    // So is a graph that was moved, but not one that was copied.
    let (moved, outer) = (graph(), graph());
    kernel(kernels, "up", moved, &[], &[word]);
    let of_kernel = instantiate(moved).unwrap();
    let copied = child_graph(add_child(outer, &[], moved, CLONE).unwrap());
    assert_eq!(update(of_kernel, copied), 0);
    add_child(outer, &[], moved, MOVE).unwrap();
    assert_eq!(update(of_kernel, moved), NOT_SUPPORTED);
    assert_eq!(instantiate(moved), Err(NOT_SUPPORTED));
}

#[test]
fn events_of_nodes_have_the_kind_of_their_nodes() {
    context();
    let own = graph();
    let (one, other) = (event(), event());
    let wait = add(own, &[], &mut params(WAIT, &[one as u64])).unwrap();
    let record = add(own, &[], &mut params(RECORD, &[one as u64])).unwrap();
    let mut found = 0;
    assert_eq!(
        cu!(cuGraphEventRecordNodeSetEvent(wait => Handle, other => Handle)),
        INVALID_VALUE
    );
    assert_eq!(
        cu!(cuGraphEventWaitNodeSetEvent(record => Handle, other => Handle)),
        INVALID_VALUE
    );
    assert_eq!(
        cu!(cuGraphEventRecordNodeGetEvent(wait => Handle, &mut found => *mut Handle)),
        INVALID_VALUE
    );
    assert_eq!(
        cu!(cuGraphEventWaitNodeSetEvent(wait => Handle, other => Handle)),
        0
    );
    assert_eq!(
        cu!(cuGraphEventWaitNodeGetEvent(wait => Handle, &mut found => *mut Handle)),
        0
    );
    assert_eq!(found, other);
    assert_eq!(
        cu!(cuGraphEventRecordNodeGetEvent(record => Handle, &mut found => *mut Handle)),
        0
    );
    assert_eq!(found, one);
}

#[test]
fn a_call_that_has_no_place_for_its_node_adds_none() {
    context();
    let own = graph();
    let null = std::ptr::null_mut::<Handle>();
    let none = std::ptr::null::<Handle>();
    let mut given = params(EMPTY, &[]);
    let added = cu!(cuGraphAddNode(null => *mut Handle, own => Handle, none => *const Handle, 0 => usize, &mut given => *mut common::branches::Params));
    assert_eq!(added, INVALID_VALUE);
    assert_eq!(
        cu!(cuGraphAddEmptyNode(null => *mut Handle, own => Handle, none => *const Handle, 0 => usize)),
        INVALID_VALUE
    );
    assert_eq!(count(own), 0);
}
