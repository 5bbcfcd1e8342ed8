//! What users see of the solutions.

use super::fast;
use super::seven_launches::launch::Inner;
use crate::lab::BuiltIn;
use crate::stencil25::Stencil25;

pub const VARIANTS: &[BuiltIn<Stencil25>] = &[
    BuiltIn::new("gmem", "3D blocks, everything from global memory", |_| {
        Box::new(Inner::GMEM)
    }),
    BuiltIn::new(
        "gmem_at_once",
        "gmem, whose launches of a timestep, inside and shell, may run at once",
        |_| Box::new(Inner::GMEM_AT_ONCE),
    ),
    BuiltIn::new(
        "smem",
        "3D blocks, a block's points and their halo in shared memory",
        |_| Box::new(Inner::SMEM),
    ),
    BuiltIn::new(
        "st_reg_fixed",
        "blocks stream along x: columns in fixed registers, the plane in shared memory",
        |_| Box::new(Inner::ST_REG_FIXED),
    ),
    BuiltIn::new(
        "st_semi",
        "blocks stream along x: columns of partial sums, the plane in shared memory",
        |_| Box::new(Inner::ST_SEMI),
    )
    .reordered(),
    BuiltIn::new(
        "fast",
        "one launch: tiles stream along x, fed by asynchronous copies, four points a thread",
        |_| Box::new(fast::launch::Submission),
    ),
];
