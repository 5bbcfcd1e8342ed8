//! What users see of the solutions.

use super::seven_launches::launch::Inner;
use crate::lab::BuiltIn;
use crate::stencil25::Stencil25;

pub const VARIANTS: &[BuiltIn<Stencil25>] = &[BuiltIn::new(
    "gmem",
    "3D blocks, everything from global memory",
    |_| Box::new(Inner::GMEM),
)];
