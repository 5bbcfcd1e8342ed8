//! Floats of 16 bits: the same code for device and host.

use cuda_std::{GpuFloat, HalfExt, bf16, f16, kernel, thread};

/// The bits, the same for every NaN.
fn bits(x: f16) -> u32 {
    if x.is_nan() { 1 } else { x.to_bits().into() }
}

fn bits_of_bf16(x: bf16) -> u32 {
    if x.is_nan() { 1 } else { x.to_bits().into() }
}

fn bits_of_f32(x: f32) -> u32 {
    if x.is_nan() { 1 } else { x.to_bits() }
}

/// Conversions and arithmetic, as users of the crate `half` write them, and by instructions.
pub fn results(x: u16, y: f32) -> [u32; 8] {
    let (f, b) = (f16::from_bits(x), bf16::from_bits(x));
    [
        bits_of_f32(f.to_f32()) ^ bits_of_f32(f.widen()).rotate_left(1),
        bits_of_f32(b.to_f32()) ^ bits_of_f32(b.widen()).rotate_left(1),
        bits(f16::from_f32(y)) | bits(f16::narrow(y)) << 16,
        bits_of_bf16(bf16::from_f32(y)) | bits_of_bf16(bf16::narrow(y)) << 16,
        bits(f * f16::from_f32(y) + f) | bits(f / f16::from_f32(y) - f) << 16,
        bits_of_bf16(b * bf16::from_f32(y) + b) | bits_of_bf16(b / bf16::from_f32(y) - b) << 16,
        bits(f16::from_f64(f64::from(f))) | u32::from(f < f16::ONE) << 16,
        bits(f16::narrow(GpuFloat::mul_add(f.widen(), y, 1.0)))
            | bits_of_bf16(bf16::from_f64(f64::from(b))) << 16,
    ]
}

#[kernel]
pub unsafe fn halves(y: &[f32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < y.len() {
        let results = results(i as u16, y[i]);
        for (k, result) in results.into_iter().enumerate() {
            *out.add(8 * i + k) = result;
        }
    }
}
