//! Loops of graphs that do not end by themselves.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use common::branches::{
    IF, KERNELS, WHILE, add, branch, graph, handle, instantiate, kernel, params, run,
};
use common::{Handle, allocate, arg, context, function, module, read, stream, write};

const INVALID_VALUE: c_int = 1;
const NOT_READY: c_int = 600;
const LAUNCH_TIMEOUT: c_int = 702;

/// `poll(handle, word)` sets what the host has written.
const POLL: &str = "
.version 8.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry poll(.param .u64 handle, .param .u64 word)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [handle];
    ld.param.u64 %rd2, [word];
    ld.volatile.global.u32 %r1, [%rd2];
    { .param .b64 h; .param .b32 v; st.param.b64 [h], %rd1; st.param.b32 [v], %r1;
      call cudaGraphSetConditional, (h, v); }
    ret;
}
";

/// A word that the host and kernels share.
fn shared() -> &'static AtomicU32 {
    let mut address = 0usize;
    assert_eq!(
        cu!(cuMemAllocHost_v2(&mut address => *mut usize, 4 => usize)),
        0
    );
    // SAFETY: the driver has allocated it, and no test frees it.
    unsafe { &*(address as *const AtomicU32) }
}

/// A graph with a loop that looks at a word of the host.
fn polls(word: &AtomicU32) -> Handle {
    let own = graph();
    let of = handle(own, Some(1));
    let (_, bodies) = branch(own, &[], of, WHILE, 1).unwrap();
    let address = word.as_ptr() as u64;
    kernel(module(POLL), "poll", bodies[0], &[], &[of, address]);
    own
}

#[test]
fn a_loop_that_nothing_can_end_is_told() {
    for is_within in [false, true] {
        context();
        let own = graph();
        let mut around = own;
        if is_within {
            let (_, bodies) = branch(own, &[], handle(own, Some(1)), IF, 1).unwrap();
            around = bodies[0];
        }
        branch(around, &[], handle(own, Some(1)), WHILE, 1).unwrap();
        let launched = run(instantiate(own).unwrap(), 0);
        let ended = cu!(cuCtxSynchronize());
        assert!(
            [launched, ended].contains(&LAUNCH_TIMEOUT),
            "{launched} {ended}"
        );
    }
}

#[test]
fn a_loop_may_wait_for_the_host() {
    context();
    let word = shared();
    word.store(1, SeqCst);
    let stream = stream(1);
    assert_eq!(run(instantiate(polls(word)).unwrap(), stream), 0);
    assert_eq!(cu!(cuStreamQuery(stream => Handle)), NOT_READY);
    word.store(0, SeqCst);
    assert_eq!(cu!(cuStreamSynchronize(stream => Handle)), 0);
}

#[test]
fn loops_let_other_streams_go_on() {
    context();
    let kernels = module(KERNELS);
    let words = [shared(), shared()];
    let streams = [stream(1), stream(1), stream(1)];
    for (word, of) in words.iter().zip(streams) {
        word.store(1, SeqCst);
        assert_eq!(run(instantiate(polls(word)).unwrap(), of), 0);
    }
    let count = allocate(4);
    write_beside(count);
    let args = [arg(&count)];
    assert_eq!(
        common::launch(function(kernels, "up"), 1, streams[2], &args),
        0
    );
    assert_eq!(cu!(cuStreamSynchronize(streams[2] => Handle)), 0);
    // The later loop ends while the first goes on.
    words[1].store(0, SeqCst);
    assert_eq!(cu!(cuStreamSynchronize(streams[1] => Handle)), 0);
    assert_eq!(cu!(cuStreamQuery(streams[0] => Handle)), NOT_READY);
    words[0].store(0, SeqCst);
    assert_eq!(cu!(cuCtxSynchronize()), 0);
    assert_eq!(read(count, 1), [1]);
}

#[test]
fn a_copy_of_pageable_memory_is_done_behind_a_loop_before_its_call_returns() {
    context();
    let word = shared();
    word.store(1, SeqCst);
    let (stream, to, mut from) = (stream(1), allocate(4), vec![5u32]);
    assert_eq!(run(instantiate(polls(word)).unwrap(), stream), 0);
    let host = std::thread::spawn(|| {
        std::thread::sleep(Duration::from_millis(400));
        word.store(0, SeqCst);
    });
    let source = from.as_ptr() as u64;
    assert_eq!(
        cu!(cuMemcpyHtoDAsync_v2(to => u64, source => u64, 4 => usize, stream => Handle)),
        0
    );
    from[0] = 9;
    host.join().unwrap();
    assert_eq!(cu!(cuStreamSynchronize(stream => Handle)), 0);
    assert_eq!(read(to, 1), [5]);
}

/// Sets a word to 0 in a stream of its own.
fn write_beside(word: u64) {
    let beside = stream(1);
    assert_eq!(
        cu!(cuMemsetD32Async(word => u64, 0 => u32, 1 => usize, beside => Handle)),
        0
    );
    assert_eq!(cu!(cuStreamSynchronize(beside => Handle)), 0);
}

#[test]
fn a_loop_ends_whose_kernel_cannot_run() {
    context();
    let kernels = module(KERNELS);
    let [rounds, count] = [allocate(4), allocate(4)];
    write(rounds, &[3]);
    write(count, &[0]);
    let own = graph();
    let [of_outer, of] = [handle(own, Some(1)), handle(own, Some(1))];
    let (outer, bodies) = branch(own, &[], of_outer, WHILE, 1).unwrap();
    let (_, inner) = branch(bodies[0], &[], of, WHILE, 1).unwrap();
    kernel(kernels, "up", inner[0], &[], &[count]);
    // A block has no such number of threads.
    let args: Vec<*const c_void> = [&of, &rounds].map(arg).to_vec();
    let (one, many) = (1 | 1 << 32, 1 | 4096 << 32);
    let down = function(kernels, "down") as u64;
    let words = [down, one, many, one, 0, args.as_ptr() as u64];
    add(inner[0], &[], &mut params(0, &words)).unwrap();
    kernel(kernels, "up", own, &[outer], &[count]);
    assert_eq!(run(instantiate(own).unwrap(), 0), INVALID_VALUE);
    // What is behind the loops is done.
    assert_eq!(read(count, 1), [2]);
}
