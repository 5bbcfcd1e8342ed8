//! One launch a timestep, several rows of a column a thread, everything from global memory.
//!
//! A thread loads its column of u1 once for all its rows, with all of u0 under way at the same time; neighbours along x hit L1. Blocks go
//! through the domain in one direction in even launches and in the other in odd ones: a launch begins with what the last one has left in L2.

use cuda_std::prelude::*;

use kernels_gpu::wave2d::update::{self, Kind, Neighbours};
use kernels_gpu::wave2d::{AnyScene, Domain, Region, Scene};

/// Threads of a block, along x.
pub const BLOCK: u32 = 128;

/// What the kernels below do, with `ROWS` rows a thread.
///
/// # Safety
/// As theirs.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
#[allow(clippy::needless_range_loop, reason = "arrays stay in registers")]
unsafe fn step<const ROWS: usize>(
    u0: *mut f32,
    u1: &[f32],
    domain: Domain,
    scene: u32,
    k: f32,
    t: u32,
    backwards: u32,
) {
    let Domain { n_x, n_y } = domain;
    let scene = AnyScene::new(scene, domain);
    let (x_first, y_first) = if backwards != 0 {
        (
            thread::grid_dim_x() - 1 - thread::block_idx_x(),
            thread::grid_dim_y() - 1 - thread::block_idx_y(),
        )
    } else {
        (thread::block_idx_x(), thread::block_idx_y())
    };
    let (x_first, y_first) = (x_first * BLOCK, y_first * ROWS as u32);
    let x = x_first + thread::thread_idx_x();
    let region = Region {
        x_first,
        x_end: x_first + BLOCK,
        y_first,
        y_end: y_first + ROWS as u32,
    };
    let stride = n_x as usize;
    let first = (y_first * n_x + x) as usize;
    if scene.is_plain(region) {
        // SAFETY: all cells are inside the border, so each has four neighbours; each thread touches its own elements of u0.
        unsafe {
            let last = |i: usize| *u1.get_unchecked(i);
            let mut next = [0.0; ROWS];
            let mut own = [0.0; ROWS];
            for row in 0..ROWS {
                next[row] = *u0.add(first + row * stride);
                own[row] = last(first + row * stride);
            }
            let above = last(first - stride);
            let below = last(first + ROWS * stride);
            for row in 0..ROWS {
                let i = first + row * stride;
                let around = Neighbours {
                    west: last(i - 1),
                    east: last(i + 1),
                    north: if row == 0 { above } else { own[row - 1] },
                    south: if row == ROWS - 1 { below } else { own[row + 1] },
                };
                next[row] = update::free_cell(next[row], own[row], around, k, 0.0);
            }
            for row in 0..ROWS {
                *u0.add(first + row * stride) = next[row];
            }
        }
        return;
    }
    let source = scene.source_value(t);
    let mut y = y_first;
    while x < n_x && y < n_y && y < region.y_end {
        let i = (y * n_x + x) as usize;
        // SAFETY: (x, y) is in the domain; a free cell is inside the border, so it has all four neighbours.
        unsafe {
            let last = |i: usize| *u1.get_unchecked(i);
            let cell = u0.add(i);
            *cell = match update::kind(&scene, domain, x, y) {
                Kind::Zero => 0.0,
                Kind::Source => source,
                Kind::Free { damping } => {
                    let around = Neighbours {
                        west: last(i - 1),
                        east: last(i + 1),
                        north: last(i - stride),
                        south: last(i + stride),
                    };
                    update::free_cell(*cell, last(i), around, k, damping)
                }
            };
        }
        y += 1;
    }
}

macro_rules! steps {
    ($($name:ident: $rows:literal;)*) => {$(
        /// Computes timestep `t` of every cell: the new field replaces `u0`. `backwards`, unless 0: the last blocks have the first cells.
        ///
        /// Block: [`BLOCK`]. Grid: the domain over [`BLOCK`] and the rows that the name ends in, rounded up.
        ///
        /// # Safety
        /// - `u0` points to n_x * n_y initialised values that nothing else accesses during the launch.
        /// - `u1` has n_x * n_y elements; n_x * n_y is at most 2^31; n_x and n_y are at least 2.
        #[kernel(max_threads = 128)]
        pub unsafe fn $name(
            u0: *mut f32,
            u1: &[f32],
            n_x: u32,
            n_y: u32,
            scene: u32,
            k: f32,
            t: u32,
            backwards: u32,
        ) {
            // SAFETY: the caller's.
            unsafe { step::<$rows>(u0, u1, Domain { n_x, n_y }, scene, k, t, backwards) }
        }
    )*};
}

steps! {
    wave2d_single_r8: 8;
    wave2d_single_r16: 16;
}
