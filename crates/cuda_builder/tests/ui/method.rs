//~ error: no method named `sin` found
//~ hint: this function of floats is in `cuda_std::GpuFloat`: `use cuda_std::prelude::*;`. Where
//~   speed counts more than digits, `cuda_std::float` has `sin_approx(x)` and its like
use cuda_std::kernel;

#[kernel]
pub unsafe fn sines(x: &[f32], y: *mut f32) {
    unsafe { *y = x[0].sin() }
}
