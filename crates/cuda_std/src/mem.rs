//! Loads with a cache operator, loads that do not move, prefetches to L2, vector loads and stores,
//! and the device's heap.
//!
//! Ordinary loads and stores need nothing from here. A cache operator chooses the level that may
//! answer (PTX ISA, "Cache Operators"); a vector access moves 8 or 16 bytes in one instruction.

/// A value that [`load_ca`], [`load_early`] and their like load.
pub trait CacheLoad: Copy {
    #[doc(hidden)]
    unsafe fn load_ca(pointer: *const Self) -> Self;
    #[doc(hidden)]
    unsafe fn load_cg(pointer: *const Self) -> Self;
    #[doc(hidden)]
    unsafe fn load_cv(pointer: *const Self) -> Self;
    #[doc(hidden)]
    unsafe fn load_early(pointer: *const Self) -> Self;
}

macro_rules! cache_load {
    ($($ty:ty: $load:literal, $class:ident $registers:tt => $value:expr;)*) => {$(
        impl CacheLoad for $ty {
            cache_load!(@method load_ca, ".ca", $load, $class $registers => $value);
            cache_load!(@method load_cg, ".cg", $load, $class $registers => $value);
            cache_load!(@method load_cv, ".cv", $load, $class $registers => $value);
            cache_load!(@method load_early, "", $load, $class $registers => $value);
        }
    )*};
    (
        @method $name:ident, $operator:literal, $load:literal,
        $class:ident($($register:ident),+) => $value:expr
    ) => {
        #[inline(always)]
        unsafe fn $name(pointer: *const Self) -> Self {
            #[cfg(target_arch = "nvptx64")]
            {
                $(let $register;)+
                // SAFETY: the caller's: `pointer` is readable, aligned global memory. No `pure`:
                // each call is one load, in order. A latency measurement and `load_early` rely on
                // that.
                unsafe {
                    core::arch::asm!(
                        "{{ .reg .b64 address; cvta.to.global.u64 address, {pointer};",
                        concat!("ld.global", $operator, ".", $load, ", [address]; }}"),
                        pointer = in(reg64) pointer,
                        $($register = out($class) $register,)+
                        options(nostack, preserves_flags)
                    );
                }
                $value
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let _ = pointer;
                crate::gpu_only(concat!("ld.global", $operator))
            }
        }
    };
}

cache_load! {
    u32: "b32 {value}", reg32(value) => value;
    i32: "b32 {value}", reg32(value) => value;
    f32: "b32 {value}", reg32(value) => value;
    u64: "b64 {value}", reg64(value) => value;
    i64: "b64 {value}", reg64(value) => value;
    f64: "b64 {value}", reg64(value) => value;
    [f32; 4]: "v4.b32 {{{a}, {b}, {c}, {d}}}", reg32(a, b, c, d) => [a, b, c, d];
}

/// Loads from global memory, cached in L1 and L2 (`ld.global.ca`).
///
/// # Safety
/// `pointer` is aligned, and points to an initialised value in global memory that no thread writes
/// meanwhile.
#[inline(always)]
pub unsafe fn load_ca<T: CacheLoad>(pointer: *const T) -> T {
    // SAFETY: the caller's.
    unsafe { T::load_ca(pointer) }
}

/// Loads from global memory, cached in L2 only (`ld.global.cg`).
///
/// # Safety
/// As [`load_ca`].
#[inline(always)]
pub unsafe fn load_cg<T: CacheLoad>(pointer: *const T) -> T {
    // SAFETY: the caller's.
    unsafe { T::load_cg(pointer) }
}

/// Loads from global memory, and fetches the value again each time (`ld.global.cv`).
///
/// # Safety
/// As [`load_ca`].
#[inline(always)]
pub unsafe fn load_cv<T: CacheLoad>(pointer: *const T) -> T {
    // SAFETY: the caller's.
    unsafe { T::load_cv(pointer) }
}

/// Loads from global memory (`ld.global`), four `f32` at once as well. The load stays where it is
/// written.
///
/// An ordinary load of a `&[T]` parameter may move down to its first use instead, across a barrier.
/// There the thread waits for it.
///
/// # Safety
/// As [`load_ca`]. Four `f32` are aligned to 16 bytes.
#[inline(always)]
pub unsafe fn load_early<T: CacheLoad>(pointer: *const T) -> T {
    // SAFETY: the caller's.
    unsafe { T::load_early(pointer) }
}

/// Asks L2 to fetch the line at `pointer` in global memory, and does not wait
/// (`prefetch.global.L2`).
///
/// # Safety
/// `pointer` points into a buffer in global memory.
#[inline(always)]
pub unsafe fn prefetch_l2<T>(pointer: *const T) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's. It moves no value.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b64 address; cvta.to.global.u64 address, {pointer};",
            "prefetch.global.L2 [address]; }}",
            pointer = in(reg64) pointer,
            options(nomem, nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let _ = pointer;
        crate::gpu_only("prefetch.global.L2")
    }
}

/// An element of a vector access: 4- or 8-byte plain data.
pub trait VectorElement: Copy {}

impl VectorElement for u32 {}
impl VectorElement for i32 {}
impl VectorElement for f32 {}
impl VectorElement for u64 {}
impl VectorElement for i64 {}
impl VectorElement for f64 {}

/// N elements in one machine vector. An array that is only copied would become two 64-bit integers,
/// and two accesses.
#[cfg_attr(target_arch = "nvptx64", repr(simd))]
#[cfg_attr(not(target_arch = "nvptx64"), repr(C))]
struct Vector<T, const N: usize>([T; N]);

// Written out, because a derived `clone` would reach into the array, which `repr(simd)` forbids.
impl<T: Copy, const N: usize> Copy for Vector<T, N> {}

impl<T: Copy, const N: usize> Clone for Vector<T, N> {
    fn clone(&self) -> Self {
        *self
    }
}

/// Loads N neighbouring elements at once (`ld.v2` or `ld.v4`), from memory of any kind.
///
/// N elements are 8 or 16 bytes; other sizes do not compile.
///
/// # Safety
/// `pointer` is aligned to the whole vector, and points to N initialised elements that no thread
/// writes meanwhile.
#[inline(always)]
pub unsafe fn load_vector<T: VectorElement, const N: usize>(pointer: *const T) -> [T; N] {
    const { assert_vector::<T, N>() };
    // SAFETY: the caller's: alignment and extent are those of the vector, which has the array's
    // layout.
    unsafe {
        let vector: Vector<T, N> = *pointer.cast();
        core::mem::transmute_copy(&vector)
    }
}

/// Stores N neighbouring elements at once (`st.v2` or `st.v4`), to memory of any kind.
///
/// N elements are 8 or 16 bytes; other sizes do not compile.
///
/// # Safety
/// `pointer` is aligned to the whole vector, and points to N elements that no other thread
/// accesses meanwhile.
#[inline(always)]
pub unsafe fn store_vector<T: VectorElement, const N: usize>(pointer: *mut T, value: [T; N]) {
    const { assert_vector::<T, N>() };
    // SAFETY: the caller's: alignment and extent are those of the vector, which has the array's
    // layout.
    unsafe { *pointer.cast::<Vector<T, N>>() = core::mem::transmute_copy(&value) }
}

const fn assert_vector<T, const N: usize>() {
    let bytes = size_of::<[T; N]>();
    assert!(
        bytes == 8 || bytes == 16,
        "a vector access moves 8 or 16 bytes"
    );
}

macro_rules! shared_memory_sizes {
    ($($(#[$doc:meta])* $name:ident = $register:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            #[cfg(target_arch = "nvptx64")]
            {
                let bytes: u32;
                // SAFETY: reading a special register has no preconditions.
                unsafe {
                    core::arch::asm!(
                        concat!("mov.u32 {bytes}, %", $register, ";"),
                        bytes = out(reg32) bytes,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                bytes
            }
            #[cfg(not(target_arch = "nvptx64"))]
            crate::gpu_only(concat!("%", $register))
        }
    )*};
}

shared_memory_sizes! {
    /// The bytes of dynamic shared memory of this launch.
    dynamic_smem_size = "dynamic_smem_size";
    /// The bytes of shared memory of this launch, static and dynamic, rounded up as the device
    /// allots them.
    total_smem_size = "total_smem_size";
}

#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
unsafe extern "C" {
    /// Memory of the device's heap, aligned to 16 bytes, or null if the heap is full (CUDA
    /// Programming Guide, "Dynamic Global Memory Allocation").
    pub fn malloc(bytes: usize) -> *mut core::ffi::c_void;
    /// Gives back what [`malloc`] gave.
    pub fn free(pointer: *mut core::ffi::c_void);
}

/// The allocator behind `Vec`, `Box` and `String` of kernels: the device's `malloc`. The feature
/// `alloc` makes it the global one.
///
/// An allocation costs some thousands of cycles, is in global memory, and comes from a heap of 8 MB
/// for all threads (`cuCtxSetLimit`): an array of the thread's own or of the block's is faster by
/// far.
#[cfg(feature = "alloc")]
#[derive(Debug, Clone, Copy, Default)]
pub struct CUDAAllocator;

/// The alignment of the heap, in bytes.
#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
const HEAP_ALIGNMENT: usize = 16;

// SAFETY: the heap gives each caller memory of its own, of the size asked for; `alloc` aligns it.
#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
unsafe impl core::alloc::GlobalAlloc for CUDAAllocator {
    unsafe fn alloc(&self, layout: core::alloc::Layout) -> *mut u8 {
        if layout.align() > HEAP_ALIGNMENT {
            // Out of memory, as far as the caller can tell.
            return core::ptr::null_mut();
        }
        // SAFETY: any size is a valid argument.
        unsafe { malloc(layout.size()).cast() }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, _: core::alloc::Layout) {
        // SAFETY: the caller's: `alloc` gave the pointer.
        unsafe { free(pointer.cast()) }
    }
}

#[cfg(all(target_arch = "nvptx64", feature = "alloc"))]
#[global_allocator]
static HEAP: CUDAAllocator = CUDAAllocator;
