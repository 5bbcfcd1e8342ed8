use cuda_std::prelude::*;

#[kernel]
pub fn k(x: *mut f32) {
    let _ = x;
}

fn main() {}
