//! The variants of the solution: one submission, in many layouts.

use super::layouts::{kernels::Mapping, launch::Layout};
use crate::kernels::variant;
use crate::matadd::MatAdd;
use lab::Variant;

macro_rules! layouts {
    ($($mapping:ident $kernel:literal { $($name:literal [$x:literal, $y:literal] $summary:literal;)* })*) => {
        pub fn variants() -> Vec<Variant> {
            vec![
                $($(variant::<MatAdd>($name, $summary, |_| {
                    Box::new(Layout { mapping: Mapping::$mapping, block: [$x, $y], kernel: $kernel })
                }),)*)*
            ]
        }
    };
}

layouts! {
    Grid2dBlock2d "matadd_grid2d_block2d" {
        "grid2d_block2d_32x32" [32, 32] "2D grid of blocks of 32 x 32 threads";
        "grid2d_block2d_32x16" [32, 16] "2D grid of blocks of 32 x 16 threads";
        "grid2d_block2d_16x32" [16, 32] "2D grid of blocks of 16 x 32 threads: a warp has parts of two rows";
        "grid2d_block2d_16x16" [16, 16] "2D grid of blocks of 16 x 16 threads";
        "grid2d_block2d_32x8" [32, 8] "2D grid of blocks of 32 x 8 threads";
        "grid2d_block2d_64x4" [64, 4] "2D grid of blocks of 64 x 4 threads";
        "grid2d_block2d_8x32" [8, 32] "2D grid of blocks of 8 x 32 threads: a warp has parts of four rows";
        "grid2d_block2d_1x256" [1, 256] "2D grid of blocks of 1 x 256 threads: every lane of a warp in another row";
    }
    Grid1dBlock1d "matadd_grid1d_block1d" {
        "grid1d_block1d_32" [32, 1] "1D grid of blocks of 32 threads; each thread loops over a column";
        "grid1d_block1d_128" [128, 1] "1D grid of blocks of 128 threads; each thread loops over a column";
    }
    Grid2dBlock1d "matadd_grid2d_block1d" {
        "grid2d_block1d_32" [32, 1] "2D grid of blocks of 32 threads, all in one row";
        "grid2d_block1d_64" [64, 1] "2D grid of blocks of 64 threads, all in one row";
        "grid2d_block1d_128" [128, 1] "2D grid of blocks of 128 threads, all in one row";
        "grid2d_block1d_256" [256, 1] "2D grid of blocks of 256 threads, all in one row";
        "grid2d_block1d_512" [512, 1] "2D grid of blocks of 512 threads, all in one row";
        "grid2d_block1d_1024" [1024, 1] "2D grid of blocks of 1024 threads, all in one row";
    }
    GridStride "matadd_grid_stride" {
        "grid_stride_256" [256, 1] "4096 blocks of 256 threads that loop in strides of the grid";
    }
    GridStride "matadd_grid_stride_vector4" {
        "grid_stride_vector4_256" [256, 1] "the same with 16-byte loads and stores";
    }
}
