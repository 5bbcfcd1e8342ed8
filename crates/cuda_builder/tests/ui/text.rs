//~ error: cannot find macro `format` in this scope
//~ error: `String`
//~ hint: a kernel has no heap by default, and no `String`: print the values themselves with
//~   `println!` of cuda_std. `String` and `format!` need the feature `alloc` of cuda_std
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn names(out: *mut u32) {
    let name: String = format!("thread {}", thread::index_1d());
    unsafe { *out = name.len() as u32 }
}
