//! Poisson's equation in a cube, by Jacobi's iteration.
//!
//! Laplace u = -f on [-1, 1]^3, on N^3 points with both walls on the grid: spacing h = 2 / (N - 1),
//! point (x, y, z) at (-1 + x h, -1 + y h, -1 + z h). Second differences along each axis give,
//! solved for the middle point,
//!
//! u_next = (u[x-1] + u[x+1] + u[y-1] + u[y+1] + u[z-1] + u[z+1] + h^2 f) / 6
//!
//! for every point inside, from the neighbours' last values: Jacobi's iteration. Points on a wall
//! keep their values. One iteration cannot overwrite the field that it reads: the two fields swap
//! names.
//!
//! A field has N^3 values of `f64`, x contiguous, then y: point (x, y, z) is element (z N + y) N +
//! x.
//!
//! - [`grid`]: walls, source, numbering. [`update`](mod@update): the iteration for one point.
//!   Kernels and references call both.
//! - [`tile`], [`ring`]: a thread's points of a tile, and planes of tiles in shared memory, for
//!   kernels of several iterations.
//! - `max_change`: the largest difference of two fields.

pub mod grid;
#[cfg(feature = "kernels")]
pub mod max_change;
pub mod ring;
#[cfg(test)]
mod tests;
pub mod tile;
pub mod update;

pub use grid::Grid;
