//! The device's heap: what `malloc` and `free` in kernels give out and take back.
//!
//! One buffer holds all of it. Memory that was freed is given out again only when no other is left,
//! and counts as never written until then; so do [`GAP`] bytes behind each allocation. A load from
//! either is reported, a store is not.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::global::GlobalMemory;

/// Its size in bytes: CUDA's default.
pub(crate) const HEAP_BYTES: u64 = 8 << 20;
/// The name of its buffer in messages.
pub(crate) const HEAP_NAME: &str = "the heap of `malloc` in kernels";
/// Allocations start at multiples of this, in bytes.
const ALIGNMENT: u64 = 16;
/// Bytes behind an allocation that belong to none.
const GAP: u64 = 16;

/// The heap of a machine.
#[derive(Debug)]
pub(crate) struct Heap {
    /// Address of its buffer.
    base: u64,
    state: Mutex<State>,
}

/// The memory given out, and that taken back.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Bytes given out, from the start of the buffer.
    top: u64,
    /// Address and size of what is in use.
    live: BTreeMap<u64, u64>,
    /// Address and size of what was freed.
    freed: Vec<(u64, u64)>,
}

impl Heap {
    /// The heap in a buffer of [`HEAP_BYTES`].
    pub(crate) fn new(base: u64) -> Self {
        let state = Mutex::default();
        Self { base, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of its state, for [`Heap::put_back`].
    pub(crate) fn saved(&self) -> State {
        self.state().clone()
    }

    /// Makes a launch undone.
    pub(crate) fn put_back(&self, saved: State) {
        *self.state() = saved;
    }

    /// The address of `bytes` bytes; 0 if the heap has no room for them, or for 0 bytes.
    pub(crate) fn allocate(&self, bytes: u64) -> u64 {
        if bytes == 0 || bytes > HEAP_BYTES {
            return 0;
        }
        let size = bytes.next_multiple_of(ALIGNMENT);
        let mut state = self.state();
        if size + GAP <= HEAP_BYTES - state.top {
            let address = self.base + state.top;
            state.top += size + GAP;
            state.live.insert(address, size);
            return address;
        }
        let Some(index) = state.freed.iter().position(|&(_, free)| free >= size) else {
            return 0;
        };
        let (address, freed) = state.freed.swap_remove(index);
        state.live.insert(address, freed);
        address
    }

    /// Takes an allocation back; false if the address is not the start of one.
    pub(crate) fn free(&self, memory: &GlobalMemory, address: u64) -> bool {
        let mut state = self.state();
        let Some(size) = state.live.remove(&address) else {
            return false;
        };
        state.freed.push((address, size));
        if let Some(buffer) = memory.find(address, size) {
            let start = address - buffer.base;
            (start..start + size).for_each(|offset| buffer.written.unmark(offset));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_memory_comes_last() {
        let mut memory = GlobalMemory::new(HEAP_BYTES, 0);
        let base = memory.allocate(HEAP_BYTES, HEAP_NAME).unwrap();
        let heap = Heap::new(base);
        let first = heap.allocate(40);
        let second = heap.allocate(1);
        assert_eq!((first, second), (base, base + 48 + GAP));
        assert!(heap.free(&memory, first));
        assert!(!heap.free(&memory, first), "freed twice");
        assert!(!heap.free(&memory, second + 8), "inside an allocation");
        assert_ne!(heap.allocate(40), first);
        let mut rest = std::iter::repeat_with(|| heap.allocate(40));
        assert_eq!(rest.find(|&address| address <= first), Some(first));
        assert_eq!(heap.allocate(40), 0);
        assert_eq!((heap.allocate(0), heap.allocate(HEAP_BYTES + 1)), (0, 0));
    }
}
