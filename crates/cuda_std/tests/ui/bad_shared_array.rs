use cuda_std::prelude::*;

pub fn k() {
    let _ = shared_array![f32];
    let _ = shared_array![f32; 4; 5];
}

fn main() {}
