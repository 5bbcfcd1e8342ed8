//~ error: the type of `cells: [Cell; 2]` of kernel `moves` is aligned to more than 16 bytes, the
//~   most of a parameter: take a pointer, `cells: *const [Cell; 2]`, to a buffer that holds it
use cuda_std::prelude::*;

#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub struct Cell {
    pub x: f32,
}

#[kernel]
pub unsafe fn moves(cells: [Cell; 2], out: *mut f32) {
    unsafe { *out = cells[1].x }
}
