use cuda_std::prelude::*;

#[kernel(max_threads = 0)]
pub unsafe fn none() {}

#[kernel(max_threads = 2048)]
pub unsafe fn too_many() {}

#[kernel(min_blocks = 2)]
pub unsafe fn blocks_alone() {}

#[kernel(max_threads = 256, max_threads = 128)]
pub unsafe fn twice() {}

#[kernel(threads = 256)]
pub unsafe fn unknown() {}

#[kernel(max_threads = "256")]
pub unsafe fn text() {}

fn main() {}
