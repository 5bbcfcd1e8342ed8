//! Functions of LLVM's NVPTX back end, by their intrinsic names (LLVM's `IntrinsicsNVVM.td`).
//!
//! Where an intrinsic exists, this crate prefers it to inline assembly. LLVM knows which intrinsics
//! are convergent (must not move into or out of a branch); inline assembly cannot say so.

/// Panics on the host, where `what` has no meaning.
///
/// # Panics
/// Always.
#[cold]
#[track_caller]
pub fn gpu_only<T>(what: &str) -> T {
    panic!("{what} runs only on a GPU")
}

macro_rules! intrinsics {
    ($(fn $name:ident($($argument:ident: $ty:ty),*) -> $result:ty = $link:literal;)*) => {
        #[cfg(target_arch = "nvptx64")]
        #[allow(improper_ctypes)]
        unsafe extern "C" {
            $(
                #[link_name = $link]
                pub fn $name($($argument: $ty),*) -> $result;
            )*
        }
        $(
            #[cfg(not(target_arch = "nvptx64"))]
            #[allow(dead_code)]
            #[track_caller]
            pub unsafe fn $name($($argument: $ty),*) -> $result {
                $(let _ = $argument;)*
                gpu_only($link)
            }
        )*
    };
}

intrinsics! {
    fn thread_idx_x() -> u32 = "llvm.nvvm.read.ptx.sreg.tid.x";
    fn thread_idx_y() -> u32 = "llvm.nvvm.read.ptx.sreg.tid.y";
    fn thread_idx_z() -> u32 = "llvm.nvvm.read.ptx.sreg.tid.z";
    fn block_dim_x() -> u32 = "llvm.nvvm.read.ptx.sreg.ntid.x";
    fn block_dim_y() -> u32 = "llvm.nvvm.read.ptx.sreg.ntid.y";
    fn block_dim_z() -> u32 = "llvm.nvvm.read.ptx.sreg.ntid.z";
    fn block_idx_x() -> u32 = "llvm.nvvm.read.ptx.sreg.ctaid.x";
    fn block_idx_y() -> u32 = "llvm.nvvm.read.ptx.sreg.ctaid.y";
    fn block_idx_z() -> u32 = "llvm.nvvm.read.ptx.sreg.ctaid.z";
    fn grid_dim_x() -> u32 = "llvm.nvvm.read.ptx.sreg.nctaid.x";
    fn grid_dim_y() -> u32 = "llvm.nvvm.read.ptx.sreg.nctaid.y";
    fn grid_dim_z() -> u32 = "llvm.nvvm.read.ptx.sreg.nctaid.z";
    fn cluster_block_idx_x() -> u32 = "llvm.nvvm.read.ptx.sreg.cluster.ctaid.x";
    fn cluster_block_idx_y() -> u32 = "llvm.nvvm.read.ptx.sreg.cluster.ctaid.y";
    fn cluster_block_idx_z() -> u32 = "llvm.nvvm.read.ptx.sreg.cluster.ctaid.z";
    fn cluster_dim_x() -> u32 = "llvm.nvvm.read.ptx.sreg.cluster.nctaid.x";
    fn cluster_dim_y() -> u32 = "llvm.nvvm.read.ptx.sreg.cluster.nctaid.y";
    fn cluster_dim_z() -> u32 = "llvm.nvvm.read.ptx.sreg.cluster.nctaid.z";
    fn cluster_block_rank() -> u32 = "llvm.nvvm.read.ptx.sreg.cluster.ctarank";
    fn cluster_blocks() -> u32 = "llvm.nvvm.read.ptx.sreg.cluster.nctarank";
    fn cluster_idx_x() -> u32 = "llvm.nvvm.read.ptx.sreg.clusterid.x";
    fn cluster_idx_y() -> u32 = "llvm.nvvm.read.ptx.sreg.clusterid.y";
    fn cluster_idx_z() -> u32 = "llvm.nvvm.read.ptx.sreg.clusterid.z";
    fn cluster_grid_dim_x() -> u32 = "llvm.nvvm.read.ptx.sreg.nclusterid.x";
    fn cluster_grid_dim_y() -> u32 = "llvm.nvvm.read.ptx.sreg.nclusterid.y";
    fn cluster_grid_dim_z() -> u32 = "llvm.nvvm.read.ptx.sreg.nclusterid.z";
    fn lane_id() -> u32 = "llvm.nvvm.read.ptx.sreg.laneid";
    fn multiprocessor() -> u32 = "llvm.nvvm.read.ptx.sreg.smid";
    fn clock() -> u32 = "llvm.nvvm.read.ptx.sreg.clock";
    fn clock64() -> u64 = "llvm.nvvm.read.ptx.sreg.clock64";
    fn globaltimer() -> u64 = "llvm.nvvm.read.ptx.sreg.globaltimer";
    fn activemask() -> u32 = "llvm.nvvm.activemask";

    fn barrier(id: u32) -> () = "llvm.nvvm.barrier.cta.sync.aligned.all";
    fn barrier_count(id: u32, predicate: bool) -> u32 = "llvm.nvvm.barrier.cta.red.popc.aligned.all";
    fn cluster_arrive() -> () = "llvm.nvvm.barrier.cluster.arrive.aligned";
    fn cluster_arrive_relaxed() -> () = "llvm.nvvm.barrier.cluster.arrive.relaxed.aligned";
    fn cluster_wait() -> () = "llvm.nvvm.barrier.cluster.wait.aligned";
    fn barrier_warp(mask: u32) -> () = "llvm.nvvm.bar.warp.sync";
    fn fence_block() -> () = "llvm.nvvm.membar.cta";
    fn fence_device() -> () = "llvm.nvvm.membar.gl";
    fn fence_system() -> () = "llvm.nvvm.membar.sys";
    fn nanosleep(ns: u32) -> () = "llvm.nvvm.nanosleep";

    fn shuffle_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32 = "llvm.nvvm.shfl.sync.down.i32";
    fn shuffle_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32 = "llvm.nvvm.shfl.sync.up.i32";
    fn shuffle_xor(mask: u32, value: u32, lanes: u32, clamp: u32) -> u32 = "llvm.nvvm.shfl.sync.bfly.i32";
    fn shuffle_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32 = "llvm.nvvm.shfl.sync.idx.i32";
    fn vote_all(mask: u32, predicate: bool) -> bool = "llvm.nvvm.vote.all.sync";
    fn vote_any(mask: u32, predicate: bool) -> bool = "llvm.nvvm.vote.any.sync";
    fn vote_uniform(mask: u32, predicate: bool) -> bool = "llvm.nvvm.vote.uni.sync";
    fn vote_ballot(mask: u32, predicate: bool) -> u32 = "llvm.nvvm.vote.ballot.sync";
    fn match_any(mask: u32, value: u32) -> u32 = "llvm.nvvm.match.any.sync.i32";
    fn match_any_64(mask: u32, value: u64) -> u32 = "llvm.nvvm.match.any.sync.i64";
    fn reduce_add(value: u32, mask: u32) -> u32 = "llvm.nvvm.redux.sync.add";
    fn reduce_min(value: u32, mask: u32) -> u32 = "llvm.nvvm.redux.sync.umin";
    fn reduce_max(value: u32, mask: u32) -> u32 = "llvm.nvvm.redux.sync.umax";
    fn reduce_min_signed(value: i32, mask: u32) -> i32 = "llvm.nvvm.redux.sync.min";
    fn reduce_max_signed(value: i32, mask: u32) -> i32 = "llvm.nvvm.redux.sync.max";
    fn reduce_and(value: u32, mask: u32) -> u32 = "llvm.nvvm.redux.sync.and";
    fn reduce_or(value: u32, mask: u32) -> u32 = "llvm.nvvm.redux.sync.or";
    fn reduce_xor(value: u32, mask: u32) -> u32 = "llvm.nvvm.redux.sync.xor";

    fn fma_f32(a: f32, b: f32, c: f32) -> f32 = "llvm.fma.f32";
    fn fma_f64(a: f64, b: f64, c: f64) -> f64 = "llvm.fma.f64";
    fn sqrt_f32(x: f32) -> f32 = "llvm.sqrt.f32";
    fn sqrt_f64(x: f64) -> f64 = "llvm.sqrt.f64";
    fn floor_f32(x: f32) -> f32 = "llvm.floor.f32";
    fn floor_f64(x: f64) -> f64 = "llvm.floor.f64";
    fn ceil_f32(x: f32) -> f32 = "llvm.ceil.f32";
    fn ceil_f64(x: f64) -> f64 = "llvm.ceil.f64";
    fn trunc_f32(x: f32) -> f32 = "llvm.trunc.f32";
    fn trunc_f64(x: f64) -> f64 = "llvm.trunc.f64";
    fn round_f32(x: f32) -> f32 = "llvm.round.f32";
    fn round_f64(x: f64) -> f64 = "llvm.round.f64";
    fn sin_approx(x: f32) -> f32 = "llvm.nvvm.sin.approx.f";
    fn cos_approx(x: f32) -> f32 = "llvm.nvvm.cos.approx.f";
    fn exp2_approx(x: f32) -> f32 = "llvm.nvvm.ex2.approx.f32";
    fn log2_approx(x: f32) -> f32 = "llvm.nvvm.lg2.approx.f";
    fn rsqrt_approx(x: f32) -> f32 = "llvm.nvvm.rsqrt.approx.f";
    fn recip_approx(x: f32) -> f32 = "llvm.nvvm.rcp.approx.ftz.f";

    // Defined by `cuda_builder`: the address of the block's dynamic shared memory.
    fn dynamic_shared_mem() -> *mut u8 = "__cuda_std_dynamic_shared_mem";
    // Defined by `cuda_builder`: the address, within shared memory, of a place there.
    fn shared_address(address: *const u8) -> u32 = "__cuda_std_shared_address";
    // Defined by `cuda_builder`: the address in the shared memory of the cluster's block of a rank.
    fn map_shared(address: *mut u8, rank: u32) -> *mut u8 = "__cuda_std_map_shared";
}

/// Ends the launch with an error.
///
/// # Safety
/// The caller has no obligation; the function is `unsafe` because it is foreign.
#[cfg(target_arch = "nvptx64")]
pub unsafe fn trap() -> ! {
    unsafe extern "C" {
        #[link_name = "llvm.trap"]
        fn llvm_trap() -> !;
    }
    // SAFETY: no preconditions.
    unsafe { llvm_trap() }
}
