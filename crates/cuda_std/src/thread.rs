//! Which thread am I; barriers and fences.
//!
//! Indices and dimensions are PTX special registers (PTX ISA, "Special Registers"): reading one
//! costs about as much as an addition.

use crate::llvm;
use crate::vector::{UVec2, UVec3};

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reading a special register has no preconditions.
            unsafe { llvm::$name() }
        }
    )*};
}

special_registers! {
    /// This thread's index within its block, along x.
    thread_idx_x;
    /// This thread's index within its block, along y.
    thread_idx_y;
    /// This thread's index within its block, along z.
    thread_idx_z;
    /// The number of threads in a block, along x.
    block_dim_x;
    /// The number of threads in a block, along y.
    block_dim_y;
    /// The number of threads in a block, along z.
    block_dim_z;
    /// This block's index within the grid, along x.
    block_idx_x;
    /// This block's index within the grid, along y.
    block_idx_y;
    /// This block's index within the grid, along z.
    block_idx_z;
    /// The number of blocks in the grid, along x.
    grid_dim_x;
    /// The number of blocks in the grid, along y.
    grid_dim_y;
    /// The number of blocks in the grid, along z.
    grid_dim_z;
    /// The number of the multiprocessor that this thread runs on. A program cannot choose it, and a
    /// thread may be moved to another.
    multiprocessor;
}

/// This thread's index within its block.
#[inline(always)]
pub fn thread_idx() -> UVec3 {
    UVec3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
}

/// The number of threads in a block.
#[inline(always)]
pub fn block_dim() -> UVec3 {
    UVec3::new(block_dim_x(), block_dim_y(), block_dim_z())
}

/// This block's index within the grid.
#[inline(always)]
pub fn block_idx() -> UVec3 {
    UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// The number of blocks in the grid.
#[inline(always)]
pub fn grid_dim() -> UVec3 {
    UVec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// This thread's index in the grid, of any shape: blocks in the order of x, y, z, and threads
/// within each likewise.
///
/// The product is 32-bit, as that of [`index_1d`].
#[inline(always)]
pub fn index() -> u32 {
    let block = (block_idx_z() * grid_dim_y() + block_idx_y()) * grid_dim_x() + block_idx_x();
    block * (block_dim_x() * block_dim_y() * block_dim_z()) + linear_thread_idx()
}

/// This thread's index in the grid, where grid and blocks extend along x only.
///
/// The product is 32-bit: grids of 2^32 threads and more need [`block_idx_x`] and wider arithmetic.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// This thread's index in the grid, along x and y.
#[inline(always)]
pub fn index_2d() -> UVec2 {
    UVec2::new(index_1d(), block_idx_y() * block_dim_y() + thread_idx_y())
}

/// This thread's index in the grid, along x, y and z.
#[inline(always)]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    UVec3::new(x, y, block_idx_z() * block_dim_z() + thread_idx_z())
}

/// This thread's linear index within its block: x fastest, then y, then z.
#[inline(always)]
pub fn linear_thread_idx() -> u32 {
    (thread_idx_z() * block_dim_y() + thread_idx_y()) * block_dim_x() + thread_idx_x()
}

/// Waits until every thread of the block is here. Writes to shared and global memory before it are
/// visible to the block's threads after it. CUDA C++'s `__syncthreads()`.
///
/// Every thread of the block must reach the same call. In a branch that only some of them take, or
/// after some have returned, the behaviour is undefined (the emulated device reports it).
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: barrier 0 exists in every block.
    unsafe { llvm::barrier(0) }
}

/// A condition of a thread: `bool`, or a number that is not 0.
pub trait Condition: Copy {
    /// Whether it holds.
    fn holds(self) -> bool;
    /// A condition that holds or does not: `true` or 1, `false` or 0.
    fn of(holds: bool) -> Self;
}

impl Condition for bool {
    #[inline(always)]
    fn holds(self) -> bool {
        self
    }

    #[inline(always)]
    fn of(holds: bool) -> Self {
        holds
    }
}

impl Condition for u32 {
    #[inline(always)]
    fn holds(self) -> bool {
        self != 0
    }

    #[inline(always)]
    fn of(holds: bool) -> Self {
        Self::from(holds)
    }
}

/// Waits as [`sync_threads`] does, and returns the number of the block's threads whose `predicate`
/// is true.
#[inline(always)]
pub fn sync_threads_count(predicate: impl Condition) -> u32 {
    // SAFETY: as `sync_threads`.
    unsafe { llvm::barrier_count(0, predicate.holds()) }
}

/// Waits as [`sync_threads`] does, and returns whether `predicate` is true in every thread of the
/// block.
#[inline(always)]
pub fn sync_threads_and<P: Condition>(predicate: P) -> P {
    P::of(sync_threads_count(!predicate.holds()) == 0)
}

/// Waits as [`sync_threads`] does, and returns whether `predicate` is true in some thread of the
/// block.
#[inline(always)]
pub fn sync_threads_or<P: Condition>(predicate: P) -> P {
    P::of(sync_threads_count(predicate) != 0)
}

/// Orders this thread's memory accesses as seen by its block. CUDA C++'s `__threadfence_block()`.
#[inline(always)]
pub fn block_fence() {
    // SAFETY: a fence has no preconditions.
    unsafe { llvm::fence_block() }
}

/// Orders this thread's memory accesses as seen by the device. CUDA C++'s `__threadfence()`.
#[inline(always)]
pub fn device_fence() {
    // SAFETY: a fence has no preconditions.
    unsafe { llvm::fence_device() }
}

/// Orders this thread's memory accesses as seen by the grid: [`device_fence`], under Rust-CUDA's
/// other name. It does not wait, as [`grid::sync`](crate::grid::sync) does.
#[inline(always)]
pub fn grid_fence() {
    device_fence();
}

/// Orders this thread's memory accesses as seen by host and devices. CUDA C++'s
/// `__threadfence_system()`.
#[inline(always)]
pub fn system_fence() {
    // SAFETY: a fence has no preconditions.
    unsafe { llvm::fence_system() }
}

/// The number of threads in a warp: [`WARP_SIZE`](crate::warp::WARP_SIZE).
#[inline(always)]
pub fn warp_size() -> u32 {
    crate::warp::WARP_SIZE
}

/// Suspends the thread for about `nanos` nanoseconds, at most 1 ms.
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    // SAFETY: no preconditions from sm_70 on, and `cuda_builder` targets nothing older.
    unsafe { llvm::nanosleep(nanos) }
}

/// Whether this is the first thread of the grid.
#[inline(always)]
pub fn first() -> bool {
    block_idx() == UVec3::new(0, 0, 0) && thread_idx() == UVec3::new(0, 0, 0)
}
