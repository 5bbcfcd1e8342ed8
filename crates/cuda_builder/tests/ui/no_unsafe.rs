//~ error: dereference of raw pointer is unsafe
//~ hint: the compiler cannot check this: write `unsafe { ... }` around it, and a comment `//
//~   SAFETY:` that says why the address is in its buffer and why no other thread uses the element
use cuda_std::prelude::*;

fn double(y: *mut f32) {
    *y *= 2.0;
}

#[kernel]
pub unsafe fn doubles(y: *mut f32) {
    double(y)
}
