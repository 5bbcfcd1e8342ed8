//! Streams, events, and the default streams.

use std::ffi::c_uint;

use crate::common::Handle;
use crate::cu;
use crate::told::{NON_BLOCKING, Program};

planted! {
    /// The commonest one: a kernel reads what another stream writes.
    a_kernel_reads_what_another_stream_writes,
    wrong: |p: &Program| {
        let [data, out, one, other] = [p.memory(), p.memory(), p.stream() as u64, p.stream() as u64];
        p.launch("produce", one as Handle, &[data]);
        p.launch("consume", other as Handle, &[data, out]);
        // The same once more is not told again.
        p.launch("consume", other as Handle, &[data, out]);
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        p.join(other, one);
        p.launch("consume", other, &[data, out]);
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

planted! {
    /// The event is recorded before the kernel, not behind it.
    an_event_is_recorded_too_early,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other, event] = [p.stream(), p.stream(), p.event()];
        p.record(event, one);
        p.launch("produce", one, &[data]);
        p.wait(other, event);
        p.launch("consume", other, &[data, out]);
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other, event] = [p.stream(), p.stream(), p.event()];
        p.launch("produce", one, &[data]);
        p.record(event, one);
        // A later record does not change what was waited for.
        p.wait(other, event);
        p.record(event, other);
        p.launch("consume", other, &[data, out]);
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

planted! {
    /// The event is recorded in the stream that waits for it.
    an_event_of_the_wrong_stream,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other, event] = [p.stream(), p.stream(), p.event()];
        p.launch("produce", one, &[data]);
        p.record(event, other);
        p.wait(other, event);
        p.launch("consume", other, &[data, out]);
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, middle, other] = [p.stream(), p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        // Order goes on from stream to stream.
        p.join(middle, one);
        p.join(other, middle);
        p.launch("consume", other, &[data, out]);
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

planted! {
    /// A wait for an event that nothing has recorded yet waits for nothing.
    a_wait_before_the_record,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other, event] = [p.stream(), p.stream(), p.event()];
        p.wait(other, event);
        p.launch("produce", one, &[data]);
        p.record(event, one);
        p.launch("consume", other, &[data, out]);
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other, event] = [p.stream(), p.stream(), p.event()];
        p.launch("produce", one, &[data]);
        p.record(event, one);
        p.wait(other, event);
        // Its handle may go.
        assert_eq!(cu!(cuEventDestroy_v2(event => Handle)), 0);
        p.launch("consume", other, &[data, out]);
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

planted! {
    /// Two buffers in turn, and the first is written again before the second round has read it.
    a_buffer_is_written_while_another_stream_reads_it,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        p.join(other, one);
        p.launch("consume", other, &[data, out]);
        p.launch("produce", one, &[data]);
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        for _ in 0..3 {
            p.launch("produce", one, &[data]);
            p.join(other, one);
            p.launch("consume", other, &[data, out]);
            p.join(one, other);
        }
    },
    told: @r#"
    race between commands: kernel `produce` writes bytes that kernel `consume` reads, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `consume` in stream A
      then: kernel `produce` in stream B
      to order them: record an event in stream A behind `consume`, and let stream B wait for it before `produce` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// The last word of one half is the first of the other.
    halves_that_overlap,
    wrong: |p: &Program| {
        let data = p.memory();
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        p.launch("produce", other, &[data + 124]);
    },
    right: |p: &Program| {
        let data = p.memory();
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        p.launch("produce", other, &[data + 128]);
    },
    told: @r#"
    race between commands: kernel `produce` writes bytes that kernel `produce` writes, and nothing orders the two
      bytes 124..128, of allocation A, 256 bytes
      first: kernel `produce` in stream A
      then: kernel `produce` in stream B
      to order them: record an event in stream A behind `produce`, and let stream B wait for it before `produce` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// Every second word is another stream's.
    words_that_interleave,
    wrong: |p: &Program| {
        let data = p.memory();
        let [one, other] = [p.stream(), p.stream()];
        p.launch("evens", one, &[data]);
        p.launch("produce", other, &[data]);
    },
    right: |p: &Program| {
        let data = p.memory();
        let [one, other] = [p.stream(), p.stream()];
        for _ in 0..2 {
            p.launch("evens", one, &[data]);
            p.launch("odds", other, &[data]);
        }
    },
    told: @r#"
    race between commands: kernel `produce` writes bytes that kernel `evens` writes, and nothing orders the two
      bytes 0..124, 64 of them, of allocation A, 256 bytes
      first: kernel `evens` in stream A
      then: kernel `produce` in stream B
      to order them: record an event in stream A behind `evens`, and let stream B wait for it before `produce` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// A sum by atomics of two streams is right; a plain read of it in a third is not.
    a_sum_is_read_while_another_stream_adds,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        p.launch("tally", one, &[data]);
        p.launch("consume", other, &[data, out]);
    },
    right: |p: &Program| {
        let data = p.memory();
        let [one, other] = [p.stream(), p.stream()];
        p.launch("tally", one, &[data]);
        p.launch("tally", other, &[data]);
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that kernel `tally` writes, and nothing orders the two
      bytes 0..4, of allocation A, 256 bytes
      first: kernel `tally` in stream A
      then: kernel `consume` in stream B
      to order them: record an event in stream A behind `tally`, and let stream B wait for it before `consume` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// A non-blocking stream does not wait for the default stream.
    the_default_stream_and_one_that_does_not_wait,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let apart = p.stream_with(NON_BLOCKING);
        p.launch("produce", 0, &[data]);
        p.launch("consume", apart, &[data, out]);
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        // Blocking streams wait for the default stream, and that for them.
        p.launch("produce", one, &[data]);
        p.launch("update", 0, &[data]);
        p.launch("consume", other, &[data, out]);
        p.launch("update", 0, &[out]);
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that kernel `produce` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in the default stream
      then: kernel `consume` in stream A (non-blocking)
      to order them: record an event in the default stream behind `produce`, and let stream A wait for it before `consume` (cudaEventRecord, cudaStreamWaitEvent)
      rule: a stream that was created as non-blocking and the default stream do not wait for each other (CUDA Driver API, "Stream synchronization behavior")
    "#,
}

planted! {
    /// An event in the default stream records blocking streams too, and no others.
    an_event_in_the_default_stream,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream_with(NON_BLOCKING), p.stream_with(NON_BLOCKING)];
        p.launch("produce", one, &[data]);
        p.join(other, 0);
        p.launch("consume", other, &[data, out]);
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream_with(NON_BLOCKING)];
        p.launch("produce", one, &[data]);
        p.join(other, 0);
        p.launch("consume", other, &[data, out]);
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that kernel `produce` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in stream A (non-blocking)
      then: kernel `consume` in stream B (non-blocking)
      to order them: record an event in stream A behind `produce`, and let stream B wait for it before `consume` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// To destroy a stream waits for nothing.
    a_stream_is_destroyed_and_not_waited_for,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        assert_eq!(cu!(cuStreamDestroy_v2(one => Handle)), 0);
        p.launch("consume", other, &[data, out]);
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        p.synchronize(one);
        assert_eq!(cu!(cuStreamDestroy_v2(one => Handle)), 0);
        p.launch("consume", other, &[data, out]);
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

/// The default stream of a thread.
const PER_THREAD: Handle = 2;

planted! {
    /// Each thread has a default stream of its own, and they do not wait for each other.
    default_streams_of_two_threads,
    wrong: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        p.launch("produce", PER_THREAD, &[data]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(cu!(cuCtxSetCurrent(p.context => Handle)), 0);
                p.launch("consume", PER_THREAD, &[data, out]);
            });
        });
    },
    right: |p: &Program| {
        let [data, out] = [p.memory(), p.memory()];
        p.launch("produce", PER_THREAD, &[data]);
        p.synchronize(PER_THREAD);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(cu!(cuCtxSetCurrent(p.context => Handle)), 0);
                p.launch("consume", PER_THREAD, &[data, out]);
            });
        });
    },
    told: @r#"
    race between commands: kernel `consume` reads bytes that kernel `produce` writes, and nothing orders the two
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in the default stream of thread A
      then: kernel `consume` in the default stream of thread B
      to order them: record an event in the default stream of thread A behind `produce`, and let the default stream of thread B wait for it before `consume` (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

planted! {
    /// A variable of the module is memory as any other.
    a_variable_that_two_streams_use,
    wrong: |p: &Program| {
        let out = p.memory();
        let [one, other] = [p.stream(), p.stream()];
        let (mut total, mut bytes) = (0u64, 0usize);
        let found = cu!(cuModuleGetGlobal_v2(&mut total => *mut u64, &mut bytes => *mut usize, p.kernels => Handle, c"total".as_ptr() => *const std::ffi::c_char));
        assert_eq!(found, 0);
        p.launch("counts", one, &[]);
        assert_eq!(cu!(cuMemcpyDtoDAsync_v2(out => u64, total => u64, bytes => usize, other => Handle)), 0);
    },
    right: |p: &Program| {
        let [one, other] = [p.stream(), p.stream()];
        p.launch("counts", one, &[]);
        p.launch("counts", other, &[]);
    },
    told: @r#"
    race between commands: the copy of cuMemcpyDtoDAsync reads bytes that kernel `counts` writes, and nothing orders the two
      bytes 0..4, of total, 4 bytes
      first: kernel `counts` in stream A
      then: the copy of cuMemcpyDtoDAsync in stream B
      to order them: record an event in stream A behind `counts`, and let stream B wait for it before the copy of cuMemcpyDtoDAsync (cudaEventRecord, cudaStreamWaitEvent)
      rule: commands of different streams have no order, unless events or synchronisation give them one (CUDA Programming Guide, 2.3 "Asynchronous Execution")
    "#,
}

/// Kernels that tell each other by memory, with fences, are ordered by that; a stream that waits
/// for a value is behind those who wrote it.
#[test]
fn order_by_memory_is_believed() {
    let told = crate::told::told(|p: &Program| {
        let [flag, data] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        p.launch("signals", one, &[flag, data]);
        p.launch("follows", other, &[flag, data]);
        // Behind that, all of the first kernel is done.
        p.launch("update", other, &[data]);
    });
    assert_eq!(told, "");
    let waited = crate::told::told(|p: &Program| {
        let [flag, data, out] = [p.memory(), p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        assert_eq!(
            cu!(cuStreamWriteValue32_v2(one => Handle, flag => u64, 1 => c_uint, 0 => c_uint)),
            0
        );
        assert_eq!(
            cu!(cuStreamWaitValue32_v2(other => Handle, flag => u64, 1 => c_uint, 0 => c_uint)),
            0
        );
        p.launch("consume", other, &[data, out]);
    });
    assert_eq!(waited, "");
}

/// A context that waits for its own streams does not wait for those of another.
#[test]
fn contexts_wait_for_their_own_streams() {
    let told = crate::told::told(|p: &Program| {
        let [data, out, one] = [p.memory(), p.memory(), p.stream() as u64];
        p.launch("produce", one as Handle, &[data]);
        let other = crate::common::context();
        let kernels = crate::common::module(crate::KERNELS);
        let q = Program {
            context: other,
            kernels,
        };
        assert_eq!(cu!(cuCtxSynchronize()), 0);
        let far = q.stream();
        q.launch("consume", far, &[data, out]);
        assert_eq!(cu!(cuCtxSynchronize()), 0);
        assert_eq!(cu!(cuCtxSetCurrent(p.context => Handle)), 0);
    });
    assert!(
        told.starts_with("race between commands: kernel `consume` reads"),
        "{told}"
    );
}
