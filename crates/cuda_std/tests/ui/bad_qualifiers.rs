use cuda_std::prelude::*;

#[kernel]
pub async unsafe fn asynchronous() {}

#[kernel]
pub const unsafe fn constant() {}

#[kernel]
pub unsafe extern "C" fn foreign() {}

fn main() {}
