//! The damped 3D wave equation over a layered medium, in `f64`.
//!
//! u_tt + 2 d u_t = c^2 (u_xx + u_yy + u_zz + w), on a grid of n_x by n_y by n_z sites, by central
//! differences in space and time. Site (i, j, k) lies at (i dx, j dx, k dx); k counts depth and is
//! contiguous, then j, then i. With L(u) the sum of the six neighbours less 6 u, plus the source's
//! value w at its site:
//!
//! - where d = 0: u_next = 2 u - u_prev + (dt^2/dx^2) c^2 L(u)
//! - where d > 0: u_next = (2 u - (1 - d dt) u_prev + (dt^2/dx^2) c^2 L(u)) / (1 + d dt)
//!
//! c^2 is a function of k only (a table of n_z values), d of (i, j) only (a table of n_x n_y
//! values): it is above 0 in a layer [`LAYER`] sites wide along the borders in x and y, and 0
//! elsewhere.
//!
//! Boundary condition: sites on the border, the domain's outermost in each direction, are 0 at
//! every computed timestep (Dirichlet). A start field's values on the border affect their
//! neighbours until they are replaced.
//!
//! The scheme is stable for c dt/dx <= 1/sqrt(3) (von Neumann analysis with d = 0; d > 0 only
//! damps).
//!
//! Two fields are enough: the next value of a site replaces its u_prev, which no other site reads.
//! Then the fields swap names.
//!
//! - [`domain`]: extents, border, layers.
//! - [`update`](mod@update): the scheme for one site, called by kernels and references alike.
//! - [`source`]: the point source.

pub mod domain;
pub mod source;
#[cfg(test)]
mod tests;
pub mod update;

pub use domain::{Domain, EDGE, LAYER};
