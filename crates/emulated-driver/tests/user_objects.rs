//! Objects of the program that graphs keep. The results are those of an H200 (driver 580).
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

use common::{Handle, allocate, context};

const INVALID_VALUE: c_int = 1;
const NOT_PERMITTED: c_int = 800;

/// How often the object's function was called.
type Calls = &'static AtomicI32;

fn calls() -> Calls {
    Box::leak(Box::new(AtomicI32::new(0)))
}

extern "C" fn counts(data: *mut c_void) {
    // SAFETY: the tests give this function counters that live for ever.
    let calls = unsafe { &*data.cast::<AtomicI32>() };
    calls.fetch_add(1, SeqCst);
}

fn object(calls: Calls, count: c_uint) -> Handle {
    let mut object = 0;
    assert_eq!(create(&mut object, calls, Some(counts), count, 1), 0);
    object
}

type Function = Option<extern "C" fn(*mut c_void)>;

fn create(
    to: *mut Handle,
    calls: Calls,
    function: Function,
    count: c_uint,
    flags: c_uint,
) -> c_int {
    cu!(cuUserObjectCreate(to => *mut Handle, calls.as_ptr() as *mut c_void => *mut c_void, function => Function, count => c_uint, flags => c_uint))
}

fn retain(object: Handle, count: c_uint) -> c_int {
    cu!(cuUserObjectRetain(object => Handle, count => c_uint))
}

fn release(object: Handle, count: c_uint) -> c_int {
    cu!(cuUserObjectRelease(object => Handle, count => c_uint))
}

fn keep(graph: Handle, object: Handle, count: c_uint, flags: c_uint) -> c_int {
    cu!(cuGraphRetainUserObject(graph => Handle, object => Handle, count => c_uint, flags => c_uint))
}

fn let_go(graph: Handle, object: Handle, count: c_uint) -> c_int {
    cu!(cuGraphReleaseUserObject(graph => Handle, object => Handle, count => c_uint))
}

fn graph() -> Handle {
    let mut graph = 0;
    assert_eq!(
        cu!(cuGraphCreate(&mut graph => *mut Handle, 0 => c_uint)),
        0
    );
    graph
}

fn destroy(graph: Handle) {
    assert_eq!(cu!(cuGraphDestroy(graph => Handle)), 0);
}

#[test]
fn an_object_ends_with_its_last_reference() {
    context();
    let calls = calls();
    let mut object = 0;
    assert_eq!(
        create(&mut object, calls, Some(counts), 1, 0),
        INVALID_VALUE,
        "without the flag"
    );
    assert_eq!(
        create(&mut object, calls, Some(counts), 0, 1),
        INVALID_VALUE
    );
    assert_eq!(create(&mut object, calls, None, 1, 1), INVALID_VALUE);
    assert_eq!(
        create(std::ptr::null_mut(), calls, Some(counts), 1, 1),
        INVALID_VALUE
    );
    let kept = crate::object(calls, 1);
    for none in [0, 1 << 31] {
        assert_eq!(retain(kept, none), INVALID_VALUE);
        assert_eq!(release(kept, none), INVALID_VALUE);
    }
    assert_eq!(retain(kept, 2), 0);
    assert_eq!(release(kept, 2), 0);
    assert_eq!(calls.load(SeqCst), 0);
    assert_eq!(release(kept, 1), 0);
    assert_eq!(calls.load(SeqCst), 1);
    assert_eq!(release(kept, 1), INVALID_VALUE);
}

#[test]
fn graphs_and_their_copies_keep_an_object() {
    context();
    let (calls, first) = (calls(), graph());
    let object = object(calls, 1);
    assert_eq!(keep(first, object, 0, 1), INVALID_VALUE);
    assert_eq!(keep(first, object, 1, 2), INVALID_VALUE);
    assert_eq!(
        keep(first, object, 2, 1),
        INVALID_VALUE,
        "more than the program has"
    );
    assert_eq!(let_go(first, object, 1), INVALID_VALUE);
    assert_eq!(keep(first, object, 1, 1), 0);
    assert_eq!(keep(first, object, 2, 0), 0);
    assert_eq!(let_go(first, object, 5), INVALID_VALUE);
    assert_eq!(let_go(first, object, 2), 0);
    let (mut copy, parent, mut node, mut executable) = (0, graph(), 0, 0);
    assert_eq!(
        cu!(cuGraphClone(&mut copy => *mut Handle, first => Handle)),
        0
    );
    let child = cu!(cuGraphAddChildGraphNode(&mut node => *mut Handle, parent => Handle, std::ptr::null() => *const Handle, 0 => usize, first => Handle));
    assert_eq!(child, 0);
    assert_eq!(
        cu!(cuGraphInstantiateWithFlags(&mut executable => *mut Handle, first => Handle, 0 => u64)),
        0
    );
    destroy(first);
    destroy(copy);
    assert_eq!(cu!(cuGraphExecDestroy(executable => Handle)), 0);
    assert_eq!(calls.load(SeqCst), 0, "the child is left");
    destroy(parent);
    assert_eq!(calls.load(SeqCst), 1);
}

/// Waits for a word that the test writes.
fn held(stream: Handle, word: &AtomicI32) {
    let waited = cu!(cuStreamWaitValue32_v2(stream => Handle, word.as_ptr() as u64 => u64, 1 => c_uint, 1 => c_uint));
    assert_eq!(waited, 0);
}

#[test]
fn an_object_stays_until_the_last_launch_has_ended() {
    context();
    let (calls, graph) = (calls(), graph());
    assert_eq!(keep(graph, object(calls, 1), 1, 1), 0);
    let (mut stream, mut executable, mut word) = (0, 0, 0usize);
    assert_eq!(
        cu!(cuStreamCreate(&mut stream => *mut Handle, 1 => c_uint)),
        0
    );
    assert_eq!(
        cu!(cuMemAllocHost_v2(&mut word => *mut usize, 4 => usize)),
        0
    );
    // SAFETY: the driver has allocated it, and it is not freed.
    let word = unsafe { &*(word as *const AtomicI32) };
    let fill = [allocate(4), 0, 7 | 1 << 32, 4, 1];
    let mut node = 0;
    let added = cu!(cuGraphAddMemsetNode(&mut node => *mut Handle, graph => Handle, std::ptr::null() => *const Handle, 0 => usize, fill.as_ptr() => *const u64, 0 => Handle));
    assert_eq!(added, 0);
    assert_eq!(
        cu!(cuGraphInstantiateWithFlags(&mut executable => *mut Handle, graph => Handle, 0 => u64)),
        0
    );
    destroy(graph);
    held(stream, word);
    assert_eq!(
        cu!(cuGraphLaunch(executable => Handle, stream => Handle)),
        0
    );
    assert_eq!(cu!(cuGraphExecDestroy(executable => Handle)), 0);
    assert_eq!(calls.load(SeqCst), 0, "its launch waits");
    word.store(1, SeqCst);
    assert_eq!(cu!(cuStreamSynchronize(stream => Handle)), 0);
    assert_eq!(calls.load(SeqCst), 1);
}

extern "C" fn asks(data: *mut c_void) {
    let mut address = 0u64;
    let result = cu!(cuMemAlloc_v2(&mut address => *mut u64, 16 => usize));
    // SAFETY: as `counts`.
    let answer = unsafe { &*data.cast::<AtomicI32>() };
    answer.store(result, SeqCst);
}

#[test]
fn the_function_of_an_object_may_not_call_the_driver() {
    context();
    let (answer, mut object) = (calls(), 0);
    assert_eq!(create(&mut object, answer, Some(asks), 1, 1), 0);
    assert_eq!(release(object, 1), 0);
    assert_eq!(answer.load(SeqCst), NOT_PERMITTED);
}

#[test]
fn the_graph_of_a_captured_launch_keeps_an_object() {
    context();
    let (calls, first) = (calls(), graph());
    let object = object(calls, 1);
    assert_eq!(keep(first, object, 1, 1), 0);
    let (mut executable, mut outer, mut node, mut child) = (0, 0, 0, 0);
    let stream = common::stream(1);
    assert_eq!(
        cu!(cuGraphInstantiateWithFlags(&mut executable => *mut Handle, first => Handle, 0 => u64)),
        0
    );
    assert_eq!(
        cu!(cuStreamBeginCapture_v2(stream => Handle, 2 => c_int)),
        0
    );
    assert_eq!(
        cu!(cuGraphLaunch(executable => Handle, stream => Handle)),
        0
    );
    assert_eq!(
        cu!(cuStreamEndCapture(stream => Handle, &mut outer => *mut Handle)),
        0
    );
    let mut count = 1usize;
    assert_eq!(
        cu!(cuGraphGetNodes(outer => Handle, &mut node => *mut Handle, &mut count => *mut usize)),
        0
    );
    assert_eq!(
        cu!(cuGraphChildGraphNodeGetGraph(node => Handle, &mut child => *mut Handle)),
        0
    );
    assert_eq!(cu!(cuGraphExecDestroy(executable => Handle)), 0);
    destroy(first);
    assert_eq!(calls.load(SeqCst), 0);
    destroy(outer);
    assert_eq!(calls.load(SeqCst), 1);
}
