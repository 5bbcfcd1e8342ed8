//! Streams that record a graph instead of doing their work.

use std::ffi::c_int;

use super::graph::handles;
use crate::call::{get, put, put_if_wanted};
use crate::code::{Code, Outcome};
use crate::driver::{unsafe_calls, with};
use crate::objects::Handle;
use crate::objects::graph::Mode;

/// Where the results of `cuStreamGetCaptureInfo` go.
struct Places {
    status: *mut c_int,
    id: *mut u64,
    graph: *mut Handle,
    nodes: *mut *const Handle,
    count: *mut usize,
}

/// # Safety
///
/// As [`put_if_wanted`].
unsafe fn put_info(stream: Handle, to: Places) -> Outcome {
    thread_local! {
        /// The nodes that a caller was given last: they are valid until its next call.
        static NODES: std::cell::RefCell<Vec<Handle>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    let (status, id, graph, nodes) = with(|driver| driver.capture_info(stream))?;
    // SAFETY: the caller promises it.
    unsafe {
        put(to.status, status)?;
        put_if_wanted(to.id, id);
        put_if_wanted(to.graph, graph);
        put_if_wanted(to.count, nodes.len());
        NODES.with_borrow_mut(|kept| {
            *kept = nodes;
            put_if_wanted(to.nodes, kept.as_ptr());
        });
    }
    Ok(())
}

/// # Safety
///
/// There are `count` nodes.
unsafe fn set_behind(
    stream: Handle,
    nodes: *const Handle,
    count: usize,
    replaces: bool,
) -> Outcome {
    // SAFETY: the caller promises it.
    let given = unsafe { handles(nodes, count) }?;
    with(|driver| {
        let key = driver.stream(stream)?;
        let (_, capture) = driver.valid_capture_of(key)?.ok_or(Code::ILLEGAL_STATE)?;
        let behind = capture.streams.entry(key).or_default();
        if replaces {
            behind.clear();
        }
        behind.extend(given);
        Ok(())
    })
}

fn begin(stream: Handle, mode: c_int) -> Outcome {
    with(|driver| {
        let key = driver.stream(stream)?;
        driver.begin_capture(key, Mode::of(mode)?, None)
    })
}

driver_api! {
    fn cuStreamBeginCapture(stream: Handle) { begin(stream, Mode::Global as c_int) }
    fn cuStreamBeginCapture_v2(stream: Handle, mode: c_int) { begin(stream, mode) }
    fn cuStreamBeginCaptureToGraph(stream: Handle, graph: Handle, nodes: *const Handle, _edges: *const u64, count: usize, mode: c_int) {
        let behind = handles(nodes, count)?;
        with(|driver| {
            driver.graph(graph)?;
            let key = driver.stream(stream)?;
            driver.begin_capture(key, Mode::of(mode)?, Some((graph, behind)))
        })
    }
    fn cuStreamEndCapture(stream: Handle, to: *mut Handle) {
        let ended = with(|driver| { let key = driver.stream(stream)?; driver.end_capture(key) });
        // A program that records into a graph of its own knows which it is.
        put_if_wanted(to, *ended.as_ref().unwrap_or(&0));
        ended.map(|_| ())
    }
    fn cuStreamIsCapturing(stream: Handle, to: *mut c_int) { put(to, with(|driver| driver.capture_info(stream))?.0) }
    fn cuStreamGetCaptureInfo(stream: Handle, status: *mut c_int, id: *mut u64) {
        let (nodes, graph, count) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        put_info(stream, Places { status, id, graph, nodes, count })
    }
    fn cuStreamGetCaptureInfo_v2(stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle, count: *mut usize) {
        put_info(stream, Places { status, id, graph, nodes, count })
    }
    fn cuStreamGetCaptureInfo_v3(stream: Handle, status: *mut c_int, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle, edges: *mut usize, count: *mut usize) {
        put_if_wanted(edges, 0);
        put_info(stream, Places { status, id, graph, nodes, count })
    }
    fn cuStreamUpdateCaptureDependencies(stream: Handle, nodes: *const Handle, count: usize, flags: u32) { set_behind(stream, nodes, count, flags == 1) }
    fn cuStreamUpdateCaptureDependencies_v2(stream: Handle, nodes: *const Handle, _edges: *const u64, count: usize, flags: u32) { set_behind(stream, nodes, count, flags == 1) }
    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_int) {
        put(mode, unsafe_calls::exchange_mode(Mode::of(get(mode)?)? as c_int))
    }
}
