//! The acoustic wave equation, 8th order in space and 2nd in time, in `f32`, with an absorbing
//! shell around.
//!
//! u_tt = c^2 (u_xx + u_yy + u_zz), on n_x by n_y by n_z points with spacings dx, dy, dz. This is
//! the scheme of minimod, a proxy application of seismic imaging (Meng, Atle, Calandra, Araya-Polo,
//! "Minimod: a finite difference solver for seismic modeling", arXiv:2007.06048, 2020). u is the
//! last field and v the second-last. The next field replaces v, which no other point reads. With
//! the 8th-order Laplacian lap(u), vp = c^2 dt^2, and the absorption eta >= 0:
//!
//! - inside, where eta = 0: v = 2 u - v + vp lap(u)
//! - in the shell, the outermost points in each direction:
//!   v = ((2 + 2 eta - eta^2) u - v + vp (lap(u) + phi)) / (1 + 2 eta), and then
//!   phi = (phi - grad(eta) . grad(u)) / (1 + eta), with central differences over two spacings.
//!
//! Then the source's value is added at its point, and u and v swap names. Beyond the points, in a
//! halo of [`RADIUS`], u and v are 0; the halo has the shell's largest eta.
//!
//! The scheme is defined with fused products and sums, in the order of [`update`](mod@update): a
//! result is right if it is equal to the last bit. A result that sums in another order is right if
//! it is as near to the scheme without rounding as that order's rounding allows.
//!
//! Without absorption, and for eta <= 4, the scheme is stable for vp K <= 4, where K is the largest
//! eigenvalue of -lap ([`Coefficients::largest_eigenvalue`]). By von Neumann, a factor g of a
//! timestep obeys (1 + 2 eta) g^2 - (2 + 2 eta - eta^2 - vp K) g + 1 = 0. Both roots are in the
//! unit circle if and only if |2 + 2 eta - eta^2 - vp K| <= 2 + 2 eta, or
//! vp K <= 4 + 4 eta - eta^2. phi is small beside these terms: it is of the size of eta's slope.
//!
//! - [`grid`]: the arrays' layout, the inside, the shell's six boxes.
//! - [`coefficients`]: the coefficients of the finite differences.
//! - [`task`]: a launch's parameters except the arrays.
//! - [`update`](mod@update): the scheme for one point, called by kernels and references alike.
//! - [`four`]: the scheme for four neighbouring points of a thread.
//! - `gather`: the values along a line, which receivers record.
//! - [`ring`]: rings of planes in shared memory.
//! - [`boxes`]: the boxes of points that launches take.

pub mod boxes;
pub mod coefficients;
pub mod four;
#[cfg(feature = "kernels")]
pub mod gather;
pub mod grid;
pub mod ring;
pub mod task;
#[cfg(test)]
mod tests;
pub mod update;

pub use coefficients::Coefficients;
pub use grid::{Grid, LINE, RADIUS, Region};
pub use task::Task;
