//! Nodes of graphs that allocate and free memory.

use std::ffi::c_int;

use super::graph::{add_by, place};
use crate::call::{get, put};
use crate::code::{Code, Outcome};
use crate::driver::with;
use crate::objects::Handle;
use crate::objects::graph::At;
use crate::objects::graph_memory::Access;
use crate::objects::work::Work;

/// `CUDA_MEM_ALLOC_NODE_PARAMS`, which begins with `CUmemPoolProps`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct AllocationNode {
    kind: c_int,
    handles: c_int,
    place: c_int,
    device: c_int,
    security: usize,
    most_bytes: usize,
    others: [u8; 56],
    access: *const Access,
    count: usize,
    bytes: usize,
    address: u64,
}

/// Memory of a device, by `CUmemAllocationType` and `CUmemLocationType`.
const PINNED: c_int = 1;
const DEVICE: c_int = 1;

/// # Safety
///
/// `node` may be read and written, and there are as many nodes and descriptions of access as it
/// and the call say.
pub(crate) unsafe fn add_allocation(
    to: *mut Handle,
    at: At,
    given: *mut AllocationNode,
) -> Outcome {
    // SAFETY: the caller promises it.
    let node = unsafe { get(given) }?;
    if (node.kind, node.handles, node.place) != (PINNED, 0, DEVICE) {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promises it.
    let access: Outcome<_> = { 0..node.count }
        .map(|index| unsafe { get(node.access.add(index)) })
        .collect();
    let access = access?;
    let mut address = 0;
    // SAFETY: the caller promises it.
    unsafe {
        add_by(to, |driver| {
            let (bytes, device) = (node.bytes, node.device);
            let (handle, new) = driver.add_allocation(at, bytes, device, access)?;
            address = new;
            Ok(handle)
        })?;
        put(given, AllocationNode { address, ..node })
    }
}

/// What an allocation node was added with.
fn allocation(node: Handle) -> Outcome<AllocationNode> {
    with(|driver| {
        let found = driver.graph_of(node)?.node(node);
        let Some(&Work::Make(address)) = found.map(|found| &found.work) else {
            return Err(Code::INVALID_VALUE);
        };
        let known = { driver.graph_memory.get(&address) }.ok_or(Code::INVALID_VALUE)?;
        Ok(AllocationNode {
            kind: PINNED,
            handles: 0,
            place: DEVICE,
            device: known.device,
            security: 0,
            most_bytes: 0,
            others: [0; 56],
            access: known.access.as_ptr(),
            count: known.access.len(),
            bytes: known.bytes as usize,
            address,
        })
    })
}

fn freed(node: Handle) -> Outcome<u64> {
    with(|driver| match driver.graph_of(node)?.node(node) {
        Some(known) => match known.work {
            Work::Free(address) => Ok(address),
            _ => Err(Code::INVALID_VALUE),
        },
        None => Err(Code::INVALID_VALUE),
    })
}

driver_api! {
    fn cuGraphAddMemAllocNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, node: *mut AllocationNode) {
        add_allocation(to, place(graph, behind, std::ptr::null(), count)?, node)
    }
    fn cuGraphAddMemFreeNode(to: *mut Handle, graph: Handle, behind: *const Handle, count: usize, address: u64) {
        let at = place(graph, behind, std::ptr::null(), count)?;
        add_by(to, |driver| driver.add_free(at, address))
    }
    fn cuGraphMemAllocNodeGetParams(node: Handle, to: *mut AllocationNode) { put(to, allocation(node)?) }
    fn cuGraphMemFreeNodeGetParams(node: Handle, to: *mut u64) { put(to, freed(node)?) }
    fn cuDeviceGetGraphMemAttribute(device: c_int, attribute: c_int, to: *mut u64) {
        put(to, with(|driver| driver.device(device)?.of_graphs.attribute(attribute).ok_or(Code::INVALID_VALUE))?)
    }
    fn cuDeviceSetGraphMemAttribute(device: c_int, attribute: c_int, value: *const u64) {
        let value = get(value)?;
        with(|driver| {
            let is_reset = value == 0 && driver.device(device)?.of_graphs.reset(attribute);
            if is_reset { Ok(()) } else { Err(Code::INVALID_VALUE) }
        })
    }
    fn cuDeviceGraphMemTrim(device: c_int) { with(|driver| { driver.device(device)?.of_graphs.trim(); Ok(()) }) }
}
