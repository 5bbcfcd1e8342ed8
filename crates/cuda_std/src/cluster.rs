//! Thread block clusters: blocks that run at the same time, meet at a barrier, and reach each
//! other's shared memory.
//!
//! A launch may say how many blocks make a cluster; otherwise each block is a cluster by itself.
//! The blocks of a cluster are neighbours in the grid, and run on multiprocessors that are
//! neighbours too (PTX ISA, "Cluster of Cooperative Thread Arrays"). Kernels that use this module
//! need compute capability 9.0: mark them `#[kernel(capability = "9.0")]`.
//!
//! ```
//! # use cuda_std::prelude::*;
//! # #[kernel(capability = "9.0")]
//! # pub unsafe fn peers(x: &[f32], y: *mut f32) {
//! # let mine = x[thread::index_1d() as usize];
//! // Each thread gets what its peer in the next block of the cluster has.
//! let tile = shared_array![f32; 256];
//! let i = thread::thread_idx_x() as usize;
//! unsafe { *tile.add(i) = mine };
//! cluster::sync();
//! let next = (cluster::block_rank() + 1) % cluster::blocks();
//! let theirs = unsafe { *cluster::map_shared(tile, next).add(i) };
//! // The tile must live until the last has read it.
//! cluster::sync();
//! # unsafe { *y.add(thread::index_1d() as usize) = theirs };
//! # }
//! ```
//!
//! # Rules for another block's shared memory
//!
//! - The other block has started: this block has passed a barrier of the cluster before the access.
//! - The other block has not ended: a barrier of the cluster is between the access and the end of
//!   that block.
//! - A barrier of the cluster is between a write and another block's read or write of the same
//!   place, as [`sync_threads`](crate::thread::sync_threads) is within a block.
//!
//! The behaviour of a program that breaks a rule is undefined. The emulated device reports each
//! case.
//!
//! # Cost
//!
//! On compute capability 9.0, an arrival that releases waits until all of the thread's stores, also
//! those to global memory, are visible on the device. A wait empties the multiprocessor's L1 cache.
//! (The machine code has `MEMBAR.ALL.GPU` and `CCTL.IVALL`.) Therefore arrive before storing
//! results, and load through L1 only what is reused between two barriers. An access to another
//! block's memory is a generic load or store, as to global memory. Blocks that only send each other
//! values in turns need no barrier of the cluster:
//! [`mbarrier::store_async`](crate::mbarrier::store_async).

use crate::llvm;
use crate::vector::UVec3;

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident = $register:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reading a special register has no preconditions.
            unsafe { llvm::$register() }
        }
    )*};
}

special_registers! {
    /// This block's index within its cluster, along x.
    block_idx_x = cluster_block_idx_x;
    /// This block's index within its cluster, along y.
    block_idx_y = cluster_block_idx_y;
    /// This block's index within its cluster, along z.
    block_idx_z = cluster_block_idx_z;
    /// The number of blocks in a cluster, along x.
    dim_x = cluster_dim_x;
    /// The number of blocks in a cluster, along y.
    dim_y = cluster_dim_y;
    /// The number of blocks in a cluster, along z.
    dim_z = cluster_dim_z;
    /// This block's number within its cluster: x fastest, then y, then z.
    block_rank = cluster_block_rank;
    /// The number of blocks in a cluster.
    blocks = cluster_blocks;
    /// This cluster's index within the grid, along x.
    cluster_idx_x = cluster_idx_x;
    /// This cluster's index within the grid, along y.
    cluster_idx_y = cluster_idx_y;
    /// This cluster's index within the grid, along z.
    cluster_idx_z = cluster_idx_z;
    /// The number of clusters in the grid, along x.
    grid_dim_x = cluster_grid_dim_x;
    /// The number of clusters in the grid, along y.
    grid_dim_y = cluster_grid_dim_y;
    /// The number of clusters in the grid, along z.
    grid_dim_z = cluster_grid_dim_z;
}

/// This block's index within its cluster.
#[inline(always)]
pub fn block_idx() -> UVec3 {
    UVec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// The number of blocks in a cluster.
#[inline(always)]
pub fn dim() -> UVec3 {
    UVec3::new(dim_x(), dim_y(), dim_z())
}

/// This cluster's index within the grid.
#[inline(always)]
pub fn cluster_idx() -> UVec3 {
    UVec3::new(cluster_idx_x(), cluster_idx_y(), cluster_idx_z())
}

/// The number of clusters in the grid.
#[inline(always)]
pub fn grid_dim() -> UVec3 {
    UVec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// The arrival of a thread at the cluster's barrier. The thread then waits for the barrier.
#[derive(Debug)]
#[must_use = "a thread that has arrived must wait before it arrives again"]
pub struct Arrival(());

/// Waits until every thread of the cluster is here. Writes to shared and global memory before it
/// are visible to the cluster's threads after it. CUDA C++'s `cluster.sync()`.
///
/// Every thread of the cluster that has not returned must reach the same call. In a branch that
/// only some threads of a warp take, the behaviour is undefined (the emulated device reports it).
#[inline(always)]
pub fn sync() {
    arrive().wait();
}

/// Arrives at the cluster's barrier and goes on, up to [`Arrival::wait`]. Threads that have waited
/// see what this thread wrote before it arrived. Work between arrival and wait must not depend on
/// what other threads write meanwhile.
///
/// As with [`sync`], all threads of a warp arrive together.
#[inline(always)]
pub fn arrive() -> Arrival {
    // SAFETY: no preconditions from sm_90 on.
    unsafe { llvm::cluster_arrive() }
    Arrival(())
}

/// Arrives as [`arrive`] does, but the barrier orders none of this thread's earlier reads and
/// writes. This is cheaper, and enough to know that all blocks have started.
#[inline(always)]
pub fn arrive_relaxed() -> Arrival {
    // SAFETY: no preconditions from sm_90 on.
    unsafe { llvm::cluster_arrive_relaxed() }
    Arrival(())
}

impl Arrival {
    /// Waits until every thread of the cluster that has not returned has arrived. All threads of a
    /// warp wait together.
    #[inline(always)]
    pub fn wait(self) {
        // SAFETY: this thread has arrived, and has not waited since.
        unsafe { llvm::cluster_wait() }
    }
}

/// Maps an address in this block's shared memory to the corresponding one of another block. `rank`
/// is that block's [rank](block_rank) in the cluster. CUDA C++'s `cluster.map_shared_rank()`.
///
/// Accesses through the result, atomics too, become `ld.shared::cluster` and `st.shared::cluster`.
/// The module's documentation says when they are allowed.
///
/// # Safety
/// `address` points into this block's shared memory, or one past an array in it. `rank` is below
/// [`blocks`].
#[inline(always)]
pub unsafe fn map_shared<T>(address: *mut T, rank: u32) -> *mut T {
    // SAFETY: the caller's.
    unsafe { llvm::map_shared(address.cast(), rank).cast() }
}
