//~ error: `std`
//~ hint: kernels have `core` and `cuda_std` instead of `std`: no function of the host's runs on a
//~   GPU
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn reads(out: *mut u32) {
    let text = std::fs::read_to_string("input.txt").unwrap();
    unsafe { *out = text.len() as u32 }
}
