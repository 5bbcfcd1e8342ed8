//~ error: the type `[f32]` cannot be indexed by `u32`
//~ hint: an index of a slice is a `usize`: convert it once, `let i = thread::index_1d() as
//~   usize;`
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn copies(x: &[f32], y: *mut f32) {
    let i = thread::index_1d();
    unsafe { *y.add(i as usize) = x[i] }
}
