//! Memory: its beginning, and its end.

use crate::common::Handle;
use crate::cu;
use crate::told::Program;

fn allocate(stream: Handle) -> u64 {
    let mut address = 0u64;
    let made = cu!(cuMemAllocAsync(&mut address => *mut u64, 256 => usize, stream => Handle));
    assert_eq!(made, 0);
    address
}

fn free(address: u64, stream: Handle) {
    assert_eq!(cu!(cuMemFreeAsync(address => u64, stream => Handle)), 0);
}

planted! {
    /// Memory of one stream's order is used in another.
    memory_is_used_before_its_allocation,
    wrong: |p: &Program| {
        let [one, other] = [p.stream(), p.stream()];
        let data = allocate(one);
        p.launch("produce", other, &[data]);
        p.synchronize(other);
        free(data, one);
    },
    right: |p: &Program| {
        let [one, other] = [p.stream(), p.stream()];
        let data = allocate(one);
        p.join(other, one);
        p.launch("produce", other, &[data]);
        free(data, other);
    },
    told: @r#"
    memory used before its allocation: nothing orders kernel `produce` behind the allocation of cuMemAllocAsync
      allocation A, 256 bytes
      first: the allocation of cuMemAllocAsync in stream A
      then: kernel `produce` in stream B
      to order them: record an event in stream A behind the allocation of cuMemAllocAsync, and let stream B wait for it before `produce` (cudaEventRecord, cudaStreamWaitEvent)
      rule: memory of cudaMallocAsync may be accessed behind its allocation in the order of streams (CUDA Driver API, "Stream Ordered Memory Allocator")
    "#,
}

planted! {
    /// A stream frees what another still uses.
    memory_is_freed_in_another_stream,
    wrong: |p: &Program| {
        let [one, other] = [p.stream(), p.stream()];
        let data = allocate(one);
        p.join(other, one);
        p.launch("produce", other, &[data]);
        free(data, one);
    },
    right: |p: &Program| {
        let [one, other] = [p.stream(), p.stream()];
        let data = allocate(one);
        p.join(other, one);
        p.launch("produce", other, &[data]);
        p.join(one, other);
        free(data, one);
    },
    told: @r#"
    memory freed in use: nothing orders kernel `produce` before the free of cuMemFreeAsync
      bytes 0..128, of allocation A, 256 bytes
      first: kernel `produce` in stream A
      then: the free of cuMemFreeAsync in stream B
      to order them: record an event in stream A behind `produce`, and let stream B wait for it before the free of cuMemFreeAsync (cudaEventRecord, cudaStreamWaitEvent)
      rule: all accesses must be done before the free in the order of streams (CUDA Driver API, "Stream Ordered Memory Allocator")
    "#,
}

/// `cuMemFree` waits for everything, so that a kernel under way is not a mistake.
#[test]
fn a_free_by_the_host_waits() {
    let told = crate::told::told(|p: &Program| {
        let [data, more] = [p.memory(), p.memory()];
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        p.launch("produce", one, &[more]);
        assert_eq!(cu!(cuMemFree_v2(data => u64)), 0);
        p.launch("update", other, &[more]);
    });
    assert_eq!(told, "");
}

/// Memory that is allocated for all streams synchronises them.
#[test]
fn an_allocation_by_the_host_waits() {
    let told = crate::told::told(|p: &Program| {
        let data = p.memory();
        let [one, other] = [p.stream(), p.stream()];
        p.launch("produce", one, &[data]);
        let out = crate::common::allocate(256);
        p.launch("consume", other, &[data, out]);
    });
    assert_eq!(told, "");
}
