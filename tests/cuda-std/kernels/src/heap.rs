//! Collections on the device's heap.

use cuda_std::prelude::*;

/// Each thread writes the sum of a vector and the length of a text of its own.
#[kernel]
pub unsafe fn heap(out: *mut u32) {
    let i = thread::index_1d();
    let mut numbers = Vec::new();
    for number in 0..=i {
        numbers.push(number);
    }
    let boxed = Box::new(numbers.iter().sum::<u32>());
    let text = format!("thread {i}");
    *out.add(i as usize) = *boxed * 1000 + text.len() as u32;
}
