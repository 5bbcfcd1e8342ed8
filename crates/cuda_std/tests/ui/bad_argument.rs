use cuda_std::prelude::*;

/// Without `Copy`.
pub struct Ball {
    pub x: f32,
}

#[kernel]
pub unsafe fn moves(ball: Ball, out: *mut f32) {
    unsafe { *out = ball.x }
}

#[kernel]
pub unsafe fn slices(balls: &[Ball], out: *mut f32) {
    unsafe { *out = balls[0].x }
}

fn main() {}
