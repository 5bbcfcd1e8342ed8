//~ error: cannot find macro `vec` in this scope
//~ error: `Vec`
//~ hint: a kernel has no heap by default: use an array (`[0.0f32; 8]`, of the thread's own),
//~   `shared_array![f32; 256]` (the block's), or a buffer of the host's. `Vec` and `Box` need the
//~   feature `alloc` of cuda_std, and cost a call of the device's `malloc` each
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn collects(out: *mut f32) {
    let mut all = vec![0.0f32; 4];
    all.push(1.0);
    let more: Vec<f32> = Vec::new();
    unsafe { *out = all[4] + more.len() as f32 }
}
