use cuda_std::prelude::*;

#[kernel]
pub struct NotAFunction;

fn main() {}
