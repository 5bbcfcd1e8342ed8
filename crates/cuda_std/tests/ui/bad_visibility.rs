use cuda_std::prelude::*;

#[kernel]
unsafe fn k(x: *mut f32) {
    let _ = x;
}

fn main() {}
