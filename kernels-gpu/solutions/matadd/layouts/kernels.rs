//! Mappings of elements to threads.
//!
//! Each mapping is written once, as a function that gives a thread its elements. A kernel that adds
//! uses it, and [`matadd_check_index`], which shows it.

use cuda_std::UVec2;
use cuda_std::prelude::*;

use kernels_gpu::matadd::add;

/// The mappings of threads to the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mapping {
    /// A 2D grid of 2D blocks: one thread per element.
    Grid2dBlock2d,
    /// A 1D grid of 1D blocks: one thread per column, which loops over its rows.
    Grid1dBlock1d,
    /// A 2D grid of 1D blocks: one thread per element, one row of blocks per row of the matrix.
    Grid2dBlock1d,
    /// A 1D grid of 1D blocks over the elements in memory order. A thread loops in strides of the
    /// whole grid.
    GridStride,
}

impl Mapping {
    /// Every mapping, in the order of their numbers.
    pub const ALL: [Self; 4] = [
        Self::Grid2dBlock2d,
        Self::Grid1dBlock1d,
        Self::Grid2dBlock1d,
        Self::GridStride,
    ];
}

/// The matrices' extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    n_x: u32,
    n_y: u32,
}

impl Shape {
    #[inline(always)]
    fn index(self, x: u32, y: u32) -> usize {
        (y * self.n_x + x) as usize
    }
}

#[inline(always)]
fn grid2d_block2d(shape: Shape, visit: impl FnOnce(usize)) {
    let UVec2 { x, y } = thread::index_2d();
    if x < shape.n_x && y < shape.n_y {
        visit(shape.index(x, y));
    }
}

#[inline(always)]
fn grid1d_block1d(shape: Shape, mut visit: impl FnMut(usize)) {
    let x = thread::index_1d();
    if x < shape.n_x {
        let mut y = 0;
        while y < shape.n_y {
            visit(shape.index(x, y));
            y += 1;
        }
    }
}

#[inline(always)]
fn grid2d_block1d(shape: Shape, visit: impl FnOnce(usize)) {
    let x = thread::index_1d();
    if x < shape.n_x {
        visit(shape.index(x, thread::block_idx_y()));
    }
}

/// `items` are elements, or vectors of them.
#[inline(always)]
fn grid_stride(items: u32, mut visit: impl FnMut(usize)) {
    let stride = thread::grid_dim_x() * thread::block_dim_x();
    let mut i = thread::index_1d();
    while i < items {
        visit(i as usize);
        // Items and threads are at most 2^31 each: no overflow.
        i += stride;
    }
}

/// `c[i] = a[i] + b[i]`.
///
/// # Safety
/// `i` is within all three; nothing else accesses `c[i]`.
#[inline(always)]
unsafe fn add_element(a: &[f32], b: &[f32], c: *mut f32, i: usize) {
    // SAFETY: the caller's.
    unsafe { *c.add(i) = add(*a.get_unchecked(i), *b.get_unchecked(i)) }
}

/// [`Mapping::Grid2dBlock2d`]. Block: any 2D shape. Grid: at least one thread per element.
///
/// # Safety
/// - `a` and `b` have n_x * n_y elements; n_x * n_y is below 2^31.
/// - `c` points to n_x * n_y elements, which nothing else accesses during the launch.
#[kernel(max_threads = 1024)]
pub unsafe fn matadd_grid2d_block2d(a: &[f32], b: &[f32], c: *mut f32, n_x: u32, n_y: u32) {
    // SAFETY: the mapping gives each element of the matrix to one thread.
    grid2d_block2d(Shape { n_x, n_y }, |i| unsafe { add_element(a, b, c, i) });
}

/// [`Mapping::Grid1dBlock1d`]. Grid: at least one thread per column.
///
/// # Safety
/// As [`matadd_grid2d_block2d`].
#[kernel(max_threads = 1024)]
pub unsafe fn matadd_grid1d_block1d(a: &[f32], b: &[f32], c: *mut f32, n_x: u32, n_y: u32) {
    // SAFETY: the mapping gives each element of the matrix to one thread.
    grid1d_block1d(Shape { n_x, n_y }, |i| unsafe { add_element(a, b, c, i) });
}

/// [`Mapping::Grid2dBlock1d`]. Grid: at least one thread per column along x, and n_y blocks along
/// y.
///
/// # Safety
/// As [`matadd_grid2d_block2d`], and the grid has exactly n_y blocks along y.
#[kernel(max_threads = 1024)]
pub unsafe fn matadd_grid2d_block1d(a: &[f32], b: &[f32], c: *mut f32, n_x: u32, n_y: u32) {
    // SAFETY: the mapping gives each element of the matrix to one thread.
    grid2d_block1d(Shape { n_x, n_y }, |i| unsafe { add_element(a, b, c, i) });
}

/// [`Mapping::GridStride`]. Grid: any 1D grid of up to 2^31 threads.
///
/// # Safety
/// As [`matadd_grid2d_block2d`].
#[kernel(max_threads = 1024)]
pub unsafe fn matadd_grid_stride(a: &[f32], b: &[f32], c: *mut f32, n_x: u32, n_y: u32) {
    // SAFETY: the mapping gives each element of the matrix to one thread.
    grid_stride(n_x * n_y, |i| unsafe { add_element(a, b, c, i) });
}

/// [`Mapping::GridStride`] over vectors of four elements, one 16-byte access each. The first
/// threads add the rest.
///
/// # Safety
/// As [`matadd_grid2d_block2d`]; `a`, `b` and `c` are aligned to 16 bytes; the grid has at least 3
/// threads.
#[kernel(max_threads = 1024)]
pub unsafe fn matadd_grid_stride_vector4(a: &[f32], b: &[f32], c: *mut f32, n_x: u32, n_y: u32) {
    let elements = n_x * n_y;
    // SAFETY: vector i is elements 4i to 4i + 3, all within the matrix. The rest is fewer than four
    // elements.
    unsafe {
        grid_stride(elements / 4, |i| {
            let a: [f32; 4] = mem::load_vector(a.as_ptr().add(4 * i));
            let b: [f32; 4] = mem::load_vector(b.as_ptr().add(4 * i));
            let sum = [
                add(a[0], b[0]),
                add(a[1], b[1]),
                add(a[2], b[2]),
                add(a[3], b[3]),
            ];
            mem::store_vector(c.add(4 * i), sum);
        });
        let rest = elements / 4 * 4 + thread::index_1d();
        if rest >= elements / 4 * 4 && rest < elements {
            add_element(a, b, c, rest as usize);
        }
    }
}

/// Writes the owner of each element under the [`Mapping`] of that number. The owner is given by the
/// linear index of its block in the grid, and by its own in the whole grid, block by block. Linear
/// indices run along x first, then y.
///
/// # Safety
/// - `threads` and `blocks` point to n_x * n_y elements each, which nothing else accesses during
///   the launch; n_x * n_y is at most 2^31.
/// - The grid is as for the mapping's kernel, with fewer than 2^32 threads.
#[kernel(max_threads = 1024)]
pub unsafe fn matadd_check_index(
    threads: *mut u32,
    blocks: *mut u32,
    n_x: u32,
    n_y: u32,
    mapping: u32,
) {
    let block = thread::block_idx_y() * thread::grid_dim_x() + thread::block_idx_x();
    let threads_per_block = thread::block_dim_x() * thread::block_dim_y();
    let thread = block * threads_per_block + thread::linear_thread_idx();
    let shape = Shape { n_x, n_y };
    // SAFETY: the mappings give each element of the matrix to one thread.
    let write = |i: usize| unsafe {
        *threads.add(i) = thread;
        *blocks.add(i) = block;
    };
    match mapping {
        0 => grid2d_block2d(shape, write),
        1 => grid1d_block1d(shape, write),
        2 => grid2d_block1d(shape, write),
        _ => grid_stride(n_x * n_y, write),
    }
}
