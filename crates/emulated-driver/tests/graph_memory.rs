//! Memory that graphs allocate and free. The results are those of an H200 (driver 580).
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint, c_void};

use common::{Handle, KERNELS, allocate, arg, context, function, launch, module, stream};

const INVALID_VALUE: c_int = 1;
const NOT_FOUND: c_int = 500;
const NOT_SUPPORTED: c_int = 801;
const CAPTURE_UNSUPPORTED: c_int = 900;
const CAPTURE_INVALIDATED: c_int = 901;
const UPDATE_FAILURE: c_int = 910;

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
struct Params {
    kind: c_int,
    handles: c_int,
    place: [c_int; 2],
    security: usize,
    most: usize,
    others: [u8; 56],
    access: *const [c_int; 3],
    count: usize,
    bytes: usize,
    address: u64,
}

/// `CUDA_KERNEL_NODE_PARAMS`, of the second version.
#[repr(C)]
struct Kernel {
    function: Handle,
    shape: [c_uint; 7],
    parameters: *const *const c_void,
    others: [usize; 3],
}

/// Pinned memory of device 0.
fn params(bytes: usize) -> Params {
    Params {
        kind: 1,
        handles: 0,
        place: [1, 0],
        security: 0,
        most: 0,
        others: [0; 56],
        access: std::ptr::null(),
        count: 0,
        bytes,
        address: 0,
    }
}

fn graph() -> Handle {
    let mut graph = 0;
    assert_eq!(
        cu!(cuGraphCreate(&mut graph => *mut Handle, 0 => c_uint)),
        0
    );
    graph
}

/// Adds a node that allocates, and one behind it that fills the memory with a byte.
fn allocates(graph: Handle, bytes: usize) -> ([Handle; 2], u64) {
    let (mut node, mut given) = (0, params(bytes));
    let added = cu!(cuGraphAddMemAllocNode(&mut node => *mut Handle, graph => Handle, std::ptr::null() => *const Handle, 0 => usize, &mut given => *mut Params));
    assert_eq!(added, 0);
    assert_ne!(given.address, 0);
    let fill = [given.address, 0, 7 | 1 << 32, bytes as u64, 1];
    let mut filled = 0;
    let memset = cu!(cuGraphAddMemsetNode(&mut filled => *mut Handle, graph => Handle, &node => *const Handle, 1 => usize, fill.as_ptr() => *const u64, 0 => Handle));
    assert_eq!(memset, 0);
    ([node, filled], given.address)
}

/// Adds a node that frees, behind another.
fn frees(graph: Handle, behind: &[Handle], address: u64) -> (c_int, Handle) {
    let mut node = 0;
    let added = cu!(cuGraphAddMemFreeNode(&mut node => *mut Handle, graph => Handle, behind.as_ptr() => *const Handle, behind.len() => usize, address => u64));
    (added, node)
}

fn instantiate(graph: Handle, flags: u64) -> Result<Handle, c_int> {
    let mut made = 0;
    match cu!(cuGraphInstantiateWithFlags(&mut made => *mut Handle, graph => Handle, flags => u64))
    {
        0 => Ok(made),
        code => Err(code),
    }
}

fn run(executable: Handle, stream: Handle) -> c_int {
    cu!(cuGraphLaunch(executable => Handle, stream => Handle))
}

fn synchronize(stream: Handle) {
    assert_eq!(cu!(cuStreamSynchronize(stream => Handle)), 0);
}

fn free_in_order(address: u64, stream: Handle) -> c_int {
    cu!(cuMemFreeAsync(address => u64, stream => Handle))
}

fn free(address: u64) -> c_int {
    cu!(cuMemFree_v2(address => u64))
}

/// The first byte, or why it cannot be read.
fn byte(address: u64) -> Result<u8, c_int> {
    let mut byte = 0u8;
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    match cu!(cuMemcpyDtoH_v2(&mut byte => *mut u8, address => u64, 1 => usize)) {
        0 => Ok(byte),
        code => Err(code),
    }
}

fn attribute(number: c_int) -> u64 {
    let mut value = 0u64;
    let given =
        cu!(cuDeviceGetGraphMemAttribute(0 => c_int, number => c_int, &mut value => *mut u64));
    assert_eq!(given, 0);
    value
}

#[test]
fn memory_is_there_from_the_launch_to_the_free_at_one_address() {
    context();
    let (graph, stream) = (graph(), stream(1));
    let (_, address) = allocates(graph, 4096);
    let (mut kind, mut start, mut bytes) = (0u32, 0u64, 0usize);
    let range = |from: &mut u64, size: &mut usize| cu!(cuMemGetAddressRange_v2(from => *mut u64, size => *mut usize, address => u64));
    // Before the launch no function knows it.
    assert_eq!(
        cu!(cuPointerGetAttribute(&mut kind => *mut u32, 2 => c_int, address => u64)),
        INVALID_VALUE
    );
    assert_eq!(range(&mut start, &mut bytes), NOT_FOUND);
    assert_eq!(byte(address), Err(INVALID_VALUE));
    assert_eq!(free_in_order(address, stream), INVALID_VALUE);
    assert_eq!(free(address), INVALID_VALUE);
    let executable = instantiate(graph, 0).unwrap();
    assert_eq!(run(executable, stream), 0);
    synchronize(stream);
    assert_eq!(
        cu!(cuPointerGetAttribute(&mut kind => *mut u32, 2 => c_int, address => u64)),
        0
    );
    assert_eq!(range(&mut start, &mut bytes), 0);
    assert_eq!((kind, start, bytes), (2, address, 4096));
    assert_eq!(byte(address), Ok(7));
    // Again only when it was freed.
    assert_eq!(run(executable, stream), INVALID_VALUE);
    assert_eq!(free_in_order(address, stream), 0);
    assert_eq!(free_in_order(address, stream), INVALID_VALUE);
    assert_eq!(run(executable, stream), 0);
    assert_eq!(free(address), 0);
    assert_eq!(free(address), INVALID_VALUE);
    assert_eq!(byte(address), Err(INVALID_VALUE));
    assert_eq!(run(executable, stream), 0);
    // The graph may go, and its memory stays.
    assert_eq!(cu!(cuGraphExecDestroy(executable => Handle)), 0);
    let again = instantiate(graph, 0).unwrap();
    assert_eq!(run(again, stream), INVALID_VALUE);
    assert_eq!(cu!(cuGraphDestroy(graph => Handle)), 0);
    assert_eq!(cu!(cuGraphExecDestroy(again => Handle)), 0);
    assert_eq!(byte(address), Ok(7));
    assert_eq!(free_in_order(address, stream), 0);
}

#[test]
fn a_graph_with_memory_is_one_of_its_kind() {
    context();
    let (graph, stream, other) = (graph(), stream(1), crate::graph());
    let ([_, filled], address) = allocates(graph, 64);
    let (mut copy, mut node) = (0, 0);
    assert_eq!(
        cu!(cuGraphClone(&mut copy => *mut Handle, graph => Handle)),
        NOT_SUPPORTED
    );
    assert_eq!(cu!(cuGraphDestroyNode(filled => Handle)), NOT_SUPPORTED);
    let child = cu!(cuGraphAddChildGraphNode(&mut node => *mut Handle, other => Handle, std::ptr::null() => *const Handle, 0 => usize, graph => Handle));
    assert_eq!(child, NOT_SUPPORTED);
    let executable = instantiate(graph, 0).unwrap();
    assert_eq!(instantiate(graph, 0), Err(NOT_SUPPORTED));
    // It cannot become a node of another by a capture either.
    assert_eq!(
        cu!(cuStreamBeginCapture_v2(stream => Handle, 2 => c_int)),
        0
    );
    assert_eq!(run(executable, stream), CAPTURE_UNSUPPORTED);
    assert_eq!(
        cu!(cuStreamEndCapture(stream => Handle, &mut copy => *mut Handle)),
        CAPTURE_INVALIDATED
    );
    // A graph with another allocation does not update it.
    let ([..], theirs) = allocates(other, 64);
    assert_ne!(theirs, address);
    let mut info = [0usize; 3];
    let update = |new: Handle, came: &mut [usize; 3]| cu!(cuGraphExecUpdate_v2(executable => Handle, new => Handle, came => *mut [usize; 3]));
    assert_eq!(update(other, &mut info), UPDATE_FAILURE);
    assert_eq!(info[0] as c_int, 1);
    assert_eq!(update(graph, &mut info), 0);
}

#[test]
fn a_node_frees_what_a_node_has_allocated() {
    context();
    let (graph, other, stream) = (graph(), crate::graph(), stream(1));
    let ([allocation, filled], address) = allocates(graph, 64);
    let ours = allocate(64);
    for wrong in [address + 16, 0, ours] {
        assert_eq!(frees(graph, &[filled], wrong).0, INVALID_VALUE);
    }
    let (added, freed) = frees(graph, &[filled], address);
    assert_eq!(added, 0);
    assert_eq!(frees(graph, &[filled], address).0, INVALID_VALUE, "twice");
    assert_eq!(
        frees(other, &[], address).0,
        INVALID_VALUE,
        "of another graph"
    );
    let (mut given, mut found) = (params(0), 0u64);
    assert_eq!(
        cu!(cuGraphMemAllocNodeGetParams(allocation => Handle, &mut given => *mut Params)),
        0
    );
    assert_eq!(
        (given.kind, given.place, given.bytes, given.address),
        (1, [1, 0], 64, address)
    );
    assert_eq!(
        cu!(cuGraphMemFreeNodeGetParams(freed => Handle, &mut found => *mut u64)),
        0
    );
    assert_eq!(found, address);
    assert_eq!(
        cu!(cuGraphMemFreeNodeGetParams(filled => Handle, &mut found => *mut u64)),
        INVALID_VALUE
    );
    let kinds = [allocation, freed].map(|node| {
        let mut kind = 0;
        assert_eq!(
            cu!(cuGraphNodeGetType(node => Handle, &mut kind => *mut c_int)),
            0
        );
        kind
    });
    assert_eq!(kinds, [10, 11]);
    let executable = instantiate(graph, 0).unwrap();
    for _ in 0..3 {
        assert_eq!(run(executable, stream), 0);
    }
    assert_eq!(free_in_order(address, stream), INVALID_VALUE);
    assert_eq!(byte(address), Err(INVALID_VALUE));
}

#[test]
fn graphs_free_what_another_has_allocated_one_after_the_other() {
    context();
    let (graph, other, third, stream) = (graph(), crate::graph(), crate::graph(), stream(1));
    let ([_, filled], address) = allocates(graph, 64);
    assert_eq!(frees(other, &[], address).0, 0);
    assert_eq!(frees(third, &[], address).0, 0);
    assert_eq!(frees(graph, &[filled], address).0, INVALID_VALUE);
    let [allocating, freeing] = [graph, other].map(|graph| instantiate(graph, 0).unwrap());
    assert_eq!(run(freeing, stream), INVALID_VALUE);
    for _ in 0..2 {
        assert_eq!(run(allocating, stream), 0);
        assert_eq!(run(freeing, stream), 0);
    }
    assert_eq!(run(freeing, stream), INVALID_VALUE);
}

#[test]
fn a_graph_may_free_its_memory_when_it_is_launched_again() {
    context();
    let (graph, one, two) = (graph(), stream(1), stream(1));
    let (_, address) = allocates(graph, 64);
    let executable = instantiate(graph, 1).unwrap();
    for stream in [one, one, two] {
        assert_eq!(run(executable, stream), 0);
    }
    synchronize(two);
    assert_eq!(byte(address), Ok(7));
    assert_eq!(free_in_order(address, two), 0);
    assert_eq!(run(executable, one), 0);
    assert_eq!(cu!(cuGraphExecDestroy(executable => Handle)), 0);
    assert_eq!(free(address), 0);
}

#[test]
fn a_stream_that_records_allocates_by_nodes() {
    context();
    let (stream, kernels) = (stream(1), module(KERNELS));
    let (mut address, mut nothing, mut graph) = (0u64, 1u64, 0);
    let mut ordinary = 0u64;
    assert_eq!(
        cu!(cuMemAllocAsync(&mut ordinary => *mut u64, 64 => usize, stream => Handle)),
        0
    );
    assert_eq!(
        cu!(cuStreamBeginCapture_v2(stream => Handle, 2 => c_int)),
        0
    );
    assert_eq!(
        cu!(cuMemAllocAsync(&mut address => *mut u64, 128 => usize, stream => Handle)),
        0
    );
    assert_eq!(
        cu!(cuMemAllocAsync(&mut nothing => *mut u64, 0 => usize, stream => Handle)),
        0
    );
    assert_eq!(nothing, 0);
    assert_eq!(
        cu!(cuMemsetD32Async(address => u64, 5 => c_uint, 32 => usize, stream => Handle)),
        0
    );
    let add = function(kernels, "add");
    assert_eq!(launch(add, 32, stream, &[arg(&address), arg(&2u32)]), 0);
    let out = allocate(128);
    assert_eq!(
        cu!(cuMemcpyDtoDAsync_v2(out => u64, address => u64, 128 => usize, stream => Handle)),
        0
    );
    // Memory that no graph has allocated is not freed by one.
    assert_eq!(free_in_order(ordinary, stream), INVALID_VALUE);
    assert_eq!(free_in_order(address, stream), 0);
    assert_eq!(free_in_order(address, stream), INVALID_VALUE);
    assert_eq!(
        cu!(cuStreamEndCapture(stream => Handle, &mut graph => *mut Handle)),
        0
    );
    let mut count = 0usize;
    assert_eq!(
        cu!(cuGraphGetNodes(graph => Handle, std::ptr::null_mut() => *mut Handle, &mut count => *mut usize)),
        0
    );
    assert_eq!(count, 5);
    let executable = instantiate(graph, 0).unwrap();
    for _ in 0..2 {
        assert_eq!(run(executable, stream), 0);
    }
    synchronize(stream);
    assert_eq!(common::read(out, 32), [7; 32]);
    assert_eq!(free_in_order(ordinary, stream), 0);
}

/// Runs a test alone in a process; false in that process. Gives what the driver has said.
fn alone(name: &str) -> Option<String> {
    const INSIDE: &str = "GRAPH_MEMORY_ALONE";
    if std::env::var_os(INSIDE).is_some() {
        return None;
    }
    let program = std::env::current_exe().unwrap();
    let run = std::process::Command::new(program)
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "")
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    Some(String::from_utf8(run.stderr).unwrap())
}

/// A fault ends its context, and messages have the process's first allocation in them.
#[test]
fn a_kernel_beside_the_life_of_its_memory_is_told() {
    const ILLEGAL_ADDRESS: c_int = 700;
    let name = "a_kernel_beside_the_life_of_its_memory_is_told";
    if let Some(told) = alone(name) {
        let lines = told.lines().filter(|line| line.contains("out of bounds"));
        let said: Vec<_> = lines
            .map(|line| line.rsplit(", at ").next().unwrap())
            .collect();
        let [early, late] = said[..] else {
            panic!("{told}")
        };
        assert!(
            early.ends_with("of buffer `allocation 1`, which is not yet allocated"),
            "{told}"
        );
        assert!(
            late.ends_with("of buffer `allocation 1`, which has been freed"),
            "{told}"
        );
        return;
    }
    context();
    let race = function(module(KERNELS), "race");
    let (graph, stream) = (graph(), stream(1));
    let ([_, filled], address) = allocates(graph, 128);
    assert_eq!(launch(race, 1, stream, &[arg(&address)]), ILLEGAL_ADDRESS);

    context();
    let next = crate::stream(1);
    let (_, freed) = frees(graph, &[filled], address);
    let parameters = [arg(&address)];
    let node = Kernel {
        function: function(module(KERNELS), "race"),
        shape: [1, 1, 1, 1, 1, 1, 0],
        parameters: parameters.as_ptr(),
        others: [0; 3],
    };
    let mut added = 0;
    assert_eq!(
        cu!(cuGraphAddKernelNode_v2(&mut added => *mut Handle, graph => Handle, &freed => *const Handle, 1 => usize, &node => *const Kernel)),
        0
    );
    let executable = instantiate(graph, 0).unwrap();
    assert_eq!(run(executable, next), ILLEGAL_ADDRESS);
}

/// The program's own context: figures are of the whole device.
#[test]
fn a_device_keeps_what_its_graphs_had_until_it_is_trimmed() {
    if alone("a_device_keeps_what_its_graphs_had_until_it_is_trimmed").is_some() {
        return;
    }
    const UNIT: u64 = 32 << 20;
    context();
    let (graph, stream) = (graph(), stream(1));
    let (_, address) = allocates(graph, 4096);
    let executable = instantiate(graph, 0).unwrap();
    let all = || [0, 1, 2, 3].map(attribute);
    assert_eq!(all(), [0; 4]);
    assert_eq!(run(executable, stream), 0);
    assert_eq!(all(), [UNIT; 4]);
    assert_eq!(free(address), 0);
    assert_eq!(all(), [UNIT; 4]);
    assert_eq!(cu!(cuDeviceGraphMemTrim(0 => c_int)), 0);
    assert_eq!(all(), [0, UNIT, 0, UNIT]);
    let set = |number: c_int, value: u64| cu!(cuDeviceSetGraphMemAttribute(0 => c_int, number => c_int, &value => *const u64));
    assert_eq!(set(1, 5), INVALID_VALUE);
    assert_eq!(set(0, 0), INVALID_VALUE);
    assert_eq!((set(1, 0), set(3, 0)), (0, 0));
    assert_eq!(all(), [0; 4]);
    let mut value = 0u64;
    assert_eq!(
        cu!(cuDeviceGetGraphMemAttribute(0 => c_int, 9 => c_int, &mut value => *mut u64)),
        INVALID_VALUE
    );
    let wrong = cu!(cuGraphAddMemAllocNode(&mut value => *mut u64, graph => Handle, std::ptr::null() => *const Handle, 0 => usize, &mut params(0) => *mut Params));
    assert_eq!(wrong, INVALID_VALUE);
}
