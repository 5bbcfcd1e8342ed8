//~ error: cannot multiply `f64` by `f32`
//~ error: mismatched types
//~ hint: Rust converts no number by itself: write `2.0f32` or `2.0`, and `core::f32::consts`. A
//~   GPU computes in `f64` 2 to 64 times as slowly as in `f32`
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn turns(x: &[f32], y: *mut f32) {
    let half = 0.5f64;
    let pi: f32 = core::f64::consts::PI;
    unsafe { *y = half * x[0] * pi }
}
