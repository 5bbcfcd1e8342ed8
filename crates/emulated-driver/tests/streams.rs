//! Streams, events, graphs.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use common::{
    Handle, KERNELS, allocate, arg, context, event, function, launch, module, read, stream, write,
};

/// A word of page-locked memory, which holds 0.
fn word() -> &'static AtomicU32 {
    let mut address = 0usize;
    assert_eq!(
        cu!(cuMemAllocHost_v2(&mut address => *mut usize, 4 => usize)),
        0
    );
    // SAFETY: the driver has allocated it, and no test frees it.
    unsafe { &*(address as *const AtomicU32) }
}

fn wait_for(stream: Handle, word: &AtomicU32, value: u32) {
    let address = word.as_ptr() as u64;
    assert_eq!(
        cu!(cuStreamWaitValue32_v2(stream => Handle, address => u64, value => u32, 0 => c_uint)),
        0
    );
}

const NOT_READY: c_int = 600;

#[test]
fn a_stream_waits_for_a_value_and_others_go_on() {
    context();
    let add = function(module(KERNELS), "add");
    let [data, other] = [allocate(128), allocate(128)];
    write(data, &[0; 32]);
    write(other, &[0; 32]);
    let [held, free] = [stream(1), stream(1)];
    let gate = word();
    let behind = event();
    wait_for(held, gate, 1);
    assert_eq!(launch(add, 32, held, &[arg(&data), arg(&1u32)]), 0);
    assert_eq!(cu!(cuEventRecord(behind => Handle, held => Handle)), 0);
    assert_eq!(launch(add, 32, free, &[arg(&other), arg(&2u32)]), 0);
    assert_eq!(cu!(cuStreamQuery(held => Handle)), NOT_READY);
    assert_eq!(cu!(cuEventQuery(behind => Handle)), NOT_READY);
    assert_eq!(cu!(cuStreamQuery(free => Handle)), 0);
    // A stream that waits for the event waits with it.
    assert_eq!(
        cu!(cuStreamWaitEvent(free => Handle, behind => Handle, 0 => c_uint)),
        0
    );
    assert_eq!(launch(add, 32, free, &[arg(&data), arg(&10u32)]), 0);
    assert_eq!(cu!(cuStreamQuery(free => Handle)), NOT_READY);
    gate.store(1, Ordering::SeqCst);
    assert_eq!(cu!(cuStreamSynchronize(free => Handle)), 0);
    assert_eq!(read(data, 1), [11]);
    assert_eq!(read(other, 1), [2]);
}

#[test]
fn another_thread_lets_a_stream_go_on() {
    let context = context();
    let held = stream(1);
    let gate = word();
    wait_for(held, gate, 1);
    let ended = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            assert_eq!(cu!(cuCtxSetCurrent(context => Handle)), 0);
            cu!(cuStreamSynchronize(held => Handle))
        });
        gate.store(1, Ordering::SeqCst);
        waiting.join().unwrap()
    });
    assert_eq!(ended, 0);
}

#[test]
fn the_legacy_stream_waits_for_blocking_streams_and_they_for_it() {
    context();
    let [blocking, apart] = [stream(0), stream(1)];
    let gate = word();
    let [first, second] = [word(), word()];
    let set = |stream: Handle, word: &AtomicU32| {
        let address = word.as_ptr() as u64;
        assert_eq!(
            cu!(cuStreamWriteValue32_v2(stream => Handle, address => u64, 1 => u32, 0 => c_uint)),
            0
        );
    };
    wait_for(blocking, gate, 1);
    set(0, first);
    set(apart, second);
    assert_eq!(
        (first.load(Ordering::SeqCst), second.load(Ordering::SeqCst)),
        (0, 1)
    );
    gate.store(1, Ordering::SeqCst);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    assert_eq!(first.load(Ordering::SeqCst), 1);
}

#[test]
fn functions_of_the_program_are_called_in_order() {
    unsafe extern "C" fn count(word: *mut c_void) {
        // SAFETY: the test gives the address of a word that lives.
        unsafe { AtomicU32::from_ptr(word.cast()) }.fetch_add(1, Ordering::SeqCst);
    }
    context();
    let (stream, word) = (stream(0), AtomicU32::new(0));
    for _ in 0..3 {
        let called = cu!(cuLaunchHostFunc(stream => Handle, count => unsafe extern "C" fn(*mut c_void), word.as_ptr() => *mut u32));
        assert_eq!(called, 0);
    }
    assert_eq!(cu!(cuStreamSynchronize(stream => Handle)), 0);
    assert_eq!(word.load(Ordering::SeqCst), 3);
}

#[test]
fn events_have_times() {
    context();
    let [start, end] = [event(), event()];
    let mut millis = 0f32;
    let elapsed =
        |to: &mut f32| cu!(cuEventElapsedTime(to => *mut f32, start => Handle, end => Handle));
    assert_eq!(elapsed(&mut millis), 400);
    for event in [start, end] {
        assert_eq!(cu!(cuEventRecord(event => Handle, 0 => Handle)), 0);
    }
    assert_eq!(elapsed(&mut millis), 0);
    assert!(millis > 0.0 && millis < 1000.0, "{millis}");
}

#[test]
fn a_captured_graph_runs_as_often_as_it_is_launched() {
    context();
    let add = function(module(KERNELS), "add");
    let data = allocate(128);
    write(data, &[0; 32]);
    let [main, side] = [stream(1), stream(1)];
    let [forked, joined] = [event(), event()];
    assert_eq!(cu!(cuStreamBeginCapture_v2(main => Handle, 1 => c_int)), 0);
    assert_eq!(launch(add, 32, main, &[arg(&data), arg(&1u32)]), 0);
    assert_eq!(cu!(cuEventRecord(forked => Handle, main => Handle)), 0);
    assert_eq!(
        cu!(cuStreamWaitEvent(side => Handle, forked => Handle, 0 => c_uint)),
        0
    );
    assert_eq!(launch(add, 32, side, &[arg(&data), arg(&2u32)]), 0);
    // Not joined yet.
    assert_eq!(cu!(cuEventRecord(joined => Handle, side => Handle)), 0);
    assert_eq!(
        cu!(cuStreamWaitEvent(main => Handle, joined => Handle, 0 => c_uint)),
        0
    );
    let mut graph = 0;
    assert_eq!(
        cu!(cuStreamEndCapture(main => Handle, &mut graph => *mut Handle)),
        0
    );
    assert_eq!(read(data, 1), [0]);
    let mut nodes = 0usize;
    assert_eq!(
        cu!(cuGraphGetNodes(graph => Handle, 0 => usize, &mut nodes => *mut usize)),
        0
    );
    let mut edges = 0usize;
    assert_eq!(
        cu!(cuGraphGetEdges(graph => Handle, 0 => usize, 0 => usize, &mut edges => *mut usize)),
        0
    );
    assert_eq!((nodes, edges), (2, 1));
    let mut executable = 0;
    assert_eq!(
        cu!(cuGraphInstantiateWithFlags(&mut executable => *mut Handle, graph => Handle, 0 => u64)),
        0
    );
    assert_eq!(cu!(cuGraphDestroy(graph => Handle)), 0);
    for _ in 0..3 {
        assert_eq!(cu!(cuGraphLaunch(executable => Handle, main => Handle)), 0);
    }
    assert_eq!(read(data, 32), [9; 32]);
    assert_eq!(cu!(cuGraphExecDestroy(executable => Handle)), 0);
}

#[test]
fn captures_that_cannot_be_are_refused() {
    context();
    let add = function(module(KERNELS), "add");
    let data = allocate(128);
    let [main, side] = [stream(1), stream(1)];
    let forked = event();
    let mut graph = 0;
    // A stream that takes part is not joined.
    assert_eq!(cu!(cuStreamBeginCapture_v2(main => Handle, 1 => c_int)), 0);
    assert_eq!(cu!(cuEventRecord(forked => Handle, main => Handle)), 0);
    assert_eq!(
        cu!(cuStreamWaitEvent(side => Handle, forked => Handle, 0 => c_uint)),
        0
    );
    assert_eq!(launch(add, 32, side, &[arg(&data), arg(&2u32)]), 0);
    assert_eq!(
        cu!(cuStreamEndCapture(main => Handle, &mut graph => *mut Handle)),
        904
    );
    // A stream that records is waited for.
    assert_eq!(cu!(cuStreamBeginCapture_v2(main => Handle, 1 => c_int)), 0);
    assert_eq!(cu!(cuStreamSynchronize(main => Handle)), 900);
    assert_eq!(
        cu!(cuStreamEndCapture(main => Handle, &mut graph => *mut Handle)),
        901
    );
    assert_eq!(graph, 0);
    // The legacy stream does not record.
    assert_eq!(cu!(cuStreamBeginCapture_v2(0 => Handle, 1 => c_int)), 900);
}

/// Waits until the program has set the word, and then adds 1 to it.
unsafe extern "C" fn wait_for_the_program(word: *mut c_void) {
    // SAFETY: the test gives it a word that lives for ever.
    let word = unsafe { &*word.cast::<AtomicU32>() };
    while word.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    word.fetch_add(1, Ordering::AcqRel);
}

#[test]
fn a_function_may_wait_for_a_later_step_of_the_program() {
    context();
    static WORD: AtomicU32 = AtomicU32::new(0);
    let data = allocate(4);
    write(data, &[0]);
    let held = stream(1);
    let function: unsafe extern "C" fn(*mut c_void) = wait_for_the_program;
    assert_eq!(
        cu!(cuLaunchHostFunc(held => Handle, function => unsafe extern "C" fn(*mut c_void), WORD.as_ptr() as usize => usize)),
        0
    );
    // Later work of the stream waits for the function.
    assert_eq!(
        cu!(cuMemsetD32Async(data => u64, 7 => c_uint, 1 => usize, held => Handle)),
        0
    );
    assert_eq!(cu!(cuStreamQuery(held => Handle)), NOT_READY);
    assert_eq!(read(data, 1), [0]);
    WORD.store(1, Ordering::Release);
    assert_eq!(cu!(cuStreamSynchronize(held => Handle)), 0);
    assert_eq!(WORD.load(Ordering::Acquire), 2);
    assert_eq!(read(data, 1), [7]);
}

/// `cuda.h`: what a stream or an event still has to do goes on when its handle is gone.
#[test]
fn work_goes_on_when_stream_and_event_are_destroyed() {
    context();
    let data = allocate(4);
    write(data, &[0]);
    let [held, behind] = [stream(1), stream(1)];
    let (gate, recorded) = (word(), event());
    wait_for(held, gate, 1);
    let fill = |stream: Handle, value: c_uint| {
        assert_eq!(
            cu!(cuMemsetD32Async(data => u64, value => c_uint, 1 => usize, stream => Handle)),
            0
        );
    };
    fill(held, 5);
    assert_eq!(cu!(cuEventRecord(recorded => Handle, held => Handle)), 0);
    assert_eq!(
        cu!(cuStreamWaitEvent(behind => Handle, recorded => Handle, 0 => c_uint)),
        0
    );
    fill(behind, 6);
    // Nobody waits here, since only the program opens the gate.
    assert_eq!(cu!(cuStreamDestroy_v2(held => Handle)), 0);
    assert_eq!(cu!(cuEventDestroy_v2(recorded => Handle)), 0);
    let used_again = [
        cu!(cuStreamDestroy_v2(held => Handle)),
        cu!(cuStreamSynchronize(held => Handle)),
        cu!(cuEventDestroy_v2(recorded => Handle)),
        cu!(cuEventSynchronize(recorded => Handle)),
    ];
    assert_eq!(used_again, [400; 4]);
    assert_eq!(cu!(cuStreamQuery(behind => Handle)), NOT_READY);
    gate.store(1, Ordering::SeqCst);
    assert_eq!(cu!(cuStreamSynchronize(behind => Handle)), 0);
    assert_eq!(read(data, 1), [6]);
}

/// `cuStreamAddCallback`: "executed exactly once", with the error after a fault of the device, and
/// before a thread that waits for the stream goes on, however long it takes. A function of
/// `cuLaunchHostFunc` is not called.
#[test]
fn a_callback_is_called_after_a_fault() {
    type Callback = unsafe extern "C" fn(Handle, c_int, *mut c_void);
    unsafe extern "C" fn callback(_: Handle, state: c_int, sum: *mut c_void) {
        std::thread::sleep(std::time::Duration::from_millis(250));
        // SAFETY: the test gives it a word that lives for ever.
        unsafe { &*sum.cast::<AtomicU32>() }.fetch_add(1 + state as u32, Ordering::SeqCst);
    }
    unsafe extern "C" fn function(sum: *mut c_void) {
        // SAFETY: as there.
        unsafe { &*sum.cast::<AtomicU32>() }.fetch_add(10_000, Ordering::SeqCst);
    }
    static SUM: AtomicU32 = AtomicU32::new(0);
    let sum = SUM.as_ptr() as usize;
    let add = |stream: Handle| cu!(cuStreamAddCallback(stream => Handle, callback => Callback, sum => usize, 0 => c_uint));
    context();
    let far = common::function(module(KERNELS), "far");
    let data = allocate(4);
    let (held, gate) = (stream(1), word());
    wait_for(held, gate, 1);
    assert_eq!(add(held), 0);
    assert_eq!(launch(far, 1, held, &[arg(&data)]), 0);
    let called = cu!(cuLaunchHostFunc(held => Handle, function => unsafe extern "C" fn(*mut c_void), sum => usize));
    assert_eq!((called, add(held), SUM.load(Ordering::SeqCst)), (0, 0, 0));
    gate.store(1, Ordering::SeqCst);
    assert_eq!(cu!(cuStreamSynchronize(held => Handle)), 700);
    assert_eq!(SUM.load(Ordering::SeqCst), 1 + 701);
}
