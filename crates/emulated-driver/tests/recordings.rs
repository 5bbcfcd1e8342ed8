//! Streams that record, and calls that do not go with them. Alone in its process, because a
//! recording of mode 0 forbids calls to all threads.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::c_int;

use common::{Handle, context, event, stream};

/// Calls that may wait for a stream end its recording, by its mode (seen on an H200, driver 580).
#[test]
fn a_recording_forbids_unsafe_calls_by_its_mode() {
    const UNSUPPORTED: c_int = 900;
    const INVALIDATED: c_int = 901;
    let own = context();
    let (main, other, done) = (stream(1), stream(1), event());
    let mut address = 0u64;
    let allocates = |to: &mut u64| cu!(cuMemAlloc_v2(to => *mut u64, 64 => usize));
    let in_order = |to: &mut u64, stream: Handle| cu!(cuMemAllocAsync(to => *mut u64, 64 => usize, stream => Handle));
    let elsewhere = |to: &mut u64| {
        std::thread::scope(|scope| {
            let calls = scope.spawn(move || {
                assert_eq!(cu!(cuCtxSetCurrent(own => Handle)), 0);
                allocates(to)
            });
            calls.join().unwrap()
        })
    };
    // What this thread, another one, and this one with mode 2 get in recordings of each mode.
    for (mode, results) in [
        (0, [UNSUPPORTED, UNSUPPORTED, 0]),
        (1, [UNSUPPORTED, 0, 0]),
        (2, [0, 0, 0]),
    ] {
        for (case, expected) in results.into_iter().enumerate() {
            let mut graph = 0;
            assert_eq!(
                cu!(cuStreamBeginCapture_v2(main => Handle, mode => c_int)),
                0
            );
            assert_eq!(in_order(&mut address, main), 0, "its own memory is a node");
            let mut relaxed = 2;
            let result = match case {
                0 => allocates(&mut address),
                1 => elsewhere(&mut address),
                _ => {
                    assert_eq!(
                        cu!(cuThreadExchangeStreamCaptureMode(&mut relaxed => *mut c_int)),
                        0
                    );
                    let result = allocates(&mut address);
                    assert_eq!(
                        cu!(cuThreadExchangeStreamCaptureMode(&mut relaxed => *mut c_int)),
                        0
                    );
                    result
                }
            };
            assert_eq!(result, expected, "mode {mode}, case {case}");
            let ended = cu!(cuStreamEndCapture(main => Handle, &mut graph => *mut Handle));
            assert_eq!(ended, if expected == 0 { 0 } else { INVALIDATED });
        }
    }
    let calls: [(&str, &dyn Fn() -> c_int); 5] = [
        ("query", &|| cu!(cuStreamQuery(other => Handle))),
        ("synchronize", &|| cu!(cuStreamSynchronize(other => Handle))),
        ("event", &|| cu!(cuEventQuery(done => Handle))),
        ("in the order of another stream", &|| {
            in_order(&mut 0, other)
        }),
        ("context", &|| cu!(cuCtxSynchronize())),
    ];
    for (name, call) in calls {
        let mut graph = 0;
        assert_eq!(cu!(cuStreamBeginCapture_v2(main => Handle, 1 => c_int)), 0);
        assert_eq!(cu!(cuEventRecord(done => Handle, other => Handle)), 0);
        assert_eq!(call(), UNSUPPORTED, "{name}");
        let (mut status, mut id, mut known) = (0, 0u64, 0);
        let asked = cu!(cuStreamGetCaptureInfo_v2(main => Handle, &mut status => *mut c_int, &mut id => *mut u64,
            &mut known => *mut Handle, std::ptr::null_mut() => *mut Handle, std::ptr::null_mut() => *mut usize));
        assert_eq!((asked, status, id, known), (0, 2, 0, 0), "{name}");
        let ended = cu!(cuStreamEndCapture(main => Handle, &mut graph => *mut Handle));
        assert_eq!(ended, INVALIDATED, "{name}");
    }
    // A context that has a recording cannot be waited for in any mode.
    let mut graph = 0;
    assert_eq!(cu!(cuStreamBeginCapture_v2(main => Handle, 2 => c_int)), 0);
    assert_eq!(cu!(cuStreamQuery(other => Handle)), 0);
    assert_eq!(cu!(cuCtxSynchronize()), UNSUPPORTED);
    assert_eq!(
        cu!(cuStreamEndCapture(main => Handle, &mut graph => *mut Handle)),
        INVALIDATED
    );
    assert_eq!(cu!(cuStreamBeginCapture_v2(main => Handle, 3 => c_int)), 1);
}
