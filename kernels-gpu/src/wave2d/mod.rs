//! The 2D wave equation with walls, sources and damping.
//!
//! u_tt + gamma u_t = c^2 (u_xx + u_yy), on a grid of n_x by n_y cells, x contiguous, by central
//! differences in space and time. With k = (c dt/dx)^2 and damping d = gamma dt per cell:
//!
//! u_next = (2 - d - 4k) u1 - (1 - d) u0 + k (u1[x-1] + u1[x+1] + u1[y-1] + u1[y+1])
//!
//! u0 is the second-last field and u1 the last. Border and wall cells are 0, and a source cell
//! takes its value. The scheme is stable for k <= 1/2 (von Neumann analysis with d = 0).
//!
//! - [`scene`]: where walls and sources are; [`AnyScene`] chooses one at run time.
//! - [`update`](mod@update): the scheme for one cell, called by kernels and references alike.
//! - [`padded`], [`kinds`], [`chunks`], [`strips`] and [`levels`]: for kernels of several timesteps
//!   per launch: the fields' layout in memory, the kinds of cells, the division of rows among warps
//!   in chunks of strips or in whole strips, and a warp's pipeline.

pub mod chunks;
pub mod kinds;
pub mod levels;
pub mod padded;
pub mod scene;
mod scenes;
pub mod strips;
#[cfg(test)]
mod tests;
pub mod update;

pub use scene::{Domain, Region, Scene};
pub use scenes::{AnyScene, DoubleSlit, EllipticRoom, EmptyBox, ParabolicMirror, PointSource};
