//! Copies from global to shared memory that go on while the thread does something else (PTX ISA,
//! `cp.async`; compute capability 8.0).
//!
//! A thread starts copies, closes groups of them, and waits until all but the latest groups have
//! arrived. The thread then sees its own copies; other threads of the block see them after the next
//! [`sync_threads`](crate::thread::sync_threads).
//!
//! ```
//! # use cuda_std::prelude::*;
//! # #[kernel]
//! # pub unsafe fn halo(field: *const f32, n: usize, out: *mut f32) {
//! # let k = thread::thread_idx_x() as usize;
//! # let i = (thread::block_idx_x() as usize * 30 + k).wrapping_sub(1);
//! # let tile = shared_array![f32; 32];
//! // A tile with its halo; what is beyond the field counts as zero.
//! unsafe { async_copy::copy_4(tile.add(k), field.wrapping_add(i), i < n) };
//! async_copy::commit();
//! // .. something else ..
//! async_copy::wait::<0>();
//! thread::sync_threads();
//! # if 0 < k && k < 31 && i < n {
//! #     unsafe { *out.add(i) = *tile.add(k - 1) + *tile.add(k + 1) };
//! # }
//! # }
//! ```

macro_rules! narrow_copy {
    ($(#[doc = $doc:literal] $name:ident = $bytes:literal;)*) => {$(
        #[doc = $doc]
        /// If `present` is false, it reads nothing and sets the bytes to zero, as beyond the border
        /// of a field.
        ///
        /// # Safety
        #[doc = concat!("Both pointers are aligned to ", $bytes, " bytes. If `present`, there are from `global` on ", $bytes)]
        #[doc = concat!("initialised bytes of global memory, which no thread writes until the copy has arrived; from `shared` on ", $bytes)]
        /// bytes of the block's shared memory, which no thread accesses until then.
        #[inline(always)]
        pub unsafe fn $name<T>(shared: *mut T, global: *const T, present: bool) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller's. Shared memory has addresses of 32 bits.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .b64 wide, from; .reg .b32 to; cvta.to.shared.u64 wide, {shared}; cvt.u32.u64 to, wide;",
                    "cvta.to.global.u64 from, {global};",
                    concat!("cp.async.ca.shared.global [to], [from], ", $bytes, ", {read}; }}"),
                    shared = in(reg64) shared,
                    global = in(reg64) global,
                    read = in(reg32) if present { $bytes } else { 0u32 },
                    options(nostack, preserves_flags)
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = (shared, global, present);
                crate::gpu_only("cp.async.ca")
            }
        }
    )*};
}

narrow_copy! {
    #[doc = "Starts a copy of 4 bytes (`cp.async.ca`)."]
    copy_4 = 4;
    #[doc = "Starts a copy of 8 bytes (`cp.async.ca`)."]
    copy_8 = 8;
}

/// Starts a copy of 16 bytes that bypasses L1 (`cp.async.cg`).
///
/// # Safety
/// Both pointers are aligned to 16 bytes. From `global` on there are 16 initialised bytes of global
/// memory, which no thread writes until the copy has arrived; from `shared` on 16 bytes of the
/// block's shared memory, which no thread accesses until then.
#[inline(always)]
pub unsafe fn copy_16<T>(shared: *mut T, global: *const T) {
    // SAFETY: the caller's.
    unsafe { copy_16_at(shared, global, 0) }
}

macro_rules! copies_at {
    ($($(#[$doc:meta])* $name:ident = $instruction:literal, $bytes:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name<T>(shared: *mut T, global: *const T, index: u32) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller's. Shared memory has addresses of 32 bits.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .b64 wide, from; .reg .b32 to; cvta.to.shared.u64 wide, {shared}; cvt.u32.u64 to, wide;",
                    "mad.wide.u32 from, {index}, {size}, {global}; cvta.to.global.u64 from, from;",
                    concat!($instruction, ".shared.global [to], [from], ", $bytes, "; }}"),
                    shared = in(reg64) shared,
                    global = in(reg64) global,
                    index = in(reg32) index,
                    size = const size_of::<T>(),
                    options(nostack, preserves_flags)
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = (shared, global, index);
                crate::gpu_only($instruction)
            }
        }
    )*};
}

copies_at! {
    /// Starts a copy of 16 bytes as [`copy_16`] does, from the element `index` after `global`. A
    /// kernel that copies from the same places of many planes keeps the indices in 32 bits. This
    /// function lets the compiler compute each address only when it is needed.
    ///
    /// # Safety
    /// As [`copy_16`], for the element.
    copy_16_at = "cp.async.cg", 16;
    /// Starts a copy of 8 bytes, through L1 (`cp.async.ca`), as [`copy_16_at`] does.
    ///
    /// # Safety
    /// As [`copy_16`], for the element, with 8 bytes and an alignment to 8.
    copy_8_at = "cp.async.ca", 8;
}

macro_rules! copies_to {
    ($($(#[$doc:meta])* $name:ident = $instruction:literal, $bytes:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name<T>(shared: u32, global: *const T) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller's.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .b64 from; cvta.to.global.u64 from, {global};",
                    concat!($instruction, ".shared.global [{shared}], [from], ", $bytes, "; }}"),
                    shared = in(reg32) shared,
                    global = in(reg64) global,
                    options(nostack, preserves_flags)
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = (shared, global);
                crate::gpu_only($instruction)
            }
        }
    )*};
}

copies_to! {
    /// Starts a copy of 16 bytes as [`copy_16`] does. The target is an
    /// [`address`](crate::shared::address) in shared memory: kernels with many copies compute it in
    /// 32 bits.
    ///
    /// ```
    /// use cuda_std::{async_copy, mem, shared, thread};
    ///
    /// /// This thread's four elements of `row`.
    /// unsafe fn elements(row: &[f32]) -> [f32; 4] {
    ///     let own = 4 * thread::thread_idx_x() as usize;
    ///     unsafe {
    ///         let place = shared::dynamic_shared_mem::<f32>().add(own);
    ///         async_copy::copy_16_to(shared::address(place), row.as_ptr().add(own));
    ///         async_copy::commit();
    ///         // Something else, meanwhile.
    ///         async_copy::wait::<0>();
    ///         mem::load_vector(place)
    ///     }
    /// }
    /// # use cuda_std::kernel;
    /// # #[kernel]
    /// # pub unsafe fn totals(row: &[f32], out: *mut f32) {
    /// #     let [a, b, c, d] = unsafe { elements(row) };
    /// #     unsafe { *out.add(thread::thread_idx_x() as usize) = a + b + c + d };
    /// # }
    /// ```
    ///
    /// # Safety
    /// As [`copy_16`].
    copy_16_to = "cp.async.cg", 16;
    /// Starts a copy of 8 bytes, through L1 (`cp.async.ca`), as [`copy_16_to`] does.
    ///
    /// # Safety
    /// As [`copy_16`], with 8 bytes and an alignment to 8.
    copy_8_to = "cp.async.ca", 8;
}

/// Closes this thread's group of copies: those started since its previous call. The group may be
/// empty.
#[inline(always)]
pub fn commit() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it has no preconditions.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::gpu_only("cp.async.commit_group")
}

/// Waits until at most the `GROUPS` latest groups that this thread closed are still on their way.
#[inline(always)]
pub fn wait<const GROUPS: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it has no preconditions.
    unsafe {
        core::arch::asm!(
            "cp.async.wait_group {groups};",
            groups = const GROUPS,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::gpu_only("cp.async.wait_group")
}
