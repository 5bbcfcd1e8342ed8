//! The program's own loads and stores, of page-locked and managed memory.

use std::ffi::{c_uint, c_void};
use std::io::{Read, Seek};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::common::Handle;
use crate::cu;
use crate::told::{Program, call, told};

/// Words of memory of the driver.
fn words(address: u64, count: usize) -> &'static [AtomicU32] {
    // SAFETY: the driver has allocated them, and no test frees them.
    unsafe { std::slice::from_raw_parts(address as *const AtomicU32, count) }
}

/// Page-locked memory of 32 words, which a command accesses as a whole.
fn pinned(bytes: usize) -> u64 {
    let mut address = 0u64;
    let made = cu!(cuMemAllocHost_v2(&mut address => *mut u64, bytes => usize));
    assert_eq!(made, 0);
    address
}

fn managed(bytes: usize) -> u64 {
    let mut address = 0u64;
    let made = cu!(cuMemAllocManaged(&mut address => *mut u64, bytes => usize, 1 => c_uint));
    assert_eq!(made, 0);
    address
}

fn copy(to: u64, from: u64, bytes: usize, stream: Handle) {
    let copied = cu!(cuMemcpyAsync(to => u64, from => u64, bytes => usize, stream => Handle));
    assert_eq!(copied, 0);
}

planted! {
    /// A result is read before its copy is done.
    the_host_reads_a_result_too_early,
    wrong: |p: &Program| {
        let (data, host, stream) = (p.memory(), pinned(128), p.stream());
        p.launch("produce", stream, &[data]);
        copy(host, data, 128, stream);
        assert_eq!(words(host, 32)[3].load(SeqCst), 3);
    },
    right: |p: &Program| {
        let (data, host, stream) = (p.memory(), pinned(128), p.stream());
        for wait in 0..4 {
            p.launch("produce", stream, &[data]);
            copy(host, data, 128, stream);
            let event = p.event();
            p.record(event, stream);
            let waited = match wait {
                0 => cu!(cuStreamSynchronize(stream => Handle)),
                1 => cu!(cuEventSynchronize(event => Handle)),
                2 => cu!(cuStreamQuery(stream => Handle)),
                _ => cu!(cuCtxSynchronize()),
            };
            assert_eq!(waited, 0);
            assert_eq!(words(host, 32)[3].swap(0, SeqCst), 3);
        }
    },
    told: @r#"
    race with the host: the program reads memory that the copy of cuMemcpyAsync writes, and has not waited for it
      byte 12 of host allocation A, 128 bytes
      first: the copy of cuMemcpyAsync in stream A
      then: the program itself
      to order them: call cudaStreamSynchronize for stream A behind the copy of cuMemcpyAsync, or cudaEventSynchronize for an event that is recorded there
      rule: a command may be under way when its call has returned, until the host has synchronised (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// A buffer is filled again while a copy reads it.
    the_host_writes_what_a_copy_reads,
    wrong: |p: &Program| {
        let (data, host, stream) = (p.memory(), pinned(128), p.stream());
        copy(data, host, 128, stream);
        words(host, 32)[7].store(1, SeqCst);
    },
    right: |p: &Program| {
        let (data, host, stream) = (p.memory(), pinned(128), p.stream());
        copy(data, host, 128, stream);
        // The host may read it, as the copy does.
        assert_eq!(words(host, 32)[7].load(SeqCst), 0);
        p.synchronize(stream);
        words(host, 32)[7].store(1, SeqCst);
    },
    told: @r#"
    race with the host: the program writes memory that the copy of cuMemcpyAsync reads, and has not waited for it
      byte 28 of host allocation A, 128 bytes
      first: the copy of cuMemcpyAsync in stream A
      then: the program itself
      to order them: call cudaStreamSynchronize for stream A behind the copy of cuMemcpyAsync, or cudaEventSynchronize for an event that is recorded there
      rule: a command may be under way when its call has returned, until the host has synchronised (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// Managed memory is read without waiting for the kernel, in a program without streams.
    the_host_does_not_wait_for_a_kernel,
    wrong: |p: &Program| {
        let data = managed(128);
        p.launch("produce", 0, &[data]);
        assert_eq!(words(data, 32)[5].load(SeqCst), 5);
    },
    right: |p: &Program| {
        let [data, other] = [managed(128), managed(4096)];
        p.launch("produce", 0, &[data]);
        // Other memory is the host's.
        words(other, 32)[5].store(1, SeqCst);
        assert_eq!(cu!(cuCtxSynchronize()), 0);
        assert_eq!(words(data, 32)[5].load(SeqCst), 5);
    },
    told: @r#"
    race with the host: the program reads memory that kernel `produce` writes, and has not waited for it
      byte 20 of managed allocation A, 128 bytes
      first: kernel `produce` in the default stream
      then: the program itself
      to order them: call cudaStreamSynchronize for the default stream behind `produce`, or cudaEventSynchronize for an event that is recorded there
      rule: a command may be under way when its call has returned, until the host has synchronised (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// Mapped memory is written while a kernel may read it; the kernel wrote nothing.
    mapped_memory_is_written_under_a_kernel,
    wrong: |p: &Program| {
        let (host, out, stream) = (pinned(128), p.memory(), p.stream());
        p.launch("consume", stream, &[host, out]);
        words(host, 32)[0].store(1, SeqCst);
    },
    right: |p: &Program| {
        let (host, out, stream) = (pinned(128), p.memory(), p.stream());
        p.launch("consume", stream, &[host, out]);
        // Kernels meet the guard of an earlier one, and the driver's copies do.
        p.launch("consume", stream, &[host, out]);
        p.launch("produce", stream, &[host]);
        p.copy(out, host, stream);
        p.synchronize(stream);
        words(host, 32)[0].store(1, SeqCst);
    },
    told: @r#"
    race with the host: the program writes memory that kernel `consume` reads, and has not waited for it
      byte 0 of host allocation A, 128 bytes
      first: kernel `consume` in stream A
      then: the program itself
      to order them: call cudaStreamSynchronize for stream A behind `consume`, or cudaEventSynchronize for an event that is recorded there
      rule: a command may be under way when its call has returned, until the host has synchronised (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// A stream that was waited for is not the one that writes.
    the_host_waits_for_another_stream,
    wrong: |p: &Program| {
        let (data, host) = (p.memory(), pinned(8192));
        let [one, other] = [p.stream(), p.stream()];
        copy(host, data, 256, one);
        let filled = cu!(cuMemsetD8Async(host + 4096 => u64, 1 => u8, 4096 => usize, other => Handle));
        assert_eq!(filled, 0);
        p.synchronize(one);
        assert_eq!(words(host, 2048)[1024].load(SeqCst), 0x0101_0101);
    },
    right: |p: &Program| {
        let (data, host) = (p.memory(), pinned(8192));
        let [one, other] = [p.stream(), p.stream()];
        copy(host, data, 256, one);
        let filled = cu!(cuMemsetD8Async(host + 4096 => u64, 1 => u8, 4096 => usize, other => Handle));
        assert_eq!(filled, 0);
        p.join(one, other);
        p.synchronize(one);
        assert_eq!(words(host, 2048)[1024].load(SeqCst), 0x0101_0101);
    },
    told: @r#"
    race with the host: the program reads memory that the fill of cuMemsetD8Async writes, and has not waited for it
      byte 4096 of host allocation A, 8192 bytes
      first: the fill of cuMemsetD8Async in stream A
      then: the program itself
      to order them: call cudaStreamSynchronize for stream A behind the fill of cuMemsetD8Async, or cudaEventSynchronize for an event that is recorded there
      rule: a command may be under way when its call has returned, until the host has synchronised (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

/// Half a buffer is the host's, while the other half is copied: by loads and stores, and by a call
/// of the system, which gives an error where it meets a guard.
#[test]
fn the_rest_of_a_buffer_is_the_hosts() {
    let messages = told(|p: &Program| {
        let device = crate::common::allocate(6000);
        let (host, stream) = (pinned(12000), p.stream());
        copy(host, device, 6000, stream);
        let other = words(host + 6000, 1500);
        other[0].store(1, SeqCst);
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(6000).unwrap();
        file.rewind().unwrap();
        // SAFETY: the program has the memory, and nothing else uses it.
        let buffer = unsafe { std::slice::from_raw_parts_mut((host + 6000) as *mut u8, 6000) };
        file.read_exact(buffer).unwrap();
        assert_eq!(other[0].load(SeqCst), 0);
    });
    assert_eq!(messages, "");
}

unsafe extern "C" fn adds(word: *mut c_void) {
    // SAFETY: the test gives the address of a word that lives.
    unsafe { AtomicU32::from_ptr(word.cast()) }.fetch_add(2, SeqCst);
}

/// A function of the stream has what was before it, and a flag that a kernel sets tells the host.
#[test]
fn the_host_is_told() {
    let messages = told(|p: &Program| {
        let (data, host, stream) = (p.memory(), pinned(128), p.stream());
        p.launch("produce", stream, &[data]);
        copy(host, data, 128, stream);
        assert_eq!(call(stream, adds, host as usize + 20), 0);
        p.synchronize(stream);
        assert_eq!(words(host, 32)[5].load(SeqCst), 7);
        // A kernel with a fence may tell the host by a plain store.
        let (flag, signalled) = (pinned(4), pinned(4));
        p.launch("publishes", stream, &[flag, signalled]);
        while words(flag, 1)[0].load(SeqCst) != 1 {
            std::thread::yield_now();
        }
        assert_eq!(words(signalled, 1)[0].load(SeqCst), 7);
        let sum = pinned(4);
        p.launch("produce", stream, &[host]);
        p.launch("tally", stream, &[sum]);
        while words(sum, 1)[0].load(SeqCst) != 32 {
            std::thread::yield_now();
        }
        assert_eq!(words(host, 32)[5].load(SeqCst), 5);
    });
    assert_eq!(messages, "");
}

/// Memory that is freed is not met, and neither is what the system puts in its place.
#[test]
fn guarded_memory_is_freed() {
    let messages = told(|p: &Program| {
        let (data, stream) = (p.memory(), p.stream());
        for _ in 0..3 {
            let host = pinned(128);
            copy(host, data, 128, stream);
            assert_eq!(cu!(cuMemFreeHost(host => u64)), 0);
        }
        let managed = managed(128);
        p.launch("produce", stream, &[managed]);
        assert_eq!(cu!(cuMemFree_v2(managed => u64)), 0);
    });
    assert_eq!(messages, "");
}
