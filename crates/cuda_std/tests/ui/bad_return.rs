use cuda_std::prelude::*;

#[kernel]
pub unsafe fn k(x: &[f32]) -> f32 {
    x[0]
}

fn main() {}
