use cuda_std::prelude::*;

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Size {
    x: u32,
    y: u32,
}

#[kernel(max_threads = 1024, min_blocks = 2)]
pub unsafe fn all(slice: &[f32], one: &Size, size: Size, mut n: u32, k: f64, out: *mut f32, from: *const Size) {
    let tile = shared_array![[f32; 4]; 8 * 8];
    n += size.x + size.y + one.x + one.y;
    let _ = (slice.len(), n, k, out, from, tile);
}

// Arguments with names that the attribute uses itself do not meet.
#[kernel]
pub unsafe fn names(x: &[f32], x_pointer: *mut f32, x_length: usize) {
    let _ = (x, x_pointer, x_length);
}

#[kernel(capability = "9.0", max_threads = 256, max_registers = 64, cluster = (2, 2, 1))]
pub unsafe fn clusters(out: *mut u32) {
    let tile = shared_array![u32; 32];
    let arrival = cluster::arrive();
    arrival.wait();
    unsafe { *out = *cluster::map_shared(tile, cluster::block_rank()) };
    cluster::sync();
}

#[kernel(no_panic, requires(n as usize * 2 <= x.len() && n > 0, k % 4 == 0))]
pub unsafe fn conditions(n: u32, x: &[f32], k: usize) {
    let _ = (n, x, k);
}

fn main() {}
