//! Atomics: those of `core` on integers, and addition on floats.
//!
//! `core`'s atomics work in kernels, in global and shared memory alike: make one with
//! `AtomicU32::from_ptr`. Floats add here, with `atom.add`, which `core` does not have.
//!
//! Orderings hold. A block may store its results and then count itself with `fetch_add(1,
//! Ordering::AcqRel)`: a thread that later reads the counter the same way sees the results. With
//! `Ordering::Relaxed` it does not, and the emulated device reports a race. The table shows the
//! instructions (`N` is the width; a `fence.acq_rel` costs about as much as an access to L2):
//!
//! | operation | `Relaxed` | `Acquire`, `Release`, `AcqRel` | `SeqCst` |
//! |---|---|---|---|
//! | `load` | `ld.relaxed.sys` | `ld.acquire.sys` | `fence.sc.sys`, `ld.acquire.sys` |
//! | `store` | `st.relaxed.sys` | `st.release.sys` | `fence.sc.sys`, `st.release.sys` |
//! | `compare_exchange` | `atom.relaxed.sys.cas.bN` | `atom.acquire.sys.cas.bN` and so on | `fence.sc.sys`, `atom.acquire.sys.cas.bN` |
//! | `fetch_add`, `swap`, ... | `atom.add` and so on | with a `fence.acq_rel.gpu` before to release, behind to acquire | with a `fence.sc.gpu` before |
//! | `fence` | | `fence.acq_rel.sys` | `fence.sc.sys` |
//!
//! `fetch_add` and its like therefore order accesses of threads of one device. The other operations
//! also order accesses of other devices and the host.

use core::cell::UnsafeCell;

pub use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Loads a number that another block has stored by [`store_release`]. From here on this thread sees
/// the effects of what that block did before its store. (`AtomicU32::load` is at the scope of the
/// system, which costs more.)
///
/// ```ignore
/// // Blocks in a row: each goes on where the one before it has been.
/// let turn = progress.add(thread::block_idx_x() as usize);
/// while atomic::load_acquire(turn) == 0 {}
/// work();
/// thread::sync_threads();
/// if thread::first() {
///     atomic::store_release(turn.add(1), 1);
/// }
/// ```
///
/// # Safety
/// `pointer` is an aligned `u32` in global memory, which only atomics, this function and
/// [`store_release`] access meanwhile.
#[inline(always)]
pub unsafe fn load_acquire(pointer: *const u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let value: u32;
        // SAFETY: the caller's.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b64 address; cvta.to.global.u64 address, {pointer};",
                "ld.acquire.gpu.global.u32 {value}, [address]; }}",
                pointer = in(reg64) pointer,
                value = out(reg32) value,
                options(nostack, preserves_flags)
            );
        }
        value
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = pointer;
        crate::gpu_only("ld.acquire.gpu")
    }
}

/// Stores a number for threads of the device that load it by [`load_acquire`]. They then see this
/// thread's earlier writes, and the writes that it has seen: its warp's before a `sync_warp`, its
/// block's before a barrier. The store waits until this thread's earlier stores have arrived.
///
/// # Safety
/// As [`load_acquire`].
#[inline(always)]
pub unsafe fn store_release(pointer: *mut u32, value: u32) {
    #[cfg(target_arch = "nvptx64")]
    {
        // SAFETY: the caller's.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b64 address; cvta.to.global.u64 address, {pointer};",
                "st.release.gpu.global.u32 [address], {value}; }}",
                pointer = in(reg64) pointer,
                value = in(reg32) value,
                options(nostack, preserves_flags)
            );
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = (pointer, value);
        crate::gpu_only("st.release.gpu")
    }
}

macro_rules! atomic_float {
    ($name:ident, $ty:ident, $bits:ident, $instruction:literal, $class:ident, $align:literal) => {
        #[doc = concat!("An `", stringify!($ty), "` that the threads of a grid add to without a race.")]
        #[repr(C, align($align))]
        pub struct $name(UnsafeCell<$ty>);

        // SAFETY: every access through `&self` is atomic.
        unsafe impl Sync for $name {}

        impl $name {
            /// A new atomic that holds `value`.
            pub const fn new(value: $ty) -> Self {
                Self(UnsafeCell::new(value))
            }

            /// The atomic at `pointer`.
            ///
            /// # Safety
            /// `pointer` is aligned and valid for `'a`, and all accesses meanwhile are atomic.
            #[inline(always)]
            pub const unsafe fn from_ptr<'a>(pointer: *mut $ty) -> &'a Self {
                // SAFETY: the caller's; the layout is that of the float.
                unsafe { &*pointer.cast() }
            }

            #[inline(always)]
            fn bits(&self) -> &core::sync::atomic::$bits {
                // SAFETY: size and alignment are the same, and all accesses are atomic.
                unsafe { core::sync::atomic::$bits::from_ptr(self.0.get().cast()) }
            }

            /// Loads the value.
            #[inline(always)]
            pub fn load(&self, order: Ordering) -> $ty {
                $ty::from_bits(self.bits().load(order))
            }

            /// Stores `value`.
            #[inline(always)]
            pub fn store(&self, value: $ty, order: Ordering) {
                self.bits().store(value.to_bits(), order)
            }

            #[doc = concat!("Adds `value` and returns what was there before (`", $instruction, "`, relaxed).")]
            ///
            /// Additions of several threads happen in no fixed order, so sums may differ in their
            /// last bits between runs.
            #[inline(always)]
            pub fn fetch_add(&self, value: $ty) -> $ty {
                #[cfg(target_arch = "nvptx64")]
                {
                    let before: $ty;
                    // SAFETY: `self` is valid and aligned, in global or shared memory.
                    unsafe {
                        core::arch::asm!(
                            concat!($instruction, " {before}, [{pointer}], {value};"),
                            before = out($class) before,
                            pointer = in(reg64) self.0.get(),
                            value = in($class) value,
                            options(nostack, preserves_flags)
                        );
                    }
                    before
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let mut before = self.load(Ordering::Relaxed);
                    loop {
                        match self.bits().compare_exchange_weak(
                            before.to_bits(),
                            (before + value).to_bits(),
                            Ordering::Relaxed,
                            Ordering::Relaxed,
                        ) {
                            Ok(_) => return before,
                            Err(now) => before = $ty::from_bits(now),
                        }
                    }
                }
            }
        }
    };
}

atomic_float!(
    AtomicF32,
    f32,
    AtomicU32,
    "atom.relaxed.gpu.add.f32",
    reg32,
    4
);
atomic_float!(
    AtomicF64,
    f64,
    AtomicU64,
    "atom.relaxed.gpu.add.f64",
    reg64,
    8
);
