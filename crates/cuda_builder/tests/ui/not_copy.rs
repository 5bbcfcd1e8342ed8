//~ error: a kernel cannot take `Ball`, which is not `Copy`: the host copies the bits of an
//~   argument
use cuda_std::prelude::*;

pub struct Ball {
    pub x: f32,
}

#[kernel]
pub unsafe fn moves(ball: Ball, out: *mut f32) {
    unsafe { *out = ball.x }
}
