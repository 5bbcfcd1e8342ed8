//! Shared memory: on-chip, one copy per block, visible to all threads of the block.
//!
//! Both forms give pointers that LLVM knows to be shared, so that accesses become `ld.shared` and
//! `st.shared`, also through slices and references made from them.
//!
//! Nothing initialises shared memory. Only [`sync_threads`](crate::thread::sync_threads) orders one
//! thread's writes before another's reads.

use crate::llvm;

pub use cuda_std_macros::shared_array;

/// The block's dynamic shared memory: `shared_mem_bytes` of the launch, aligned to 16 bytes.
///
/// Every call gives the same address, whatever T is; divide the memory by offsets.
///
/// T must not need more than 16 bytes of alignment; more does not compile.
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    const {
        assert!(
            align_of::<T>() <= 16,
            "dynamic shared memory is aligned to 16 bytes"
        )
    };
    // SAFETY: `cuda_builder` defines the function; it has no preconditions.
    unsafe { llvm::dynamic_shared_mem().cast() }
}

/// The address of an element within shared memory: 32 bits, and differences are bytes. Some
/// functions take it instead of a pointer.
///
/// # Safety
/// `pointer` points into the block's shared memory.
#[inline(always)]
pub unsafe fn address<T>(pointer: *const T) -> u32 {
    // SAFETY: the caller's.
    unsafe { llvm::shared_address(pointer.cast()) }
}
