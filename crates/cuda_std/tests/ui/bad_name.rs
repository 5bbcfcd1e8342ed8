//! The error, and no other message about what the kernel alone uses.

#![deny(warnings)]

use core::hint::black_box;

use cuda_std::prelude::*;

#[kernel]
pub unsafe fn kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk(x: *mut f32) {
    black_box(x);
}

fn main() {}
