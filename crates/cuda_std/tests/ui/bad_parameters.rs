use cuda_std::prelude::*;

#[kernel]
pub unsafe fn exclusive(x: &mut [f32]) {
    let _ = x;
}

#[kernel]
pub unsafe fn text(x: &str) {
    let _ = x;
}

#[kernel]
pub unsafe fn tuple(x: (u32, f32)) {
    let _ = x;
}

#[kernel]
pub unsafe fn boolean(x: bool) {
    let _ = x;
}

#[kernel]
pub unsafe fn character(x: char) {
    let _ = x;
}

#[kernel]
pub unsafe fn pattern([a, b]: [f32; 2]) {
    let _ = (a, b);
}

#[kernel]
pub unsafe fn object(x: &dyn Fn(f32) -> f32) {
    let _ = x;
}

#[kernel]
pub unsafe fn fat(x: *mut [f32]) {
    let _ = x;
}

#[kernel]
pub unsafe fn anything(x: impl Copy) {
    let _ = x;
}

fn main() {}
