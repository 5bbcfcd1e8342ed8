//! Statics in state spaces, atomics of floats, state spaces of pointers.

use core::mem::MaybeUninit;

use cuda_std::atomic::{AtomicF32, AtomicF64, BlockAtomicF32, Ordering, SystemAtomicF32};
use cuda_std::prelude::*;
use cuda_std::ptr::{
    AddressSpace, convert_generic_to_specific_address_space,
    convert_specific_address_space_to_generic, is_in_address_space,
};
use cuda_std::{address_space, mem};

#[address_space(constant)]
static SQUARES: [u32; 8] = [0, 1, 4, 9, 16, 25, 36, 49];

/// Reverses the squares of a block through shared memory.
#[kernel]
pub unsafe fn statics(out: *mut u32) {
    #[address_space(shared)]
    static mut TILE: [MaybeUninit<u32>; 8] = [MaybeUninit::uninit(); 8];

    let i = thread::thread_idx_x() as usize;
    TILE[i].write(SQUARES[i]);
    thread::sync_threads();
    *out.add(i) = TILE[7 - i].assume_init();
}

/// Each thread adds to one float of every scope; the last one, alone, in other ways.
#[kernel]
pub unsafe fn atomics(single: *mut f32, double: *mut f64, is_last: u32) {
    let device = AtomicF32::from_ptr(single);
    let system = SystemAtomicF32::from_ptr(single.add(1));
    let block = BlockAtomicF32::from_ptr(single.add(2));
    if is_last == 0 {
        device.fetch_add(1.0, Ordering::Relaxed);
        system.fetch_sub(0.5, Ordering::AcqRel);
        block.fetch_add(2.0, Ordering::SeqCst);
        AtomicF64::from_ptr(double).fetch_add(0.25, Ordering::Release);
    } else {
        let before = device.swap(-1.5, Ordering::Acquire);
        system.fetch_and(-0.0, Ordering::Relaxed);
        block.fetch_or(-0.0, Ordering::Relaxed);
        *single.add(3) = before + device.load(Ordering::SeqCst);
        AtomicF64::from_ptr(double).fetch_xor(-0.0, Ordering::AcqRel);
    }
}

/// Where pointers point to, and sizes of shared memory.
#[kernel]
pub unsafe fn spaces(out: *mut u32) {
    let shared = shared_array![u32; 4];
    let is_in = |pointer, space| u32::from(is_in_address_space(pointer, space));
    *out = is_in(shared.cast_const(), AddressSpace::Shared);
    *out.add(1) = is_in(shared.cast_const(), AddressSpace::Global);
    *out.add(2) = is_in(out.cast_const(), AddressSpace::Global);
    let within =
        convert_generic_to_specific_address_space(shared.cast_const(), AddressSpace::Shared);
    let back = convert_specific_address_space_to_generic(within, AddressSpace::Shared);
    *out.add(3) = u32::from(core::ptr::eq(back, shared));
    *out.add(4) = mem::dynamic_smem_size();
    thread::grid_fence();
}

/// y += a * x, without an access that could be wrong.
#[kernel(no_panic)]
pub unsafe fn axpy(a: f32, x: &[f32], y: *mut f32) {
    let mut y = DisjointSlice::<f32>::new(y, x.len());
    for (i, value) in y.elements() {
        if let Some(x) = x.get(i) {
            *value += a * x;
        }
    }
}

/// The first n elements plus one, whose checks follow from the condition.
#[kernel(no_panic, requires(n as usize <= x.len(), n > 0))]
pub unsafe fn first_elements(n: u32, x: &[f32], out: *mut f32) {
    let i = thread::index_1d();
    if i < n {
        *out.add(i as usize) = x[i as usize] + 1.0;
    }
}

/// Reverses tiles of four.
#[kernel]
pub unsafe fn reverse_tiles(x: *mut u32, len: u32) {
    let mut x = DisjointSlice::<u32, 4>::new(x, len as usize);
    if let Some((_, tile)) = x.tile() {
        tile.reverse();
    }
}

/// Adds the place in the matrix to each element: x + 100 y.
#[kernel]
pub unsafe fn places(out: *mut u32, n_x: u32, n_y: u32) {
    let mut out = DisjointMatrix::new(out, n_x, n_y);
    if let Some((place, out)) = out.element() {
        *out += place.x + 100 * place.y;
    }
}

/// Which names of compute capabilities are true here.
#[kernel]
#[allow(unexpected_cfgs, reason = "on the host, compilers know no such name")]
pub unsafe fn capabilities(out: *mut u32) {
    *out = u32::from(cfg!(target_feature = "compute_80"));
    *out.add(1) = u32::from(cfg!(target_feature = "compute_35"));
    *out.add(2) = u32::from(cfg!(target_feature = "compute_86"));
    *out.add(3) = u32::from(cfg!(target_feature = "compute_90"));
}
