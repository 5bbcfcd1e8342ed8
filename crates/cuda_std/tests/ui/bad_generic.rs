use cuda_std::prelude::*;

#[kernel]
pub unsafe fn over_types<T: Copy>(x: *mut T) {
    let _ = x;
}

#[kernel]
pub unsafe fn over_numbers<const N: usize>(x: *mut f32) {
    let _ = x;
}

fn main() {}
