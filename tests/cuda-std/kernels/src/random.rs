//! Random functions, which `build.rs` writes.

#![allow(warnings, clippy::all, reason = "the functions are generated")]

use cuda_std::{GpuFloat, kernel, thread};

include!(concat!(env!("OUT_DIR"), "/random.rs"));

/// A hash of numbers (Fowler, Noll, Vo; 1a).
struct Hash(u64);

impl Hash {
    fn add(&mut self, value: u128) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 = (self.0 ^ (value >> 64) as u64).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

/// The bits, the same for every NaN.
fn bits_f32(x: f32) -> u32 {
    if x.is_nan() { 1 } else { x.to_bits() }
}

fn bits_f64(x: f64) -> u64 {
    if x.is_nan() { 1 } else { x.to_bits() }
}

#[kernel]
pub unsafe fn random_functions(number: u32, a: &[u64], b: &[u64], out: *mut u64) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        *out.add(i) = random(number, a[i], b[i]);
    }
}
