//~ error: cannot find macro `println` in this scope
//~ hint: kernels print with `println!` of cuda_std: `use cuda_std::println;`, or all of
//~   `cuda_std::prelude::*`
use cuda_std::{kernel, thread};

#[kernel]
pub unsafe fn greets() {
    println!("thread {}", thread::index_1d());
}
