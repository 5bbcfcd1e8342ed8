//! Four elements a thread.

use cuda_std::prelude::*;

/// C = A + B.
///
/// # Safety
/// All three have n_x * n_y elements and are aligned to 16 bytes; nothing else accesses `c` during the launch.
#[kernel]
pub unsafe fn matadd(a: &[f32], b: &[f32], c: *mut f32, n_x: u32, n_y: u32) {
    let elements = (n_x * n_y) as usize;
    let first = thread::index_1d() as usize * 4;
    // SAFETY: a whole vector is within the matrices, or each element is.
    unsafe {
        if first + 4 <= elements {
            let [a0, a1, a2, a3]: [f32; 4] = mem::load_vector(a.as_ptr().add(first));
            let [b0, b1, b2, b3]: [f32; 4] = mem::load_vector(b.as_ptr().add(first));
            mem::store_vector(c.add(first), [a0 + b0, a1 + b1, a2 + b2, a3 + b3]);
        } else {
            let mut i = first;
            while i < elements {
                *c.add(i) = a[i] + b[i];
                i += 1;
            }
        }
    }
}
