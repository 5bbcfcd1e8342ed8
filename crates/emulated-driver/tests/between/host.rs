//! The host: calls that copy and fill, page-locked memory, functions that streams call.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use crate::common::Handle;
use crate::cu;
use crate::told::{NON_BLOCKING, Program, call};

planted! {
    /// A result is taken before its stream is done.
    a_result_is_taken_too_early,
    wrong: |p: &Program| {
        let data = p.memory();
        let apart = p.stream_with(NON_BLOCKING);
        p.launch("produce", apart, &[data]);
        p.take(data);
    },
    right: |p: &Program| {
        let [data, more] = [p.memory(), p.memory()];
        let [apart, blocking] = [p.stream_with(NON_BLOCKING), p.stream()];
        p.launch("produce", apart, &[data]);
        p.synchronize(apart);
        p.take(data);
        // The call waits for a blocking stream.
        p.launch("produce", blocking, &[more]);
        p.take(more);
    },
    told: @r#"
    race between commands: the copy of cuMemcpyDtoH reads bytes that kernel `produce` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in stream A (non-blocking)
      then: the copy of cuMemcpyDtoH in the default stream
      to order them: call cudaStreamSynchronize for stream A before the copy of cuMemcpyDtoH
      rule: a call without a stream waits for the default stream alone, which does not wait for one that was created as non-blocking (CUDA Driver API, "Stream synchronization behavior")
    "#,
}

planted! {
    /// A call that fills does not wait for the fill.
    a_fill_without_a_stream,
    wrong: |p: &Program| {
        let [data, apart] = [p.memory(), p.stream_with(NON_BLOCKING) as u64];
        assert_eq!(cu!(cuMemsetD32_v2(data => u64, 1 => c_uint, 32 => usize)), 0);
        p.launch("update", apart as Handle, &[data]);
    },
    right: |p: &Program| {
        let [data, more] = [p.memory(), p.memory()];
        let [apart, blocking] = [p.stream_with(NON_BLOCKING), p.stream()];
        assert_eq!(cu!(cuMemsetD32_v2(data => u64, 1 => c_uint, 32 => usize)), 0);
        p.synchronize(0);
        p.launch("update", apart, &[data]);
        assert_eq!(cu!(cuMemsetD32_v2(more => u64, 1 => c_uint, 32 => usize)), 0);
        p.launch("update", blocking, &[more]);
    },
    told: @r#"
    race between commands: kernel `update` writes bytes that the fill of cuMemsetD32 writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: the fill of cuMemsetD32 in the default stream
      then: kernel `update` in stream A (non-blocking)
      to order them: call cudaStreamSynchronize(0) behind the fill of cuMemsetD32, or do it in stream A (cuMemsetD32Async)
      rule: this call may return before its work is done, and a stream that was created as non-blocking does not wait for the default stream (CUDA Driver API, "API synchronization behavior" and "Stream synchronization behavior")
    "#,
}

planted! {
    /// A call that copies from device to device does not wait either.
    a_copy_on_the_device_without_a_stream,
    wrong: |p: &Program| {
        let [from, to] = [p.memory(), p.memory()];
        let apart = p.stream_with(NON_BLOCKING);
        p.copy_now(to, from);
        p.launch("update", apart, &[to]);
    },
    right: |p: &Program| {
        let [to, host] = [p.memory(), p.pinned()];
        let apart = p.stream_with(NON_BLOCKING);
        // One from page-locked memory is done.
        p.copy_now(to, host);
        p.launch("update", apart, &[to]);
    },
    told: @r#"
    race between commands: kernel `update` writes bytes that the copy of cuMemcpy writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: the copy of cuMemcpy in the default stream
      then: kernel `update` in stream A (non-blocking)
      to order them: call cudaStreamSynchronize(0) behind the copy of cuMemcpy, or do it in stream A (cuMemcpyAsync)
      rule: this call may return before its work is done, and a stream that was created as non-blocking does not wait for the default stream (CUDA Driver API, "API synchronization behavior" and "Stream synchronization behavior")
    "#,
}

planted! {
    /// A call that copies from pageable memory returns once the values are staged.
    a_copy_from_pageable_memory,
    wrong: |p: &Program| {
        let to = p.memory();
        let apart = p.stream_with(NON_BLOCKING);
        p.copy_now(to, [7u32; 32].as_ptr() as u64);
        p.launch("update", apart, &[to]);
    },
    right: |p: &Program| {
        let [data, to, more] = [p.memory(), p.memory(), p.memory()];
        let [apart, blocking] = [p.stream_with(NON_BLOCKING), p.stream()];
        let values = [7u32; 32].as_ptr() as u64;
        p.copy_now(to, values);
        p.synchronize(0);
        p.launch("update", apart, &[to]);
        // It waits for what the default stream has before, and the host with it.
        p.launch("produce", blocking, &[data]);
        p.copy_now(more, values);
        p.launch("update", apart, &[data]);
        p.launch("update", blocking, &[more]);
    },
    told: @r#"
    race between commands: kernel `update` writes bytes that the copy of cuMemcpy writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: the copy of cuMemcpy in the default stream
      then: kernel `update` in stream A (non-blocking)
      to order them: call cudaStreamSynchronize(0) behind the copy of cuMemcpy, or do it in stream A (cuMemcpyAsync)
      rule: this call may return before its work is done, and a stream that was created as non-blocking does not wait for the default stream (CUDA Driver API, "API synchronization behavior" and "Stream synchronization behavior")
    "#,
}

planted! {
    /// The stream that uploads is not the one that computes.
    an_upload_in_a_stream_of_its_own,
    wrong: |p: &Program| {
        let [data, out, host] = [p.memory(), p.memory(), p.pinned()];
        let [copies, computes] = [p.stream(), p.stream()];
        p.copy(data, host, copies);
        p.launch("consume", computes, &[data, out]);
    },
    right: |p: &Program| {
        let [data, out, host] = [p.memory(), p.memory(), p.pinned()];
        let [copies, computes] = [p.stream(), p.stream()];
        p.copy(data, host, copies);
        p.join(computes, copies);
        p.launch("consume", computes, &[data, out]);
        p.join(copies, computes);
        p.copy(host, out, copies);
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that the copy of cuMemcpyAsync writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: the copy of cuMemcpyAsync in stream A
      then: kernel `consume` in stream B
      to order them: record an event in stream A behind the copy of cuMemcpyAsync, and let stream B wait for it before `consume` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// Page-locked memory is sent on while a copy still writes it.
    a_pinned_buffer_is_read_while_a_copy_writes_it,
    wrong: |p: &Program| {
        let [from, to, host] = [p.memory(), p.memory(), p.pinned()];
        let apart = p.stream_with(NON_BLOCKING);
        p.copy(host, from, apart);
        p.copy_now(to, host);
    },
    right: |p: &Program| {
        let [from, to, host] = [p.memory(), p.memory(), p.pinned()];
        let apart = p.stream_with(NON_BLOCKING);
        p.copy(host, from, apart);
        p.synchronize(apart);
        p.copy_now(to, host);
    },
    told: @r#"
    race between commands: the copy of cuMemcpy reads bytes that the copy of cuMemcpyAsync writes, and nothing orders the two
      bytes 0..128, of host allocation A, 256 bytes
      first: the copy of cuMemcpyAsync in stream A (non-blocking)
      then: the copy of cuMemcpy in the default stream
      to order them: call cudaStreamSynchronize for stream A before the copy of cuMemcpy
      rule: a call without a stream waits for the default stream alone, which does not wait for one that was created as non-blocking (CUDA Driver API, "Stream synchronization behavior")
    "#,
}

planted! {
    /// Page-locked memory is filled again while a copy still reads it.
    a_pinned_buffer_is_written_while_a_copy_reads_it,
    wrong: |p: &Program| {
        let [data, other, host] = [p.memory(), p.memory(), p.pinned()];
        let apart = p.stream_with(NON_BLOCKING);
        p.copy(data, host, apart);
        p.copy_now(host, other);
    },
    right: |p: &Program| {
        let [data, other, host] = [p.memory(), p.memory(), p.pinned()];
        let apart = p.stream_with(NON_BLOCKING);
        p.copy(data, host, apart);
        let event = p.event();
        p.record(event, apart);
        assert_eq!(cu!(cuEventSynchronize(event => Handle)), 0);
        p.copy_now(host, other);
    },
    told: @r#"
    race between commands: the copy of cuMemcpy writes bytes that the copy of cuMemcpyAsync reads, and nothing orders the two
      bytes 0..128, of host allocation A, 256 bytes
      first: the copy of cuMemcpyAsync in stream A (non-blocking)
      then: the copy of cuMemcpy in the default stream
      to order them: call cudaStreamSynchronize for stream A before the copy of cuMemcpy
      rule: a call without a stream waits for the default stream alone, which does not wait for one that was created as non-blocking (CUDA Driver API, "Stream synchronization behavior")
    "#,
}

planted! {
    /// A query that succeeds is a synchronisation; none at all is not.
    nobody_asks_whether_a_stream_is_done,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        assert_eq!(cu!(cuStreamQuery(other => Handle)), 0);
        p.launch("consume", other, &[data, out]);
    },
    right: |p: &Program| {
        let [data, out, event] = [p.memory(), p.memory(), p.event() as u64];
        let [one, other, third] = [p.stream(), p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        assert_eq!(cu!(cuStreamQuery(one => Handle)), 0);
        p.launch("consume", other, &[data, out]);
        p.record(event as Handle, other);
        assert_eq!(cu!(cuEventQuery(event as Handle => Handle)), 0);
        p.launch("update", third, &[out]);
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that kernel `produce` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in stream A
      then: kernel `consume` in stream B
      to order them: record an event in stream A behind `produce`, and let stream B wait for it before `consume` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

unsafe extern "C" fn tells(flag: *mut c_void) {
    // SAFETY: the program gives the address of a flag that lives.
    unsafe { AtomicBool::from_ptr(flag.cast()) }.store(true, SeqCst);
}

/// A function that a stream calls may tell the host: what it sends then counts as behind.
#[test]
fn a_function_of_the_program_may_tell_the_host() {
    let told = crate::told::told(|p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        let flag = AtomicBool::new(false);
        p.launch("produce", one, &[data]);
        assert_eq!(call(one, tells, flag.as_ptr() as usize), 0);
        while !flag.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        p.launch("consume", other, &[data, out]);
    });
    assert_eq!(told, "");
}

/// Pageable memory is not looked at: a GPU's driver may copy it at once.
#[test]
fn pageable_memory_is_not_compared() {
    let told = crate::told::told(|p: &Program| {
        let [from, to] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        let mut values = [0u32; 32];
        p.copy(values.as_mut_ptr() as u64, from, one);
        p.copy(to, values.as_ptr() as u64, other);
    });
    assert_eq!(told, "");
}

planted! {
    /// A copy between contexts in a stream waits for that stream alone.
    a_copy_between_contexts,
    wrong: |p: &Program| {
        let [from, to] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[from]);
        let copied = cu!(cuMemcpyPeerAsync(to => u64, p.context => Handle, from => u64, p.context => Handle, 128 => usize, other => Handle));
        assert_eq!(copied, 0);
    },
    right: |p: &Program| {
        let [from, to] = [p.memory(), p.memory()];
        let [one, other] = [p.stream_with(NON_BLOCKING), p.stream_with(NON_BLOCKING)];
        p.launch("produce", one, &[from]);
        // Without a stream it is behind and before everything.
        let copied = cu!(cuMemcpyPeer(to => u64, p.context => Handle, from => u64, p.context => Handle, 128 => usize));
        assert_eq!(copied, 0);
        p.launch("update", other, &[to]);
    },
    told: @r#"
    race between commands: the copy of cuMemcpyPeerAsync reads bytes that kernel `produce` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in stream A
      then: the copy of cuMemcpyPeerAsync in stream B
      to order them: record an event in stream A behind `produce`, and let stream B wait for it before the copy of cuMemcpyPeerAsync (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}
