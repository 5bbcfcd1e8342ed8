//! Accesses outside memory, misaligned, through null, to read-only data.

use cuda_std::prelude::*;

/// Without a guard: the last block has more threads than elements are left.
#[kernel]
pub unsafe fn scale_unguarded(a: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    *y.add(i) = a * *x.as_ptr().add(i); //~ fault
}

/// With the guard.
#[kernel]
pub unsafe fn scale_unguarded_fixed(a: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *y.add(i) = a * x[i];
    }
}

/// `<=` instead of `<`.
#[kernel]
pub unsafe fn fill_inclusive(value: f32, y: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i <= n {
        *y.add(i as usize) = value; //~ fault
    }
}

/// `<`.
#[kernel]
pub unsafe fn fill_inclusive_fixed(value: f32, y: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        *y.add(i as usize) = value;
    }
}

/// The halo is off by one: cell 0 has no left neighbour.
#[kernel]
pub unsafe fn blur(u: *const f32, out: *mut f32, n: i32) {
    let i = thread::index_1d() as i32;
    if i < n - 1 {
        let left = *u.offset((i - 1) as isize); //~ fault
        let right = *u.offset((i + 1) as isize);
        *out.offset(i as isize) = 0.5 * (left + right);
    }
}

/// Both border cells are left out.
#[kernel]
pub unsafe fn blur_fixed(u: *const f32, out: *mut f32, n: i32) {
    let i = thread::index_1d() as i32;
    if i > 0 && i < n - 1 {
        let left = *u.offset((i - 1) as isize);
        let right = *u.offset((i + 1) as isize);
        *out.offset(i as isize) = 0.5 * (left + right);
    }
}

/// Reads cell -1 by an unsigned index, which wraps to 2^32 - 1.
#[kernel]
pub unsafe fn difference(u: *const f32, out: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        *out.add(i as usize) = *u.add(i as usize) - *u.add((i - 1) as usize); //~ fault
    }
}

/// Cell 0 is left out.
#[kernel]
pub unsafe fn difference_fixed(u: *const f32, out: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i > 0 && i < n {
        *out.add(i as usize) = *u.add(i as usize) - *u.add((i - 1) as usize);
    }
}

/// Rows and columns mixed up: a row has n_x elements, not n_y.
#[kernel]
pub unsafe fn double_matrix(m: *mut f32, n_x: u32, n_y: u32) {
    let at = thread::index_2d();
    if at.x < n_x && at.y < n_y {
        let element = m.add((at.x * n_x + at.y) as usize);
        *element *= 2.0; //~ fault
    }
}

/// Row-major.
#[kernel]
pub unsafe fn double_matrix_fixed(m: *mut f32, n_x: u32, n_y: u32) {
    let at = thread::index_2d();
    if at.x < n_x && at.y < n_y {
        let element = m.add((at.y * n_x + at.x) as usize);
        *element *= 2.0;
    }
}

/// Four elements at once, from any index: addresses must be multiples of 16 bytes.
#[kernel]
pub unsafe fn sum_of_four(x: *const f32, out: *mut f32) {
    let i = thread::index_1d() as usize;
    let [a, b, c, d] = mem::load_vector::<f32, 4>(x.add(i)); //~ fault
    *out.add(i) = a + b + c + d;
}

/// Four loads.
#[kernel]
pub unsafe fn sum_of_four_fixed(x: *const f32, out: *mut f32) {
    let i = thread::index_1d() as usize;
    let x = x.add(i);
    *out.add(i) = *x + *x.add(1) + *x.add(2) + *x.add(3);
}

/// A layer's additions to its input.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Layer {
    /// Null if there is none.
    bias: *const f32,
    /// A factor of the input.
    scale: f32,
}

/// Does not expect a layer without bias.
#[kernel]
pub unsafe fn apply_layer(x: &[f32], layer: Layer, out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *out.add(i) = layer.scale * x[i] + *layer.bias.add(i); //~ fault
    }
}

/// Checks first.
#[kernel]
pub unsafe fn apply_layer_fixed(x: &[f32], layer: Layer, out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let bias = if layer.bias.is_null() {
            0.0
        } else {
            *layer.bias.add(i)
        };
        *out.add(i) = layer.scale * x[i] + bias;
    }
}

/// `&[f32]` promises constant elements; a call with one buffer as x and y breaks the promise.
#[kernel]
pub unsafe fn shift_left(x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    *y.add(i) = (100 + i) as f32; //~ fault
    thread::sync_threads();
    let next = x[(i + 1) % x.len()]; //~ fault
    thread::sync_threads();
    *y.add(i) = next;
}

/// Reads through the pointer that it writes through.
#[kernel]
pub unsafe fn shift_left_fixed(n: usize, y: *mut f32) {
    let i = thread::index_1d() as usize;
    *y.add(i) = (100 + i) as f32;
    thread::sync_threads();
    let next = *y.add((i + 1) % n);
    thread::sync_threads();
    *y.add(i) = next;
}

/// The tile has room for the block, but not for its halo.
#[kernel]
pub unsafe fn tile_without_halo(u: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 64];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    *tile.add(t + 1) = *u.add(i + 1);
    if t < 2 {
        *tile.add(t * 65) = *u.add(i + t * 64); //~ fault
    }
    thread::sync_threads();
    *out.add(i) = *tile.add(t) + *tile.add(t + 2);
}

/// The tile has room for two more elements.
#[kernel]
pub unsafe fn tile_without_halo_fixed(u: *const f32, out: *mut f32) {
    let tile = shared_array![f32; 66];
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    *tile.add(t + 1) = *u.add(i + 1);
    if t < 2 {
        *tile.add(t * 65) = *u.add(i + t * 64);
    }
    thread::sync_threads();
    *out.add(i) = *tile.add(t) + *tile.add(t + 2);
}

/// Right if the launch gives the block 4 bytes of shared memory for each thread, not 1.
#[kernel]
pub unsafe fn reverse_block(x: *const f32, out: *mut f32) {
    let tile = shared::dynamic_shared_mem::<f32>();
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    *tile.add(t) = *x.add(i); //~ fault
    thread::sync_threads();
    *out.add(i) = *tile.add(thread::block_dim_x() as usize - 1 - t);
}
