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

#[kernel(max_threads = 256, min_blocks = 2, max_registers = 64)]
pub unsafe fn registers_twice() {}

#[kernel(max_registers = 256)]
pub unsafe fn too_many_registers() {}

#[kernel(capability = "9.1")]
pub unsafe fn no_such_capability() {}

#[kernel(cluster = (2, 1))]
pub unsafe fn cluster_of_old_devices() {}

#[kernel(capability = "9.0", cluster = (8, 4))]
pub unsafe fn large_cluster() {}

fn main() {}
